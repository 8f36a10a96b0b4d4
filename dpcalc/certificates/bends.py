"""Hyperbolas to try for an ε of few rounds. All of it is a choice: any one gives true enclosures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from dpcalc.certificates.balls import precision
from dpcalc.certificates.curve import NEAR
from dpcalc.certificates.grammar import exact, number
from dpcalc.certificates.laws import Rounds

FEW, _MOST_NODES = 12, 1_000
"""Of more than few rounds a line takes less, if there is one; of more nodes, one in cells."""

_TOLERANCES = 1e-9, 1e-16
"""Relative errors aimed at, one after the other while a number is not decided."""

_WIDEST, _FARTHEST, _NARROWER = 0.6, 1.99, 0.98
"""The largest slope of a ray, what it may turn until both batches are as likely, and a share of it."""

_LARGEST_SIZE = 200.0
"""Logarithm of what moments are bounded by."""

_HALF, _MIDDLE = (NEAR - 1) / (2 * NEAR), (NEAR + 1) / (2 * NEAR)
"""Half the width of the strip, and its middle, in units of its turn."""

_VERTICES = range(-8, 5)
"""Logarithms of real parts to base 2 that are tried."""

SPARE_BITS = 24
"""Of precision, next to those of an error."""


def bends(rounds: Rounds, statement: dict[str, Any], epsilon: str) -> Iterator[dict[str, Any]]:
    """Hyperbolas one after the other, each with a smaller error; none where they would not serve.

    Args:
        rounds: laws with numbers of rounds.
        statement: adjacency, releases and delta of a certificate.
        epsilon: where δ(ε) is asked for, as an exact number.
    """
    delta, eps, total = exact(statement["delta"]), exact(epsilon), sum(n for _, n in rounds)
    known = total <= FEW and all(law.turned for law, _ in rounds)
    if delta == 0 or eps <= 0 or not known:
        return
    rates = [float(number(release["rate"])) for release in statement["releases"]]
    for tolerance in _TOLERANCES:
        small = -math.log(tolerance * float(delta))
        with precision(64):
            found = _hyperbola(rounds, float(f"{float(eps):.3g}"), max(_even(rates), 1e-9), small)
        if found:
            bits = math.ceil(small / math.log(2)) + total.bit_length() + SPARE_BITS
            yield {"method": "hyperbola", "precision": bits, **found}


def _even(rates: list[float]) -> float:
    """The max_distance real part where a batch with the record is as likely as one without."""
    return max(math.log((1 - rate) / rate) if rate < 1 else 0.0 for rate in rates)


def _hyperbola(rounds: Rounds, eps: float, even: float, small: float) -> dict[str, Any]:
    """The fields of a hyperbola with few nodes, with an error of about e^-small."""
    slope = min(_WIDEST, _FARTHEST / even)
    ray = math.atan(slope)
    turn = _NARROWER * (ray - math.asin(math.exp(even - math.pi / slope)))
    angles = number(repr(turn)), number(repr(ray))

    def at(vertex: float) -> tuple[float, float, float]:
        sizes = [
            law.turned(number(repr(vertex)), *angles).largest for law, _ in rounds if law.turned
        ]
        size = math.fsum(n * float(each.log()) for each, (_, n) in zip(sizes, rounds, strict=True))
        if not size < _LARGEST_SIZE:
            return math.inf, vertex, 1.0
        step = 2 * math.pi * turn * _HALF / (small + size + 2)
        max_distance = (small + size) / (eps * vertex) * math.sin(turn) / math.sin(turn * _MIDDLE)
        return math.acosh(max(2.0, max_distance)) / step, vertex, step

    nodes, vertex, step = min(at(2.0**k) for k in _VERTICES)
    if not nodes <= _MOST_NODES:
        return {}
    fields = {"vertex": vertex, "turn": turn, "ray": ray, "step": step}
    return {**{name: repr(value) for name, value in fields.items()}, "nodes": math.ceil(nodes)}
