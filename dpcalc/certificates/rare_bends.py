"""Hyperbolas to try for an ε of many rounds of rare samples. All of it is a choice, as of others."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flint import acb, arb

from dpcalc.certificates.balls import precision
from dpcalc.certificates.bends import SPARE_BITS
from dpcalc.certificates.contour import first, log
from dpcalc.certificates.curve import NEAR
from dpcalc.certificates.grammar import exact, number
from dpcalc.certificates.laws import Rounds, Sector
from dpcalc.certificates.mechanisms import rounds_of

_TOLERANCES = 1e-8, 1e-14
"""Relative errors aimed at, one after the other while a number is not decided."""

_WIDEST, _PER_MU = 0.5, 0.6
"""The largest angle by which real parts grow with heights, and that in units of μ: along a path whose
height is about μ a normal density hardly grows."""

_ALONG, _SIDE, _HEIGHT, _MORE = 1.0, 1.5, 2.6, 0.1
"""A path's first corner, whose height is in units of that angle; the height of the second one; how much
wider than the angle the last part is."""

_MOST_NODES = 6_000
"""That take seconds."""

_VERTICES = range(-8, 6)
"""Logarithms of real parts to base 2 that are tried."""

_FAR, _STEPS = (8.0, 16.0, 32.0, 48.0), 5
"""The last node, in units of the hyperbola's angle, and how often the way to it is halved."""

_SPARE = 6.0
"""Logarithm of what the error may be larger than it is aimed at."""

_CELL, _COARSE = 0.15, 53
"""The width of a cell in the same units, and bits with which choices are made."""


def rare_bends(statement: dict[str, Any], epsilon: str, direction: str) -> Iterator[dict[str, Any]]:
    """Hyperbolas in cells one after the other, each with a smaller error; none where none would serve.

    Args:
        statement: adjacency, releases and delta of a certificate.
        epsilon: where δ(ε) is asked for, as an exact number.
        direction: remove, add or both.
    """
    delta, releases = float(exact(statement["delta"])), statement["releases"]
    asked = json.dumps([releases, statement["adjacency"], direction == "add"])
    total = sum(release["count"] for release in releases)
    for tolerance in _TOLERANCES if delta > 0 else ():
        small = -math.log(tolerance) - math.log(delta)
        found = _hyperbola(asked, float(f"{float(exact(epsilon)):.3g}"), float(f"{small:.4g}"))
        if found:
            bits = math.ceil(small / math.log(2)) + total.bit_length() + SPARE_BITS
            yield {"method": "hyperbola in cells", "precision": bits, **found}


def _mu(release: dict[str, Any]) -> float:
    """What a record moves the sum of a batch by."""
    if "mu" in release:
        return float(number(release["mu"]))
    return 1 / float(number(release["noise_multiplier"]))


@lru_cache(maxsize=8)
def _hyperbola(asked: str, eps: float, small: float) -> dict[str, Any]:
    """The fields of a hyperbola with few nodes, with an error of about e^-small; kept for both ends."""
    with precision(_COARSE):
        rounds, releases = rounds_of(*json.loads(asked)), json.loads(asked)[0]
        if not all(law.sector for law, _ in rounds):
            return {}
        turn = min(_WIDEST, _PER_MU * min(map(_mu, releases)))
        return _Strip(rounds, eps, small, turn).fields()


@dataclass(frozen=True)
class _Strip:
    """Hyperbolas whose angles are chosen."""

    rounds: Rounds
    eps: float
    small: float
    turn: float

    def fields(self) -> dict[str, Any]:
        """Of the one with the fewest nodes, nothing if they are too many."""
        reach = math.sinh(min(self.end(1.0), _FAR[-1]))

        def nodes(vertex: float) -> float:
            return math.asinh(reach / vertex) * self.exponent(vertex)

        vertex = min((2.0**k for k in _VERTICES), key=nodes)
        step = math.pi * self.turn * (NEAR - 1) / NEAR / self.exponent(vertex)
        last = self.end(vertex) / step
        if not last <= _MOST_NODES:
            return {}
        places = {"vertex": vertex, **self.path(), "step": step}
        known = {name: repr(value) for name, value in places.items()}
        return {**known, "nodes": math.ceil(last), "cells": math.ceil(last * step / _CELL)}

    def path(self) -> dict[str, float]:
        """Over which moments are integrated."""
        names = "turn", "along", "side", "height", "ray"
        sides = _SIDE * self.turn, _HEIGHT * self.turn
        return dict(zip(names, (self.turn, _ALONG, *sides, self.turn + _MORE), strict=True))

    def sectors(self, vertex: float) -> list[tuple[Sector, int]]:
        places = [number(repr(each)) for each in (vertex, *self.path().values())]
        return [(law.sector(*places), n) for law, n in self.rounds if law.sector]

    def exponent(self, vertex: float) -> float:
        """Of how large moments are on the first cell, and the error's."""
        square, zero = (vertex / math.sin(self.turn) * _CELL / 2) ** 2, arb(0)
        logs = (
            n * log(abs(each.moment(acb(vertex))) + each.bend(zero, zero) * square / 2)
            for each, n in self.sectors(vertex)
        )
        return self.small + max(0.0, math.fsum(logs)) + _SPARE

    def bounded(self, vertex: float, t: float) -> bool:
        """Whether next to nothing is beyond it."""
        scale = arb(vertex / math.sin(self.turn))
        x = scale * arb(t).cosh() * math.sin(self.turn / NEAR)
        y = scale * arb(t).sinh() * math.cos(self.turn)
        logs = (n * log(each.beyond(x, y)) for each, n in self.sectors(vertex))
        return math.fsum(logs) - self.eps * float(x) < -self.small

    def end(self, vertex: float) -> float:
        """About the first t beyond which there is next to nothing."""
        far = next((t for t in _FAR if self.bounded(vertex, t)), math.inf)
        if far == math.inf:
            return far
        return first(lambda t: self.bounded(vertex, t), far / 2, far, _STEPS)
