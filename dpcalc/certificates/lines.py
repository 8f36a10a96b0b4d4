"""Vertical lines to try for an ε: how many nodes, how finely, with what smoothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
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

_PLANS = (1e-7, 0.0), (1e-12, 0.0), (1e-18, 0.0), (1e-8, 3e-3), (1e-9, 3e-4)
"""Relative errors aimed at, with smoothing in units of the line's 1/c, one after the other while a
number is not decided; smoothing is for laws that do not let the line end."""

_PARTED = 1e-7, 1e-9
"""The same for lines without sums of small losses, for laws that have such a part."""

_MANY = 1_000
"""Nodes of a line from which on one without small losses is tried first."""

_SPARED = 48
"""Bits that a line does not need: it aims at a relative error, and next tries a smaller one."""


def lines(
    rounds: Rounds, statement: dict[str, Any], epsilon: str, direction: str, bits: int
) -> Iterator[dict[str, Any]]:
    """Lines one after the other, each with a smaller error.

    Args:
        rounds: laws with numbers of rounds.
        statement: adjacency, releases and delta of a certificate.
        epsilon: where δ(ε) is asked for, as an exact number.
        direction: remove, add or both.
        bits: of precision, for an error of about one.

    Raises:
        NotCertified: at δ = 0, or where every line has too many nodes.
    """
    if exact(statement["delta"]) == 0:
        raise NotCertified("at δ = 0 it takes losses that are bounded, with a sum of at most ε")
    asked, about = _asked(statement, epsilon, direction)
    ended = tried = False
    for number_of_plan, (tolerance, smoothing) in enumerate(_PLANS):
        unsmoothed = smoothing == 0
        if number_of_plan == 0 or unsmoothed == ended:
            line = _line(asked, *about, tolerance, smoothing)
            if number_of_plan == 0 and _costly(rounds, line, _MANY):
                for parted in _parted_lines(rounds, asked, about, bits):
                    yield parted
                    tried = True
            if not _costly(rounds, line, _MOST_NODES) and line["nodes"] <= _MOST_CHEAP_NODES:
                ended = ended or unsmoothed
                yield {"method": "line", "precision": _precise(bits, tolerance), **line}
                tried = True
    if not tried:
        raise NotCertified("a line would need too many nodes")


def endless(rounds: Rounds, statement: dict[str, Any], epsilon: str, direction: str) -> bool:
    """Whether a line has too many nodes unless it is smoothed; arguments as of `lines`."""
    if exact(statement["delta"]) == 0:
        return True
    asked, about = _asked(statement, epsilon, direction)
    return _costly(rounds, _line(asked, *about, *_PLANS[0]), _MOST_NODES)


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
