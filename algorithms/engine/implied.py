"""The noise that a release implies under given data, and from it the exact log-density."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.noise import exponential_log_density, gaussian_log_density

if TYPE_CHECKING:
    from typing import Literal

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImpliedNoise:
    """Unit noise recovered from a transcript by inverting every noisy update.

    If the data are the ones the transcript was made from, ``unit`` is the noise that was drawn: a
    sample of the unit law, whatever the data. The change of variables from noise to release is
    ``log_jacobian``.

    Attributes:
        rounds: the noisy rounds, in order.
        unit: noise in units of its scale (σ = 1 or α = 1); shape (runs, noisy rounds, nodes, d).
        log_jacobian: ln|det ∂unit/∂release|; shape (runs, noisy rounds, nodes).
        law: of the unit noise.
        active: where noise was drawn at all, if not everywhere; shape as ``log_jacobian``.
        log_chance: log-probability of the released random choices; (runs,).
        possible: whether the noiseless part of the release is what these data give; (runs,).
    """

    rounds: tuple[int, ...]
    unit: Array
    log_jacobian: Array
    law: Literal["gaussian", "exponential-norm"]
    active: NDArray[np.bool_] | None = None
    log_chance: Array | float = 0.0
    possible: NDArray[np.bool_] | None = None

    def log_density_terms(self) -> Array:
        """One term per noisy round and node; shape (runs, noisy rounds, nodes)."""
        density = gaussian_log_density if self.law == "gaussian" else exponential_log_density
        terms = np.asarray(density(self.unit, 1.0) + self.log_jacobian)
        return terms if self.active is None else np.where(self.active, terms, 0.0)

    def log_density(self) -> Array:
        """Sum of the terms and the chance; minus infinity if impossible; shape (runs,)."""
        total = self.log_density_terms().sum(axis=(1, 2)) + self.log_chance
        return total if self.possible is None else np.where(self.possible, total, -np.inf)
