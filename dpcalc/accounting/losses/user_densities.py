"""A pair of densities on the line that a user supplies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpcalc import checks
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discretisation import upper_and_lower
from dpcalc.accounting.losses.distribution import Reals
from dpcalc.accounting.losses.quadrature import MASS_ERROR
from dpcalc.errors import AssumptionViolated, InvalidInput

Density = Callable[[Reals], Reals]
"""The logarithm of a density at an array of points, shape (n,) or (n, k)."""

_SAMPLES = 2001
_NORMALISED = 1e-9
_SMALLEST_DENSITY, _ROOM = -650.0, 50.0
"""Logarithm of a density below which one nearby may be too small for a double, and how much nearer."""

_COARSEST = 1e-11
"""Quadrature that is off by more is refused; what it is off by counts as an error of masses."""


@dataclass(frozen=True, slots=True)
class UserDensityPair(DensityPair):
    """Densities p and q given by their logarithms.

    Args:
        first: ln p.
        second: ln q.
        support: a finite interval with all mass but ``outside``.
        scale: length over which p and q change smoothly: quadrature uses cells a tenth as wide.
        outside: bound on P's mass on either side of the interval.
        sign: -1 if ln(p/q) decreases; the line is then read from right to left.
        mass_error: least relative error of masses; with what quadrature at twice the resolution
            found.
    """

    first: Density
    second: Density
    support: tuple[float, float]
    scale: float
    outside: float = 0.0
    sign: float = 1.0
    mirrored: bool = False
    mass_error: float = MASS_ERROR

    def truncation_interval(self, tail: float) -> tuple[float, float]:
        """The support, whatever the tail: its ``outside`` takes the tail's place."""
        del tail
        low, high = self.support
        return (low, high) if self.sign > 0 else (-high, -low)

    def log_q(self, x: Reals) -> Reals:
        """The second density."""
        return np.asarray(self.second(self.sign * x), dtype=np.float64)

    def loss(self, x: Reals) -> Reals:
        """The difference of the logarithms."""
        return np.asarray(self.first(self.sign * x), dtype=np.float64) - self.log_q(x)

    def max_cell_width(self, x: Reals) -> Reals:
        """A tenth of the scale."""
        return np.full_like(x, self.scale / 10)

    def moment_interval(self, exponent: float) -> tuple[tuple[float, float], float]:
        """The support; nothing is known outside, and little where p is too small for a double.

        Between two places there the loss is at most the larger of theirs, as it is monotone, and p the
        larger of theirs with room for what it changes.
        """
        ends = self.truncation_interval(0.0)
        if self.outside > 0:
            return ends, math.inf
        places = np.linspace(*ends, _SAMPLES)
        losses = self.loss(places)
        densities = self.log_q(places) + losses
        faint = (densities[1:] < _SMALLEST_DENSITY) | (densities[:-1] < _SMALLEST_DENSITY)
        if not faint.any():
            return ends, -math.inf
        largest = np.maximum(losses[1:], losses[:-1])[faint] * (exponent * (1 + 1e-12))
        largest += np.maximum(densities[1:], densities[:-1])[faint]
        return ends, math.log(ends[1] - ends[0]) + float(largest.max()) + _ROOM


def from_user_densities(
    log_p: Density, log_q: Density, support: tuple[float, float], scale: float, outside: float
) -> UserDensityPair:
    """A checked pair.

    Raises:
        InvalidInput: if the interval or the scale is malformed or the densities are not normalised.
        AssumptionViolated: if ln(p/q) neither increases nor decreases, or the scale is too coarse.
    """
    low, high = support
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidInput(
            f"support needs two finite increasing numbers; got support={support!r}; give the mass "
            "beyond as outside"
        )
    checks.positive("scale", scale)
    checks.probability("outside", outside)
    losses = np.asarray(log_p(np.linspace(low, high, _SAMPLES))) - np.asarray(
        log_q(np.linspace(low, high, _SAMPLES))
    )
    if not np.isfinite(losses).all():
        raise InvalidInput(
            "expected finite log-densities on the whole support; got an infinite one or nan; "
            "try a smaller support, the rest as outside"
        )
    slack = 1e-12 * float(np.abs(losses).max())
    rises, falls = (np.diff(s * losses).min() >= -slack for s in (1.0, -1.0))
    if not (rises or falls):
        raise AssumptionViolated(
            "the log-likelihood ratio ln(p/q) needs to be monotone on the support; it rises and "
            "falls; try a finite distribution or a privacy profile"
        )
    pair = UserDensityPair(log_p, log_q, (low, high), scale, outside, 1.0 if rises else -1.0)
    return replace(pair, mass_error=MASS_ERROR + _quadrature_error(pair))


def _quadrature_error(pair: UserDensityPair) -> float:
    """How far masses of cells are from those of their halves, all together; both are checked."""
    coarse, fine = (_masses(pair, cells) for cells in (1, 2))
    found = 0.0
    for name, masses, halves in zip("pq", coarse, fine, strict=True):
        finer = float(halves.sum())
        if not 1 - 2 * pair.outside - _NORMALISED <= finer <= 1 + _NORMALISED and name == "p":
            raise InvalidInput(
                f"expected a density p of mass 1; its mass on the support is {finer:.12g}; "
                "try a wider support, or give what is beyond as outside"
            )
        if finer > 1 + _NORMALISED:
            raise InvalidInput(f"expected a density {name} of mass 1; its mass is {finer:.12g}")
        error = float(np.abs(masses - halves.reshape(-1, 2).sum(axis=1)).sum())
        if error > _COARSEST:
            raise AssumptionViolated(
                f"scale needs to be small enough for quadrature; got scale={pair.scale!r}, which "
                f"leaves an error of {error:.1g}; try {pair.scale / 4:g}"
            )
        found = max(found, error)
    return found


def _masses(pair: UserDensityPair, refinement: int) -> tuple[Reals, Reals]:
    """P's and Q's masses of cells a tenth of the scale wide, or of their parts."""
    low, high = pair.truncation_interval(0.0)
    count = refinement * max(2, math.ceil((high - low) / (pair.scale / 10)))
    law = upper_and_lower(pair, np.linspace(low, high, count + 1), 0.0)[1]
    return law.masses, law.masses * np.exp(-law.losses)
