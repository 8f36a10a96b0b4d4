"""Two discrete laws around a continuous one: one that dominates it, one that it dominates.

The outcome space is cut into cells. A cell holds P-mass p and Q-mass q, and its losses lie between
l and r.

*Upper law.* Replace what is in the cell by two atoms at l and r with the same p and q: the masses
are ``p_r = (p - e^l q)/(1 - e^{-(r-l)})`` and ``p_l = p - p_r``. Under P the likelihood ratio
``e^{-L}`` keeps its mean in every cell and is spread to the ends, so every convex function of it,
hence every hockey-stick divergence of every composition, can only grow.

*Lower law.* Replace what is in the cell by one atom at ``ln(p/q)``. That is the law after
forgetting where in the cell the outcome was: post-processing, so divergences can only shrink.

Both differ from the truth in second order of the cell width. What lies outside the cells is handled
in the safe direction: in the upper law the right tail has infinite loss and counts once more at
loss zero, as does the left tail; in the lower law the left tail is left out and the right tail sits
at zero.

Masses are integrals over narrow cells by six-point Gauss-Legendre quadrature. What decides the
split, ``p - e^l q``, is integrated as such and not subtracted, so it stays accurate even where
p and q agree to nine digits, as they do when one record in a billion is sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.distribution import Reals
from dpcalc.accounting.losses.quadrature import mass_errors
from dpcalc.errors import NumericalFailure

_TILTED = 0.1
"""Of the cells: those that follow the tilt although more is known, in case it was not."""

_MOST_WEIGHT = 1e90
"""The cube of which is a double."""

_MOST_CELLS = 200_000
"""Of one law: a hundred megabytes while its masses are integrated."""


def coarse_upper(pair: DensityPair, tail: float, points: int = 120) -> DiscreteLoss:
    """A coarse law that dominates the pair, to choose where to integrate and how finely.

    Half its cells are where the mass is, half are spread over the window.
    """
    window = pair.truncation_interval(tail)
    plan = plan_cells(pair, window, 0.0)
    dense = np.interp(np.linspace(0, 1, points + 1), np.append(0, np.cumsum(plan.density)), plan.x)
    edges = np.union1d(dense[1:-1], np.linspace(*window, points + 1))
    return upper_and_lower(pair, edges, tail)[0]


@dataclass(frozen=True, slots=True)
class CellPlan:
    """How to cut a pair's outcome space for integration along Re z = c.

    The two laws differ by Σ w·width² in the variance tilted by c, w the tilted mass of a cell and
    ``width`` its range of losses. Cells of width proportional to w^{-1/3} make that least.

    Attributes:
        x: increasing points spanning the window.
        density: cells wanted in every interval of ``x``, for one cell in all.
        floor: cells that quadrature needs in every interval.
        spread: Σ w·width² of the best cut, times the square of the number of cells.
    """

    x: Reals
    density: Reals
    floor: Reals
    spread: float

    def edges(self, cells: float) -> Reals:
        """Edges of somewhat more than ``cells`` cells.

        Whatever was planned, they increase and span the window, or there are none.

        Raises:
            NumericalFailure: quadrature needs more cells than there is room for, or the plan is no
                number of cells.
        """
        wanted = np.maximum(cells * self.density, 0.0) + self.floor
        position = np.concatenate([[0.0], np.cumsum(wanted)])
        if not position[-1] <= _MOST_CELLS:
            raise NumericalFailure(
                f"a density that is cut into at most {_MOST_CELLS:,} cells is needed; got one that "
                f"changes so fast that it takes {position[-1]:.3g}"
            )
        count = max(int(np.ceil(position[-1])), 1)
        edges = np.interp(np.linspace(0, position[-1], count + 1), position, self.x)
        edges[0], edges[-1] = self.x[0], self.x[-1]
        return edges


def plan_cells(
    pair: DensityPair,
    window: tuple[float, float],
    c: float,
    bend: Callable[[Reals], Reals] | None = None,
    turns: Reals | None = None,
) -> CellPlan:
    """The best cut of an interval for integration along Re z = c.

    Args:
        pair: the densities.
        window: the interval.
        c: the tilt.
        bend: what a loss weighs for P-mass 1, if more is known than the tilt. Most cells then follow
            it, and ``spread`` is that of weights as they are, not of weights over their sum.
        turns: losses around which the bend changes fast, so that it is looked at there too.
    """
    x = np.linspace(*window, 801)
    losses, width = pair.loss(x), np.asarray(x[1] - x[0])
    if turns is not None:
        x = np.union1d(x, np.interp(turns, losses, x))
        losses, width = pair.loss(x), np.diff(x)
    middle = (x[1:] + x[:-1]) / 2
    exponent = pair.log_q(middle) + (1 + c) * (losses[1:] + losses[:-1]) / 2
    weight = np.exp(exponent - exponent.max()) * (width / width.max())
    weight /= weight.sum()
    density = np.cbrt(weight * np.diff(losses) ** 2)
    total = float(density.sum())
    floor = width / pair.max_cell_width(middle)
    if total == 0:  # the loss does not vary
        return CellPlan(x, np.full(len(density), 1 / len(density)), floor, 0.0)
    density /= total
    if bend is None:
        return CellPlan(x, density, floor, total**3)
    inner = (losses[1:] + losses[:-1]) / 2
    with np.errstate(over="ignore", invalid="ignore"):
        weight = np.exp(exponent - c * inner) * width * bend(inner)
        if pair.mirrored:
            weight += np.exp(exponent - (c + 1) * inner) * width * bend(-inner)
        followed = np.cbrt(np.maximum(weight, 0.0) * np.diff(losses) ** 2)
        total = float(followed.sum())
    if not total < _MOST_WEIGHT:  # an absurd bend tells nothing
        return CellPlan(x, density, floor, _MOST_WEIGHT)
    if total > 0:
        density = (1 - _TILTED) * (followed / total) + _TILTED * density
    return CellPlan(x, density, floor, total**3 / (1 - _TILTED) ** 2)


def upper_and_lower(
    pair: DensityPair, edges: Reals, tail: float
) -> tuple[DiscreteLoss, DiscreteLoss]:
    """A discrete law that dominates the pair and one that the pair dominates.

    Args:
        pair: the densities.
        edges: increasing cell edges across ``pair.window(tail)``.
        tail: bound on the P-mass on either side of the window.
    """
    tail = max(tail, pair.outside)
    losses = pair.loss(edges)
    cells = _integrate(pair, edges, losses)
    upper = _upper_law(losses, cells, tail)
    lower = _lower_law(losses, cells, tail)
    if pair.mirrored:
        return _mirrored(upper, missing=-tail), _mirrored(lower, missing=tail)
    return upper, lower


def cell_laws(pair: DensityPair, edges: Reals) -> tuple[DiscreteLoss, DiscreteLoss, Reals, Reals]:
    """The same for the outcomes between the edges alone, without tails and mirror images.

    Returns:
        The two laws, and bounds of the errors of the masses of each.
    """
    losses = pair.loss(edges)
    cells = _integrate(pair, edges, losses)
    each = 2 * cells.errors * cells.p
    return (
        _upper_law(losses, cells, 0.0),
        _lower_law(losses, cells, 0.0),
        _at_edges(each, each),
        each,
    )


@dataclass(frozen=True, slots=True)
class _Cells:
    """Integrals over cells, l the loss at a cell's left end; nothing here cancels.

    Attributes:
        p: P-mass.
        above: P-mass minus e^l times Q-mass, as the integral of e^l q(e^{loss-l} - 1).
        rise: P-mass over e^l times Q-mass, minus one.
        errors: bounds on the relative errors of these.
    """

    p: Reals
    above: Reals
    rise: Reals
    errors: Reals

    @property
    def error(self) -> float:
        """The largest of the errors."""
        return float(self.errors.max(initial=0.0))


def _integrate(pair: DensityPair, edges: Reals, losses: Reals) -> _Cells:
    nodes, weights = _legendre()
    half = np.diff(edges) / 2
    # Shape (n, 6), one node of all cells after the other in memory: sums over nodes then are fast.
    x = ((edges[:-1] + half) + half * nodes[:, None]).T
    log_q, inner = pair.log_q(x), pair.loss(x)
    climb = np.clip(inner - losses[:-1, None], 0.0, np.diff(losses)[:, None])
    # q may underflow where p does not, so both are taken relative to q's maximum in the cell.
    peak = log_q.max(axis=1, keepdims=True)
    relative = np.exp(log_q - peak) * weights
    with np.errstate(over="ignore", invalid="ignore"):
        growth = (relative * np.expm1(climb)).sum(axis=1)
        total = relative.sum(axis=1)
        scale = np.exp(peak[:, 0] + losses[:-1]) * half
        p = scale * (total + growth)
        errors = np.maximum(pair.mass_error, mass_errors(x, log_q, inner, p))
        cells = _Cells(p, scale * growth, growth / total, errors)
    if not (np.isfinite(cells.p).all() and np.isfinite(cells.rise).all()):
        raise NumericalFailure(
            "the noise is too small: the privacy loss rises by 700 or more within a cell; "
            "try more noise"
        )
    return cells


def _upper_law(losses: Reals, cells: _Cells, tail: float) -> DiscreteLoss:
    width = np.diff(losses)
    fall = -np.expm1(-width)
    # Where the loss is constant to rounding, all of a cell's mass goes to its right end.
    share = np.where(fall > 0, cells.above / np.where(fall > 0, fall, 1.0), cells.p)
    right = np.minimum(share, cells.p)
    blurred = cells.p * width
    return DiscreteLoss(
        losses,
        _at_edges(cells.p - right, right),
        infinite_mass=tail,
        missing=-tail,
        mass_error=cells.error,
        blur=_at_edges(blurred, blurred),
    )


def _at_edges(left: Reals, right: Reals) -> Reals:
    atoms = np.zeros(len(left) + 1)
    atoms[:-1] += left
    atoms[1:] += right
    return atoms


def _lower_law(losses: Reals, cells: _Cells, tail: float) -> DiscreteLoss:
    return DiscreteLoss(
        losses[:-1] + np.log1p(cells.rise),
        cells.p,
        missing=tail,
        mass_error=cells.error,
        blur=cells.p * np.diff(losses),
    )


def _mirrored(law: DiscreteLoss, *, missing: float) -> DiscreteLoss:
    """Add to each atom (l, p) with l >= 0 its mirror image (-l, p·e^{-l}), Q's mass at l."""
    return DiscreteLoss(
        np.concatenate([-law.losses[::-1], law.losses]),
        np.concatenate([(law.masses * np.exp(-law.losses))[::-1], law.masses]),
        infinite_mass=law.infinite_mass,
        missing=missing,
        mass_error=2 * law.mass_error,
        blur=np.concatenate([law.blur[::-1], law.blur]),
        balanced=True,
    )


@cache
def _legendre() -> tuple[Reals, Reals]:
    nodes, weights = np.polynomial.legendre.leggauss(6)
    return nodes, weights
