"""Evidence for one end in one direction: an enclosure of δ(ε) with all that reproduces it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb

from dpcalc.certificates.balls import precision
from dpcalc.certificates.checker import enclosure, holds
from dpcalc.certificates.chi_square import FIELDS, at, followed
from dpcalc.certificates.contour import Chooser, lowest
from dpcalc.certificates.grammar import Refused, exact, number
from dpcalc.certificates.grids import PERTURBED, blocks, lattices, least_epsilon, masses, rounded_up
from dpcalc.certificates.lattice import Masses, divergence
from dpcalc.certificates.laws import Rounds
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.certificates.methods import BOUNDS
from dpcalc.certificates.outcomes import LONGEST, MOST, summands
from dpcalc.certificates.renyi import at_an_order

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

_LARGEST_DIMENSION = 2_000
"""Largest dimension of noise whose cells are integrated."""

_HOPELESS = 1.001
"""If δ is exceeded by this factor, lattices finer than the second do not help."""

_DIGITS = 25
"""Of the ends of an enclosure, as they are written."""


_CLOSE = 1e-9
"""Relative distance to which an ε is searched."""

Ways = Callable[[dict[str, Any], str, str, str], Iterator[dict[str, Any]]]
"""Evidence to try, without the enclosure, by the arguments of `evidence`."""


class NotCertified(Exception):
    """No evidence was found; the number may still be right.

    Attributes:
        instead: a larger ε for which there is evidence, or "".
    """

    def __init__(self, reason: str, instead: str = "") -> None:
        super().__init__(reason)
        self.instead = instead


class Contradicted(Exception):
    """The number is certainly wrong."""


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
    delta, seen = exact(statement["delta"]), "nothing could be computed"
    for how in (ways or by_pairs)(statement, end, epsilon, direction):
        with precision(how["precision"]):
            try:
                value = _value(statement, epsilon, direction, how)
            except Refused as reason:  # it would take too long
                seen = str(reason)
                continue
            if not value.is_finite():
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


def by_pairs(
    statement: dict[str, Any], end: str, epsilon: str, direction: str
) -> Iterator[dict[str, Any]]:
    """Methods that apply to the rounds' dominating pairs, the cheap and exact ones first."""
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
    if all(law.terms for law, _ in rounds) and summands(rounds) <= MOST:
        yield from ({"method": "outcomes", "precision": k * bits} for k in (1, 4, 16, 64))
        return
    names = {release["mechanism"] for release in statement["releases"]}
    if names & PERTURBED:
        if end == "lower":
            raise NotCertified("bounds of objective-perturbed updates say nothing about lower ends")
        yield from _on_lattices(rounds, statement, epsilon, direction)
        return
    if {"rdp", "zcdp"} & names:
        if end == "lower":
            raise NotCertified("bounds of Rényi divergences say nothing about lower ends")
        with precision(64):
            given = [row[0] for r in statement["releases"] for row in r.get("orders", ())]
            yield {"method": "order", "precision": bits, "order": _order(rounds, epsilon, given)}
        return
    try:
        yield from _lines(rounds, statement, epsilon, direction, bits)
        seen = "the enclosure on a line does not decide"
    except NotCertified as reason:
        if end == "lower" or exact(statement["delta"]) == 0:
            raise
        seen = str(reason)
    if end == "upper":
        yield from _on_lattices(rounds, statement, epsilon, direction, seen)


def by_chi_square(
    statement: dict[str, Any], end: str, epsilon: str, _direction: str
) -> Iterator[dict[str, Any]]:
    """Rounds of one kind whose χ²-divergence is bounded; then what it shows if not this ε."""
    if end == "lower" or exact(statement["delta"]) == 0:
        raise NotCertified("bounds by the χ²-divergence say nothing about lower ends, or at δ = 0")
    with precision(64):
        ((law, count),) = rounds_of(statement["releases"], statement["adjacency"], False)
        known = list(blocks(law, count, float(exact(statement["delta"]))))
    yield from known
    if not known:
        raise NotCertified("of these rounds no χ²-divergence is bounded")
    with precision(known[-1]["precision"]):
        rounds = rounds_of(statement["releases"], statement["adjacency"], False)
        value = followed(rounds, *(known[-1][name] for name in FIELDS))
        h, delta = float(known[-1]["spacing"]), number(statement["delta"])
        low, high = float(exact(epsilon)), h * known[-1]["reach"]
        while high - low > high * _CLOSE:
            middle = (low + high) / 2
            low, high = (
                (low, middle) if at(value, arb(middle), number(repr(h))) < delta else (middle, high)
            )
    raise NotCertified("it does not follow by the blocks that were tried", rounded_up(high))


