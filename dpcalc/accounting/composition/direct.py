"""Few rounds of rare events: a plain convolution on a lattice, which keeps every digit of the tails.

Where one record in many is sampled a few times, the summed loss has tails heavier than any
exponential, and a contour cancels more digits than there are. Sums of products of positive numbers
cancel nothing.

*Upper end.* Each round's losses are split between the neighbours of a lattice of step h so that P-
and Q-mass are kept, as in `dpcalc.accounting.cells`. Sums beyond the lattice's top are kept as
their P- and Q-mass, which is exact as long as what is yet to come cannot bring them below ε.

*Lower end.* Given the outcomes, the sum moves by D, a sum of independent terms, each in an interval
of length h that contains 0, with E e^{-D} = 1. How much that can add to δ is bounded in
`dpcalc.accounting.composition.splitting`.

*Many rounds.* Partial sums below a floor are moved up to it for the upper end and left out of the
lower one. What then may fall below ε after having been above the top is bounded by Chernoff's
inequality for the rounds' negative losses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpcalc.accounting.bracket import Bracket, crossing
from dpcalc.accounting.cells import DensityPair, Loss, enclosing_laws, law_above, plan_cells
from dpcalc.accounting.composition.lattice import (
    SNAP,
    Frame,
    Masses,
    at_zero,
    placed,
    summed,
)
from dpcalc.accounting.composition.resolution import SMALLEST_TAIL, Parts
from dpcalc.accounting.composition.splitting import Splitting, fall
from dpcalc.accounting.composition.sums import WIDEST, Sums
from dpcalc.accounting.laws import UNIT_ROUNDOFF, AtomicLaw, GaussianLaw, Reals, TwoPointLaw
from dpcalc.accounting.subsampling import PoissonRemove
from dpcalc.errors import NumericalFailure

METHOD = "convolution, two-sided"

_FEWEST, _FINEST = 2**11, 2**15
_WORK = 2.5e9
"""Products in all convolutions of one pass."""

_PASSES = 6
_RARE = 1e-7
"""A probability of losses so low that it is not worth a coarser lattice to have them on it."""

_CELLS = 500
_FAINTEST, _SHARPEST = 1e-6, 40.0


def direct_epsilon(parts: Parts, delta: float, guess: float, width: float) -> Bracket | None:
    """ε(δ) by convolution; None for laws without atoms or with too many rounds.

    Args:
        parts: losses and rounds.
        delta: in (0, 1).
        guess: an upper bound of ε, positive and finite.
        width: relative width aimed at.
    """
    parts = [(_tangible(loss), n) for loss, n in parts]
    most, size = _most_points(parts), _FEWEST
    if most is None:
        return None
    found, unit = Bracket(0.0, guess, METHOD), guess
    for _ in range(_PASSES):
        before = found
        sums = _convolved(parts, before.upper, unit, size)
        tolerance = before.upper * min(width / 20, 1e-3)
        high = min(crossing(sums.upper, delta, before.upper, unit, tolerance)[1], before.upper)
        if high == 0:
            return Bracket(0.0, 0.0, METHOD)
        low = crossing(sums.lower, delta, high, unit, tolerance)[0]
        found = Bracket(max(low, before.lower), high, METHOD)
        farther, unit = unit, min(max(sums.unit(high), 1e-9 * high), high)
        if high + unit < (before.upper + farther) / 2:
            continue  # the lattice reaches too far to be fine
        if found.relative_width <= width or size == most:
            break
        size = _finer(size, found.relative_width / width, most)
    return found


def direct_delta(parts: Parts, epsilon: float, guess: float, width: float) -> Bracket | None:
    """δ(ε) likewise; ``guess``, positive, is a typical |dε/d ln δ|."""
    parts = [(_tangible(loss), n) for loss, n in parts]
    most, size = _most_points(parts), _FEWEST
    if most is None:
        return None
    found, unit = Bracket(0.0, 1.0, METHOD), guess
    for _ in range(_PASSES):
        sums = _convolved(parts, epsilon, unit, size)
        low, high = sums.lower(epsilon), sums.upper(epsilon)
        found = Bracket(max(low, found.lower), min(high, found.upper), METHOD)
        farther, unit = unit, min(max(sums.unit(epsilon), 1e-9 * unit), unit)
        if epsilon + unit < (epsilon + farther) / 2:
            continue
        if found.relative_width <= width or size == most:
            break
        size = _finer(size, found.relative_width / width, most)
    return found


def _finer(size: int, excess: float, most: int) -> int:
    """The width goes with the square of the step."""
    return min(max(math.ceil(1.2 * size * math.sqrt(excess)), 2 * size), most)


def _tangible(loss: Loss) -> Loss:
    """Laws in closed form as a pair of densities, or as atoms, where that is easy."""
    if isinstance(loss, GaussianLaw) and _FAINTEST <= loss.mu <= _SHARPEST:
        return PoissonRemove(1 / (loss.mu * (1 + 1e-15)), 1.0)  # a record that is always sampled
    if isinstance(loss, TwoPointLaw):
        return loss.as_atoms() or loss
    return loss


def _most_points(parts: Parts) -> int | None:
    """How many points the lattice may have."""
    if not all(isinstance(loss, DensityPair | AtomicLaw) for loss, _ in parts):
        return None
    convolutions = sum(count.bit_length() + count.bit_count() for _, count in parts) - 2
    size = int(math.sqrt(_WORK / max(convolutions, 1)))
    return min(size, _FINEST) if size >= _FEWEST else None


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where the lattice lies.

    Attributes:
        frame: its points.
        reach: the largest ε it serves.
        depths: how many points below zero a single round of each part may have.
        down: how many all rounds together could have.
    """

    frame: Frame
    reach: float
    depths: list[int]
    down: int

    @property
    def cut(self) -> bool:
        """Whether sums can fall below the floor."""
        return self.frame.floor < self.down


