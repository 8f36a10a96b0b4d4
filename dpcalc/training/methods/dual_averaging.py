"""Dual averaging over a network, without privacy, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcalc import checks
from dpcalc.theorems.parameters import choice, count, number
from dpcalc.training.method import Array, Method, get_loss, loss_choice, require_network

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.averaging import AveragingProblem
    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem
    from dpcalc.transcript import Transcript


@dataclass(frozen=True, kw_only=True, slots=True)
class DualAveraging(Method):
    """Subgradients averaged over a network."""

    key: ClassVar[str] = "dual-averaging"
    title: ClassVar[str] = "Dual averaging over a network, without privacy"
    in_blocks: ClassVar[bool] = True

    rounds: int = count("rounds, T", default=1000)
    loss: str | Loss = loss_choice("hinge", "logistic", "smoothed-hinge", "huber", default="hinge")
    ridge: float = number(
        "weight of the regulariser |x|²/2", check=checks.non_negative, default=5e-4
    )
    proximal: float = number(
        "weight γ of |x|²/2 next to all rounds; 0 needs a ridge",
        check=checks.non_negative,
        default=20.0,
    )
    mixing: str = choice("weights of the network", ("metropolis", "uniform"), default="metropolis")
    sampling: str = choice(
        "records a subgradient is computed from: one drawn at random, or all",
        ("one", "full"),
        default="one",
    )
    gradients_at: str = choice(
        "where subgradients are taken: at the iterates, as in the paper, or at their weighted means so "
        "far, which takes fewer rounds where noise is small, every node hears all others and γ is at "
        "least twice the curvature of the loss",
        ("iterates", "averages"),
        default="iterates",
    )

    def problem(self, records: Records, network: Network | None) -> AveragingProblem:
        """The averaging problem."""
        from dpcalc.algorithms.problems.averaging import AveragingProblem
        from dpcalc.algorithms.problems.regularisers import ridge

        return AveragingProblem(
            records=records,
            network=require_network(network, self.key),
            loss=get_loss(self.loss),
            regulariser=ridge(self.ridge),
            mixing=self.mixing,
        )

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """Without noise."""
        return self._algorithm(records, network, proximal=self.proximal)

    def _algorithm(self, records: Records, network: Network | None, **parameters: Any) -> Algorithm:
        from dpcalc.algorithms import load

        kind: Any = load(self.key)
        problem = self.problem(records, network)
        given = {name: getattr(self, name) for name in ("rounds", "sampling", "gradients_at")}
        made: Algorithm = kind(problem, **given, **parameters)
        return made

    def notes(self, network: Network | None) -> tuple[str, ...]:
        """Whether gradients at averages lack a condition under which they take fewer rounds."""
        if self.gradients_at == "iterates":
            return ()
        loss, lacking = get_loss(self.loss), []
        if network is not None and network.degrees.min() < network.nodes - 1:
            lacking.append("some nodes do not hear each other")
        if not loss.smooth:
            lacking.append(f"the {loss.name} loss has a kink")
        elif self.proximal < 2 * loss.curvature:
            lacking.append(
                f"proximal={self.proximal:g} is below {2 * loss.curvature:g}, twice the curvature of "
                f"the {loss.name} loss"
            )
        if self.sampling != "full":
            lacking.append(f"sampling={self.sampling} leaves records out of a round")
        said = f"gradients_at=averages: {'; '.join(lacking)}. {_NOT_SHOWN}"
        return (said,) if lacking else ()

    def weights(self, transcript: Transcript) -> Array:
        """The mean of the nodes' results."""
        return np.asarray(transcript["average"].mean(axis=1), dtype=np.float64)


_NOT_SHOWN = (
    "That averages converge here is not shown; iterates may do better. What is spent is the same."
)

METHOD = DualAveraging
