"""Single rounds as losses in cells between the points of nested lattices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.composition.lattice.frame import Frame
from dpcalc.accounting.composition.loss_sum import SMALLEST_TAIL
from dpcalc.accounting.composition.outcomes import response
from dpcalc.accounting.losses import (
    UNIT_ROUNDOFF,
    DiscreteLoss,
    GaussianLoss,
    LaplaceLoss,
    RandomisedResponseLoss,
    Reals,
)
from dpcalc.accounting.losses.density_pair import DensityPair, PrivacyLoss
from dpcalc.accounting.losses.discretisation import cell_laws, plan_cells, upper_and_lower
from dpcalc.accounting.losses.laplace_density import LaplaceBody
from dpcalc.accounting.losses.narrow_cells import narrow_enough
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove
from dpcalc.errors import NumericalFailure
from dpcalc.numerics.products import product

Bools = NDArray[np.bool_]

_CELLS = 500
_BISECTIONS = 60
_MIN_SIGNAL, _MAX_SIGNAL = 1e-6, 40.0
_CERTAIN, _LOST = 1e-11, 1e-6
_REAL = 1e-12
"""A leftover mass above this really is mass at loss zero."""

_LOSS_ERROR = 128 * UNIT_ROUNDOFF
"""Error of a loss, relative to it and to the probability that a round loses anything."""


@dataclass(frozen=True, slots=True)
class Round:
    """A round whose losses can be put on lattices.

    Attributes:
        count: how often it is used.
        pair: densities, if there are any.
        atoms: losses with probabilities of their own, if there are any.
        rough: a coarse law that dominates both.
        shift: taken from every loss, so that the common ones are near zero.
    """

    count: int
    pair: DensityPair | None
    atoms: DiscreteLoss | None
    rough: DiscreteLoss = field(compare=False)
    shift: float = 0.0

    def loss_error(self, losses: Reals) -> Reals:
        """A bound on the error of losses."""
        scale = 0.0 if self.pair is None else min(self.pair.total_variation_bound, 1.0)
        error = _LOSS_ERROR * (np.abs(losses) + scale) + 4 * UNIT_ROUNDOFF * abs(self.shift)
        return np.asarray(error)


@dataclass(frozen=True, slots=True)
class Cut:
    """A round's masses, its losses less the shift and rounded one way.

    Attributes:
        losses: shape (n,).
        masses: P-masses.
        errors: bounds on their errors.
        blurs: bounds on how far the losses were rounded.
        dense: whether a mass stands for the outcomes in the cells next to its loss.
        sums: whether the masses are known to sum to one without their errors.
    """

    losses: Reals
    masses: Reals
    errors: Reals
    blurs: Reals
    dense: Bools
    sums: bool = False

    @classmethod
    def together(cls, pieces: Sequence[Cut]) -> Cut:
        """All of them."""
        return cls(
            np.concatenate([piece.losses for piece in pieces]),
            np.concatenate([piece.masses for piece in pieces]),
            np.concatenate([piece.errors for piece in pieces]),
            np.concatenate([piece.blurs for piece in pieces]),
            np.concatenate([piece.dense for piece in pieces]),
        )

    def normalised(self) -> Cut:
        """The masses divided by their sum, if that is one but for their errors.

        Then the errors relative to the masses, weighed by those, add up to nothing.
        """
        total = math.fsum(self.masses.tolist())
        if not abs(total - 1) < _LOST:
            raise NumericalFailure(f"masses of a round that add up to one are needed; got {total}")
        if abs(total - 1) > 2 * math.fsum(self.errors.tolist()) + 1e-15:
            return self
        rest = abs(total - 1) + 4 * UNIT_ROUNDOFF
        return replace(
            self, masses=self.masses / total, errors=self.errors + rest * self.masses, sums=True
        )

    def certain(self, rounding: float) -> Cut:
        """Rounded up or down where little is known of a mass, and exact to 1e-11 otherwise."""
        doubtful = self.errors > (_CERTAIN if self.sums else 0.0) * self.masses
        masses = self.masses + rounding * np.where(doubtful, self.errors, 0.0)
        return replace(
            self,
            masses=np.maximum(masses, 0.0),
            errors=np.where(doubtful, 0.0, self.errors),
        )

    @property
    def drift(self) -> tuple[float, float]:
        """The masses' relative errors: their root mean square, and the largest."""
        held = self.masses > 0
        each = self.errors[held] / self.masses[held]
        return math.sqrt(float(product(self.masses[held], each**2))), float(each.max(initial=0.0))


