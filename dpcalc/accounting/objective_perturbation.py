"""Losses that dominate one objective-perturbed update with noise of density ∝ e^{-η|b|}.

The update releases the exact minimiser f of an objective with the linear noise term bᵀf. One
record's gradient has norm at most g, its second derivative times |x|² is at most κ times the
curvature of the rest. a = ηg, and A is the loss of the noise moved by g, in dimension d.

*One record.* P with the record, P₀ without it. Where the gradient and the curvature of a record are
tied as for the logistic loss, let ``G(A) = max over s in [0, 1] of sA + ln(1 + κs(1-s))``; otherwise
``G(A) = A₊ + ln(1 + κ)``. Every A > 0 is spread to the two losses G(A) and 0 such that its P- and
P₀-mass are kept, every A <= 0 stays. What results dominates (P, P₀); its mirror image dominates
(P₀, P).

*A record for another.* P to P₀ to Q, P₀ without either record or with both, whichever is less at
every k; see `dpcalc.accounting.steps`. The largest loss is a + G(a).

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
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dpcalc.accounting.cells import enclosing_laws, plan_cells
from dpcalc.accounting.exponential_norm import ExponentialNorm
from dpcalc.accounting.laws import UNIT_ROUNDOFF, AtomicLaw, Reals
from dpcalc.accounting.quadrature import MASS_ERROR
from dpcalc.accounting.steps import Steps, lower_of, meet

_TAIL = 1e-60
_SLACK = 1e-12
"""More than what rounding makes the masses of a law exceed one by."""


@dataclass(frozen=True, slots=True)
class Update:
    """One noisy update, as far as its privacy loss goes.

    Attributes:
        bound: a, the noise rate times the largest gradient of one record; positive.
        curvature: κ, the largest second derivative of one record's term over the curvature of the
            rest; for a tied loss that of a record whose derivative s has s(1-s) for 1.
        dimension: coordinates that carry noise.
        tied: whether the record's derivative s and second derivative s(1-s) go together.
        cells: how finely the noise's loss is cut.
    """

    bound: float
    curvature: float
    dimension: int
    tied: bool
    cells: int = 1000

    def at_least(self, bound: float) -> Update:
        """With a larger a, which loses more."""
        return self if self.bound >= bound else replace(self, bound=bound)


@lru_cache(maxsize=512)
def replacement_law(update: Update) -> AtomicLaw:
    """What dominates the exchange of one record for another; symmetric."""
    half = _one_record(update)
    first = meet(half.removed, half.added)
    curve = first if half.linked is half.noise else lower_of(first, meet(*half.reversed))
    mirror = np.exp(-curve.losses)
    masses, blur = curve.masses / mirror, curve.blur
    return _law(
        np.concatenate([curve.losses, -curve.losses]),
        np.concatenate([masses, curve.masses]),
        np.concatenate([blur, blur * mirror]),
        2 * half.mass_error,
    )


@lru_cache(maxsize=512)
def removal_laws(update: Update) -> tuple[AtomicLaw, AtomicLaw]:
    """What dominates a record present against absent, and absent against present."""
    half = _one_record(update)
    removed = _between(half.linked, half.noise, half.mass_error)
    return removed, _between(half.noise, half.linked, half.mass_error)


def _between(above: _Losses, below: _Losses, error: float) -> AtomicLaw:
    """The law of some losses above 0 and the mirror image of others below it."""
    masses = np.concatenate([above.masses, below.mirrored_masses])
    gaps = np.concatenate([above.gaps(), below.gaps()])
    return _law(np.concatenate([above.losses, -below.losses]), masses, masses * gaps, error)


@dataclass(frozen=True, slots=True)
class _Losses:
    """Losses from 0 up with their P-masses, shape (n,)."""

    losses: Reals
    masses: Reals

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
        unmoved: the mass that neither ``noise`` nor its mirror image holds, at loss 0.
    """

    noise: _Losses
    linked: _Losses
    mass_error: float
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
        losses = np.append(self.noise.losses[::-1], 0.0)
        return losses, np.append(self.noise.masses[::-1], 1.0)

    @property
    def reversed(self) -> tuple[Steps, Steps]:
        """Those of P against the law with both records, with their mass under it, and of it to Q."""
        both = float(self.noise.masses.sum() - self.linked.masses.sum())
        rest = np.array([max(both + self.unmoved, 0.0)])
        down = [self.noise.losses[::-1], np.zeros(1), -self.linked.losses]
        down_masses = [self.noise.mirrored_masses[::-1], rest, self.linked.masses]
        up = np.append(self.linked.losses[::-1], 0.0), np.append(self.linked.masses[::-1], 1.0)
        return (np.concatenate(down), np.concatenate(down_masses)), up


