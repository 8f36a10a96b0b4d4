"""Methods that evidence may name next to a line, with the fields that each of them asks for.

Depends on python-flint alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb

from dpcalc.certificates.balls import Ball
from dpcalc.certificates.cells import FIELDS as CELLS
from dpcalc.certificates.cells import by_cells
from dpcalc.certificates.chi_square import FIELDS, PARTED, chi_square
from dpcalc.certificates.curve import FIELDS as PLACES
from dpcalc.certificates.curve import on_a_curve
from dpcalc.certificates.grammar import need, number, whole
from dpcalc.certificates.lattice import LARGEST, on_a_lattice
from dpcalc.certificates.laws import Rounds
from dpcalc.certificates.outcomes import bounded, over_outcomes
from dpcalc.certificates.renyi import order

BOUNDS = "order", "lattice", "chi-square", "chi-square in parts", "corners"
"""Those that bound δ(ε) from above only."""


def one_round(rounds: Rounds, eps: Ball) -> Ball:
    """The closed form of a single round that has one."""
    return rounds[0][0].profile(eps) if len(rounds) == 1 and rounds[0][1] == 1 else arb.nan()


def lattice(rounds: Rounds, eps: Ball, step: Any, points: Any, reach: Any) -> Ball:
    """By losses on a lattice, infinite ones included."""
    need(that=isinstance(points, list) and len(points) == len(rounds), got=points)
    known = [whole(each, 2, LARGEST) for each in points]
    return on_a_lattice(rounds, eps, number(step), known, whole(reach, 1, LARGEST))


METHODS: dict[str, tuple[tuple[str, ...], Callable[..., Ball]]] = {
    "one round": ((), one_round),
    "outcomes": ((), over_outcomes),
    "bounded": ((), bounded),
    "hyperbola": (PLACES, on_a_curve),
    "hyperbola in cells": (CELLS, by_cells),
    "order": (("order",), order),
    "lattice": (("step", "points", "reach"), lattice),
    "chi-square": (FIELDS, chi_square),
    "chi-square in parts": (PARTED, chi_square),
}
