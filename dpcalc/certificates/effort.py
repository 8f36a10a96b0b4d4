"""About how long a certificate takes to check, from what is written in it; nothing is evaluated.

Times are microseconds of processor time, more or less those of a laptop. They come from measurements,
and decide only what is too much to be checked: no number depends on them. What the checker refuses
at once, such as more nodes than there may be, counts as nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from dpcalc.certificates.cells import CELLS
from dpcalc.certificates.chi_square import BLOCKS, FIELDS, REACH
from dpcalc.certificates.corners import METHOD, parted, replaced
from dpcalc.certificates.grammar import BITS, NODES, ROWS, Refused
from dpcalc.certificates.lattice import LARGEST
from dpcalc.certificates.meter import function, plain
from dpcalc.certificates.outcomes import LONGEST, MOST
from dpcalc.certificates.prices import Price, cost_of, digits, field, length, size

EFFORT = 300.0
"""The most seconds that the evidence of a file may take, unless more are asked for."""

PER_CELL = 2
"""How many moments take about as long as what a cell needs."""


SPREAD = 10
"""How many times the expected effort evidence may take in the end."""


def affordable(certificates: Iterable[Any], most: float) -> None:
    """Refuse certificates that take more effort together."""
    asked = sum(map(effort, certificates))
    if not asked <= most:
        raise Refused(
            f"expected evidence that takes an effort of at most {most:,.0f}, about the seconds of "
            f"processor time; this asks for about {asked:,.0f}; check it in parts, or allow more"
        )


def effort(certificate: Any) -> float:
    """Of all evidence of a certificate, in seconds."""
    ends = (field(field(certificate, end), "evidence") for end in ("upper", "lower"))
    ways = (how for end in ends if isinstance(end, dict) for how in end.values())
    return sum(effort_of(certificate, how) for how in ways)


def effort_of(statement: Any, how: Any) -> float:
    """Of one piece of evidence, in seconds."""
    if field(how, "method") == METHOD:
        return _by_corners(statement, how)
    bits, releases = size(field(how, "precision"), BITS), field(statement, "releases")
    if not bits or not 0 < length(releases) <= ROWS:
        return 0.0
    ordered = field(statement, "adjacency") == "add-remove"
    laws = [(cost_of(each, bits, ordered), size(field(each, "count"))) for each in releases]
    total = reading(releases, bits) + reading(how, bits) + sum(law.built for law, _ in laws)
    method = METHODS.get(str(field(how, "method")))
    if method is not None:
        total += method(together(laws), how, bits)
    elif field(how, "method") == "largest loss":
        total += rationals(releases)
    return total / 1e6


def most_effort(statement: Any, how: Any) -> float:
    """How much a piece of evidence may take in the end, in seconds."""
    return 0.5 + SPREAD * effort_of(statement, how)


def _by_corners(statement: Any, how: Any) -> float:
    """A moment or two at every corner, and the rest."""
    bits = size(field(how, "precision"), BITS)
    try:
        others, rest = replaced(statement, how)
        bare = parted(statement, bare=True)
    except (Refused, TypeError, KeyError):
        return 0.0
    if field(rest, "method") == METHOD:
        return 0.0
    moments = sum(cost_of(each, bits, False).moment for each in bare[:ROWS])
    corners = length(field(how, "points")) * (3 * moments + 9 * function(bits))
    return effort_of(others, rest) + (corners + reading(bare, bits)) / 1e6


Laws = list[tuple[Price, int]]


def together(laws: Laws) -> Laws:
    """Gaussians make one, the last."""
    others = [(law, n) for law, n in laws if not law.merged]
    return [*others, *[(law, 1) for law, _ in laws if law.merged][:1]]


def reading(value: Any, bits: int) -> float:
    """Numbers are read up to three times; those of a formula are operated on, too."""
    total, left = 0.0, [(value, False)]
    while left:
        each, operand = left.pop()
        if isinstance(each, dict):
            left += ((child, False) for child in each.values())
        elif isinstance(each, list):
            formula = isinstance(each[0] if each else None, str) and each[0][:1].isalpha()
            left += ((child, formula) for child in each)
        elif isinstance(each, str):
            total += 3 * (20 + digits(each) / 20 + plain(bits) + 3 * operand * function(bits))
    return total


def rationals(releases: Any) -> float:
    """Powers of fractions, and their products, whose common factors are sought."""
    sizes = [
        min(size(field(each, "count")), LONGEST) * digits(str(field(each, "delta")))
        for each in releases
    ]
    squares = [float(each) ** 2 for each in sizes]
    products = (float(sum(sizes)) ** 2 + sum(squares)) / 2 - squares[0]
    return 2e-5 * products + 2e-4 * sum(each**1.58 for each in sizes)


def line(laws: Laws, how: Any, bits: int) -> float:
    """Moments up to where laws are quiet, and powers at every node."""
    nodes = size(field(how, "nodes"), NODES)
    if not nodes:
        return 0.0
    quiet = field(how, "quiet") if length(field(how, "quiet")) else []
    first = [min(size(each), nodes + 1) for each in quiet]
    first += [nodes + 1] * (len(laws) - len(first))
    moments = sum(
        (law.node or law.moment) * (n + 3) for (law, _), n in zip(laws, first, strict=False)
    )
    a_node = 2 * function(bits) * len(laws) + 6 * function(bits)
    return moments + sum(law.once for law, _ in laws) + nodes * a_node


def parted_line(laws: Laws, how: Any, bits: int) -> float:
    """The same with the small losses of every law, which take as long."""
    twice = [
        (law._replace(moment=2 * law.moment, node=2 * law.node, once=2 * law.once), n)
        for law, n in laws
    ]
    return line(twice, {"nodes": field(how, "nodes")}, bits)


def outcomes(laws: Laws, _: Any, bits: int) -> float:
    """Products of polynomials, and a sum over their coefficients."""
    if not all(law.terms for law, _ in laws):
        return 0.0
    made, terms, degree, each = 0.0, 1.0, 0, 5 + 20 * plain(bits)
    for law, n in laws:
        made += choices(n + 1, law.terms)  # of this law alone, from its first term to the last
        terms, degree = terms * choices(n, law.terms), degree + n * law.degree
        made += terms
        if terms * (1 + degree) > MOST:  # losses are counted in doubles, there may be fewer
            return MOST * each
    return (made + terms * (1 + degree)) * each


def choices(n: int, kinds: int) -> float:
    """Ways to choose n of some kinds; at most 1e18."""
    log = math.lgamma(n + kinds) - math.lgamma(n + 1) - math.lgamma(kinds)
    return math.exp(min(log, 41.4))


def lattice(laws: Laws, how: Any, bits: int) -> float:
    """Divergences at all points, and products of polynomials for sums of rounds."""
    reach, points = size(field(how, "reach"), LARGEST), field(how, "points")
    if not reach or length(points) != len(laws):
        return 0.0
    known = sum(
        law.point * size(n, LARGEST) + law.once for (law, _), n in zip(laws, points, strict=True)
    )
    products = sum(n.bit_length() + n.bit_count() for _, n in laws)
    return known + reach * (products * (8 + 12 * plain(bits)) + function(bits))


def chi_square(laws: Laws, how: Any, bits: int) -> float:
    """The losses of a block on a lattice, and sums over places at every place for every block."""
    reach, block = size(field(how, "reach"), REACH), size(field(how, "block"))
    if not (reach and block and len(laws) == 1) or laws[0][1] // block > BLOCKS:
        return 0.0
    points, width = field(how, "points"), field(how, "width")
    far = size(points[2], LARGEST) if length(points) == 3 else 0  # large losses, at every place
    near, law = size(points[0] if far else points, LARGEST), laws[0][0]
    sums = far * law.point + lattice([(law, block)], {"reach": width, "points": [near]}, bits)
    return sums + ((1 + laws[0][1] // block) * reach + 2 * far) * 2 * reach * plain(bits)


def in_parts(laws: Laws, how: Any, bits: int) -> float:
    """The same for all blocks and for the parts of one."""
    parts, block = field(how, "parts"), size(field(how, "block"))
    if not (block and len(laws) == 1) or length(parts) != len(FIELDS):
        return 0.0
    within = chi_square([(laws[0][0], block)], dict(zip(FIELDS, parts, strict=True)), bits)
    return chi_square(laws, how, bits) + within


def hyperbola(laws: Laws, how: Any, bits: int) -> float:
    """Moments at all nodes, over a ray."""
    nodes = size(field(how, "nodes"), NODES)
    return nodes * sum(law.turned + 4 * function(bits) for law, _ in laws)


def in_cells(laws: Laws, how: Any, bits: int) -> float:
    """Moments at all nodes, and on all cells with what they and their derivatives are bounded by."""
    nodes, cells = size(field(how, "nodes"), NODES), size(field(how, "cells"), CELLS)
    if not (nodes and cells):
        return 0.0
    return (nodes + 2 * PER_CELL * cells) * sum(law.path + 4 * function(bits) for law, _ in laws)


METHODS: dict[str, Callable[[Laws, Any, int], float]] = {
    "line": line,
    "parted line": parted_line,
    "outcomes": outcomes,
    "lattice": lattice,
    "chi-square": chi_square,
    "chi-square in parts": in_parts,
    "one round": lambda laws, *_: 2 * sum(law.point for law, _ in laws[:1]),
    "hyperbola": hyperbola,
    "hyperbola in cells": in_cells,
    "order": lambda laws, *_: sum(law.moment for law, _ in laws),
}
