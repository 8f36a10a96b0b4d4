"""Evidence for one end in one direction: an enclosure of δ(ε) with all that reproduces it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from flint import arb

from dpcalc.certificates.checker import enclosure, holds
from dpcalc.certificates.contour import Chooser
from dpcalc.certificates.grammar import exact, number
from dpcalc.certificates.inversion import Rounds
from dpcalc.certificates.laws import precision
from dpcalc.certificates.mechanisms import rounds_of

_MOST_OUTCOMES = 100_000
_MOST_NODES, _MOST_CHEAP_NODES = 12_000, 150_000
"""Where a law's moment is an integral, and where all are closed forms."""

_PLANS = (1e-7, 0.0), (1e-12, 0.0), (1e-18, 0.0), (1e-8, 3e-3), (1e-9, 3e-4)
"""Relative errors aimed at, with smoothing in units of the line's 1/c, one after the other while a
number is not decided; smoothing is for laws that do not let the line end."""

_OFTEN = 20
"""Expected batches with the record from which on sampling without replacement is certified."""

_DIGITS = 25
"""Of the ends of an enclosure, as they are written."""


class NotCertified(Exception):
    """No evidence was found; the number may still be right."""


class Contradicted(Exception):
    """The number is certainly wrong."""


def evidence(statement: dict[str, Any], end: str, epsilon: str, direction: str) -> dict[str, Any]:
    """What shows that δ(ε) in a direction is at most δ ("upper"), or at least ("lower").

    Args:
        statement: adjacency, releases and delta of a certificate.
        end: upper or lower.
        epsilon: the end, as an exact number.
        direction: remove, add or both.

    Raises:
        NotCertified: if nothing shows it.
        Contradicted: if δ(ε) is certainly on the other side.
    """
    whole = {**statement, end: {"epsilon": epsilon}}
    shortcut = {"method": "largest loss", "precision": 53}
    if end == "upper" and _bounded(statement) and holds(whole, end, direction, shortcut):
        return shortcut
    delta, seen = exact(statement["delta"]), "nothing could be computed"
    for how in _ways(statement, epsilon, direction):
        with precision(how["precision"]):
            rounds = rounds_of(statement["releases"], statement["adjacency"], direction == "add")
            value = enclosure(rounds, number(epsilon), {**how, "enclosure": None})
            if not value.is_finite():
                continue
            ends = _outward(value)
        how["enclosure"] = list(ends)
        least, most = map(exact, ends)
        if (most <= delta) if end == "upper" else (least >= delta):
            return how
        if (least > delta) if end == "upper" else (most < delta):
            raise Contradicted(f"δ({epsilon}) is in [{ends[0]}, {ends[1]}]")
        seen = f"δ({epsilon}) is in [{ends[0]}, {ends[1]}], which does not decide"
    raise NotCertified(seen)


def _ways(statement: dict[str, Any], epsilon: str, direction: str) -> Iterator[dict[str, Any]]:
    """Methods that apply, the cheap and exact ones first."""
    with precision(64):
        rounds = rounds_of(statement["releases"], statement["adjacency"], direction == "add")
        bits = 96 + sum(n for _, n in rounds).bit_length()
        bounded = bool(sum(law.largest * n for law, n in rounds) <= number(epsilon))
    if bounded:
        yield {"method": "bounded", "precision": bits}
        return
    if len(rounds) == 1 and rounds[0][1] == 1 and rounds[0][0].profile(arb(1)).is_finite():
        yield from ({"method": "one round", "precision": k * bits} for k in (1, 4, 16))
        return
    outcomes = math.prod(n + 1 for _, n in rounds)
    if all(law.atoms for law, _ in rounds) and outcomes <= _MOST_OUTCOMES:
        yield from ({"method": "outcomes", "precision": k * bits} for k in (1, 4))
        return
    yield from _lines(rounds, statement, epsilon, bits)


def _lines(
    rounds: Rounds, statement: dict[str, Any], epsilon: str, bits: int
) -> Iterator[dict[str, Any]]:
    if exact(statement["delta"]) == 0:
        raise NotCertified("at δ = 0 it takes losses that are bounded, with a sum of at most ε")
    releases = statement["releases"]
    if all(r["mechanism"] == "gaussian-without-replacement" for r in releases):
        drawn = sum(r["count"] * exact(r["rate"]) for r in releases)
        if drawn < _OFTEN:  # the atom at loss 0 stays, and no line ends
            raise NotCertified(
                f"the record is drawn {float(drawn):.3g} times; it takes {_OFTEN} or more"
            )
    log_delta = math.log(float(exact(statement["delta"])))
    most = _MOST_NODES if any(law.strip for law, _ in rounds) else _MOST_CHEAP_NODES
    chooser = Chooser(rounds, float(exact(epsilon)))
    ended = tried = False
    for number_of_plan, (tolerance, smoothing) in enumerate(_PLANS):
        unsmoothed = smoothing == 0
        if number_of_plan == 0 or unsmoothed == ended:
            line = chooser.line(log_delta + math.log(tolerance), smoothing)
            if line["nodes"] <= most:
                ended = ended or unsmoothed
                yield {"method": "line", "precision": bits - round(math.log2(tolerance)), **line}
                tried = True
    if not tried:
        raise NotCertified(f"more than {most:,} nodes would be needed")


def _bounded(statement: dict[str, Any]) -> bool:
    return {r["mechanism"] for r in statement["releases"]} <= {"approximate", "laplace"}


def _outward(value: Any) -> tuple[str, str]:
    """Ends of a slightly wider interval, as decimals, so that it is found again on any machine."""
    middle, radius = (_fraction(part) for part in (value.mid(), value.rad()))
    reach = 2 * radius + abs(middle) / 10**_DIGITS
    return _decimal(middle - reach, math.floor), _decimal(middle + reach, math.ceil)


def _fraction(value: Any) -> Fraction:
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _decimal(value: Fraction, rounded: Callable[[Fraction], int]) -> str:
    """The next decimal of so many digits on a side; what is below 0 becomes 0."""
    if value <= 0:
        return "0"
    power = _DIGITS - len(str(value.numerator)) + len(str(value.denominator))
    return f"{rounded(value * Fraction(10) ** power)}e{-power}"
