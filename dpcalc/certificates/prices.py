"""About how long it takes to evaluate the law of a release, from its parameters as they are written.

Times are microseconds of processor time, more or less those of a laptop.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from dpcalc.certificates.falling import EFFORT, LEVELS
from dpcalc.certificates.grammar import Refused, exact
from dpcalc.certificates.meter import function, integrand, plain
from dpcalc.certificates.tables import larger_profile
from dpcalc.certificates.updates import DIMENSIONS


class Price(NamedTuple):
    """Of one law."""

    moment: float = 0  # one value
    point: float = 0  # both divergences at one point
    built: float = 0  # what it takes in any case
    once: float = 0  # on a line or a lattice
    terms: int = 0  # in a sum over outcomes
    degree: int = 0  # of their polynomials
    merged: bool = False  # whether it makes one law with others of its kind
    node: float = 0  # one value on a line, if they have a quadrature in common
    turned: float = 0  # one value on a hyperbola
    path: float = 0  # and over a path, for which it is made of parts


def field(table: Any, name: str) -> Any:
    """Of a table; None if there is none."""
    return table.get(name) if isinstance(table, dict) else None


def size(value: Any, most: float = math.inf) -> int:
    """A whole number, 0 if it is none or too large."""
    return value if type(value) is int and 0 < value <= most else 0


def length(value: Any) -> int:
    """Of a list."""
    return len(value) if isinstance(value, list) else 0


def integral(bits: int, functions: int, evaluations: float) -> float:
    """Of so many functions, evaluated so often for every bit."""
    return evaluations * bits * integrand(bits, functions)


def digits(text: str) -> int:
    """About how many an exact number has."""
    mark = "p" if text.startswith("0x") else "e"
    return len(text) + sum(map(int, re.findall(mark + r"[+-]?([0-9]{1,4})", text)))


ADDED = 1.5e-5
"""Of a sum of fractions, for the square of its digits."""


def rows(table: Any) -> int:
    """Digits of all numbers in a table."""
    known = (row for row in table if isinstance(row, list)) if isinstance(table, list) else ()
    return sum(digits(text) for row in known for text in row if isinstance(text, str))


def gaussian(_: Any, bits: int, __: bool) -> Price:
    """A closed form."""
    return Price(2 * function(bits), 6 * function(bits), merged=True)


def two_values(_: Any, bits: int, __: bool) -> Price:
    """Laplace noise, pure and approximate bounds."""
    return Price(4 * function(bits), 8 * function(bits), terms=2)


def about(value: Any) -> float:
    """A number as it is written, if it is a plain one above 0; else 1."""
    try:
        found = float.fromhex(value) if value.startswith("0x") else float(value)
    except (AttributeError, ValueError, OverflowError):
        return 1.0
    return found if 0 < found < math.inf else 1.0


def in_common(points: float, bits: int, moment: float) -> Price:
    """Weights, places and powers at so many points, and the integrals of an error."""
    once = 12 * points * function(bits) + 8 * moment
    return Price(moment, once=once, node=points * function(bits) / 20)


def poisson(release: Any, bits: int, ordered: bool) -> Price:
    """A quadrature on a line; closed forms on a lattice."""
    mu = min(1 / about(field(release, "noise_multiplier")), 1e6)
    height = min(1.0, 0.5 / mu)
    points = 2 * (math.sqrt(1.5 * bits) + 3 + 2 * mu) * (0.7 * bits + 14) / (6 * height)
    law = in_common(points, bits, integral(bits, 3 if ordered else 5, 6))
    path = integral(bits, 3, 3.5) if ordered else integral(bits, 5, 6)
    return law._replace(point=40 * function(bits), turned=integral(bits, 3, 6), path=path)


def fixed_size(release: Any, bits: int, _: bool) -> Price:
    """A quadrature on a line, of losses of either sign; closed forms on a lattice."""
    mu, lost = min(about(field(release, "mu")), 1e6), 0.7 * bits + 14
    reach = (math.sqrt(1.5 * bits) + 3 + 2 * mu) * max(1.0, 1.4 * mu)
    law = in_common(2 * (lost + reach) * lost / 4.4, bits, 4 * integral(bits, 3, 12))
    each = integral(bits, 3, 6)
    return law._replace(point=20 * function(bits), turned=each, path=each)


def mixture(release: Any, bits: int, _: bool) -> Price:
    """A sum, whose weights are added exactly."""
    parts, n = field(release, "components"), length(field(release, "components"))
    return Price(3 * n * function(bits), 8 * n * function(bits), built=rows(parts) ** 2 * ADDED)


def norm(release: Any, bits: int, _: bool) -> Price:
    """Bessel functions; integrals over cells on a lattice."""
    if not size(field(release, "dimension"), DIMENSIONS):
        return Price()
    built = 600 * function(bits) + 2 * integral(bits, 3, 6)
    return Price(40 * function(bits), integral(bits, 3, 0.2), built=built)


def update(release: Any, bits: int, _: bool) -> Price:
    """The noise's divergences, split at best, and theorem c."""
    drawn = "dimension" in release
    noise = norm(release, bits, True) if drawn else gaussian(release, bits, True)
    tied = EFFORT * (len(LEVELS) if drawn else 1) * 40 if field(release, "tied") is True else 0
    return Price(0, noise.point + 40 + 30 * plain(bits), noise.built, tied)