def rounds_of(parts: Sequence[tuple[PrivacyLoss, int]]) -> list[Round] | None:
    """The parts as rounds; None if one has neither densities nor atoms."""
    found: list[Round] = []
    for loss, count in parts:
        split = _split(loss)
        if split is None:
            return None
        found += [
            Round(count * times, pair, atoms, _rough(pair, atoms)) for pair, atoms, times in split
        ]
    return found


def _split(loss: PrivacyLoss) -> list[tuple[DensityPair | None, DiscreteLoss | None, int]] | None:
    if isinstance(loss, DensityPair):
        return [(loss, None, 1)]
    if isinstance(loss, DiscreteLoss):
        return [(None, loss, 1)]
    if isinstance(loss, GaussianLoss) and _MIN_SIGNAL <= loss.mu <= _MAX_SIGNAL:
        # A record that is always sampled.
        return [(PoissonRemove(1 / (loss.mu * (1 + 1e-15)), 1.0), None, 1)]
    if isinstance(loss, LaplaceLoss):
        end = loss.epsilon
        ends = DiscreteLoss(np.array([-end, end]), np.array([math.exp(-end) / 2, 0.5]))
        return [(LaplaceBody(end), ends, 1)]
    if isinstance(loss, RandomisedResponseLoss):
        rounds = zip(loss.epsilons, loss.counts, strict=True)
        return [(None, response(epsilon), n) for epsilon, n in rounds]
    return None


def _rough(pair: DensityPair | None, atoms: DiscreteLoss | None) -> DiscreteLoss:
    laws = [] if atoms is None else [atoms]
    if pair is not None:
        edges = plan_cells(pair, pair.truncation_interval(SMALLEST_TAIL), 0.0).edges(_CELLS)
        laws.append(upper_and_lower(pair, edges, SMALLEST_TAIL)[0])
    if len(laws) == 1:
        return laws[0]
    return DiscreteLoss(
        np.concatenate([law.losses for law in laws]),
        np.concatenate([law.masses for law in laws]),
        infinite_mass=sum(law.infinite_mass for law in laws),
    )


def cut(round_: Round, frame: Frame, up: float) -> Cut:
    """A round in cells none of which is astride a lattice point.

    Args:
        round_: the round.
        frame: the lattices.
        up: 1 to round losses up, -1 to round them down.
    """
    pieces: list[Cut] = []
    pair = round_.pair
    if pair is not None:
        for sign in (1.0, -1.0) if pair.mirrored else (1.0,):
            pieces += _side(pair, round_, frame, up, sign)
        if pair.mirrored:
            listed = Cut.together(pieces)
            rest = max(1.0 - math.fsum(listed.masses.tolist()), _REAL)
            error = math.fsum(listed.errors.tolist()) / rest + 8 * UNIT_ROUNDOFF
            pieces.append(_single(np.zeros(1), np.array([rest]), error, round_, up))
    if round_.atoms is not None:
        losses, masses = _with_zero(round_.atoms, alone=pair is None)
        pieces.append(_single(losses, masses, round_.atoms.mass_error, round_, up))
    found = Cut.together(pieces)
    return found if pair is None or pair.outside > SMALLEST_TAIL else found.normalised()


def _with_zero(law: DiscreteLoss, *, alone: bool) -> tuple[Reals, Reals]:
    rest = 1.0 - math.fsum(law.masses.tolist()) - law.infinite_mass - law.missing
    if not alone or rest <= _REAL:
        return law.losses, law.masses
    return np.append(law.losses, 0.0), np.append(law.masses, rest)


def _single(losses: Reals, masses: Reals, error: float, round_: Round, up: float) -> Cut:
    blurs = round_.loss_error(losses)
    losses = losses + up * blurs - round_.shift
    return Cut(losses, masses, error * masses, blurs, np.zeros(losses.shape, dtype=bool))