def _planned(parts: Parts, epsilon: float, unit: float, points: int) -> _Plan:
    rounds = sum(n for _, n in parts)
    reach = epsilon + max(0.2 * epsilon, unit)
    most_down = 3 * reach * math.sqrt(points / _FEWEST)  # the finer, the farther down
    rough = [_atoms(loss) for loss, _ in parts]
    depth = [_depth(law, 0.0) for law in rough]
    if _total(depth, parts) > most_down:
        depth = [_depth(law, _RARE / rounds) for law in rough]
    room = _total(depth, parts)
    share = min(1.0, most_down / room) if room > 0 else 1.0
    step = (reach + 2 * share * room) / points
    depths = [math.ceil(share * d / step) for d in depth]
    floor = down = sum(n * d for d, (_, n) in zip(depths, parts, strict=True))
    if down > points:
        floor = max(math.ceil(max(share * room, reach) / step), *depths)
    # Above the top a sum stays above ε, unless the remaining rounds take it below the floor.
    top = math.ceil(reach / step) + floor
    if step * (top + floor) > WIDEST:  # masses times e^loss must be doubles
        raise NumericalFailure(f"losses that add up to at most {WIDEST:g} were needed")
    return _Plan(Frame(step, top, floor), reach, depths, down)


def _convolved(parts: Parts, epsilon: float, unit: float, points: int) -> Sums:
    """The summed loss on a lattice of about ``points`` points that serves ``epsilon`` and below."""
    plan = _planned(parts, epsilon, unit, points)
    frame, counts, rounds = plan.frame, [n for _, n in parts], sum(n for _, n in parts)
    bottoms = [-d for d in plan.depths]
    both = [
        _on_lattice(loss, frame.step, bottom, frame.top)
        for (loss, _), bottom in zip(parts, bottoms, strict=True)
    ]
    laws, fewer = [law for law, _ in both], [law for _, law in both]
    zeros = [at_zero(law) for law in laws]
    splitting = Splitting.of(list(zip(fewer, counts, strict=True)), frame.step)

    def each(chosen: list[AtomicLaw], *, weighted: bool) -> list[tuple[Masses, int]]:
        return [
            (placed(law, zero, frame, bottom, splitting.weights(law) if weighted else 1.0), count)
            for law, zero, bottom, count in zip(chosen, zeros, bottoms, counts, strict=True)
        ]

    kept = summed(each(laws, weighted=False), frame)
    same = not plan.cut and all(a.masses.size == b.masses.size for a, b in both)
    strict = replace(frame, lifted=False)
    longest = frame.top + min(plan.down, frame.floor)
    weighted_laws = list(zip(laws, counts, strict=True))
    error = sum(n * (law.mass_error + 4 * UNIT_ROUNDOFF * longest) for law, n in weighted_laws)
    largest = max(float(np.abs(law.losses).max()) for law in laws)
    return Sums(
        frame=frame,
        reach=plan.reach,
        kept=kept,
        surely=kept if same else summed(each(fewer, weighted=False), strict),
        moved=summed(each(fewer, weighted=True), frame),
        splitting=splitting,
        falling=fall(each(laws, weighted=True), frame) if plan.cut else 0.0,
        rounds=rounds,
        mass_error=2 * error + 1e-13,
        slip=rounds * (2 * SNAP * frame.step + 8 * UNIT_ROUNDOFF * largest),
        lost=sum(4 * n * law.infinite_mass for law, n in weighted_laws if law.missing < 0),
    )


