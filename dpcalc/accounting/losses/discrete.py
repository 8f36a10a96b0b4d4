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
from dpcalc.errors import NumericalFailure
from dpcalc.numerics.products import product, summed_in_parts, terms_in_parts


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
    ) -> None:
        self.losses, self.masses = losses, masses
        self.infinite_mass, self.missing = infinite_mass, missing
        self.mass_error, self.blur = mass_error, np.broadcast_to(blur, masses.shape)
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
    """A tilted `DiscreteLoss`."""

    refinements = ModulusBounds.refinements

    def __init__(self, law: DiscreteLoss, c: float) -> None:
        self._losses, self.size, self._c = law.losses, len(law.losses), c
        growth = np.expm1(np.minimum(c * law.losses, 690.0))
        deficit = law.missing + law.infinite_mass
        excess = _rounded_sum(law.masses * growth) - deficit
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
        # What may be misplaced, times the weight it carries: the errors of M(c+iy) - M(c) per
        # unit of |y| are this times relative errors.
        tilt = np.maximum(growth + 1, 1.0) * (law.masses * np.abs(law.losses) + law.blur)
        self._exposure = 1.25 * float(tilt.sum()) / total
        self._mass_error = law.mass_error
        self.rounding = c * self._exposure * (law.mass_error + 64 * UNIT_ROUNDOFF)
        self.rounding += 2 * ELEMENTARY_ERROR * min(1.0, abs(excess)) / min(1.0, total)
        self._powers: tuple[tuple[float, int], Complexes] | None = None

    def log_ratio(
        self, step: float, start: int, stop: int, uses: float = np.inf
    ) -> tuple[Complexes, Reals]:
        """Σ w(e^{iyl} - 1) by the cheaper of two ways; few uses need no relative accuracy."""
        if uses <= FEW_USES or stop - start > _PRODUCT_NODES:
            values, absolute = change_at_nodes(self._losses, self._weights, step, stop)
            values = values[start:]
            error = np.full(len(values), absolute)
        else:
            values = self._change_by_products(step, start, stop)
            error = np.zeros(len(values))
        y = step * np.arange(start, stop)
        block = _block(stop)
        blocks = (stop - start) // block
        terms = terms_in_parts(self.size)
        relative = self._mass_error + UNIT_ROUNDOFF * (64 + terms + 8 * (block + blocks))
        # M(c+iy) is off by |c+iy| times the exposure. Of the part that is c's `rounding` counts the
        # share |φ|, as an error of M(c) that all nodes have.
        modulus = np.abs(1 + values)
        error += (y + self._c * np.maximum(1 - modulus, 0.0)) * (self._exposure * relative)
        result = log1p(np.where(values == -1, 1e-300 - 1, values))
        error /= np.maximum(modulus, 1e-300)
        return result, error + LOG1P_ERROR * np.abs(result)

    def _change_by_products(self, step: float, start: int, stop: int) -> Complexes:
        """As a matrix product: n = first + b, ``first`` a multiple of a block length.

        ``e^{inθ} - 1 = (e^{i first θ} - 1) + e^{i first θ}(e^{ibθ} - 1)`` keeps every term's
        relative accuracy, which matters when θ is tiny and the result is raised to a large power.
        """
        block = _block(stop)
        fine = self._fine_powers(step, block)
        first = start // block
        last = (stop - 1) // block
        row = np.expm1(1j * step * first * block * self._losses)
        jump = fine[-1]
        rows = np.empty((last - first + 1, len(self._losses)), dtype=np.complex128)
        for k in range(len(rows)):
            rows[k] = row
            row = row + jump + row * jump
        coarse = summed_in_parts(rows, self._weights)[:, None]
        change = coarse + summed_in_parts(rows * self._weights + self._weights, fine[:-1].T)
        offset = first * block
        return change.ravel()[start - offset : stop - offset]

    def _fine_powers(self, step: float, block: int) -> Complexes:
        """e^{ibθ} - 1 for b up to the block length and every atom, θ = step·loss."""
        if self._powers is None or self._powers[0] != (step, block):
            powers = np.empty((block + 1, len(self._losses)), dtype=np.complex128)
            powers[0] = 0
            powers[1] = np.expm1(1j * step * self._losses)
            for b in range(2, block + 1):
                np.multiply(powers[b - 1], powers[1], out=powers[b])
                powers[b] += powers[b - 1]
                powers[b] += powers[1]
            self._powers = ((step, block), powers)
        return self._powers[1]

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


def _block(stop: int) -> int:
    """How many nodes to a block: about the square root of how many nodes there are."""
    return 8 if stop <= 256 else 32


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