def _side(pair: DensityPair, round_: Round, frame: Frame, up: float, sign: float) -> list[Cut]:
    """The losses of a pair, or with sign -1 their mirror image."""
    edges = plan_cells(pair, pair.truncation_interval(SMALLEST_TAIL), 0.0).edges(_CELLS)
    held = pair.loss(edges)
    reach = np.sort(sign * held[[0, -1]]) - round_.shift
    points = frame.points(float(reach[0]), float(reach[1])) + round_.shift
    # Where the loss is sure to be on the near side of a point, which then stands for it.
    targets = np.sort(sign * (points - 2 * up * round_.loss_error(points)))
    targets = targets[(targets > held[0]) & (targets < held[-1])]
    clear = _clear(held, targets, round_)
    # A loss that hardly varies is near a target everywhere.
    edges = np.union1d(edges[clear], where_losses_are(pair, edges, targets))
    edges = narrow_enough(pair, edges)
    place = sign * pair.loss(edges) - round_.shift
    slack = 8 * round_.loss_error(place)
    inside = (place >= -frame.floor * frame.step - slack) & (
        place <= frame.top * frame.step + slack
    )
    pieces = []
    if inside.sum() > 1:
        first, last = np.flatnonzero(inside)[[0, -1]]
        pieces.append(_cells(pair, edges[first : last + 1], round_, frame, (up, sign)))
        outside = [edges[: first + 1], edges[last:]]
    else:
        outside = [edges]
    return pieces + [_beyond(pair, part, round_, sign) for part in outside if len(part) > 1]


def _cells(
    pair: DensityPair, edges: Reals, round_: Round, frame: Frame, how: tuple[float, float]
) -> Cut:
    """Cells between lattice points, by a law that dominates them; losses at points are those points."""
    up, sign = how
    law, _, doubts, _ = cell_laws(pair, edges)
    masses, doubts = _as_seen(law, doubts, sign)
    error = round_.loss_error(law.losses)
    losses = sign * law.losses - round_.shift + up * error
    step = frame.step * 2.0 ** -frame.levels(losses)
    point = np.rint(losses / step) * step
    gap = up * (losses - point)
    losses = np.where((gap <= 0) & (gap >= -4 * error), point, losses)
    return Cut(losses, masses, doubts, 4 * error, np.ones(len(losses), dtype=bool))


def _as_seen(law: DiscreteLoss, doubts: Reals, sign: float) -> tuple[Reals, Reals]:
    """Masses and their errors, with sign -1 those of the mirror image."""
    if sign > 0:
        return law.masses, doubts
    seen = np.exp(-law.losses)
    return law.masses * seen, (doubts + 16 * UNIT_ROUNDOFF * (1 + law.losses) * law.masses) * seen


def _beyond(pair: DensityPair, edges: Reals, round_: Round, sign: float) -> Cut:
    """Cells beyond the lattices, each by its P- and Q-mass."""
    _, law, _, doubts = cell_laws(pair, edges)
    masses, doubts = _as_seen(law, doubts, sign)
    losses = sign * law.losses - round_.shift
    # Only P- and Q-mass count, so an error of the loss is one of the mass.
    blurs = round_.loss_error(law.losses)
    return Cut(
        losses, masses, doubts + 2 * blurs * masses, blurs, np.zeros(len(masses), dtype=bool)
    )


def _clear(losses: Reals, targets: Reals, round_: Round) -> Bools:
    """Which losses are at a distance from all targets; the first and the last always are."""
    result = np.ones(len(losses), dtype=bool)
    if len(targets):
        right = np.clip(np.searchsorted(targets, losses), 1, max(len(targets) - 1, 1))
        near = [targets[np.minimum(k, len(targets) - 1)] for k in (right - 1, right)]
        gap = np.minimum(*(np.abs(losses - each) for each in near))
        result = gap > 32 * round_.loss_error(losses)
        result[[0, -1]] = True
    return result


def where_losses_are(pair: DensityPair, edges: Reals, targets: Reals) -> Reals:
    """Where the loss takes given values, by bisection."""
    place = np.clip(np.searchsorted(pair.loss(edges), targets), 1, len(edges) - 1)
    left, right = edges[place - 1], edges[place]
    for _ in range(_BISECTIONS):
        middle = left + (right - left) / 2
        below = pair.loss(middle) < targets
        left, right = np.where(below, middle, left), np.where(below, right, middle)
    return np.asarray(right)