def _total(each: Sequence[float], parts: Parts) -> float:
    return sum(n * value for value, (_, n) in zip(each, parts, strict=True))


def _atoms(loss: Loss) -> AtomicLaw:
    """A coarse law that dominates the loss."""
    if isinstance(loss, AtomicLaw):
        return loss
    if not isinstance(loss, DensityPair):
        raise NumericalFailure("losses with atoms or densities were needed")
    edges = plan_cells(loss, loss.window(SMALLEST_TAIL), 0.0).edges(_CELLS)
    return enclosing_laws(loss, edges, SMALLEST_TAIL)[0]


def _on_lattice(loss: Loss, step: float, bottom: int, top: int) -> tuple[AtomicLaw, AtomicLaw]:
    """A law that dominates the loss, no cell astride a lattice point, and what of it is above.

    Args:
        loss: atoms, or a pair of densities.
        step: of the lattice.
        bottom: number of its lowest point.
        top: number of its highest point.

    Returns:
        The law, and the part that stems from outcomes with losses of ``bottom`` and above.
    """
    if isinstance(loss, AtomicLaw):
        held = loss.losses >= (bottom - SNAP) * step
        return loss, AtomicLaw(
            loss.losses[held],
            loss.masses[held],
            infinite_mass=loss.infinite_mass,
            missing=loss.missing,
            mass_error=loss.mass_error,
        )
    if not isinstance(loss, DensityPair):
        raise NumericalFailure("losses with atoms or densities were needed")
    edges = plan_cells(loss, loss.window(SMALLEST_TAIL), 0.0).edges(_CELLS)
    edges = np.union1d(edges, _where_on_the_lattice(loss, edges, step, bottom - 1, top))
    law = enclosing_laws(loss, edges, SMALLEST_TAIL)[0]
    return law, law_above(loss, edges, SMALLEST_TAIL, (bottom - SNAP) * step)


def _where_on_the_lattice(
    pair: DensityPair, edges: Reals, step: float, bottom: int, top: int
) -> Reals:
    """Where the loss is a multiple of ``step``, by bisection."""
    low, high = pair.loss(edges[[0, -1]]) / step
    first, last = math.ceil(max(low, bottom)), math.floor(min(high, top))
    targets = step * np.arange(first, last + 1)
    left, right = np.full(len(targets), edges[0]), np.full(len(targets), edges[-1])
    for _ in range(60):
        middle = left + (right - left) / 2
        below = pair.loss(middle) < targets
        left, right = np.where(below, middle, left), np.where(below, right, middle)
    if np.any(np.abs(pair.loss(right) - targets) > SNAP * step):
        raise NumericalFailure("losses that are known to a small share of a step were needed")
    return right


def _depth(law: AtomicLaw, share: float) -> float:
    """How far below zero the losses go but for a probability of ``share``."""
    order = np.argsort(law.losses)
    reached = np.cumsum(law.masses[order]) > share
    lowest = law.losses[order][reached]
    return max(0.0, -float(lowest[0])) if len(lowest) else 0.0