def _one_record(update: Update) -> _OneRecord:
    noise, error = _moved_noise(update)
    linked = _spread(noise, update)
    error = 16 * error + 8 * UNIT_ROUNDOFF * len(noise.losses)
    if update.tied:
        return _OneRecord(noise, linked, error)
    both = _doubled(linked)
    unmoved = 1 - float(both.masses.sum() + both.mirrored_masses.sum())
    return _OneRecord(both, both, error, max(unmoved, 0.0))


def _moved_noise(update: Update) -> tuple[_Losses, float]:
    """A discrete law that dominates the loss of the noise moved, from 0 up."""
    if update.dimension == 1:
        return _moved_laplace(update.bound, update.cells), MASS_ERROR
    pair = ExponentialNorm(update.bound, update.dimension)
    window = (0.0, pair.window(_TAIL)[1])
    law = enclosing_laws(pair, plan_cells(pair, window, 0.0).edges(update.cells), _TAIL)[0]
    # Beyond the window losses are at most the bound.
    losses = np.append(law.losses, update.bound)
    return _Losses(losses, np.append(law.masses, _TAIL)), law.mass_error


def _moved_laplace(bound: float, cells: int) -> _Losses:
    """The same in one dimension, where P has density ``e^{-(a-l)/2}/4`` in l and half its mass at a.

    A cell of width w from l has P-mass minus e^l times Q-mass ``2 e^{-(a-l)/2} sinh²(w/4)``.
    """
    edges = np.linspace(0.0, bound, cells + 1)
    width = np.diff(edges)
    scale = np.exp(-(bound - edges[:-1]) / 2)
    mass = scale * np.expm1(width / 2) / 2
    right = np.minimum(2 * scale * np.sinh(width / 4) ** 2 / -np.expm1(-width), mass)
    masses = np.append(mass - right, 0.5)
    masses[1:] += right
    return _Losses(edges, masses)


def _spread(noise: _Losses, update: Update) -> _Losses:
    """Of every A the part that goes to G(A); the rest goes to 0."""
    linked = linked_loss(noise.losses, update.curvature, tied=update.tied)
    positive = linked > 0
    share = np.expm1(-noise.losses) / np.where(positive, np.expm1(-linked), 1.0)
    return _Losses(linked, noise.masses * np.where(positive, np.minimum(share, 1.0), 0.0))


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


def _doubled(half: _Losses) -> _Losses:
    """Twice the masses of the largest losses, as far as they and their mirror image make one."""
    masses = 2 * half.masses[::-1]
    weights = masses * (1 + np.exp(-half.losses[::-1]))
    before = np.append(0.0, np.cumsum(weights)[:-1])
    room = np.clip(1 - before, 0.0, weights)
    share = np.where(weights > 0, room / np.where(weights > 0, weights, 1.0), 0.0)
    return _Losses(half.losses, (masses * share)[::-1])


def _law(losses: Reals, masses: Reals, blur: Reals, error: float) -> AtomicLaw:
    """Atoms without those that hold nothing; the mass left over sits at 0."""
    held = (masses > 0) & (losses != 0)
    losses, masses, blur = losses[held], masses[held], blur[held]
    excess = max(float(masses.sum()) - 1, 0.0)
    return AtomicLaw(losses, masses, missing=-(excess + _SLACK), mass_error=error, blur=blur)
