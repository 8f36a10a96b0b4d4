"""The methods that evidence may name, and the fields that each of them asks for.

Depends on python-flint alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpcalc.certificates.grammar import fields, need, number, whole
from dpcalc.certificates.inversion import (
    Line,
    Rounds,
    at_an_order,
    bounded,
    by_a_line,
    one_round,
    over_outcomes,
    product,
)
from dpcalc.certificates.lattice import on_a_lattice
from dpcalc.certificates.laws import Ball

BOUNDS = "order", "lattice"
"""Those that bound δ(ε) from above only."""


def line(rounds: Rounds, eps: Ball, *chosen: Any) -> Ball:
    """By a line that the evidence describes."""
    *places, nodes, shifts, quiet = chosen
    c, period, far, smoothing = map(number, places)
    for each in (shifts, quiet):
        need(that=isinstance(each, list) and len(each) == len(rounds), got=each)
    moved, first = [number(text) for text in shifts], [whole(node, 1) for node in quiet]
    found = Line(c, period, far, smoothing, whole(nodes, 1), moved, first)
    return by_a_line(rounds, eps, found)


def order(rounds: Rounds, eps: Ball, chosen: Any) -> Ball:
    """By the moment at an order."""
    return at_an_order(rounds, eps, number(chosen) - 1)


def lattice(rounds: Rounds, eps: Ball, step: Any, points: Any, reach: Any) -> Ball:
    """By losses on a lattice, infinite ones included."""
    need(that=isinstance(points, list) and len(points) == len(rounds), got=points)
    known = [whole(each, 2) for each in points]
    return on_a_lattice(rounds, eps, number(step), known, whole(reach, 1))


METHODS: dict[str, tuple[tuple[str, ...], Callable[..., Ball]]] = {
    "one round": ((), one_round),
    "outcomes": ((), over_outcomes),
    "bounded": ((), bounded),
    "order": (("order",), order),
    "lattice": (("step", "points", "reach"), lattice),
    "line": (
        ("real_part", "period", "order", "smoothing", "nodes", "shifts", "quiet"),
        line,
    ),
}


def enclosure(rounds: Rounds, eps: Ball, how: dict[str, Any]) -> Ball:
    """δ(ε) in one direction, or a bound of it, by the method that the evidence names."""
    method = str(how.get("method"))
    names, by_method = METHODS.get(method, (("a method that is known",), one_round))
    _, _, _, *chosen = fields(how, "method", "precision", "enclosure", *names)
    infinite = (
        0 if method == "lattice" else 1 - product((1 - law.infinite) ** n for law, n in rounds)
    )
    return infinite + by_method(rounds, eps, *chosen)
