"""Few rounds of Laplace noise: δ(ε) is a finite mixture of Poisson probabilities.

A round of ratio ``a`` (sensitivity over scale) falls short of its largest loss by T. The measure
``e^{T/2} P(dT)`` has mass 1/2 at 0 and at 2a and density 1/4 between them, so its Laplace transform is
``½(1 + u) + ½ e^{-2as}(1 - u)`` with ``u = 1/(2s)``. Of n rounds, choose the j that take the second
term, Σ their ratios = b, and let x = (Σa - ε)/2 - b. The weight of what is left,
``e^{-T/2}(1 - e^{-(2x - t)})``, turns ``u^m`` into ``2 P(N_x ∈ {m+1, m+3, ...})``, N_x of Poisson's
law of mean x. So

    δ(ε) = Σ_{choices with x > 0} e^{-b} 2^{1-n} Σ_i P(N_x = i) κ_{j,i},
    Σ_i κ_{j,i} u^{i-1} = (1 + u)^{n-j} (1 - u)^j / (1 - u²).

The proof stands in docs/soundness.md. Where too many digits cancel, an error that is added
makes the enclosure wide, and it is left to other methods.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import Estimate, Query
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import UNIT_ROUNDOFF, LaplaceLoss, Reals

_MOST_ROUNDS, _MOST_CHOICES, _LARGEST = 200, 400, 300.0
_BEYOND = 40
"""Terms beyond the last κ that changes, and twice the mean: the rest is below 2^-60 of the first."""

_UNDERFLOW = 1e-300
"""Where all terms round to zero. Elsewhere digits that are lost weigh less than what is allowed for the
first term of the same choice: means are at least 1e-140, |2^{1-n} κ| is 0 or at least 2^{1-n}."""

_METHOD = "sum over the rounds' ends"


def enclose(total: LossSum, query: Query, estimate: Estimate | None = None) -> Bracket | None:
    """The sum; None for other mechanisms, many rounds, or where too many digits cancel."""
    del estimate
    terms = mixture(total)
    if terms is None:
        return None
    found = Bracket(
        *query.read(
            lambda epsilon: terms.delta(epsilon)[1],
            lambda epsilon: terms.delta(epsilon)[0],
            0.9 * terms.largest,
            0.1 * terms.largest,
            1e-14 * terms.largest,
            terms.largest,
        ),
        _METHOD,
    )
    return found if query.narrow(found, 0.0) else None


def mixture(total: LossSum) -> Mixture | None:
    """The terms of the sum, which serve every ε; None for other mechanisms or many rounds."""
    rounds = [(law.epsilon, count) for law, count in total.parts if isinstance(law, LaplaceLoss)]
    if len(rounds) < len(total.parts) or not _few(rounds):
        return None
    total.require_tractable()
    return _mixture(tuple(rounds))


@dataclass(frozen=True, slots=True)
class Mixture:
    """The terms of the sum.

    Attributes:
        top: the largest loss, exactly.
        ends: b of each choice, exactly.
        weights: e^{-b} times the number of equal choices, shape (choices,).
        terms: 2^{1-n} κ times the weight, shape (choices, i), i from 1 on.
    """

    top: Fraction
    ends: tuple[Fraction, ...]
    weights: Reals
    terms: Reals

    @property
    def largest(self) -> float:
        """At least the largest loss."""
        return math.nextafter(float(self.top), math.inf)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds of δ(ε).

        A Poisson probability is a product of i quotients, two roundings each, and of an exponential;
        its argument and that of the weight, at most half the number of terms, are rounded once. numpy
        adds up neighbours in pairs.
        """
        half = (self.top - Fraction(epsilon)) / 2
        means = np.array([float(half - end) for end in self.ends if end < half])
        if len(means) == 0:
            return 0.0, 0.0
        count = self.terms.shape[1]
        probabilities = means[:, None] / np.arange(1.0, count + 1)
        np.cumprod(probabilities, axis=1, out=probabilities)
        probabilities *= np.exp(-means)[:, None]
        kept = self.terms[: len(means)] * probabilities
        value = float(kept.sum())
        # |κ| <= 2^{n-1}, and beyond the last term, at most half the next, Poisson's law halves.
        left_out = float((self.weights[: len(means)] * probabilities[:, -1]).sum())
        error = (3 * count + 256) * UNIT_ROUNDOFF * float(np.abs(kept).sum()) + 2 * left_out
        error += _UNDERFLOW
        return max(value - error, 0.0), min((value + error) * (1 + 2 * UNIT_ROUNDOFF), 1.0)


def _few(rounds: Sequence[tuple[float, int]]) -> bool:
    """Whether their choices can be listed."""
    return (
        sum(count for _, count in rounds) <= _MOST_ROUNDS
        and math.prod(count + 1 for _, count in rounds) <= _MOST_CHOICES
        and sum(ratio * count for ratio, count in rounds) <= _LARGEST
    )


@lru_cache(maxsize=8)
def _mixture(rounds: tuple[tuple[float, int], ...]) -> Mixture:
    """The terms, those of the smallest b first."""
    total = sum(count for _, count in rounds)
    top = sum((Fraction(ratio) * count for ratio, count in rounds), Fraction(0))
    width = total + _BEYOND + 2 * math.ceil(top)
    coefficients = _coefficients(total, width)
    choices = []
    for lows in itertools.product(*(range(count + 1) for _, count in rounds)):
        end = sum((Fraction(r) * j for (r, _), j in zip(rounds, lows, strict=True)), Fraction(0))
        ways = math.prod(math.comb(n, j) for (_, n), j in zip(rounds, lows, strict=True))
        choices.append((end, sum(lows), ways))
    choices.sort()
    weights = np.array([ways * math.exp(-float(end)) for end, _, ways in choices])
    terms = weights[:, None] * np.array([coefficients[low] for _, low, _ in choices])
    return Mixture(top, tuple(end for end, _, _ in choices), weights, terms)


def _coefficients(rounds: int, width: int) -> list[list[float]]:
    """2^{1-n} κ for each j: powers of u in (1 + u)^{n-1}/(1 - u) times ((1 - u)/(1 + u))^j."""
    binomials = [math.comb(rounds - 1, i) for i in range(width)]
    powers = list(itertools.accumulate(binomials))
    table = []
    for _ in range(rounds + 1):
        table.append([math.ldexp(float(each), 1 - rounds) for each in powers])
        differences = [now - before for before, now in itertools.pairwise([0, *powers])]
        powers = list(itertools.accumulate(differences, lambda last, now: now - last))
    return table
