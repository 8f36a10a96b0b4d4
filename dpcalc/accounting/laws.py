"""Laws of the privacy loss, each known through its moment function.

For a dominating pair (P, Q) the privacy loss is ``L = ln(p/q)`` under P. All that
`dpcalc.accounting.inversion` needs of a law is ``M(z) = E_P[e^{zL}; L < ∞]`` on a vertical line
``z = c + iy``, the probability of an infinite loss, and bounds on what rounding does to them.

The line is described by a `Tilted` law, the law of L weighted by ``e^{cL}``, whose characteristic
function is ``M(c+iy)/M(c)``. Differences from one are computed in forms that do not cancel, because
they are raised to powers as high as 1e9.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]

UNIT_ROUNDOFF = 2.0**-53


class Tilted(ABC):
    """The law of L weighted by e^{cL}.

    Attributes:
        log_moment: ln M(c).
        mean: mean of the tilted law, the derivative of ln M at c; used for choices, not for bounds.
        variance: variance of the tilted law, the second derivative; used for choices.
        spread: an upper bound of the tilted law's standard deviation.
        rounding: a bound on the error of ``log_moment`` as computed.
    """

    log_moment: float
    mean: float
    variance: float
    spread: float
    rounding: float

    @abstractmethod
    def log_ratio(self, step: float, start: int, stop: int) -> tuple[Complexes, Reals]:
        """ln(M(c+iy)/M(c)) at y = n·step for start <= n < stop.

        Returns:
            The logarithms, and bounds on the relative errors of the ratios themselves.
        """

    def log_modulus_bound(self, edges: Reals) -> Reals:
        """An upper bound of ln|M(c+iy)/M(c)| over each interval between increasing edges.

        Args:
            edges: increasing positive values of y, shape (k+1,).

        Returns:
            k bounds, each at most 0; zero is always valid.
        """
        return np.zeros(len(edges) - 1)


class LossLaw(ABC):
    """One law of the privacy loss.

    Attributes:
        infinite_mass: P(L = ∞).
        supremum: the largest finite loss; infinite if unbounded.
    """

    infinite_mass: float
    supremum: float

    @abstractmethod
    def tilted(self, c: float) -> Tilted:
        """The law weighted by e^{cL}; ``c`` is a finite positive number."""

    @abstractmethod
    def cumulants(self, orders: Reals) -> Reals:
        """ln M and its first two derivatives at each order, shape (3, k).

        The first row is accurate enough to bound with; the others only guide choices.
        """


@dataclass(frozen=True, slots=True)
class GaussianLaw(LossLaw):
    """The loss of N(μ, 1) against N(0, 1): ln M(z) = μ²(z² + z)/2."""

    mu: float
    infinite_mass: float = 0.0
    supremum: float = float("inf")

    def tilted(self, c: float) -> Tilted:
        """A normal law with mean μ²(c + ½) and variance μ²."""
        return _TiltedGaussian(self.mu, c)

    def cumulants(self, orders: Reals) -> Reals:
        """A parabola."""
        square = self.mu**2
        return square * np.stack([orders * (orders + 1) / 2, orders + 0.5, np.ones_like(orders)])


class _TiltedGaussian(Tilted):
    def __init__(self, mu: float, c: float) -> None:
        square = mu * mu
        self.log_moment = square * c * (c + 1) / 2
        self.mean = square * (c + 0.5)
        self.variance = square
        self.spread = mu * (1 + 1e-15)
        self.rounding = 8 * UNIT_ROUNDOFF * self.log_moment

    def log_ratio(self, step: float, start: int, stop: int) -> tuple[Complexes, Reals]:
        y = step * np.arange(start, stop)
        real, imaginary = -self.variance * y * y / 2, self.mean * y
        return real + 1j * imaginary, 8 * UNIT_ROUNDOFF * (imaginary - real)

    def log_modulus_bound(self, edges: Reals) -> Reals:
        result: Reals = -self.variance * edges[:-1] ** 2 / 2 * (1 - 1e-12)
        return result


@dataclass(frozen=True, slots=True)
class LaplaceLaw(LossLaw):
    """The loss of the Laplace mechanism with ``epsilon`` = sensitivity/scale.

    Atoms at ±ε and a density proportional to e^{l/2} between them:
    ``M(z) = [(z+1) e^{zε} + z e^{-(z+1)ε}] / (2z+1)``.
    """

    epsilon: float
    supremum: float
    infinite_mass: float = 0.0

    def tilted(self, c: float) -> Tilted:
        """The tilted law in closed form."""
        return _TiltedLaplace(self.epsilon, c)

    def cumulants(self, orders: Reals) -> Reals:
        """The logarithm in closed form, its derivatives by differences."""
        laws = [_TiltedLaplace(self.epsilon, float(c)) for c in orders]
        return np.array([[law.log_moment, law.mean, law.variance] for law in laws]).T


class _TiltedLaplace(Tilted):
    """M(z)e^{-zε} = 1 + [z/(2z+1)]·expm1(-(2z+1)ε), which cancels only while zε is small."""

    def __init__(self, epsilon: float, c: float) -> None:
        self._epsilon, self._c = epsilon, c
        self._small = (c + 1) * epsilon < 0.5
        at_c = complex(self._log(np.array([complex(c)]))[0]).real
        self.log_moment = at_c
        step = 1e-3 / epsilon / max(1.0, c * epsilon)
        near, error = self.log_ratio(step, 1, 2)
        self.mean = float(near[0].imag / step)
        self.variance = float(max(-2 * near[0].real / step**2, 0.0))
        self.spread = epsilon
        self.rounding = float(error[0])

    def _log(self, z: Complexes) -> Complexes:
        e = self._epsilon
        if self._small:
            excess = ((z + 1) * np.expm1(z * e) + z * np.expm1(-(z + 1) * e)) / (2 * z + 1)
            return np.asarray(np.log1p(excess))
        return np.asarray(z * e + np.log1p(z / (2 * z + 1) * np.expm1(-(2 * z + 1) * e)))

    def log_ratio(self, step: float, start: int, stop: int) -> tuple[Complexes, Reals]:
        y = step * np.arange(start, stop)
        z = self._c + 1j * y
        values = self._log(z) - self.log_moment
        # |M(z)| >= e^{Re value} M(c) >= e^{Re value}, which the logarithm divides by.
        scale = (np.abs(z) + 1) * self._epsilon + (0.0 if self._small else 1.0)
        return values, 128 * UNIT_ROUNDOFF * scale * np.exp(-np.maximum(values.real, -40.0))


@dataclass(frozen=True, slots=True)
class TwoPointLaw(LossLaw):
    """The summed loss of many rounds of randomised response.

    A round's loss is ±ε with odds e^ε: ``M(z) = p e^{zε} + (1-p) e^{-zε}``.

    Args:
        epsilons: ε of the rounds, each listed once.
        counts: how many rounds have each.
    """

    epsilons: tuple[float, ...]
    counts: tuple[int, ...]
    supremum: float
    infinite_mass: float = 0.0

    @classmethod
    def of(cls, rounds: Mapping[float, int]) -> TwoPointLaw:
        """The law for a mapping from ε to the number of rounds."""
        total = math.fsum(e * n for e, n in rounds.items())
        return cls(tuple(rounds), tuple(rounds.values()), total * (1 + 1e-15))

    def tilted(self, c: float) -> Tilted:
        """Two points with odds e^{(2c+1)ε}, in closed form."""
        return _TiltedTwoPoint(np.array(self.epsilons), np.array(self.counts), c)

    def cumulants(self, orders: Reals) -> Reals:
        """Sums over the rounds."""
        e, n = np.array(self.epsilons)[:, None], np.array(self.counts, dtype=np.float64)
        slope = np.tanh(e * (orders + 0.5))
        moment, variance = _two_point_log_moment(e, orders), 1 - slope**2
        return np.stack([n @ moment, n @ (e * slope), n @ (e * e * variance)])


def _two_point_log_moment(epsilon: Reals, c: Reals | float) -> Reals:
    """ln M(c) = cε + ln[1 - (1-p)(1 - e^{-2cε})], and for small cε without cancellation."""
    rare = 1 / (1 + np.exp(epsilon))  # 1 - p
    x = c * epsilon
    small = np.minimum(x, 0.5)
    # p(e^x - 1) + (1-p)(e^{-x} - 1) = 2 sinh²(x/2) + (p - (1-p)) sinh x
    excess = 2 * np.sinh(small / 2) ** 2 + np.tanh(epsilon / 2) * np.sinh(small)
    return np.where(x <= 0.5, np.log1p(excess), x + np.log1p(rare * np.expm1(-2 * x)))


class _TiltedTwoPoint(Tilted):
    def __init__(self, epsilons: Reals, counts: NDArray[np.int64], c: float) -> None:
        self._epsilons, self._counts = epsilons, counts
        self._bias = np.tanh(epsilons * (c + 0.5))
        self._rarity = 1 / np.cosh(np.minimum(epsilons * (c + 0.5), 300.0)) ** 2
        moments = _two_point_log_moment(epsilons, c)
        self.log_moment = float(counts @ moments)
        self.mean = float(counts @ (epsilons * self._bias))
        self.variance = float(counts @ (epsilons**2 * self._rarity))
        self.spread = math.sqrt(self.variance) * (1 + 1e-9)
        size = np.minimum(1.0, c * epsilons) * (1 + epsilons)
        self.rounding = 32 * UNIT_ROUNDOFF * float(counts @ (size + np.abs(moments)))

    def log_ratio(self, step: float, start: int, stop: int) -> tuple[Complexes, Reals]:
        """Σ n ln(cos(yε) + i t sin(yε)), t the tilted bias; the error is that of yε near a zero."""
        y = step * np.arange(start, stop)
        total = np.zeros(len(y), dtype=np.complex128)
        relative = np.zeros(len(y))
        rows = max(1, _TABLE // max(len(y), 1))
        for k in range(0, len(self._epsilons), rows):
            part = slice(k, k + rows)
            angle = np.multiply.outer(self._epsilons[part], y)
            sine, half = np.sin(angle), np.sin(angle / 2)
            change = -2 * half * half + 1j * self._bias[part, None] * sine
            total += self._counts[part] @ np.log1p(change)
            modulus = np.abs(1 + change)
            error = 16 * UNIT_ROUNDOFF * angle / np.maximum(modulus, 1e-300)
            relative += self._counts[part] @ np.log1p(error)
        return total, np.expm1(np.minimum(relative, 700.0))

    def log_modulus_bound(self, edges: Reals) -> Reals:
        """|φ(y)|² = 1 - sech²(ε(c+½)) sin²(yε), bounded by the least sine in the interval."""
        bound = np.zeros(len(edges) - 1)
        rows = max(1, _TABLE // len(edges))
        for k in range(0, len(self._epsilons), rows):
            part = slice(k, k + rows)
            turns = np.multiply.outer(self._epsilons[part] / np.pi, edges)
            sines = np.abs(np.sin(np.pi * turns)) - 1e-12 * (1 + turns)
            whole = np.floor(turns)
            least = np.maximum(np.minimum(sines[:, :-1], sines[:, 1:]), 0.0)
            least[whole[:, 1:] > whole[:, :-1]] = 0.0
            rare = self._rarity[part, None] * least**2 * (1 - 1e-12)
            bound += self._counts[part] @ np.log1p(-rare) / 2
        return bound


_TABLE = 1_000_000


class AtomicLaw(LossLaw):
    """A loss with finitely many values; whatever mass is left over sits at loss zero.

    Args:
        losses: the values, shape (n,), finite.
        masses: their probabilities under P, shape (n,).
        infinite_mass: P(L = ∞), not part of ``masses``.
        missing: probability that is neither in ``masses``, nor infinite, nor at zero: a lower law
            leaves it out.
        mass_error: relative error of the masses as computed.
        excess: shape (n,); mass times loss that may be misplaced between neighbouring atoms, also
            to be multiplied by ``mass_error``.
    """

    def __init__(
        self,
        losses: Reals,
        masses: Reals,
        *,
        infinite_mass: float = 0.0,
        missing: float = 0.0,
        mass_error: float = 8 * UNIT_ROUNDOFF,
        excess: Reals | float = 0.0,
    ) -> None:
        self.losses, self.masses = losses, masses
        self.infinite_mass, self.missing = infinite_mass, missing
        self.mass_error, self.excess = mass_error, np.broadcast_to(excess, masses.shape)
        self.supremum = float(losses.max(initial=0.0))

    def tilted(self, c: float) -> Tilted:
        """The law with masses multiplied by e^{cL}."""
        return TiltedAtoms(self, c)

    def cumulants(self, orders: Reals) -> Reals:
        """Sums over the atoms; infinite where a term would overflow."""
        growth = np.expm1(np.minimum(np.multiply.outer(orders, self.losses), 690.0))
        total = 1.0 + (growth @ self.masses - (self.missing + self.infinite_mass))
        growth += 1.0
        first = growth @ (self.masses * self.losses) / total
        second = growth @ (self.masses * self.losses**2) / total
        value = np.where(orders * self.supremum < 690.0, np.log(total), np.inf)
        return np.stack([value, first, np.maximum(second - first**2, 0.0)])


class TiltedAtoms(Tilted):
    """A tilted `AtomicLaw`."""

    def __init__(self, law: AtomicLaw, c: float) -> None:
        self._losses = law.losses
        growth = np.expm1(np.minimum(c * law.losses, 690.0))
        deficit = law.missing + law.infinite_mass
        excess = float((law.masses * growth).sum()) - deficit
        total = 1.0 + excess
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
        tilt = np.maximum(growth + 1, 1.0) * (law.masses * np.abs(law.losses) + law.excess)
        self._exposure = 1.25 * float(tilt.sum()) / total
        self._mass_error = law.mass_error
        self.rounding = c * self._exposure * (law.mass_error + 40 * UNIT_ROUNDOFF)
        self.rounding += 4 * UNIT_ROUNDOFF * min(1.0, abs(excess))
        self._powers: tuple[float, Complexes] | None = None

    def log_ratio(self, step: float, start: int, stop: int) -> tuple[Complexes, Reals]:
        """Σ w(e^{iyl} - 1) by whichever of two ways is cheaper."""
        if stop - start > _PRODUCT_NODES:
            values, absolute = self._change_by_fft(step, stop)
            values = values[start:]
            error = np.full(len(values), absolute)
        else:
            values = self._change_by_products(step, start, stop)
            error = np.zeros(len(values))
        y = step * np.arange(start, stop)
        relative = self._mass_error + UNIT_ROUNDOFF * (40 + 8 * (_BLOCK + _PRODUCT_NODES // _BLOCK))
        error += y * (self._exposure * relative)
        result = np.log1p(np.where(values == -1, 1e-300 - 1, values))
        return result, error / np.maximum(np.abs(1 + values), 1e-300)

    def _change_by_products(self, step: float, start: int, stop: int) -> Complexes:
        """As a matrix product: n = first + b, ``first`` a multiple of a block length.

        ``e^{inθ} - 1 = (e^{i first θ} - 1) + e^{i first θ}(e^{ibθ} - 1)`` keeps every term's
        relative accuracy, which matters when θ is tiny and the result is raised to a large power.
        """
        fine = self._fine_powers(step)
        first = start // _BLOCK
        last = (stop - 1) // _BLOCK
        row = np.expm1(1j * step * first * _BLOCK * self._losses)
        jump = fine[-1]
        rows = np.empty((last - first + 1, len(self._losses)), dtype=np.complex128)
        for k in range(len(rows)):
            rows[k] = row
            row = row + jump + row * jump
        change = (rows @ self._weights)[:, None] + (rows * self._weights + self._weights) @ fine[:-1].T
        offset = first * _BLOCK
        return change.ravel()[start - offset : stop - offset]

    def _change_by_fft(self, step: float, stop: int) -> tuple[Complexes, float]:
        """For n = 0..stop-1 at once, and a bound on the absolute errors.

        The nodes see losses modulo R = 2π/step. An atom moves to the nearest point of a lattice of
        N points over R, at a distance d, and ``e^{iyd}`` is expanded: with y·d <= π/2 the K-th term
        leaves at most (π/2)^K/K!. Every power of d costs one FFT, whose error in the maximum norm
        is at most 5u·log₂N·√N times the Euclidean norm of what is transformed.
        """
        size = 2 * 2 ** int(np.ceil(np.log2(stop)))
        turns = self._losses * (step / (2 * np.pi)) * size
        nearest = np.rint(turns)
        offset = turns - nearest  # within 1/2, in lattice steps
        index = np.mod(nearest, size).astype(np.int64)
        angle = 2 * np.pi / size * np.arange(stop)  # y times the lattice step
        factor = np.ones(stop, dtype=np.complex128)
        moved = self._weights.copy()
        change = np.full(stop, -self._weights.sum(), dtype=np.complex128)
        error = 0.0
        for k in range(_TAYLOR_TERMS):
            grid = np.bincount(index, moved, minlength=size)
            change += factor * np.conj(np.fft.rfft(grid)[:stop])
            error += (np.pi**k / math.factorial(k)) * float(np.linalg.norm(grid))
            factor *= 1j * angle / (k + 1)
            moved *= offset
        rest = (np.pi / 2) ** _TAYLOR_TERMS / math.factorial(_TAYLOR_TERMS)
        error *= 5 * UNIT_ROUNDOFF * math.log2(size) * math.sqrt(size)
        # turns is rounded: a relative error of 2u of a loss of that many lattice steps.
        slip = 4 * UNIT_ROUNDOFF * np.pi * float((self._weights * np.abs(turns)).sum()) / size * stop
        return change, error + rest * float(self._weights.sum()) + slip

    def _fine_powers(self, step: float) -> Complexes:
        """e^{ibθ} - 1 for b up to the block length and every atom, θ = step·loss."""
        if self._powers is None or self._powers[0] != step:
            powers = np.empty((_BLOCK + 1, len(self._losses)), dtype=np.complex128)
            powers[0] = 0
            powers[1] = np.expm1(1j * step * self._losses)
            for b in range(2, _BLOCK + 1):
                np.multiply(powers[b - 1], powers[1], out=powers[b])
                powers[b] += powers[b - 1]
                powers[b] += powers[1]
            self._powers = (step, powers)
        return self._powers[1]

    def log_modulus_bound(self, edges: Reals) -> Reals:
        """The better of two bounds; each is explained where it is computed."""
        bound = np.minimum(self._pair_bound(edges), self._sampled_bound(edges))
        return np.minimum(np.log(np.minimum(bound, 1.0)) + 1e-12, 0.0)

    def _pair_bound(self, edges: Reals) -> Reals:
        """|φ(y)|² = E cos(y(L-L')) <= 1 - 0.9166·y²·E[(L-L')²; y|L-L'| <= 1].

        (1 - cos t >= t²/2 - t⁴/24 >= 0.4583 t² for |t| <= 1.) Pairs that fall in the same window of
        width 1/y are counted.
        """
        result = np.ones(len(edges) - 1)
        centred = np.append(self._losses, 0.0) - self.mean
        order = np.argsort(centred, kind="stable")
        centred = centred[order]
        weights = np.append(self._weights, self._at_zero)[order]
        moments = np.stack([weights, weights * centred, weights * centred**2])
        for k, (low, high) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
            window = np.floor(centred * high + 0.5)
            starts = np.concatenate([[0], np.flatnonzero(np.diff(window)) + 1])
            mass, first, second = np.add.reduceat(moments, starts, axis=1)
            pairs = 2 * np.maximum(mass * second - first**2, 0.0).sum()
            result[k] = np.sqrt(max(1 - 0.9166 * low**2 * pairs * (1 - 1e-9), 0.0))
        return result

    def _sampled_bound(self, edges: Reals) -> Reals:
        """The modulus sampled by one FFT, plus what lies between samples.

        Atoms are split linearly between neighbours of a lattice of step Δ, zero stays where it is:
        that moves φ(y) by at most (yΔ)²/8 times their mass; far atoms count with twice their mass.
        With g = 1 - |φ|², |g'| = |E (L-L') sin(y(L-L'))| <= sd·√2·√(2g), hence √g moves by at most
        the standard deviation times the distance to the nearest sample.
        """
        reach = 24 * self.spread
        lattice = max(0.25 / float(edges[-1]), reach / _LARGEST_LATTICE)
        half = int(reach / lattice) + 2
        centre = round(self.mean / lattice)
        position = self._losses / lattice - (centre - half)
        near = (position >= 0) & (position <= 2 * half - 1)
        left = np.floor(position[near]).astype(np.int64)
        share, weights = position[near] - left, self._weights[near]
        grid = np.bincount(left, weights * (1 - share), minlength=2 * half + 1)
        grid += np.bincount(left + 1, weights * share, minlength=2 * half + 1)
        far = float(self._weights[~near].sum())
        if abs(centre) <= half:
            grid[half - centre] += self._at_zero
        else:
            far += self._at_zero
        length = 4 * 2 ** int(np.ceil(np.log2(2 * half + 1)))
        spacing = 2 * np.pi / (length * lattice)
        modulus = np.abs(np.fft.rfft(grid, length))
        y = spacing * np.arange(len(modulus))
        modulus += weights.sum() * (y * lattice) ** 2 / 8 + 2 * far + 1e-12
        deviation = np.sqrt(np.maximum(1 - modulus**2, 0.0)) - self.spread * spacing / 2
        first = np.floor(edges[:-1] / spacing).astype(np.int64)
        last = np.ceil(edges[1:] / spacing).astype(np.int64)
        least = [
            deviation[a : b + 1].min() if b < len(deviation) else 0.0
            for a, b in zip(first, last, strict=True)
        ]
        return np.sqrt(np.maximum(1 - np.maximum(least, 0.0) ** 2, 0.0))


_LARGEST_LATTICE = 2**17

_BLOCK = 32
_PRODUCT_NODES = 4096
"""Up to this many nodes a matrix product is cheaper than Fourier transforms."""

_TAYLOR_TERMS = 20


def revealing(probability: float) -> AtomicLaw:
    """The loss of a mechanism that reveals everything with a probability, and else nothing."""
    return AtomicLaw(np.zeros(1), np.zeros(1), infinite_mass=probability)


def certain_loss() -> AtomicLaw:
    """The loss of a mechanism that reveals everything."""
    return revealing(1.0)