def _order(rounds: Rounds, epsilon: str, given: list[str]) -> str:
    """The order at which the moment's bound is about the least, the given ones among them."""

    def bound(log_c: float) -> float:
        value = at_an_order(rounds, number(epsilon), arb(math.exp(log_c))).upper()
        return float(value.log()) if value.is_finite() and value > 0 else math.inf

    grid = [k / 8 for k in range(-160, 241)]
    best = min(grid, key=bound)
    found, _ = lowest(bound, best - 0.125, best + 0.125, 40)
    orders = [repr(1 + math.exp(found)), *(text for text in given if exact(text) > 1)]
    return min(orders, key=lambda order: bound(math.log(exact(order) - 1)))


def _on_lattices(
    rounds: Rounds, statement: dict[str, Any], epsilon: str, direction: str, reason: str = ""
) -> Iterator[dict[str, Any]]:
    """Bounds from above, and what they show if they do not show this ε."""
    delta, eps = exact(statement["delta"]), number(epsilon)
    if delta == 0:
        raise NotCertified("at δ = 0 it takes losses that are bounded, with a sum of at most ε")
    if not all(law.bounds(arb(1), 2)[0] for law, _ in rounds):
        raise NotCertified("bounds of Rényi divergences next to objective-perturbed updates")
    if max(r.get("dimension", 0) for r in statement["releases"]) > _LARGEST_DIMENSION:
        raise NotCertified(f"in more than {_LARGEST_DIMENSION:,} dimensions it takes too long")
    known = list(lattices(statement, delta, direction == "add"))
    if not known:
        raise NotCertified(reason or "the rounds are too many for a lattice")
    chosen = known[min(len(known), 2) - 1]
    for found in known:
        yield found
        total = _masses(statement, direction, found)
        hopeless = divergence(total, eps, number(found["step"])) > _HOPELESS * number(
            statement["delta"]
        )
        if found is chosen and hopeless:
            break
    total = _masses(statement, direction, chosen)
    instead = least_epsilon(total, float(chosen["step"]), float(delta))
    shown = f"{float(exact(epsilon)):.7g}"
    seen = f"by what is proved of single updates here, δ({shown}) may be above δ"
    raise NotCertified(reason or seen, instead)


def _masses(statement: dict[str, Any], direction: str, how: dict[str, Any]) -> Masses:
    releases, chosen = json.dumps(statement["releases"]), {**how, "enclosure": None}
    reverse = direction == "add"
    return masses(releases, statement["adjacency"], reverse, json.dumps(chosen, sort_keys=True))


def _value(statement: dict[str, Any], epsilon: str, direction: str, how: dict[str, Any]) -> Any:
    """What the checker will find."""
    if how["method"] == "lattice":
        total = _masses(statement, direction, how)
        return divergence(total, number(epsilon), number(how["step"]))
    rounds = rounds_of(statement["releases"], statement["adjacency"], direction == "add")
    return enclosure(rounds, number(epsilon), {**how, "enclosure": None})


def _lines(
    rounds: Rounds, statement: dict[str, Any], epsilon: str, direction: str, bits: int
) -> Iterator[dict[str, Any]]:
    if exact(statement["delta"]) == 0:
        raise NotCertified("at δ = 0 it takes losses that are bounded, with a sum of at most ε")
    asked = json.dumps([statement["releases"], statement["adjacency"], direction == "add"])
    about = f"{float(exact(epsilon)):.6g}", f"{float(exact(statement['delta'])):.6g}"
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
    power = _DIGITS - len(str(value.numerator)) + len(str(value.denominator))
    return f"{rounded(value * Fraction(10) ** power)}e{-power}"
