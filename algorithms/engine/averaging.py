"""What dual averaging methods have in common: rounds (`averaging_rounds`), densities, accesses.

Messages are all that is sent: z, x and x̃ are functions of them. Given what was sent before, a
message is Gaussian around its noiseless value; under "one", a uniform mixture of q_i Gaussians.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.engine.access import DataAccess
from dpcalc.algorithms.engine.averaging_rounds import AveragingRounds
from dpcalc.algorithms.engine.implied import ImpliedNoise
from dpcalc.algorithms.engine.network_admm import replace_one_only
from dpcalc.algorithms.engine.record_sampling import QUERIES
from dpcalc.algorithms.engine.sampled_density import sampled_density
from dpcalc.algorithms.problems.noise import Gaussian, NoiseLaw, NoNoise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcalc.algorithms.engine.state import State
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.transcript import Transcript
    from dpcalc.vocabulary import Adjacency

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NetworkAveraging(AveragingRounds):
    """Dual averaging over a network; the attributes are those of `AveragingRounds`."""

    def _history(self, transcript: Transcript) -> Iterator[tuple[int, Array, Array, Array]]:
        """Round, where its gradients are, z(t) and message of every round, from messages alone."""
        z = np.zeros_like(transcript["message"][:, 0])
        total = np.zeros_like(z)
        for t in range(1, self.rounds + 1):
            message, x = transcript["message"][:, t - 1], self._point(t, z)
            yield t, self._queried(t, x, total), z, message
            total += self._a(t) * x
            z = self.problem.mix(message)

    def implied_noise(self, transcript: Transcript, records: Records | None = None) -> ImpliedNoise:
        """(message - z)/a - subgradient, where the subgradient is not sampled."""
        self._checked(transcript)
        if self.sigma == 0:
            raise self._no_density("sigma is 0")
        if self.sampling == "one":
            raise self._no_density("the sampled record is hidden; ask for log_density")
        twin = self if records is None else self.with_records(records)
        d, unit, jacobian = self.problem.dimension, [], []
        for t, x, z, message in self._history(transcript):
            a = self._a(t)
            unit.append(((message - z) / a - twin._mean_gradient(t, x)) / self.sigma)  # noqa: SLF001
            jacobian.append(-d * np.log(a * self.sigma))
        stacked = np.stack(unit, axis=1)
        return ImpliedNoise(
            rounds=tuple(range(1, self.rounds + 1)),
            unit=stacked,
            log_jacobian=np.broadcast_to(np.array(jacobian)[:, None], stacked.shape[:3]),
            law="gaussian",
        )

    def normalised_distance(self, state: State, records: Records) -> Array:
        """See `Algorithm.normalised_distance`."""
        if self.sampling == "one":
            raise self._no_density("the sampled record is hidden")
        t = state.round + 1
        x = self._queried(t, self._point(t, state.memory["z"]), state.memory["sum"])
        there = self.with_records(records)._mean_gradient(t, x)  # noqa: SLF001 - the same class
        return (self._mean_gradient(t, x) - there) / self.sigma

    def log_density_terms(self, transcript: Transcript, records: Records | None = None) -> Array:
        """Per round and node; under "one", the log of a mean of q_i Gaussian densities."""
        if self.sampling != "one":
            return self.implied_noise(transcript, records).log_density_terms()
        self._checked(transcript)
        if self.sigma == 0:
            raise self._no_density("sigma is 0")
        twin = self if records is None else self.with_records(records)
        terms = np.empty(transcript["message"].shape[:3])
        for t, x, z, message in self._history(transcript):
            a = self._a(t)
            for i in range(self.problem.nodes):
                noisy, records_of = (message[:, i] - z[:, i]) / a, twin.problem.part(i, 0, None)
                terms[:, t - 1, i] = sampled_density(records_of, x[:, i], noisy, self.sigma)
            terms[:, t - 1] -= self.problem.dimension * np.log(a)
        return terms

    def log_density(self, transcript: Transcript, records: Records | None = None) -> Array:
        """The sum of `log_density_terms`; shape (runs,)."""
        return self.log_density_terms(transcript, records).sum(axis=(1, 2))

    def data_accesses(self, adjacency: Adjacency | None = None) -> tuple[DataAccess, ...]:
        """One per node and round: the subgradient that goes into its message.

        With |φ'|·‖x‖ <= L a replaced record moves it by at most 2L over the records it averages.
        """
        adjacency = replace_one_only(self.key, adjacency)
        bound = 2 * self.problem.loss.derivative_bound * self.problem.records.row_bound
        law: NoiseLaw = Gaussian(self.sigma) if self.sigma > 0 else NoNoise()
        sizes = self.problem.records.sizes
        averaged = {"one": (1,) * len(sizes), "cyclic": (self._batch,) * len(sizes), "full": sizes}
        return tuple(
            DataAccess(
                round=t,
                node=i,
                released="message",
                query=QUERIES[self.sampling],
                sensitivity=bound / averaged[self.sampling][i],
                adjacency=adjacency,
                noise=law,
                sampling_rate=1 / size if self.sampling == "one" else 1.0,
                batch=(t - 1) % self._batches(i),
            )
            for t in range(1, self.rounds + 1)
            for i, size in enumerate(sizes)
        )
