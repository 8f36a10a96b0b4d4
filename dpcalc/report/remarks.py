"""Remarks on numbers that are answered as given but may be meant otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcalc.numerals import spelt
from dpcalc.wording import spelt_count


def remarks(fields: Mapping[str, Any], rounds: int, delta: float) -> list[str]:
    """How often the records are gone through, and a δ that protects none of them; [] if not known.

    Args:
        fields: of a mechanism, as numbers.
        rounds: how often it is used.
        delta: of the answer.
    """
    population, sample = fields.get("population"), fields.get("sample")
    if population is None:
        return []
    found = []
    if sample is not None:
        passes = f"{rounds * sample / population:.3g}"
        found.append(
            f"{spelt_count(rounds)} round{'s' if rounds != 1 else ''} of {sample:,.12g} out of "
            f"{population:,.12g} records: {spelt(float(passes), 3)} "
            f"pass{'es' if passes != '1' else ''} over them"
        )
    if delta * population > 1:
        found.append(
            f"δ = {spelt(delta)} is above 1/{population:,.12g}: publishing one record in full, drawn "
            "at random, would keep to it; take a δ well below"
        )
    return found
