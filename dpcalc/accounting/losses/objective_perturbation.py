"""Losses that dominate one objective-perturbed update with noise of a log-concave, isotropic density.

The update releases the exact minimiser f of an objective with the linear noise term bᵀf. One
record's gradient has norm at most g, its second derivative times |x|² is at most κ times the
curvature of the rest. A is the loss of the noise moved by g: with density ∝ e^{-η|b|} that of
`ExponentialNorm`, at most a = ηg, in dimension d; with normal noise see
`dpcalc.accounting.losses.gaussian_update`, where an infinite loss stands for what is cut off.

*One record.* P with the record, P₀ without it. Where the gradient and the curvature of a record are
tied as for the logistic loss, let ``G(A) = max over s in [0, 1] of sA + ln(1 + κs(1-s))``; otherwise
``G(A) = A₊ + ln(1 + κ)``. Every A > 0 is spread to the two losses G(A) and 0 such that its P- and
P₀-mass are kept, every A <= 0 stays. What results dominates (P, P₀); its mirror image dominates
(P₀, P).

*A record for another.* P to P₀ to Q, P₀ without either record or with both, whichever is less at
every k; see `dpcalc.accounting.losses.two_steps`. The largest loss is a + G(a).

*Derivatives of either sign.* A convex loss is the sum of one that falls and one that rises, and
wherever one of them varies the other does not. So divergences at k >= 1 at most double. The convex
curve below twice the profile is that of its largest losses, as many as fit into probability one.

*Cells.* All of it is applied to a discrete law that dominates A. For fixed k the integrand
``(1 - y)(1 - ke^{-G})₊/(1 - e^{-G})``, y = e^{-A}, is convex in y: it is a maximum over s of
``(k(1-y) - (k-1)ρ)₊`` with ``ρ = c(1-y)/(c - y^s)``, c >= 1, the harmonic mean of two positive
concave functions of y. So what dominates A dominates after spreading.

*Rounding.* G is rounded up, which spreads further. Masses that are summed from the largest loss down
are positive, and the smaller half of the outcomes is the mirror image of the larger.

Proofs: docs/theorems/objective-perturbation.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.distribution import UNIT_ROUNDOFF, Reals
from dpcalc.accounting.losses.falling_shift import Atoms, Scales, capped, mean_profile
from dpcalc.accounting.losses.two_steps import Steps, lower_of, meet
from dpcalc.numerics.kept import kept_within

LAWS = 2**26
"""Bytes of laws that are kept of either kind; one takes a megabyte, or ten."""

_SLACK = 1e-12
"""More than what rounding makes the masses of a law exceed one by."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A discrete law that dominates the loss of the noise moved, from 0 up; the rest mirrors it.

    Attributes:
        losses: the finite ones.
        mass_error: relative error of their masses.
        infinite: P-mass at an infinite loss.
    """

    losses: Losses
    mass_error: float
    infinite: float = 0.0


class NoisyUpdate(Hashable, Protocol):
    """An update, whatever its noise; attributes as in `Update`."""

    @property
    def curvature(self) -> float:
        """κ."""

    @property
    def tied(self) -> bool:
        """As for the logistic loss."""

    def moved(self) -> Moved:
        """The loss A of the noise moved by the largest gradient."""

    def scales(self) -> Scales:
        """Largest gradients over standard deviations of normal noise whose mixture the noise is."""


@kept_within(LAWS)
def replacement_law(update: NoisyUpdate) -> DiscreteLoss:
    """What dominates the exchange of one record for another; symmetric."""
    half = _one_record(update)
    first = meet(half.removed, half.added, half.infinite)
    same = half.linked is half.noise
    curve = first if same else lower_of(first, meet(*half.reversed, half.infinite))
    mirror = np.exp(-curve.losses)
    masses, blur = curve.masses / mirror, curve.blur
    return _law(
        np.concatenate([curve.losses, -curve.losses]),
        np.concatenate([masses, curve.masses]),
        np.concatenate([blur, blur * mirror]),
        2 * half.mass_error,
        curve.infinite,
    )


@kept_within(LAWS)
def removal_laws(update: NoisyUpdate) -> tuple[DiscreteLoss, DiscreteLoss]:
    """What dominates a record present against absent, and absent against present."""
    half = _one_record(update)
    present, absent = half.linked, half.noise
    error, infinite = half.mass_error, half.infinite
    return _between(present, absent, error, infinite), _between(absent, present, error, infinite)


def _between(above: Losses, below: Losses, error: float, infinite: float) -> DiscreteLoss:
    """The law of some losses above 0 and the mirror image of others below it."""
    masses = np.concatenate([above.masses, below.mirrored_masses])
    gaps = np.concatenate([above.gaps(), below.gaps()])
    losses = np.concatenate([above.losses, -below.losses])
    return _law(losses, masses, masses * gaps, error, infinite)


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses from 0 up with their P-masses, shape (n,)."""

    losses: Reals
    masses: Reals

    @property
    def atoms(self) -> Atoms:
        """Both."""
        return self.losses, self.masses

    @property
    def mirrored_masses(self) -> Reals:
        """The masses under the other distribution, which the mirror image has under P."""
        return np.asarray(self.masses * np.exp(-self.losses))

    def gaps(self) -> Reals:
        """Distance to the farther neighbour."""
        steps = np.diff(self.losses, prepend=0.0)
        return np.maximum(steps, np.append(steps[1:], 0.0))


