"""δ at an ε from the summed loss on nested lattices, from above and from below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.composition.lattice.frame import Frame
from dpcalc.accounting.composition.lattice.masses import SLOPES, Masses
from dpcalc.accounting.composition.lattice.rows import Row
from dpcalc.accounting.composition.lattice.splitting import Splitting
from dpcalc.accounting.losses import UNIT_ROUNDOFF, Reals
from dpcalc.numerics.products import product

WIDEST = 600.0
"""Losses on a lattice span no more, so that masses times e^loss are doubles."""


@dataclass(frozen=True, slots=True)
class ListedMasses:
    """Masses by the losses they are at.

    Attributes:
        losses: shape (n,).
        masses: shape (n,).
        above: P- and Q-mass above the lattices.
        fallen: for a sum above the top whose other rounds take it down by f, and F the floor, a
            bound of the weighed chance that f > F, or else of E (e^{f-F} - 1)₊.
    """

    losses: Reals
    masses: Reals
    above: tuple[float, float]
    fallen: float

    @classmethod
    def of(cls, sums: Masses, frame: Frame, *, weighed: bool = False) -> ListedMasses:
        """All lattices together."""
        floor = frame.step * frame.floor
        return cls(*listed(sums.rows, frame), sums.above, _fallen(sums.falls, floor, weighed))


@dataclass(frozen=True, slots=True)
class LatticeSum:
    """The summed loss, less the rounds' shifts.

    Attributes:
        frame: the lattices.
        reach: the largest ε that they serve.
        shift: the shifts together; ε is less by as much on the lattices.
        upper_masses: masses and losses rounded up, sums below the floor moved up.
        lower_masses: masses and losses rounded down, sums below the floor left out.
        moved: masses rounded up, losses down, weighed for what splitting adds to δ.
        raised: the weights of sums that the floor moved up, with losses, and of those above the top.
        splitting: how splits are weighed.
        drifts: for every part its rounds, and what `Cut.drift` says of a round's masses.
        discarded_mass: bound of P-mass that was left out.
    """

    frame: Frame
    reach: float
    shift: float
    upper_masses: ListedMasses
    lower_masses: ListedMasses
    moved: ListedMasses
    raised: tuple[ListedMasses, float]
    splitting: Splitting
    drifts: tuple[tuple[int, tuple[float, float]], ...]
    discarded_mass: float

    def upper(self, epsilon: float) -> float:
        """At least δ(ε)."""
        at = min(epsilon, self.reach)
        at = at - self.shift - self._loss_error(at)
        value, size = self._gained(self.upper_masses, at)
        # (1 - e^{ε-S})₊ exceeds 1 - e^{ε-S} where S fell below ε, by at most e^{f-F} - 1.
        fallen = self.upper_masses.above[0] * self.upper_masses.fallen
        value += self._rounding(self.upper_masses) * size
        return value * self._drifted(value) + self.discarded_mass + 1.001 * fallen

    def lower(self, epsilon: float) -> float:
        """At most δ(ε)."""
        at = epsilon - self.shift + self._loss_error(epsilon)
        value, size = self._gained(self.lower_masses, at)
        rounding = self._rounding(self.lower_masses)
        held = self.lower_masses.losses - at
        smoother = float(product(self.lower_masses.masses, self.splitting.rise(held)))
        taken = self.splitting.height * self._bumps(at)
        sure = value + smoother * (1 - rounding) - rounding * size
        sure /= self._drifted(sure / math.e / 2)
        return max(0.0, sure - taken - self.discarded_mass)

    def unit(self, epsilon: float) -> float:
        """About |dε/d ln δ|."""
        at = epsilon - self.shift
        falling = np.exp(np.minimum(at - self.upper_masses.losses, 0.0)) * (
            self.upper_masses.losses > at
        )
        slope = float(product(self.upper_masses.masses, falling))
        slope += math.exp(min(at, WIDEST)) * self.upper_masses.above[1]
        return self._gained(self.upper_masses, at)[0] / max(slope, 1e-300)

    def variance(self, epsilon: float) -> float:
        """About the variance of what splitting moved the sums near ε, over the step's square."""
        at = epsilon - self.shift
        bump = self.splitting.bump(self.lower_masses.losses - at)
        mean = float(product(self.lower_masses.masses, bump))
        weighed = float(product(self.moved.masses, self.splitting.bump(self.moved.losses - at)))
        return self.splitting.variance(self.frame.step, weighed / max(mean, 1e-300))

    def _gained(self, held: ListedMasses, at: float) -> tuple[float, float]:
        """The gain of the losses, and the sum of the moduli of what it was computed from."""
        gains = -np.expm1(np.minimum(at - held.losses, 0.0))
        inside = float(product(held.masses, gains))
        less = math.exp(min(at, WIDEST)) * held.above[1]
        return inside + max(held.above[0] - less, 0.0), inside + held.above[0] + less

    def _bumps(self, at: float) -> float:
        """At least the weighed mean of k."""
        raised, higher = self.raised
        total = float(product(self.moved.masses, self.splitting.bump(self.moved.losses - at)))
        distance = np.minimum(raised.losses - at, 0.0)
        total += float(product(raised.masses, self.splitting.bump(distance))) + higher
        margin = max(self.reach - self.shift - at, 0.0)
        far = float(self.splitting.bump(margin)) + self.moved.fallen
        return (total + self.moved.above[0] * far) * (1 + self._rounding(self.moved))

    def _drifted(self, value: float) -> float:
        """The factor by which errors of single rounds' masses can change a mean of this value.

        For a function f from 0 to 1 and masses m(1 + ξ), E_m ξ = 0, Hölder's inequality gives
        ``E f Π(1+ξ) <= (E f)^{1-1/b} (E (1+ξ)^b)^{n/b}`` and ``E (1+ξ)^b <= 1 + b²E ξ² e^{b|ξ|}/2``.
        """
        depth = -math.log(min(max(value, 1e-300), 1.0)) + 1e-9
        total = 0.0
        for rounds, (spread, most) in self.drifts:
            if most > 0:
                order = max(1.0, min(math.sqrt(2 * depth / rounds) / spread, 1 / most))
                grown = rounds * order * spread**2 / 2 * math.exp(order * most)
                total += min(depth / order + grown, 1.01 * rounds * most)
        return math.exp(total) * (1 + 1e-15)

    def _rounding(self, held: ListedMasses) -> float:
        return (len(held.losses) + 2000) * UNIT_ROUNDOFF

    def _loss_error(self, epsilon: float) -> float:
        return 8 * UNIT_ROUNDOFF * (abs(self.shift) + abs(epsilon))


def listed(rows: Sequence[Row], frame: Frame) -> tuple[Reals, Reals]:
    """Losses and masses of all points that have any."""
    losses = [frame.step_of(level) * row.points for level, row in enumerate(rows)]
    masses = np.concatenate([row.values for row in rows])
    held = masses > 0
    return np.concatenate(losses)[held], masses[held]


def left_out(frame: Frame, rounds: int) -> float:
    """Bound of the mass left out because it was next to nothing."""
    points = frame.top + frame.floor + 4 * frame.half * frame.finest
    return 8 * rounds * frame.negligible * points


def _fallen(falls: Reals, floor: float, weighed: bool) -> float:
    """By Chernoff's inequality, and (e^x - 1)₊ <= e^{(1+θ)x} θ^θ/(1+θ)^{1+θ}."""
    exponent = falls - SLOPES * (1 - 1e-9)
    if not weighed:
        orders = SLOPES / floor
        exponent = exponent - floor - np.log1p(orders) - orders * np.log1p(1 / orders)
    known = exponent[
        ~np.isnan(exponent)
    ]  # none where nothing is known of the falls: all may be there
    return min(1.0, math.exp(float(known.min(initial=0.0))) * (1 + 1e-9))
