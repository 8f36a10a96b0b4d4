"""What the utility results of private dual averaging share.

Node i keeps ``z_i(t+1) = Σ_j w_ij (z_j(t) + a(t)ζ_j(t))``, ζ a subgradient at one record plus noise,
and ``x_i(t) = argmin <z_i(t), x> + A(t)h(x) + γ(t)d(x)``, ``A(t) = Σ_{s<=t} a(s)``; y(t) is the same
for the mean of the z_i. The argmin moves by at most ``|Δz|/(μA(t) + γ(t))``.

Mixing leaves of round s the share β^(t-s) at round t, so with ``S = Σ_{s<t} a(s)β^(t-s)`` and
``Q = Σ_{s<t} a(s)²β^(2(t-s))`` the root mean square over nodes of ``|z_i(t) - z̄(t)|`` is at most
``min{S√(L² + mσ²), SL + √(Q(1 - 1/n)m)σ}``: noise is independent over rounds, subgradients are not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.numerics.certified_eigenvalues import UNIT, Array
from dpcalc.theorems.authoring import assume, choice, count, number, theorem
from dpcalc.theorems.convergence._formula import FormulaRate
from dpcalc.theorems.convergence._mixing import check_mixing, mixing_matrix, second_singular_value
from dpcalc.theorems.graph import Graph
from dpcalc.theorems.matrix import Matrix
from dpcalc.theorems.parameters import graph, matrix

_MOST_ROUNDS = 2_000_000

PROMISES = (
    assume(
        "bounded-subgradients",
        "Every subgradient of every record's loss has norm at most subgradient_bound; Lipschitz on "
        "the domain of h does not imply it at the boundary.",
    ),
    assume("convex", "Losses are convex, h is strong_convexity-strongly convex."),
    assume(
        "uniform-samples",
        "Each round every node draws one of its records uniformly, independently.",
    ),
)
"""What only the caller can vouch for."""

NON_NEGATIVE_PROX = assume(
    "prox-function", "d is 1-strongly convex with d >= 0 (its minimum is taken off)."
)


def below_one(name: str, value: float) -> float:
    """``value`` if it lies in [0, 1)."""
    checks.probability(name, value)
    if value == 1:
        raise InvalidInput(f"{name} needs a number in [0, 1); got 1; the network must mix")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Consensus:
    """Weights and denominators of all rounds up to the last, and how far nodes can be apart.

    Attributes:
        weights: a(1..t).
        sums: A(1..t).
        stiffness: μA + γ.
        disagreement: bound of the root mean square over nodes of ``|z_i - z̄|`` in every round.
    """

    weights: Array
    sums: Array
    stiffness: Array
    disagreement: Array

    @property
    def apart(self) -> Array:
        """Bound of the root mean square over nodes of ``|x_i(s) - y(s)|`` in every round."""
        return self.disagreement / self.stiffness


def inflated(value: float, rounds: int) -> float:
    """Round up a sum of positive terms computed in doubles over that many rounds."""
    return math.nextafter(value * (1 + (8 * rounds + 200) * UNIT), math.inf)


@theorem()
class DualAveragingResult(FormulaRate):
    """A result on decentralised dual averaging with noise on every subgradient."""

    paper: ClassVar[str] = "Liu, Johansson and Shi 2022"

    strong_convexity: float = number("strong convexity of the regulariser h", "mu")
    subgradient_bound: float = number("largest norm of a subgradient", "L")
    graph: Graph | None = graph(
        "network: ring:5, complete:3, star:6, path:4 or edges:@file", default=None
    )
    mixing: Literal["uniform", "metropolis"] = choice(
        "weights on the edges of the network: 1/(1 + largest degree), or by the larger degree",
        default="uniform",
    )
    mixing_matrix: Matrix | None = matrix(
        "mixing matrix W instead of a network: @file", default=None
    )
    second_singular_value: float | None = number(
        "second singular value β of W instead of a network", check=below_one, default=None
    )
    n_nodes: int | None = count("nodes, n (counted if a network or W is given)", default=None)

    def _check_together(self) -> None:
        given = (self.graph, self.mixing_matrix, self.second_singular_value)
        if sum(x is not None for x in given) != 1:
            raise InvalidInput(
                "the network needs exactly one of graph, mixing_matrix and second_singular_value; "
                "try --graph ring:20"
            )
        if self.second_singular_value is None and self.n_nodes not in (None, self.nodes):
            raise InvalidInput(
                f"n_nodes needs to be what the network has; got n_nodes={self.n_nodes}, "
                f"network of {self.nodes}"
            )
        if not self.beta() < 1:
            raise InvalidInput(
                "the mixing matrix needs a second singular value below 1; got 1; "
                "try another network, or weight on the diagonal"
            )

    @property
    def nodes(self) -> int:
        """n, 1 if unknown: in the error of the mean, more nodes only average the noise further."""
        if self.graph is not None:
            return self.graph.nodes
        if self.mixing_matrix is not None:
            return len(self.mixing_matrix.rows)
        return self.n_nodes or 1

    @property
    def unshared(self) -> float:
        """1 - 1/n, the share of a node's noise that is not in the mean; 1 if n is unknown."""
        known = self.n_nodes is not None or self.second_singular_value is None
        return 1 - 1 / self.nodes if known else 1.0

    def beta(self) -> float:
        """An upper bound of the second singular value of W."""
        if self.second_singular_value is not None:
            return self.second_singular_value
        if self.graph is not None:
            return _network_beta(self.graph, self.mixing)
        return 0.0 if self.mixing_matrix is None else _matrix_beta(self.mixing_matrix)

    def consensus_of(self, weights: Array, prox: Array, noise: float) -> Consensus:
        """Weights and disagreement from a(s), γ(s) and ``√m σ``."""
        from scipy.signal import lfilter

        beta, big = self.beta(), self.subgradient_bound
        sums = np.cumsum(weights)
        mixed = lfilter([0.0, beta], [1.0, -beta], weights)
        squares = lfilter([0.0, beta**2], [1.0, -(beta**2)], weights**2)
        together = mixed * math.hypot(big, noise)
        apart = mixed * big + np.sqrt(squares * self.unshared) * noise
        stiffness = self.strong_convexity * sums + prox
        return Consensus(
            weights=weights,
            sums=sums,
            stiffness=stiffness,
            disagreement=np.minimum(together, apart),
        )

    def suboptimality(self, found: Consensus, noise: float, prox_term: float) -> float:
        """Bound of ``E[F(ỹ(t)) - F*]``.

        ``[γ(t)d* + Σ_s (2L a(s) apart(s) + a(s)²(L² + mσ²/n)/(2(μA(s) + γ(s))))]/A(t)``.
        """
        big = self.subgradient_bound
        variance = big**2 + noise**2 / self.nodes
        terms = 2 * big * found.weights * found.apart
        terms = terms + found.weights**2 * variance / (2 * found.stiffness)
        value = (prox_term + float(terms.sum())) / float(found.sums[-1])
        return inflated(value, len(found.weights))

    def squared_spread(self, found: Consensus) -> float:
        """Bound of ``(1/n) Σ_i E|x̃_i(t) - ỹ(t)|²`` for the weighted averages."""
        value = float((found.weights * found.apart**2).sum()) / float(found.sums[-1])
        return inflated(value, len(found.weights))


@cache
def _network_beta(network: Graph, rule: str) -> float:
    return second_singular_value(mixing_matrix(network, rule))


@cache
def _matrix_beta(mixing: Matrix) -> float:
    return second_singular_value(check_mixing("mixing_matrix", mixing.array))


def check_rounds(rounds: int) -> None:
    """Refuse more rounds than are summed one by one."""
    if rounds > _MOST_ROUNDS:
        raise InvalidInput(
            f"rounds needs to be at most {_MOST_ROUNDS}; got rounds={rounds:g}; "
            "the bound hardly changes beyond"
        )


def network_values(result: DualAveragingResult) -> dict[str, Any]:
    """Values of the symbols that all formulas share."""
    return {
        "mu": result.strong_convexity,
        "L": result.subgradient_bound,
        "beta": result.beta(),
        "n": float(result.nodes),
    }
