"""Losses of a few rounds as two lists of values: one that dominates them, one that they dominate.

Rounds with few outcomes are their own list. Densities are cut into cells, as
`dpcalc.accounting.losses.discretisation` says, and these are halved where a sum is told too loosely.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.composition.lattice.rounds import Round
from dpcalc.accounting.composition.outcomes import Outcomes
from dpcalc.accounting.losses import UNIT_ROUNDOFF, Reals
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discretisation import cell_laws, plan_cells

Bools = NDArray[np.bool_]

_CELLS, _MOST_CELLS = 200, 12_000
_UNDERFLOW = 1e-300


@dataclass(frozen=True, slots=True)
class Listed:
    """Values of a loss with their probabilities, rounded one way.

    Attributes:
        losses: the values, shape (n,).
        masses: bounds of their probabilities.
        errors: bounds on the rounding of the values.
        infinite: bound of the probability of an infinite loss.
    """

    losses: Reals
    masses: Reals
    errors: Reals
    infinite: float


@dataclass(frozen=True, slots=True)
class Outline:
    """Rounds as lists.

    Attributes:
        above: a list that dominates.
        below: one that is dominated.
    """

    above: Listed
    below: Listed

    @property
    def cells(self) -> int:
        """How many cells may be halved."""
        return 0

    def open(self, above: Reals, below: Reals) -> Reals:
        """About what each cell leaves open of a sum that has these values at the lists' losses."""
        del above, below
        return np.zeros(0)

    def halved(self, which: Bools) -> Outline:
        """The same, with some cells cut into two."""
        del which
        return self

    def recut(self, wanted: Reals) -> Outline:
        """The same, with about so many cells where each one was, and more where integrals need them."""
        del wanted
        return self


@dataclass(frozen=True, slots=True)
class CutOutline(Outline):
    """Those of a round with a density.

    The lists begin with what belongs to the cells: above their edges, below the cells, and after that,
    where the pair is mirrored, the mirror images of both.

    Attributes:
        round: the round.
        edges: of the cells, increasing.
        tail: P-mass that may be on either side of them.
    """

    round: Round
    edges: Reals
    tail: float

    @property
    def cells(self) -> int:
        """Those between edges."""
        return len(self.edges) - 1

    def open(self, above: Reals, below: Reals) -> Reals:
        """What moving a cell's mass to its edges, P- and Q-mass kept, adds to the sum."""
        found, n = np.zeros(self.cells), self.cells
        left, right, held = (
            self.above.losses[:n],
            self.above.losses[1 : n + 1],
            self.below.losses[:n],
        )
        width = np.expm1(left - right)
        share = np.clip(np.expm1(left - held) / np.where(width < 0, width, -1.0), 0.0, 1.0)
        for k in range(2 if self.round.pair is not None and self.round.pair.mirrored else 1):
            at = above[k * (n + 1) : (k + 1) * (n + 1)]
            middle, masses = (each[k * n : (k + 1) * n] for each in (below, self.below.masses))
            found += masses * np.maximum(at[:-1] + share * (at[1:] - at[:-1]) - middle, 0.0)
            share = share * np.exp(held - right)  # of the Q-mass, which is the mirror image's
        return found

    def halved(self, which: Bools) -> Outline:
        """Cut again, unless there would be very many cells."""
        if not which.any() or self.cells + which.sum() > _MOST_CELLS:
            return self
        middle = self.edges[:-1] + np.diff(self.edges) / 2
        return cut_outline(self.round, np.union1d(self.edges, middle[which]), self.tail)

    def recut(self, wanted: Reals) -> Outline:
        """Cut anew, never wider than the integrals over cells allow."""
        edges, pair = self.edges, _pair(self.round)
        places = (edges[:-1], edges[:-1] + np.diff(edges) / 2, edges[1:])
        widest = np.min([pair.max_cell_width(place) for place in places], axis=0)
        cells = np.concatenate([[0.0], np.cumsum(wanted + np.diff(edges) / widest)])
        count = math.ceil(float(cells[-1]))
        found = np.interp(np.linspace(0.0, cells[-1], count + 1), cells, edges)
        found[0], found[-1] = edges[0], edges[-1]
        return cut_outline(self.round, np.unique(found), self.tail)


def of_outcomes(few: Outcomes) -> Outline:
    """All outcomes of rounds with few."""
    errors = np.full(len(few.losses), few.loss_error)
    more, less = 1 + few.mass_error, max(1 - few.mass_error, 0.0)
    surely, likely = (
        few.infinite * (1 - few.infinite_error),
        few.infinite * (1 + few.infinite_error),
    )
    return Outline(
        Listed(few.losses, few.masses * more + _UNDERFLOW, errors, likely),
        Listed(
            few.losses, np.maximum(few.masses * less - _UNDERFLOW, 0.0), errors, max(surely, 0.0)
        ),
    )


def of_density(round_: Round, tail: float) -> Outline:
    """A round with a density, in few cells at first.

    Args:
        round_: the round.
        tail: P-mass that may be left on either side.
    """
    pair = _pair(round_)
    plan = plan_cells(pair, pair.truncation_interval(tail), 0.0)
    return cut_outline(round_, plan.edges(_CELLS), tail)


def _pair(round_: Round) -> DensityPair:
    assert round_.pair is not None  # noqa: S101 # only such rounds are cut
    return round_.pair


def cut_outline(round_: Round, edges: Reals, tail: float) -> CutOutline:
    """A round with a density in cells between edges; see `CutOutline`."""
    pair = _pair(round_)
    upper, lower, upper_doubts, lower_doubts = cell_laws(pair, edges)
    outside = 2 * max(tail, pair.outside)
    above = [(upper.losses, upper.masses, upper_doubts)]
    below = [(lower.losses, lower.masses, lower_doubts)]
    if pair.mirrored:
        above.append(_mirrored(*above[0]))
        below.append(_mirrored(*below[0]))
        for pieces in above, below:
            rest = 1.0 - math.fsum(m for _, masses, _ in pieces for m in masses.tolist())
            doubt = math.fsum(d for _, _, doubts in pieces for d in doubts.tolist())
            pieces.append(
                (
                    np.zeros(1),
                    np.array([max(rest, 0.0)]),
                    np.array([doubt + outside + 8 * UNIT_ROUNDOFF]),
                )
            )
    if round_.atoms is not None:
        each = (
            round_.atoms.losses,
            round_.atoms.masses,
            round_.atoms.mass_error * round_.atoms.masses,
        )
        above.append(each)
        below.append(each)
    return CutOutline(
        _listed(round_, above, 1.0, outside + _UNDERFLOW),
        _listed(round_, below, -1.0, 0.0),
        round_,
        edges,
        tail,
    )


def _mirrored(losses: Reals, masses: Reals, doubts: Reals) -> tuple[Reals, Reals, Reals]:
    """Q's mass at the losses, and what it is off by."""
    seen = np.exp(-losses)
    return -losses, masses * seen, (doubts + 16 * UNIT_ROUNDOFF * (1 + losses) * masses) * seen


def _listed(
    round_: Round, pieces: list[tuple[Reals, Reals, Reals]], up: float, infinite: float
) -> Listed:
    losses, masses, doubts = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return Listed(
        losses, np.maximum(masses + up * doubts, 0.0), round_.loss_error(losses), infinite
    )
