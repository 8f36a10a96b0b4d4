"""Enclosures of ε next to its upper end: where there is one, of what, and how it was found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcalc.guarantees import GDP, ApproxDP, Guarantee, PureDP
from dpcalc.guarantees.attainment import is_attained
from dpcalc.numerals import shown_at_most

if TYPE_CHECKING:
    from dpcalc.accounting.enclosure import Bracket

WORST_CASE, PAIR = "worst case that the guarantees allow", "dominating pair"
"""What is enclosed: what some mechanism with these guarantees reaches, or what none need reach."""


def enclosure(guarantee: Guarantee, delta: float) -> dict[str, Any]:
    """For JSON: the lower end, of what it is one, and the method; empty where there is none.

    A closed form is rounded up once from sixty digits, so two doubles below it lie under the exact
    value; μ of a Gaussian composition is itself rounded up from its parts, at most three doubles.
    """
    if isinstance(guarantee, GDP):
        lower = _below(GDP(_below(guarantee.mu, 3)).epsilon(delta), 2)
        return _record(lower, WORST_CASE, "Gaussian composition, exact")
    if isinstance(guarantee, PureDP | ApproxDP):
        epsilon = guarantee.epsilon(delta)
        # Only at its own failure probability is the bound itself the exact value.
        own = guarantee.failure if isinstance(guarantee, ApproxDP) else 0.0
        stated = epsilon == guarantee.bound and delta == own
        lower = shown_at_most(epsilon) if stated else _below(epsilon, 2)
        return _record(lower, WORST_CASE, "closed form")
    bracket = getattr(guarantee, "bracket", None)
    if bracket is None:
        return {}
    found: Bracket = bracket(delta)
    return _record(found.lower, WORST_CASE if is_attained(guarantee) else PAIR, found.method)


def enclosure_line(record: dict[str, Any], digits: int = 6) -> str:
    """For people: the method, and the lower end if it says anything."""
    from dpcalc.report.text import lower

    least = record.get("epsilon_lower", 0.0)
    if not 0 < least < math.inf:
        return str(record.get("method", ""))
    of_what = record["epsilon_lower_of"]
    return (
        f"{record['method']}; the exact value of the {of_what} is at least {lower(least, digits)}"
    )


def _record(lower: float, of_what: str, method: str) -> dict[str, Any]:
    return {"epsilon_lower": lower, "epsilon_lower_of": of_what, "method": method}


def _below(value: float, doubles: int) -> float:
    """This many doubles below a number that is 0 or above, never below 0."""
    for _ in range(doubles if value < math.inf else 0):
        value = math.nextafter(value, 0.0)
    return value
