"""Ranges of a sweep: places from one number to another, with fractions or without."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dpcalc import checks
from dpcalc.claims.tables import as_real, fields
from dpcalc.errors import InvalidInput

MOST = 1_000_000
"""Settings of one sweep, and places of a range."""

_FIELDS = ("from", "to", "count", "scale", "whole")

_ALWAYS_WHOLE = ("rounds", "runs", "seed", "nodes")
"""Whole numbers of mechanisms, audits and trainings; theorems say which of theirs are."""


def places(name: str, table: Mapping[str, Any]) -> tuple[float, ...]:
    """Places from one number to another, evenly spaced or by a constant factor.

    With ``whole`` each is rounded to the nearest whole number, and those that meet are one.

    Args:
        name: what is varied, for errors.
        table: the fields of the range.

    Raises:
        InvalidInput: for a range that has no places.
    """
    found = fields(f"{name} = {{...}}", table, _FIELDS, ("from", "to", "count"))
    low, high = as_real(f"{name}.from", found["from"]), as_real(f"{name}.to", found["to"])
    count = checks.count(f"{name}.count", as_real(f"{name}.count", found["count"]), minimum=2)
    scale, whole = found.get("scale", "linear"), found.get("whole", False)
    if scale not in ("linear", "log"):
        raise InvalidInput(f'{name}.scale needs "linear" or "log"; got {scale!r}')
    if not isinstance(whole, bool):
        raise InvalidInput(f"{name}.whole needs true or false; got {whole!r}")
    if not (math.isfinite(low) and math.isfinite(high) and low != high):
        raise InvalidInput(f"{name} needs two different finite ends; got {low:g} and {high:g}")
    if scale == "log" and not min(low, high) > 0:
        raise InvalidInput(f'{name} needs ends above 0 for scale = "log"; got {low:g}, {high:g}')
    if count > MOST:
        raise InvalidInput(f"{name} needs at most {MOST:,} places; got {count:,}")
    if whole and not (low.is_integer() and high.is_integer()):
        raise InvalidInput(
            f"{name} needs whole ends for whole = true; got {low:g} and {high:g}; round them"
        )
    last, inner = count - 1, range(1, count - 1)
    if scale == "log":
        between = [low * (high / low) ** (k / last) for k in inner]
    else:  # whole numbers stay whole
        between = [((last - k) * low + k * high) / last for k in inner]
    every = (low, *between, high)
    return tuple(dict.fromkeys(round(place) for place in every)) if whole else every


def check_whole(kind: str, asked: str, name: str, values: tuple[float, ...]) -> None:
    """Refuse a range with fractions of what has to be a whole number.

    Args:
        kind: of what is asked, such as "theorem".
        asked: its name.
        name: what is varied.
        values: places of the range.
    """
    broken = next((value for value in values if not float(value).is_integer()), None)
    if broken is not None and _is_whole(kind, asked, name):
        raise InvalidInput(
            f"{name} needs whole numbers; its range has {broken:.6g}; try whole = true in the "
            "range, which rounds all to whole numbers, or a list of them"
        )


def _is_whole(kind: str, asked: str, name: str) -> bool:
    if kind != "theorem":
        return name in _ALWAYS_WHOLE
    from dpcalc.theorems.catalogue import privacy_result
    from dpcalc.theorems.parameters import parameters

    parameter = parameters(privacy_result(asked)).get(name)
    return parameter is not None and parameter.kind == "count"
