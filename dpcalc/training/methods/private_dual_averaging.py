"""Private dual averaging over a network, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dpcalc.theorems.parameters import choice, count
from dpcalc.training.method import require_calibrated
from dpcalc.training.methods.dual_averaging import DualAveraging

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem

_WORDS: dict[str, Literal["one", "mini-batch", "full-batch"]] = {
    "one": "one",
    "cyclic": "mini-batch",
    "full": "full-batch",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateDualAveraging(DualAveraging):
    """Dual averaging with Gaussian noise on every subgradient."""

    key: ClassVar[str] = "private-dual-averaging"
    title: ClassVar[str] = "Private dual averaging over a network"
    theorem_key: ClassVar[str | None] = "private-dual-averaging"
    attested: ClassVar[tuple[str, ...]] = ("subgradient-bound", "independent-sampling")

    rounds: int = count("rounds, T", default=100)
    sampling: str = choice(
        "records a subgradient is computed from: all, one drawn at random, or batches in turn",
        ("full", "one", "cyclic"),
        default="full",
    )
    batch_size: int | None = count(
        "records of a batch; must divide every node's number of records", default=None
    )
    weighting: str = choice("a(t): t as in the paper, or 1", ("linear", "equal"), default="linear")

    def theorem(self, records: Records, network: Network | None) -> Theorem:
        """The smallest node pays most."""
        from dpcalc.theorems.dual_averaging.private_dual_averaging import (
            PrivateDualAveraging as Result,
        )
        from dpcalc.training.method import get_loss

        return Result(
            n_records=min(records.sizes),
            rounds=self.rounds,
            lipschitz=get_loss(self.loss).derivative_bound * records.row_bound,
            sigma=1.0,
            sampling=_WORDS[self.sampling],
            batch_size=self.batch_size,
            attest=self.attested,
        )

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """With the calibrated σ."""
        noise: Any = require_calibrated(calibrated, self.key)
        return self._algorithm(
            records,
            network,
            proximal=self.proximal,
            sigma=noise.sigma,
            weights="linear" if self.weighting == "linear" else 1.0,
            batch_size=self.batch_size,
        )


METHOD = PrivateDualAveraging