@dataclass(frozen=True, slots=True)
class _OneRecord:
    """The losses of one record's removal.

    Attributes:
        noise: losses of the moved noise, A >= 0.
        linked: the losses G(A) that A > 0 is spread to, besides 0.
        mass_error: relative error of sums of masses.
        infinite: mass of infinite losses, which stay infinite.
        unmoved: the mass that neither ``noise`` nor its mirror image holds, at loss 0.
    """

    noise: Losses
    linked: Losses
    mass_error: float
    infinite: float
    unmoved: float = 0.0

    @property
    def removed(self) -> Steps:
        """The losses of P against P₀ from the largest down, with their mass under P₀."""
        spread = float(self.noise.mirrored_masses.sum() - self.linked.mirrored_masses.sum())
        rest = spread + self.unmoved
        losses = [self.linked.losses[::-1], np.zeros(1), -self.noise.losses]
        masses = [self.linked.mirrored_masses[::-1], np.array([max(rest, 0.0)]), self.noise.masses]
        return np.concatenate(losses), np.concatenate(masses)

    @property
    def added(self) -> Steps:
        """Those of P₀ against Q; what is below 0 lies in the smaller half."""
        return self._upper_half(self.noise)

    @property
    def reversed(self) -> tuple[Steps, Steps]:
        """Those of P against the law with both records, with their mass under it, and of it to Q."""
        both = float(self.noise.masses.sum() - self.linked.masses.sum())
        rest = np.array([max(both + self.unmoved, 0.0)])
        down = [self.noise.losses[::-1], np.zeros(1), -self.linked.losses]
        down_masses = [self.noise.mirrored_masses[::-1], rest, self.linked.masses]
        return (np.concatenate(down), np.concatenate(down_masses)), self._upper_half(self.linked)

    def _upper_half(self, above: Losses) -> Steps:
        losses = np.concatenate([[math.inf], above.losses[::-1], [0.0]])
        return losses, np.concatenate([[self.infinite], above.masses[::-1], [1.0]])


def _one_record(update: NoisyUpdate) -> _OneRecord:
    moved = update.moved()
    noise, linked = moved.losses, _spread(moved.losses, update)
    if update.tied and (profile := mean_profile(update.scales(), update.curvature)) is not None:
        linked = Losses(*capped(linked.atoms, noise.atoms, profile))
    error = 16 * moved.mass_error + 8 * UNIT_ROUNDOFF * len(noise.losses)
    if update.tied:
        return _OneRecord(noise, linked, error, moved.infinite)
    both = _doubled(linked)
    unmoved = 1 - float(both.masses.sum() + both.mirrored_masses.sum())
    return _OneRecord(both, both, error, 2 * moved.infinite, max(unmoved, 0.0))


def _spread(noise: Losses, update: NoisyUpdate) -> Losses:
    """Of every A the part that goes to G(A); the rest goes to 0."""
    linked = linked_loss(noise.losses, update.curvature, tied=update.tied)
    positive = linked > 0
    share = np.expm1(-noise.losses) / np.where(positive, np.expm1(-linked), 1.0)
    return Losses(linked, noise.masses * np.where(positive, np.minimum(share, 1.0), 0.0))


def linked_loss(losses: Reals, curvature: float, *, tied: bool) -> Reals:
    """G(A) for A >= 0, rounded up.

    The maximiser of the tied form solves ``Aκs² + (2-A)κs - (A+κ) = 0``, which is 1 from A >= κ on.
    The maximum of a concave function exceeds its value at s by at most the slope there.
    """
    if not tied:
        return np.asarray((losses + math.log1p(curvature)) * (1 + 8 * UNIT_ROUNDOFF))
    free = losses >= curvature
    if free.all():
        return losses
    a, kappa = np.where(free, 0.0, losses), curvature
    linear = (2 - a) * kappa
    root = np.sqrt(linear**2 + 4 * a * kappa * (a + kappa))
    # Up to A = 2 the sum, beyond it the difference does not cancel.
    below = np.where(linear > 0, linear + root, 1.0)
    above = np.where(linear > 0, 1.0, 2 * a * kappa)
    s = np.where(linear > 0, 2 * (a + kappa) / below, (root - linear) / above)
    s = np.clip(s, 0.0, 1.0)
    bend = kappa * s * (1 - s)
    slope = np.abs(a + kappa * (1 - 2 * s) / (1 + bend)) + 8 * UNIT_ROUNDOFF * (a + kappa)
    return np.where(free, losses, (s * a + np.log1p(bend) + slope) * (1 + 16 * UNIT_ROUNDOFF))


def _doubled(half: Losses) -> Losses:
    """Twice the masses of the largest losses, as far as they and their mirror image make one."""
    masses = 2 * half.masses[::-1]
    weights = masses * (1 + np.exp(-half.losses[::-1]))
    before = np.append(0.0, np.cumsum(weights)[:-1])
    room = np.clip(1 - before, 0.0, weights)
    share = np.where(weights > 0, room / np.where(weights > 0, weights, 1.0), 0.0)
    return Losses(half.losses, (masses * share)[::-1])


def _law(losses: Reals, masses: Reals, blur: Reals, error: float, infinite: float) -> DiscreteLoss:
    """Atoms without those that hold nothing; the mass left over sits at 0."""
    held = (masses > 0) & (losses != 0)
    losses, masses, blur = losses[held], masses[held], blur[held]
    infinite *= 1 + _SLACK
    missing = -(max(float(masses.sum()) - 1, 0.0) + _SLACK + infinite)
    return DiscreteLoss(
        losses, masses, infinite_mass=infinite, missing=missing, mass_error=error, blur=blur
    )
