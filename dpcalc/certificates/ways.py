"""Methods to try for an end in a direction, one after the other."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from flint import arb

from dpcalc.certificates.balls import precision
from dpcalc.certificates.bends import FEW, bends
from dpcalc.certificates.chi_square import PARTED, at, followed
from dpcalc.certificates.contour import lowest
from dpcalc.certificates.corners import METHOD, replaced, shown
from dpcalc.certificates.divergences import profile_of
from dpcalc.certificates.effort import effort_of
from dpcalc.certificates.grammar import Refused, exact, number
from dpcalc.certificates.grids import PERTURBED, blocks, lattices, least_epsilon, masses, rounded_up
from dpcalc.certificates.lattice import Masses, divergence
from dpcalc.certificates.laws import Rounds
from dpcalc.certificates.lines import lines, long
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.certificates.outcomes import MOST, summands
from dpcalc.certificates.rare_bends import rare_bends
from dpcalc.certificates.renyi import at_an_order
from dpcalc.certificates.verdicts import NotCertified

_LARGEST_DIMENSION = 2_000
"""Largest dimension of noise whose cells are integrated."""

_HOPELESS = 1.001
"""If δ is exceeded by this factor, lattices finer than the second do not help."""

_SECOND = 2
"""The lattice that an ε which it does show is taken from, or the one before."""

_CLOSE = 1e-9
"""Relative distance to which an ε is searched."""

_PATIENCE = 10.0
"""Seconds that evidence by corners may take to check: each of them is a term of every moment."""

Ways = Callable[[dict[str, Any], str, str, str], Iterator[dict[str, Any]]]
"""Evidence to try, without the enclosure, by the arguments of `evidence`."""


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
        yield from on_lattices(statement, end, epsilon, direction)
        return
    if {"rdp", "zcdp"} & names:
        if end == "lower":
            raise NotCertified("bounds of Rényi divergences say nothing about lower ends")
        failed = None
        try:
            if names - {"rdp", "zcdp"}:
                yield from _by_corners(statement, end, epsilon, direction)
        except (NotCertified, Refused) as reason:  # divergences may show it yet
            failed = reason
        with precision(64):
            given = [row[0] for r in statement["releases"] for row in r.get("orders", ())]
            yield {"method": "order", "precision": bits, "order": _order(rounds, epsilon, given)}
        if failed:
            raise failed
        return
    curves = chain(bends(rounds, statement, epsilon), rare_bends(statement, epsilon, direction))
    failed, seen = None, "the enclosure on a line does not decide"
    if sum(n for _, n in rounds) <= FEW or long(rounds, statement, epsilon, direction):
        yield from curves
    try:
        yield from lines(rounds, statement, end, epsilon, direction, bits)
    except NotCertified as reason:
        failed, seen = reason, str(reason)
    yield from curves
    if failed and (end == "lower" or exact(statement["delta"]) == 0):
        raise failed
    if end == "upper":
        yield from on_lattices(statement, end, epsilon, direction, seen)


def _by_corners(
    statement: dict[str, Any], end: str, epsilon: str, direction: str
) -> Iterator[dict[str, Any]]:
    """With the profile that divergences show, ways for the pairs; then what those show instead."""
    points = profile_of(statement)

    def whole(found: dict[str, Any]) -> dict[str, Any]:
        rest = {name: value for name, value in found.items() if name != "precision"}
        bits = found["precision"]
        how = {"method": METHOD, "precision": bits, "enclosure": None}
        return {**how, "points": points, "rest": rest}

    others, _ = replaced(statement, whole({"precision": 0}))
    try:
        for found in _affordable(others, end, epsilon, direction):
            how = whole(found)
            with precision(how["precision"]):
                shown(statement, end, how)
            yield how
    except NotCertified as reason:
        how = whole(reason.how) if reason.how else {}
        raise NotCertified(str(reason), reason.instead, how) from reason


def _affordable(
    statement: dict[str, Any], end: str, epsilon: str, direction: str
) -> Iterator[dict[str, Any]]:
    """Those ways for the pairs that are checked in little time, and then lattices."""
    for how in by_pairs(statement, end, epsilon, direction):
        if effort_of(statement, how) <= _PATIENCE:
            yield how
    yield from on_lattices(statement, end, epsilon, direction)


def by_chi_square(
    statement: dict[str, Any], end: str, epsilon: str, _direction: str
) -> Iterator[dict[str, Any]]:
    """Rounds of one kind whose χ²-divergence is bounded; then what it shows if not this ε."""
    if end == "lower" or exact(statement["delta"]) == 0:
        raise NotCertified("bounds by the χ²-divergence say nothing about lower ends, or at δ = 0")
    with precision(64):
        ((law, count),) = rounds_of(statement["releases"], statement["adjacency"], False)
        known = list(blocks(law, count, *(float(exact(x)) for x in (statement["delta"], epsilon))))
    yield from known
    if not known:
        raise NotCertified("of these rounds no χ²-divergence is bounded")
    with precision(known[-1]["precision"]):
        rounds = rounds_of(statement["releases"], statement["adjacency"], False)
        value = followed(rounds, *(known[-1].get(name) for name in PARTED))
        h, delta = float(known[-1]["spacing"]), number(statement["delta"])
        low, high = float(exact(epsilon)), h * known[-1]["reach"]
        if not (low < high and at(value, arb(high), number(repr(h))) < delta):
            raise NotCertified("no ε follows from the blocks that were tried")
        while high - low > high * _CLOSE:
            middle = (low + high) / 2
            low, high = (
                (low, middle) if at(value, arb(middle), number(repr(h))) < delta else (middle, high)
            )
    raise NotCertified(
        "it does not follow by the blocks that were tried", rounded_up(high), known[-1]
    )


def with_known(known: dict[str, dict[str, Any]], ways: Ways) -> Ways:
    """First what is known to show it in a direction, then the ways."""

    def both(
        statement: dict[str, Any], end: str, epsilon: str, direction: str
    ) -> Iterator[dict[str, Any]]:
        if known.get(direction):
            yield dict(known[direction])
        yield from ways(statement, end, epsilon, direction)

    return both


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


def on_lattices(
    statement: dict[str, Any], _end: str, epsilon: str, direction: str, reason: str = ""
) -> Iterator[dict[str, Any]]:
    """Bounds from above, and what they show if they do not show this ε."""
    delta, eps = exact(statement["delta"]), number(epsilon)
    with precision(64):
        rounds = rounds_of(statement["releases"], statement["adjacency"], direction == "add")
    if delta == 0:
        raise NotCertified("at δ = 0 it takes losses that are bounded, with a sum of at most ε")
    if not all(law.bounds(arb(1), 2)[0] for law, _ in rounds):
        raise NotCertified("bounds of Rényi divergences next to objective-perturbed updates")
    if max(r.get("dimension", 0) for r in statement["releases"]) > _LARGEST_DIMENSION:
        raise NotCertified(f"in more than {_LARGEST_DIMENSION:,} dimensions it takes too long")
    known = list(lattices(statement, delta, direction == "add"))
    if not known:
        raise NotCertified(reason or "the rounds are too many for a lattice")
    chosen: dict[str, Any] = {}
    instead = ""
    for tried, found in enumerate(known, start=1):
        yield found
        total = lattice_masses(statement, direction, found)
        if total is None:  # finer ones take longer
            break
        if tried <= _SECOND:
            chosen, instead = found, least_epsilon(total, float(found["step"]), float(delta))
        value = divergence(total, eps, number(found["step"]))
        if tried >= _SECOND and value > _HOPELESS * number(statement["delta"]):
            break
    if not chosen:
        raise NotCertified(reason or "a lattice would take too long to check")
    shown = f"{float(exact(epsilon)):.7g}"
    seen = f"by what is proved of single updates here, δ({shown}) may be above δ"
    raise NotCertified(reason or seen, instead, chosen)


def lattice_masses(statement: dict[str, Any], direction: str, how: dict[str, Any]) -> Masses | None:
    """Masses of the sum on the lattice of a piece of evidence, None if it takes too long to check."""
    releases, chosen = json.dumps(statement["releases"]), {**how, "enclosure": None}
    reverse = direction == "add"
    return masses(releases, statement["adjacency"], reverse, json.dumps(chosen, sort_keys=True))
