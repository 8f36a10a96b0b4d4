"""What a composition was asked about, for its JSON: every release with its fields and count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcalc.claims.named import mechanism_key
from dpcalc.claims.tables import as_real
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from dpcalc.claims.composition import Plan

_WHOLE = ("sample", "population", "dimension")


def releases_of(plan: Plan) -> list[dict[str, Any]]:
    """The releases in order; rows of a table that differ in nothing stand once, with their sum."""
    return [
        {"name": release.name, "count": count, **_described(release.parameters)}
        for release, count in plan.counted()
    ]


def _described(said: Mapping[str, Any]) -> dict[str, Any]:
    """The mechanism or theorem by its name, and its fields; a bare guarantee has fields alone."""
    own = {k: said[k] for k in ("mechanism", "theorem") if k in said}
    if "mechanism" in own:
        own["mechanism"] = mechanism_key(str(own["mechanism"]))
    rest = {k: v for k, v in said.items() if k not in own}
    read = rest if "theorem" in own else {k: _read(k, v) for k, v in rest.items()}
    return {**own, "fields": read}


def _read(name: str, value: Any) -> Any:
    """A number that is written as text, such as 1/3, as the number it is."""
    if isinstance(value, list):
        return [_read(name, one) for one in value]
    try:
        found = as_real(name, value)
    except InvalidInput:
        return value
    return int(found) if name in _WHOLE and found.is_integer() else float(found)
