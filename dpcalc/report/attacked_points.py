"""What attacks have shown of an instance, as points of its picture."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.errors import InvalidInput
from dpcalc.pictures.curves import Curve, Picture
from dpcalc.report.answer_files import read_answer
from dpcalc.report.records import to_json

if TYPE_CHECKING:
    from dpcalc.theorems.base import Theorem


def with_attacks(picture: Picture, theorem: Theorem, delta: float, path: Path) -> Picture:
    """The picture with a point for every attack on the same setting.

    Args:
        picture: ε over δ or over a parameter.
        theorem: the instance that is drawn.
        delta: at which it is drawn, where δ does not vary.
        path: the JSON of ``dpcalc verify FILE --audit --json``.

    Raises:
        InvalidInput: for another file, and if none of its claims is about this setting.
    """
    if picture.y != "epsilon":
        raise InvalidInput("--attacked shows ε; got --over epsilon, where the noise answers")
    points = sorted(_points(picture.x, theorem, delta, _claims(path)))
    if not points:
        raise InvalidInput(
            f"expected an attacked claim about {theorem.key} with the drawn parameters; got none in "
            f"{str(path)!r}; every parameter but the varied one has to be the same"
        )
    curves = (*picture.curves, Curve("attacked", tuple(points)))
    return Picture(picture.x, picture.y, curves)


def _claims(path: Path) -> list[Mapping[str, Any]]:
    needed = "dpcalc verify FILE --audit --json"
    return list(read_answer(path, "verify", "claims", needed=needed)["claims"])


def _points(
    x: str, theorem: Theorem, delta: float, claims: list[Mapping[str, Any]]
) -> Iterator[tuple[float, float]]:
    inputs = json.loads(to_json(theorem.inputs()))
    for claim in claims:
        shown = (claim.get("audit") or {}).get("attack") or {}
        if claim.get("theorem") != theorem.key or not isinstance(shown.get("epsilon"), int | float):
            continue
        theirs = dict(claim["inputs"]) | {"delta": shown["delta"]}
        ours = inputs | {"delta": delta}
        same = all(name == x or _same(theirs.get(name), value) for name, value in ours.items())
        if same and shown["epsilon"] > 0:
            yield float(theirs[x]), float(shown["epsilon"])


def _same(one: object, other: object) -> bool:
    """Whether two values of a parameter are one, written as a decimal or rounded to a double."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-12)
    return one == other
