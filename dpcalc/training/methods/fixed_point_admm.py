"""ADMM as a noisy fixed-point iteration, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcalc import checks
from dpcalc.theorems.parameters import count, number
from dpcalc.training.method import Array
from dpcalc.training.methods._composite import CompositeMethod
from dpcalc.vocabulary import Release

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.composite import CompositeProblem
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem
    from dpcalc.transcript import Transcript


@dataclass(frozen=True, kw_only=True, slots=True)
class FixedPointADMM(CompositeMethod):
    """Proximal steps with Gaussian noise on the shared variable; the last one is the model."""

    key: ClassVar[str] = "fixed-point-admm"
    title: ClassVar[str] = "ADMM as a noisy fixed-point iteration"
    in_blocks: ClassVar[bool] = True
    theorem_key: ClassVar[str | None] = "fixed-point-admm"
    attested: ClassVar[tuple[str, ...]] = (
        "convex",
        "gradient-difference",
        "exact-minimiser",
        "noisy-variable",
    )

    rounds: int = count("iterations, K", default=50)
    prox_step: float = number("step of the proximal maps, γ", default=4.0)
    relaxation: float = number("relaxation, λ in (0, 1]", default=0.5)
    ridge: float = number(
        "curvature of every record's loss on top of its own, which contracts the steps",
        check=checks.non_negative,
        default=1e-3,
    )

    def problem(self, records: Records) -> CompositeProblem:
        """The composite problem, with the ridge in the records' losses."""
        from dataclasses import replace

        return replace(CompositeMethod.problem(self, records), ridge=self.ridge)

    def theorem(self, records: Records, network: Network | None) -> Theorem:
        """The last iterate of as many steps, with the curvature of the ridge."""
        from dpcalc.theorems.fixed_point.fixed_point_admm import (
            FixedPointADMM as Result,
        )

        loss = self.problem(records).loss
        flat = loss.curvature * records.row_bound**2 + self.ridge
        return Result(
            sensitivity=2 * self.gradient_bound(records),
            n_records=len(records.labels),
            steps=self.rounds,
            prox_step=self.prox_step,
            relaxation=self.relaxation,
            strong_convexity=self.ridge or None,
            smoothness=flat if np.isfinite(flat) else None,
            sigma=1.0,
            release=Release.LAST_ITERATE,
            attest=self.attested,
        )

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """With the calibrated σ."""
        return self.built(
            records, "rounds", "prox_step", "relaxation", sigma=self.noise_level(calibrated)
        )

    def weights(self, transcript: Transcript) -> Array:
        """prox_γg of the last z."""
        x = transcript["x"]
        return np.asarray(x if x.ndim == 2 else x[:, -1], dtype=np.float64)


METHOD = FixedPointADMM
