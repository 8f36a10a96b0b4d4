"""Evidence for one end in one direction: an enclosure of δ(ε) with all that reproduces it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpcalc.certificates.balls import precision
from dpcalc.certificates.checker import enclosure, holds
from dpcalc.certificates.corners import METHOD, replaced
from dpcalc.certificates.effort import most_effort
from dpcalc.certificates.grammar import Refused, exact, number
from dpcalc.certificates.lattice import divergence
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.certificates.meter import Exhausted, allowed
from dpcalc.certificates.methods import BOUNDS
from dpcalc.certificates.outcomes import LONGEST
from dpcalc.certificates.verdicts import Contradicted, NotCertified
from dpcalc.certificates.ways import Ways, by_pairs, lattice_masses

_DIGITS = 25
"""Of the ends of an enclosure, as they are written."""

_SMALLEST = 900
"""The power of ten below which none is told from 0."""

_PRINTED = 10_000
"""Numbers of fewer bits are printed by Python whatever its limits."""


def evidence(
    statement: dict[str, Any], end: str, epsilon: str, direction: str, ways: Ways | None = None
) -> dict[str, Any]:
    """What shows that δ(ε) in a direction is at most δ ("upper"), or at least ("lower").

    Args:
        statement: adjacency, releases and delta of a certificate.
        end: upper or lower.
        epsilon: the end, as an exact number.
        direction: remove, add or both.
        ways: methods to try, those of dominating pairs if None.

    Raises:
        NotCertified: if nothing shows it.
        Contradicted: if δ(ε) is certainly on the other side.
    """
    whole = {**statement, end: {"epsilon": epsilon}}
    shortcut = {"method": "largest loss", "precision": 53}
    if _bounded(statement) and holds(whole, end, direction, shortcut):
        return shortcut
    try:
        return _by_methods(statement, end, epsilon, direction, ways or by_pairs)
    except Refused as reason:  # the checker takes no such numbers
        raise NotCertified(f"the checker refuses it: {reason}") from reason


def _by_methods(
    statement: dict[str, Any], end: str, epsilon: str, direction: str, ways: Ways
) -> dict[str, Any]:
    """By the first method that shows it."""
    delta, seen = exact(statement["delta"]), "nothing could be computed"
    for how in ways(statement, end, epsilon, direction):
        with precision(how["precision"]):
            try:
                value = _value(statement, epsilon, direction, how)
            except (Refused, Exhausted) as reason:  # it would take too long
                seen = str(reason)
                continue
            if not value.is_finite() or not value.rad() < 1:
                continue
            ends = _outward(value)
        how["enclosure"] = list(ends)
        least, most = map(exact, ends)
        if (most <= delta) if end == "upper" else (least > delta):
            return how
        seen = f"δ({epsilon}) is in [{ends[0]}, {ends[1]}], which does not decide"
        if how["method"] in BOUNDS:
            seen = f"δ({epsilon}) is below {ends[1]} only"
        elif (least > delta) if end == "upper" else (most < delta):
            raise Contradicted(f"δ({epsilon}) is in [{ends[0]}, {ends[1]}]")
    raise NotCertified(seen)


def _value(statement: dict[str, Any], epsilon: str, direction: str, how: dict[str, Any]) -> Any:
    """What the checker will find."""
    if how["method"] == METHOD:
        others, rest = replaced(statement, {**how, "enclosure": None})
        return _value(others, epsilon, direction, rest)
    if how["method"] == "lattice":
        total = lattice_masses(statement, direction, how)
        if total is None:
            raise Exhausted("a lattice would take too long to check")
        return divergence(total, number(epsilon), number(how["step"]))
    with allowed(most_effort(statement, how)):
        rounds = rounds_of(statement["releases"], statement["adjacency"], direction == "add")
        return enclosure(rounds, number(epsilon), {**how, "enclosure": None})


def _bounded(statement: dict[str, Any]) -> bool:
    releases = statement["releases"]
    known = {r["mechanism"] for r in releases} <= {"approximate", "laplace"}
    plain = all(isinstance(r.get("epsilon"), str) for r in releases)
    return known and plain and sum(r["count"] for r in releases) <= LONGEST


def _outward(value: Any) -> tuple[str, str]:
    """Ends of a slightly wider interval, as decimals, so that it is found again on any machine."""
    middle, radius = (_fraction(part) for part in (value.mid(), value.rad()))
    reach = radius * (1 + Fraction(1, 10**6)) + abs(middle) / 10**_DIGITS
    return _decimal(middle - reach, math.floor), _decimal(middle + reach, math.ceil)


def _fraction(value: Any) -> Fraction:
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _decimal(value: Fraction, rounded: Callable[[Fraction], int]) -> str:
    """The next decimal of this many digits on a side; what is below 0 becomes 0."""
    if value <= 0:
        return "0"
    power = min(_DIGITS - _length(value.numerator) + _length(value.denominator), _SMALLEST)
    return f"{rounded(value * Fraction(10) ** power)}e{-power}"


def _length(value: int) -> int:
    """Decimal digits of a number above 0; of long ones, which Python does not print, about."""
    bits = value.bit_length()
    return len(str(value)) if bits < _PRINTED else math.ceil(bits * math.log10(2))
