"""Recycled ADMM with Gaussian objective perturbation, on somebody's data.

Node i's update divided by its weight C/B_i is an update with weight 1, stiffness (ρ/N + 2ηV_i)B_i/C and
noise σ_i B_i/C. So σ_i = σC/B_i makes all nodes equal but for their stiffness, of which the least of a
round is charged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcalc import checks
from dpcalc.theorems.parameters import number
from dpcalc.theorems.schedule import Schedule
from dpcalc.training.method import Array, require_calibrated, require_network, table
from dpcalc.training.methods._network import (
    RecycledMethod,
    model_choice,
    network_algorithm,
    open_rounds,
)
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem

_BELOW = 1 - 1e-12
"""More than what rounding of a stiffness takes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GaussianMRADMM(RecycledMethod):
    """Recycled ADMM with normal noise in the odd rounds."""

    key: ClassVar[str] = "gaussian-mr-admm"
    title: ClassVar[str] = "Recycled ADMM with Gaussian objective perturbation"
    theorem_key: ClassVar[str | None] = "gaussian-objective-perturbation"
    attested: ClassVar[tuple[str, ...]] = ("record-bounds", "exact-minimiser")

    rounds: int | None = open_rounds("odd ones look at the data, 2K")
    noise_growth: float = number("factor of σ from round to round", default=1.0)
    output: str = model_choice()
    proximal_weight: float | None = number(
        "extra penalty of the even rounds, γ (half the first penalty unless given)",
        check=checks.non_negative,
        default=None,
    )

    def theorem(self, records: Records, network: Network | None) -> Theorem:
        """Every odd round is charged, no even one; noise in units of a node's weight."""
        from dpcalc.theorems.objective_perturbation.gaussian_objective_perturbation import (
            GaussianObjectivePerturbation as Result,
        )

        made: Theorem = Result(
            regularization=self._stiffness(records, network),
            sigma=Schedule(1.0, self.noise_growth),
            rounds=self.noisy_rounds(),
            adjacency=Adjacency.REPLACE_ONE.value,
            attest=self.attested,
        )
        return made

    def _weights(self, records: Records) -> Array:
        return self.loss_weight / np.array(records.sizes, dtype=np.float64)

    def _stiffness(self, records: Records, network: Network | None) -> Schedule:
        """The least (ρ/N + 2ηV)B/C of every odd round, rounded down."""
        network = require_network(network, self.key)
        pull = 2 * self.penalties(network) * network.degrees
        least = ((self.own_ridge() / network.nodes + pull) / self._weights(records)).min(
            axis=1
        ) * _BELOW
        return Schedule(float(least[0])) if np.ptp(least) == 0 else Schedule.of("", least)

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """With the calibrated σ, in every node's own unit."""
        sigma: Schedule = getattr(require_calibrated(calibrated, self.key), "sigma")  # noqa: B009
        unit = table("sigma", sigma, self.noisy_rounds(), 1)
        return network_algorithm(
            self,
            records,
            network,
            sigma=unit * self._weights(records) * (1 + 1e-12),
            proximal_weight=self.own_proximal_weight(),
        )


METHOD = GaussianMRADMM
