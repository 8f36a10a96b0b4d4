"""Few rounds of rare events: a plain convolution on a lattice, which keeps every digit of the tails.

Where one record in many is sampled a few times, the summed loss has tails heavier than any
exponential, and a contour cancels more digits than there are. Sums of products of positive numbers
cancel nothing.

*Upper end.* Each round's losses are split between the neighbours of a lattice of step h so that P-
and Q-mass are kept, as in `dpcalc.accounting.cells`. Sums beyond the lattice's top are kept as
their P- and Q-mass, which is exact as long as what is yet to come cannot bring them below ε.

*Lower end.* Given the outcomes, the sum moves by D, a sum of n independent terms, each in an
interval of length h that contains 0, with E e^{-D} = 1. With τ = √n·h/2 Hoeffding's lemma gives
``0 <= E D <= τ²/2`` and ``E e^{λD} <= e^{(λ+λ²)τ²/2}``; the same holds for -D under e^{-D}P. At
distance u = S - ε the split adds to δ at most E(D - |u|)₊ or, for u > 0, as much for -D under e^{-D}P.
As ``x₊ <= e^{λx-1}/λ``, that is at most ``B e^{-b|u|/τ}``, ``B = τ/(eb)·e^{b²/2+bτ/2}`` for every
b > 0, and because ``E e^{-b|u+D|/τ} >= e^{-b|u|/τ - bE|D|/τ}`` and ``E|D| <= τ√(1+τ²/4)`` the mean
over the true sum is at most that over the split one with B·e^{b√(1+τ²/4)} for B.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.bracket import Bracket, crossing
from dpcalc.accounting.cells import DensityPair, Loss, enclosing_laws, law_above, plan_cells
from dpcalc.accounting.composition.lattice import NOTHING, SNAP, Masses, place, summed
from dpcalc.accounting.composition.resolution import SMALLEST_TAIL, Parts
from dpcalc.accounting.laws import UNIT_ROUNDOFF, AtomicLaw, GaussianLaw, Reals, TwoPointLaw
from dpcalc.accounting.subsampling import PoissonRemove
from dpcalc.errors import NumericalFailure

METHOD = "convolution, two-sided"

_FEWEST, _FINEST = 2**11, 2**15
_WORK = 2.5e9
"""Products in all convolutions of one pass."""

_PASSES = 6
_NARROW = 0.8  # b, near the least of B·e^{b}/b
_RARE = 1e-7
"""A probability of losses so low that it is not worth a coarser lattice to have them on it."""

_CELLS = 500
_FAINTEST, _SHARPEST = 1e-6, 40.0
_WIDEST = 600.0


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
class Sums:
    """The summed loss on a lattice.

    Attributes:
        step: h.
        reach: the largest ε that sums above the lattice surely exceed.
        kept: its masses, losses below the bottom moved up to it.
        surely: the same, losses below the bottom left out.
        rounds: n.
        mass_error: bound on the masses' relative error.
        slip: bound on the error of a sum of losses.
        lost: bound on the P-mass that the windows left out, counted with what stands for it.
    """

    step: float
    reach: float
    kept: Masses
    surely: Masses
    rounds: int
    mass_error: float
    slip: float
    lost: float

    def upper(self, epsilon: float) -> float:
        """At least δ(ε)."""
        epsilon = min(epsilon - self.slip, self.reach)
        value, size = self._split(self.kept, epsilon)
        left_out = 4 * self.rounds * NOTHING * len(self.kept.values)
        return value + self.mass_error * size + left_out

    def lower(self, epsilon: float) -> float:
        """At most δ(ε)."""
        value, size = self._split(self.surely, epsilon + self.slip)
        added = self._added(self.surely, epsilon + self.slip) * (1 + self.mass_error)
        return max(0.0, value - self.mass_error * size - added - self.lost)

    def unit(self, epsilon: float) -> float:
        """About |dε/d ln δ|."""
        held = max(math.floor(epsilon / self.step) - self.kept.first, 0)
        losses = self._losses(self.kept)[held:]
        slope = float(self.kept.values[held:] @ np.exp(np.minimum(epsilon - losses, 0.0)))
        slope += math.exp(epsilon) * self.kept.above[1]
        return self._split(self.kept, epsilon)[0] / max(slope, 1e-300)

    def _split(self, masses: Masses, epsilon: float) -> tuple[float, float]:
        """δ(ε) of the split losses, and the sum of the moduli of what it was computed from."""
        held = max(math.floor(epsilon / self.step) - masses.first, 0)
        losses = self._losses(masses)[held:]
        gains = -np.expm1(np.minimum(epsilon - losses, 0.0))
        inside = float(masses.values[held:] @ gains)
        above, less = masses.above[0], math.exp(min(epsilon, _WIDEST)) * masses.above[1]
        return inside + max(above - less, 0.0), inside + above + less

    def _added(self, masses: Masses, epsilon: float) -> float:
        """What splitting adds to δ(ε), at most."""
        tau, b = math.sqrt(self.rounds) * self.step / 2 * (1 + 4 * SNAP), _NARROW
        height = tau / (math.e * b) * math.exp(b * b / 2 + b * tau / 2 + b * math.hypot(1, tau / 2))
        losses = self._losses(masses)
        decay = np.exp(-b * np.abs(losses - epsilon) / tau)
        beyond = math.exp(-b * max(self.reach - epsilon, 0.0) / tau)
        return height * (float(masses.values @ decay) + masses.above[0] * beyond)

    def _losses(self, masses: Masses) -> Reals:
        return self.step * (masses.first + np.arange(len(masses.values), dtype=np.float64))


def _convolved(parts: Parts, epsilon: float, unit: float, points: int) -> Sums:
    """The summed loss on a lattice of about ``points`` points that serves ``epsilon`` and below."""
    rounds = sum(n for _, n in parts)
    reach = epsilon + max(0.2 * epsilon, unit)
    most_down = 3 * reach * math.sqrt(points / _FEWEST)  # the finer, the farther down
    rough = [(_atoms(loss), n) for loss, n in parts]
    depth = [_depth(law, 0.0) for law, _ in rough]
    if _total(depth, parts) > most_down:
        depth = [_depth(law, _RARE / rounds) for law, _ in rough]
    room = _total(depth, parts)
    share = min(1.0, most_down / room) if room > 0 else 1.0
    step = (reach + 2 * share * room) / points
    depths = [math.ceil(share * d / step) for d in depth]
    # Above the top a sum stays above ε, whatever the remaining rounds take away.
    down = _total(depths, parts)
    top = math.ceil(reach / step) + math.ceil(down)
    if down > 2 * points:
        raise NumericalFailure(
            "rounds so few that each may have lattice points below zero were needed"
        )
    if step * (top + down) > _WIDEST:  # masses times e^loss must be doubles
        raise NumericalFailure(f"losses that add up to at most {_WIDEST:g} were needed")
    both = [_on_lattice(loss, step, -d, top) for (loss, _), d in zip(parts, depths, strict=True)]
    laws = [(law, n) for (law, _), (_, n) in zip(both, parts, strict=True)]
    counts = [n for _, n in parts]
    placed = [place(*pair, step, -d, top) for pair, d in zip(both, depths, strict=True)]
    kept = summed([(all_, n) for (all_, _), n in zip(placed, counts, strict=True)], step, top)
    surely = kept
    if any(fewer is not all_ for all_, fewer in placed):
        surely = summed(
            [(fewer, n) for (_, fewer), n in zip(placed, counts, strict=True)], step, top
        )
    longest = math.ceil(top + down)
    error = sum(n * (law.mass_error + 4 * UNIT_ROUNDOFF * longest) for law, n in laws)
    largest = max(float(np.abs(law.losses).max()) for law, _ in laws)
    slip = rounds * (2 * SNAP * step + 8 * UNIT_ROUNDOFF * largest)
    lost = sum(4 * n * law.infinite_mass for law, n in laws if law.missing < 0)
    return Sums(step, reach, kept, surely, rounds, 2 * error + 1e-13, slip, lost)


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