def finite(release: Any, bits: int, ordered: bool) -> Price:
    """Distributions, whose probabilities are added exactly; without order, as a profile."""
    outcomes, n = field(release, "outcomes"), length(field(release, "outcomes"))
    added = rows(outcomes) ** 2 * ADDED
    if ordered:
        return table(n, bits, added)
    law = table(2 * n + 2, bits, added + 2 * n * n * (function(bits) + 5 * plain(bits)))
    return law._replace(terms=losses(outcomes)) if n <= SHORT else law


SHORT, ROUNDING = 16, 1e-9
"""The most outcomes whose losses without order are counted, and a bend of a profile that is none."""


def losses(outcomes: Any) -> int:
    """About how many two distributions without order have; 0 where that is unknown."""
    try:
        rows = [(float(exact(p)), float(exact(q))) for p, q in outcomes]
        return sum(bend > ROUNDING for _, bend in larger_profile(rows)[0])
    except (ArithmeticError, Refused, TypeError, ValueError):
        return 0


def profile(release: Any, bits: int, _: bool) -> Price:
    """At so many points, and their mirror images."""
    return table(2 * length(field(release, "points")), bits, 0)


def table(kinds: int, bits: int, built: float) -> Price:
    """Finitely many losses."""
    each = kinds * (function(bits) + plain(bits))
    node = 1.5 + kinds * plain(bits) / 2
    built += 4 * each + 20 * kinds
    return Price(2 * each, 8 * each, built, 4 * each, terms=kinds, node=node)


def orders(release: Any, bits: int, _: bool) -> Price:
    """Rényi divergences."""
    return Price(4 * (length(field(release, "orders")) + 1) * (plain(bits) + function(bits)))


LAWS: dict[str, Callable[[Any, int, bool], Price]] = {
    "gaussian": gaussian,
    "shifted-gaussian": gaussian,
    "laplace": lambda *given: two_values(*given)._replace(degree=1),
    "approximate": two_values,
    "poisson-subsampled-gaussian": poisson,
    "gaussian-without-replacement": fixed_size,
    "gaussian-mixture": mixture,
    "exponential-norm": norm,
    "exponentially-perturbed-update": update,
    "normally-perturbed-update": update,
    "distributions": finite,
    "profile": profile,
    "zcdp": orders,
    "rdp": orders,
}


def cost_of(release: Any, bits: int, ordered: bool) -> Price:
    """Of a release; of one that is not known, nothing."""
    law = LAWS.get(str(field(release, "mechanism")))
    return law(release, bits, ordered) if law is not None else Price()
