"""DP-ADMM on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcalc.theorems.parameters import choice, count, number
from dpcalc.training.method import Array
from dpcalc.training.methods._composite import ConstrainedMethod
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem
    from dpcalc.transcript import Transcript


@dataclass(frozen=True, kw_only=True, slots=True)
class DPADMM(ConstrainedMethod):
    """Linearised ADMM with Gaussian noise on every gradient."""

    key: ClassVar[str] = "dp-admm"
    title: ClassVar[str] = "Gradient-perturbed ADMM"
    in_blocks: ClassVar[bool] = True
    theorem_key: ClassVar[str | None] = "dp-admm"
    attested: ClassVar[tuple[str, ...]] = ("gradient-bound",)

    rounds: int = count("iterations, T", default=100)
    step_size: float = number("step size, η", default=4.0)
    dual_start: str = choice(
        "start of the dual: zero, or from a gradient with noise of its own, or from that of round 1",
        ("zero", "noised", "shared"),
        default="zero",
    )
    output: str = choice(
        "the model: the last x, or the mean of the x of the later half of the rounds, which are "
        "released and paid for as well",
        ("last", "mean"),
        default="mean",
    )
    adjacency: Literal["add-remove", "replace-one"] = choice(
        "neighbouring relation",
        (Adjacency.REPLACE_ONE.value, Adjacency.ADD_REMOVE.value),
        default=Adjacency.REPLACE_ONE.value,
    )

    def theorem(self, records: Records, network: Network | None) -> Theorem:
        """Every noisy gradient is charged; a dual start that shares round 1's costs nothing more."""
        from dpcalc.theorems.gradient_admm.dp_admm import DPADMM as Result  # noqa: N811

        return Result(
            n_records=len(records.labels),
            rounds=self.rounds,
            gradient_bound=self.gradient_bound(records),
            sigma=1.0,
            adjacency=self.adjacency,
            dual_start="noised" if self.dual_start == "noised" else "zero",
            attest=self.attested,
        )

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """With the calibrated σ."""
        return self.built(
            records,
            "rounds",
            "penalty",
            "step_size",
            "dual_start",
            sigma=self.noise_level(calibrated),
        )

    @property
    def uses_every_round(self) -> bool:
        """Whether the model is computed from all that is released."""
        return self.output == "mean"

    def weights(self, transcript: Transcript) -> Array:
        """The last x, or the mean of the later half."""
        x = np.asarray(transcript["x"], dtype=np.float64)
        if self.output == "last":
            return x if x.ndim == 2 else x[:, -1]
        return x[:, x.shape[1] // 2 :].mean(axis=1)


METHOD = DPADMM
