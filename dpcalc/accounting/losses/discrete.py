"""A loss with finitely many values."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from dpcalc.accounting.losses.distribution import (
    ELEMENTARY_ERROR,
    LOG1P_ERROR,
    UNIT_ROUNDOFF,
    Complexes,
    LossDistribution,
    Reals,
    TiltedDistribution,
    log1p,
)
from dpcalc.accounting.losses.fourier import (
    FEW_USES,
    change_at_nodes,
    moduli_at_nodes,
)
from dpcalc.accounting.losses.modulus import ModulusBounds
from dpcalc.accounting.losses.node_sums import NodeSums, roundings, second_order
from dpcalc.errors import NumericalFailure
from dpcalc.numerics.products import product


class DiscreteLoss(LossDistribution):
    """A loss with finitely many values; whatever mass is left over sits at loss zero.

    Args:
        losses: the values, shape (n,), finite.
        masses: their probabilities under P, shape (n,).
        infinite_mass: P(L = ∞), not part of ``masses``.
        missing: probability that is neither in ``masses``, nor infinite, nor at zero: a lower law
            leaves it out.
        mass_error: relative error of the masses as computed.
        blur: shape (n,); mass times the distance over which its split between neighbouring atoms
            moves it, of which ``mass_error`` may be wrong.
        balanced: whether what is not infinite has the same P- and Q-mass exactly, the masses' errors
            aside.
    """

    def __init__(
        self,
        losses: Reals,
        masses: Reals,
        *,
        infinite_mass: float = 0.0,
        missing: float = 0.0,
        mass_error: float = 8 * UNIT_ROUNDOFF,
        blur: Reals | float = 0.0,
        balanced: bool = False,
    ) -> None:
        self.losses, self.masses = losses, masses
        self.infinite_mass, self.missing = infinite_mass, missing
        self.mass_error, self.blur = mass_error, np.broadcast_to(blur, masses.shape)
        self.balanced = balanced
        self.supremum = float(losses.max(initial=0.0))
        self.mass_at_supremum = 0.0

    @property
    def total_variation_bound(self) -> float:
        """δ(0)."""
        return min(1.0, self.delta(0.0)[1])

    def delta(self, epsilon: float) -> tuple[float, float]:
        """A sum over the atoms."""
        gains = -np.expm1(np.minimum(epsilon - self.losses, 0.0))
        value = float((self.masses * gains).sum())
        # A loss that rounding put below ε counts too: its share is what it may be off by.
        size = np.abs(self.losses)
        exposed = (self.masses * size + self.blur) * (self.losses + 1e-9 * size > epsilon)
        error = (self.mass_error + 1e-14) * (value + float(exposed.sum()))
        infinite = self.infinite_mass
        return infinite + max(value - error, 0.0), infinite + value + error

    def tilted(self, c: float) -> TiltedDistribution:
        """The law with masses multiplied by e^{cL}."""
        return TiltedDiscreteLoss(self, c)

    def cumulants(self, orders: Reals) -> Reals:
        """Sums over the atoms; infinite where a term would overflow."""
        growth = np.multiply.outer(orders, self.losses)
        np.expm1(np.minimum(growth, 690.0, out=growth), out=growth)
        total = 1.0 + (product(growth, self.masses) - (self.missing + self.infinite_mass))
        # Where all finite losses are negative next to nothing is left of 1: rounded up.
        least = np.maximum(total, 0.0) + UNIT_ROUNDOFF * (self.masses.size + 8)
        total = np.where(total < _MUCH, least, total)
        growth += 1.0
        first = product(growth, self.masses * self.losses) / total
        second = product(growth, self.masses * self.losses**2) / total
        value = np.where(orders * self.supremum < 690.0, np.log(total), np.inf)
        return np.stack([value, first, np.maximum(second - first**2, 0.0)])


class TiltedDiscreteLoss(TiltedDistribution):
    """A tilted `DiscreteLoss`.

    *Balanced laws.* Where P- and Q-mass agree, E[1 - e^{-L}] = 0, the first order of M(z) - 1 is known:
    M(z) - 1 = E[g(L)] with ``g(l) = e^{zl} - 1 - z(1 - e^{-l})``, less what mass is missing. As
    |e^{zl} - 1 - zl| <= |zl|² t/2 and |e^{-l} - 1 + l| <= l² t/2 with t = max(1, e^{cl}, e^{-l}),
    |g| <= |z||z + 1| l² t; its slope is at most |z||z + 1||l| t. A mass that is off by a share of
    itself moves M(z) by no more than that share of it. Of tiny losses that is far less than |z||l| t,
    which holds for every law.
    """

    refinements = ModulusBounds.refinements

    def __init__(self, law: DiscreteLoss, c: float) -> None:
        self._losses, self.size, self._c = law.losses, len(law.losses), c
        growth = np.expm1(np.minimum(c * law.losses, 690.0))
        deficit = law.missing + law.infinite_mass
        terms = law.masses * growth
        tilt = np.maximum(growth + 1, 1.0)
        first = c * 1.25 * float((tilt * (law.masses * np.abs(law.losses) + law.blur)).sum())
        square, at_c = math.inf, first
        if law.balanced and _reach(law, c) < _SMALL:
            square = 1.25 * _square(law, tilt)
        if _LESS * c * (c + 1) * square < first:
            at_c = c * (c + 1) * square
            terms = law.masses * _balanced_growth(law.losses, c)
        excess = _rounded_sum(terms) - deficit
        total = 1.0 + excess
        if total < _LEAST_MOMENT:
            raise NumericalFailure(
                f"a moment of at least {_LEAST_MOMENT:g} is needed; got {total!r}, a difference of "
                "numbers near one"
            )
        self.log_moment = float(np.log1p(excess))
        weights = law.masses * (growth + 1)
        self._weights = weights / total
        at_zero = (1.0 - float(law.masses.sum()) - deficit) / total
        self._at_zero = max(at_zero, 0.0)
        self.mean = float((self._weights * law.losses).sum())
        centred = law.losses - self.mean
        self.variance = float((self._weights * centred**2).sum() + self._at_zero * self.mean**2)
        self.spread = float(np.sqrt(self.variance)) * (1 + 1e-6)
        # The errors of M(c+iy) - M(c) are `_exposed` times relative errors; those of M(c) likewise.
        self._first, self._square, self._at_c = first / c / total, square / total, at_c / total
        self._masses = law.masses / total
        self._mass_error = law.mass_error
        self.rounding = self._at_c * (law.mass_error + 64 * UNIT_ROUNDOFF)
        self.rounding += 2 * ELEMENTARY_ERROR * min(1.0, abs(excess)) / min(1.0, total)
        self._sums = NodeSums(self._losses, self._weights)

    def log_ratio(
        self, step: float, start: int, stop: int, uses: float = np.inf
    ) -> tuple[Complexes, Reals]:
        """Σ w(e^{iyl} - 1) by the cheapest way that will do; few uses need no relative accuracy."""
        y = step * np.arange(start, stop)
        exposed, each = y * self._first, 8
        error = np.zeros(len(y))
        if uses <= FEW_USES or stop - start > _PRODUCT_NODES:
            values, absolute = change_at_nodes(self._losses, self._weights, step, stop)
            values = values[start:]
            error += absolute
        elif self._second_order_matters(step * stop, uses):
            values = self._sums.less_slope(step, start, stop) + 1j * y * self._slope
            exposed, each = y * (2 * self._c + y + 1) * self._square, 24
        else:
            values = self._sums.change(step, start, stop)
        relative = self._mass_error + UNIT_ROUNDOFF * roundings(self.size, start, stop, each)
        # M(c+iy) is off by that and by what M(c) is. Of the latter `rounding` counts the share |φ|, as
        # an error that all nodes have.
        modulus = np.abs(1 + values)
        error += (exposed + self._at_c * np.maximum(1 - modulus, 0.0)) * relative
        result = log1p(np.where(values == -1, 1e-300 - 1, values))
        error /= np.maximum(modulus, 1e-300)
        return result, error + LOG1P_ERROR * np.abs(result)

    @cached_property
    def _slope(self) -> float:
        """``E[e^{cL} L - 1 + e^{-L}]`` over M(c), of terms that are not negative."""
        growth = np.expm1(self._c * self._losses)
        bend = self._losses * growth + second_order(-self._losses)
        return _rounded_sum(self._masses * bend)

    def _second_order_matters(self, y: float, uses: float) -> bool:
        """Whether errors of first order would show, and those of second order are less."""
        less = _LESS * (2 * self._c + y + 1) * self._square < self._first
        return less and uses * y * self._first * self._mass_error > _WORTH

    def log_modulus_bound(self, edges: Reals, level: int) -> Reals:
        """Pairs of atoms close together, or the modulus sampled; see `ModulusBounds`."""
        return self._modulus.log_bound(edges, level)

    def node_moduli(self, step: float, stop: int) -> Reals:
        """From one Fourier transform."""
        rest = 1.0 - float(self._weights.sum())
        moduli = moduli_at_nodes(self._losses, self._weights, rest, step, stop)
        return moduli + 8 * (self._mass_error + self.size * UNIT_ROUNDOFF) + 1e-12

    @cached_property
    def _modulus(self) -> ModulusBounds:
        losses, weights = np.append(self._losses, 0.0), np.append(self._weights, self._at_zero)
        return ModulusBounds(losses, weights, self.spread)


def _rounded_sum(terms: Reals) -> float:
    """The double nearest to the sum, which no order changes; from large to small is fastest."""
    return math.fsum(terms[np.argsort(-np.abs(terms))].tolist())


def _reach(law: DiscreteLoss, c: float) -> float:
    """The largest exponent at c, or at -1."""
    return max(c, 1.0) * float(np.abs(law.losses).max(initial=0.0))


def _square(law: DiscreteLoss, tilt: Reals) -> float:
    """What bounds errors of balanced laws, over |z||z + 1|; see `TiltedDiscreteLoss`."""
    size = np.abs(law.losses)
    most = np.maximum(tilt, np.exp(-law.losses))
    return float((most * size * (law.masses * size + law.blur)).sum())


def _balanced_growth(losses: Reals, c: float) -> Reals:
    """``e^{cl} - 1 - c(1 - e^{-l})``, of terms that are not negative."""
    return second_order(c * losses) + c * second_order(-losses)


_SMALL = 600.0
"""Exponents up to which sums of squares of losses are doubles."""

_LESS = 100.0
"""How many times less errors of second order are where they are worth knowing: of so many rounds that
the sum's moments are of the order of one, those of first order are then off by 1e-10."""

_WORTH = 1e-8
"""Errors of nodes that are less than this are nothing next to what else is left open."""

_MUCH = 0.5
"""Differences of numbers near one that are at least this are as good as their terms."""

_LEAST_MOMENT = 1e-3
"""Of what is left of M(c) after less cancels than nodes and moduli allow for; it is smaller only
where infinite losses leave negative ones alone."""

_PRODUCT_NODES = 4096
"""Up to this many nodes a matrix product is cheaper than Fourier transforms."""


def disclosure(probability: float) -> DiscreteLoss:
    """The loss of a mechanism that reveals everything with a probability, and else nothing."""
    law = DiscreteLoss(np.zeros(1), np.zeros(1), infinite_mass=probability)
    law.mass_at_supremum = max(1 - probability, 0.0) * (1 - 1e-15)
    return law


def constant_loss() -> DiscreteLoss:
    """The loss of a mechanism that reveals everything."""
    return disclosure(1.0)
