"""Vertical lines to try for an ε: how many nodes, how finely, with what smoothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpcalc.certificates.balls import precision
from dpcalc.certificates.contour import Chooser
from dpcalc.certificates.grammar import exact
from dpcalc.certificates.laws import Rounds
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.certificates.verdicts import NotCertified

_MOST_NODES, _MOST_CHEAP_NODES = 40_000, 150_000
"""Where a law's moments take a quadrature, and where all are closed forms."""

_LONG = 12_000
"""Nodes of such moments from which on a hyperbola may take less time."""

_TOLERANCES = 1e-7, 1e-12, 1e-18
"""Relative errors aimed at, one after the other while a number is not decided."""

_SMOOTHING, _LEAST = (1e-8, 3e-3), (1e-9, 3e-4)
"""The first and the last for laws that do not let the line end: relative errors aimed at, with the
smoothing in units of the line's 1/c. Nodes are inversely proportional to it."""

_TIMES, _SPARE, _LESS = 4, 0.7, 0.8
"""How many are tried, what of the error that is tolerable is aimed at, and how much less each is."""

_ABOVE = 0.25
"""What of an enclosure by smoothing lies above δ(ε) where losses are close to one another."""

_PARTED = 1e-7, 1e-9
"""The same for lines without sums of small losses, for laws that have such a part."""

_MANY = 1_000
"""Nodes of a line from which on one without small losses is tried first."""

_SPARED = 48
"""Bits that a line does not need: it aims at a relative error, and next tries a smaller one."""


def lines(
    rounds: Rounds, statement: dict[str, Any], end: str, epsilon: str, direction: str, bits: int
) -> Iterator[dict[str, Any]]:
    """Lines one after the other, each with a smaller error.

    If what is yielded is given the enclosure that came of it, the next is no longer than is needed.

    Args:
        rounds: laws with numbers of rounds.
        statement: adjacency, releases and delta of a certificate.
        end: upper or lower.
        epsilon: where δ(ε) is asked for, as an exact number.
        direction: remove, add or both.
        bits: of precision, for an error of about one.

    Raises:
        NotCertified: at δ = 0, or where every line has too many nodes.
    """
    if exact(statement["delta"]) == 0:
        raise NotCertified("at δ = 0 it takes losses that are bounded, with a sum of at most ε")
    asked, about = _asked(statement, epsilon, direction)
    tried = False
    first = _line(asked, *about, _TOLERANCES[0], 0.0)
    if _costly(rounds, first, _MANY):
        for parted in _parted_lines(rounds, asked, about, bits):
            yield parted
            tried = True
    if _short(rounds, first):
        for tolerance in _TOLERANCES:
            line = _line(asked, *about, tolerance, 0.0)
            if _short(rounds, line):
                yield {"method": "line", "precision": _precise(bits, tolerance), **line}
        return
    chosen: tuple[float, float] | None = _SMOOTHING
    for left in reversed(range(_TIMES)):
        if chosen is None:
            break
        tolerance, smoothing = chosen
        line = _line(asked, *about, tolerance, smoothing)
        made = {"method": "line", "precision": _precise(bits, tolerance), **line}
        if _short(rounds, line):
            yield made
            tried = True
        chosen = _less(smoothing, made.get("enclosure"), exact(statement["delta"]), end)
        if chosen and left == 1:
            chosen = _LEAST
    if not tried:
        raise NotCertified("a line would need too many nodes")


def _short(rounds: Rounds, line: dict[str, Any]) -> bool:
    return not _costly(rounds, line, _MOST_NODES) and line["nodes"] <= _MOST_CHEAP_NODES


def _less(
    smoothing: float, enclosure: list[str] | None, delta: Fraction, end: str
) -> tuple[float, float] | None:
    """Tolerance and smoothing with which δ(ε) will be decided, by what came of larger ones."""
    if smoothing <= _LEAST[1]:
        return None
    if enclosure is None:
        return _LEAST
    low, high = (float(exact(text) / delta) for text in enclosure)
    above = _ABOVE * (high - low)
    room, error = 1 - (high - above), above  # errors are proportional to squares of smoothing
    if end == "lower":
        room, error = -room, high - low - above
    share = math.sqrt(_SPARE * max(0.0, room) / error) if error > 0 else 0.0
    least = smoothing * min(share, _LESS)
    return (_LEAST[0], least) if least > _LEAST[1] else _LEAST


def long(rounds: Rounds, statement: dict[str, Any], epsilon: str, direction: str) -> bool:
    """Whether a line has many nodes unless it is smoothed; arguments as of `lines`."""
    if exact(statement["delta"]) == 0:
        return True
    asked, about = _asked(statement, epsilon, direction)
    return _costly(rounds, _line(asked, *about, _TOLERANCES[0], 0.0), _LONG)


def _asked(statement: dict[str, Any], epsilon: str, direction: str) -> tuple[str, tuple[str, str]]:
    """The rounds, with ε and δ in few digits."""
    asked = json.dumps([statement["releases"], statement["adjacency"], direction == "add"])
    return asked, (f"{float(exact(epsilon)):.6g}", f"{float(exact(statement['delta'])):.6g}")


def _costly(rounds: Rounds, line: dict[str, Any], most: int) -> bool:
    """Whether moments that are not in closed form are taken at more nodes than these."""
    return any(law.strip and q > most for (law, _), q in zip(rounds, line["quiet"], strict=True))


def _precise(bits: int, tolerance: float) -> int:
    return bits - _SPARED - round(math.log2(tolerance))


def _parted_lines(
    rounds: Rounds, asked: str, about: tuple[str, str], bits: int
) -> Iterator[dict[str, Any]]:
    if any(law.parted for law, _ in rounds):
        for tolerance in _PARTED:
            line = _line(asked, *about, tolerance, None)
            if line and line["nodes"] <= _MOST_NODES:
                yield {"method": "parted line", "precision": _precise(bits, tolerance), **line}


@lru_cache(maxsize=16)
def _line(
    asked: str, eps: str, delta: str, tolerance: float, smoothing: float | None
) -> dict[str, Any]:
    """A line for an ε and δ of few digits, parted if there is no smoothing; one serves both ends."""
    with precision(64):
        chooser = _chooser(asked, eps)
        tolerated = math.log(float(delta)) + math.log(tolerance)
        if smoothing is None:
            return chooser.parted_line(tolerated) or {}
        return chooser.line(tolerated, smoothing)


@lru_cache(maxsize=4)
def _chooser(asked: str, eps: str) -> Chooser:
    return Chooser(rounds_of(*json.loads(asked)), float(eps))
