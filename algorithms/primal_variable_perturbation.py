"""Primal variable perturbation: every node noises its new iterate before it broadcasts it.

Source: Zhang and Zhu 2017, as described in zhang2018, section 2.4.

    u_i(t+1) = argmin O(f, D_i) + 2λ_i(t)ᵀf + η Σ_j ‖½(f_i(t) + f_j(t)) - f‖²
    f_i(t+1) = u_i(t+1) + ε_i(t+1),  ε ~ density ∝ exp(-α‖ε‖₂)
    λ_i(t+1) = λ_i(t) + (η/2) Σ_j (f_i(t+1) - f_j(t+1))

The node, like its neighbours, continues from the noisy iterate f_i: nothing un-noised is kept, and
every broadcast is the minimiser at what was broadcast before plus fresh noise. Replacing a record
moves the minimiser by at most 2C·max|L'|·max‖x‖/(B_i·h), h = ρ/N + 2ηV_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.algorithms.decentralised_admm import NoisyVariableADMM
from dpcalc.algorithms.engine.access import DataAccess
from dpcalc.algorithms.engine.schedules import at
from dpcalc.algorithms.problems.draws import UnitExponentialNorm
from dpcalc.algorithms.problems.noise import ExponentialNorm, NoNoise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcalc.algorithms.engine.algorithm import Arrays
    from dpcalc.algorithms.engine.network_admm import Array
    from dpcalc.algorithms.engine.state import State
    from dpcalc.algorithms.problems.consensus import ConsensusProblem
    from dpcalc.algorithms.problems.draws import Draw
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.vocabulary import Adjacency


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrimalVariablePerturbation(NoisyVariableADMM):
    """ADMM with noised iterates; the attributes are those of `NoisyVariableADMM`."""

    key = "primal-variable-perturbation"
    example_rate = 8.0

    def _draws(self, t: int) -> Mapping[str, Draw]:
        return {"noise": UnitExponentialNorm((self.problem.nodes, self.problem.dimension))}

    def _send(self, t: int, memory: Arrays, unit: Arrays) -> tuple[Array, Arrays]:
        found = self.problem.minimisers(
            self._linear(t, memory), self._curvature(t), memory["primal"]
        )
        primal = found.points + unit["noise"] / at(self.noise_rate, t)[:, None]
        extra = {"gradient_norm": found.gradient_norm}
        return primal, extra

    def _implied(
        self, t: int, memory: Arrays, primal: Array, problem: ConsensusProblem
    ) -> tuple[Array, Array]:
        """What was added to the round's minimisers, which are computed again."""
        rate = at(self.noise_rate, t)
        if np.isinf(rate).any():
            raise self._no_density(f"round {t} adds no noise at some node")
        found = problem.minimisers(self._linear(t, memory), self._curvature(t), memory["primal"])
        jacobian = np.broadcast_to(problem.dimension * np.log(rate), primal.shape[:2])
        return (primal - found.points) * rate[:, None], jacobian

    def normalised_distance(self, state: State, records: Records) -> Array:
        """See `Algorithm.normalised_distance`."""
        t, memory = state.round + 1, state.memory
        here, there = (
            problem.minimisers(self._linear(t, memory), self._curvature(t), memory["primal"]).points
            for problem in (self.problem, self.problem.with_records(records))
        )
        return (here - there) * at(self.noise_rate, t)[:, None]

    def _access(self, t: int, i: int, adjacency: Adjacency) -> DataAccess:
        rate = float(at(self.noise_rate, t)[i])
        return DataAccess(
            round=t,
            node=i,
            released="primal",
            query="node's exact minimiser",
            sensitivity=self._gradient_sensitivity(i) / self._curvature_floor(t, i),
            adjacency=adjacency,
            noise=ExponentialNorm(rate) if np.isfinite(rate) else NoNoise(),
        )


ALGORITHM = PrimalVariablePerturbation
