"""δ at an ε from the summed loss on a lattice, from above and from below."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.composition.lattice import NOTHING, Frame, Masses
from dpcalc.accounting.composition.splitting import Splitting
from dpcalc.accounting.laws import Reals
from dpcalc.numerics.products import product

WIDEST = 600.0
"""Losses on a lattice span no more, so that masses times e^loss are doubles."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The summed loss on a lattice.

    Attributes:
        frame: the lattice; the losses of sums above it exceed ``reach`` unless they fall again.
        reach: the largest ε that the lattice serves.
        kept: its masses, losses below the bottom and sums below the floor moved up.
        surely: the same, both left out.
        moved: weighted for what splitting adds to δ, see `Splitting`.
        splitting: how far splitting moves sums.
        falling: bound of the weight that rounds take a sum down by more than the floor.
        rounds: n.
        mass_error: bound on the masses' relative error.
        slip: bound on the error of a sum of losses.
        lost: bound on the P-mass that the windows left out, counted with what stands for it.
    """

    frame: Frame
    reach: float
    kept: Masses
    surely: Masses
    moved: Masses
    splitting: Splitting
    falling: float
    rounds: int
    mass_error: float
    slip: float
    lost: float

    def upper(self, epsilon: float) -> float:
        """At least δ(ε)."""
        epsilon = min(epsilon - self.slip, self.reach)
        value, size = self._split(self.kept, epsilon)
        # (1 - e^{ε-S})₊ exceeds 1 - e^{ε-S} where S fell below ε, by at most e^{ε-S}.
        fallen = self.kept.above[0] * math.exp(-self.frame.step * self.frame.floor) * self.falling
        return value + self.mass_error * size + self._left_out + 1.001 * fallen

    def lower(self, epsilon: float) -> float:
        """At most δ(ε)."""
        value, size = self._split(self.surely, epsilon + self.slip)
        added = self._added(epsilon + self.slip) * (1 + self.mass_error)
        added += self.splitting.height * self._left_out
        return max(0.0, value - self.mass_error * size - added - self.lost)

    @property
    def _left_out(self) -> float:
        """What was left out as next to nothing, at every point and in every round, twice over."""
        return 4 * self.rounds * NOTHING * max(len(self.kept.values), len(self.moved.values))

    def unit(self, epsilon: float) -> float:
        """About |dε/d ln δ|."""
        held = max(math.floor(epsilon / self.frame.step) - self.kept.first, 0)
        losses = self._losses(self.kept)[held:]
        slope = float(product(self.kept.values[held:], np.exp(np.minimum(epsilon - losses, 0.0))))
        slope += math.exp(epsilon) * self.kept.above[1]
        return self._split(self.kept, epsilon)[0] / max(slope, 1e-300)

    def _split(self, masses: Masses, epsilon: float) -> tuple[float, float]:
        """δ(ε) of the split losses, and the sum of the moduli of what it was computed from."""
        held = max(math.floor(epsilon / self.frame.step) - masses.first, 0)
        losses = self._losses(masses)[held:]
        gains = -np.expm1(np.minimum(epsilon - losses, 0.0))
        inside = float(product(masses.values[held:], gains))
        above, less = masses.above[0], math.exp(min(epsilon, WIDEST)) * masses.above[1]
        return inside + max(above - less, 0.0), inside + above + less

    def _added(self, epsilon: float) -> float:
        """What splitting adds to δ(ε), at most."""
        rate, masses = self.splitting.rate, self.moved
        losses = self._losses(masses)
        near = float(product(masses.values, np.exp(-rate * np.abs(losses - epsilon))))
        beyond = math.exp(-rate * max(self.reach - epsilon, 0.0))
        # Sums that were moved up from below the floor and now exceed ε may really be anywhere.
        higher = float(masses.values[losses > epsilon].sum()) + masses.above[0]
        odds = self.falling / max(1 - self.falling, 1e-300)
        lifted = self.splitting.sums * odds * higher
        added = self.splitting.height * (near + masses.above[0] * beyond + lifted)
        return added + self.falling * masses.above[0]  # losses above the top are split farther

    def _losses(self, masses: Masses) -> Reals:
        return self.frame.step * (masses.first + np.arange(len(masses.values), dtype=np.float64))
