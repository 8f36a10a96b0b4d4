"""Convergence of R-ADMM and MR-ADMM (recycled network ADMM).

Statement
    (f(t), Λ(t)) converges to (f*, Λ*) if penalties do not decrease, are finite, and (i)-(ii) hold
    for some L > 0, μ > 1

    Odd rounds are network ADMM with penalties η_i, even rounds take one step of length
    ``1/(2η_iV_i + γ)`` along the augmented Lagrangian's gradient; every O_i is convex and M_i-smooth;
    (i) ``I + W⁺(D+A)D̃⁻¹ ≻ (Lμ/(2σ_min(D̃)))(W⁺(D-A))†D_M`` and
    (ii) ``W⁺(D+A) ≻ W⁺(D+A)D̃⁻¹(W(D-A) + (2/L)W⁺(D+A)) + (Lμ/(2σ_min(D̃)(μ-1)))D_M``, with
    W = diag(η_i(t)), W⁺ = diag(η_i(t+1)), D̃ = 2W(t)D + γI, D_M = diag(M_i²). (iii)-(iv) are the case
    L = μ = 2 of common penalties.
    η = penalty, γ = proximal_weight, M = smoothness, L = coupling, μ = split.
Source
    Zhang, Khalili and Liu 2019, theorem IV.1
Certified
    Common penalties that settle, γ = 0 or a regular network: convergence of the odd rounds for all
    convex O_i, without (i)-(ii). Other networks: convergence for given curvatures, with a rate.
Rounding
    The answer is 0 or ∞. A rate is proved by a definite matrix, rounding included.
"""

from __future__ import annotations

from itertools import pairwise

from dpcalc import checks
from dpcalc.errors import AssumptionViolated
from dpcalc.numerics.precise import mpf, round_down
from dpcalc.theorems.authoring import assume, count, finding, number, theorem
from dpcalc.theorems.base import Formula, Scope
from dpcalc.theorems.convergence._base import ConvergenceResult, Rate, by_node, no_bound
from dpcalc.theorems.convergence._penalties import (
    Row,
    common,
    decreasing,
    left_by_growing,
    rows,
    tail,
)
from dpcalc.theorems.convergence._quadratic import (
    QuadraticProblem,
    biased,
    curvatures,
    hardest,
    limit_formula,
    linear_terms,
    quadratic_problem,
    recycled_contraction,
)
from dpcalc.theorems.convergence._recycled_conditions import (
    PairConditions,
    best_constants,
    margin_formula,
)
from dpcalc.theorems.graph import Graph
from dpcalc.theorems.numbers import Digits
from dpcalc.theorems.parameters import graph, schedule
from dpcalc.theorems.schedule import Schedule


def _growing(result: RecycledADMMConvergence) -> bool:
    return result.penalty.factor > 1.0


def _own_penalties(result: RecycledADMMConvergence) -> bool:
    return not all(common(row) for row in result.penalties())


def _proportional(result: RecycledADMMConvergence) -> bool:
    return result.graph.regular or result.proximal_weight == 0


def _shrinking(result: RecycledADMMConvergence) -> str | None:
    return decreasing(result.penalty, result.graph.nodes)


@theorem(
    quantity="limit of the distance between the odd iterates and the minimisers",
    example={
        "graph": "complete:3",
        "penalty": 1,
        "proximal_weight": 50,
        "smoothness": 1,
    },
)
class RecycledADMMConvergence(ConvergenceResult):
    """Whether R-ADMM or MR-ADMM reaches a minimiser of the sum of all objectives."""

    findings = (
        finding(
            "False for penalties that differ between nodes: the dual step W(D - A) keeps Σ λ_i/η_i at "
            "zero, so a limit minimises Σ O_i/η_i. On K₃ with η = (1, 2, 4), γ = 50, "
            "O_i = f²/2 - b_i f, b = (0, 0, 3), where (i)-(ii) hold, it is 3/7 and the optimum is 1.",
            "proof fails",
            _own_penalties,
        ),
        finding(
            "False for penalties whose inverses are summable, such as growing geometric ones: the "
            "error of O_i = (x - 1)²/2 from f(0) = 0 is a convergent product above zero.",
            "proof fails",
            _growing,
        ),
        finding(
            "With common penalties (i)-(ii), and so (iii)-(iv), cannot be satisfied on a bipartite "
            "network (paths, trees, stars, even rings), whatever γ, contrary to the text: in the "
            "direction ±1 of the two groups D + A vanishes and (ii) reads 0 > M².",
            "loose",
            lambda result: result.graph.bipartite and not _own_penalties(result),
        ),
        finding(
            "(i)-(ii) are not needed on regular networks or for γ = 0: with common penalties the odd "
            "rounds converge for every γ >= 0 and all convex objectives, smooth or not.",
            "loose",
            lambda result: _proportional(result) and not _own_penalties(result),
        ),
        finding(
            "The proof is not part of the paper, and for networks of unequal degrees with γ > 0 no "
            "proof is known; no counterexample is known either, and curvatures settle the question "
            "for quadratics.",
            "incomplete",
            lambda result: not _proportional(result) and not _own_penalties(result),
        ),
    )
    assumptions = (
        assume("convex", "Every objective is convex and continuously differentiable."),
        assume("smooth", "Every objective is smoothness-smooth.", "claimed"),
        assume("solvable", "The sum of the objectives has a minimiser."),
        assume("zero-dual-start", "All dual variables start at zero."),
        assume("exact-minimiser", "Every odd primal update is the exact minimiser."),
        assume("penalties-increase", "Penalties do not decrease.", "claimed", _shrinking),
    )

    graph: Graph = graph("network: ring:5, complete:3, star:6, path:4 or edges:@file")
    penalty: Schedule = schedule("penalty per odd round and node, η; a table keeps its last row")
    proximal_weight: float = number("weight of the even step, γ", check=checks.non_negative)
    smoothness: Schedule = schedule("smoothness of the objectives, M; one number, or one per node")
    rounds: int = count("odd rounds over which (i)-(ii) are checked", default=1)
    coupling: float | None = number("the paper's free L > 0 (the best unless given)", default=None)
    split: float | None = number(
        "the paper's free μ > 1 (the best unless given)", check=checks.above_one, default=None
    )
    curvature: Schedule | None = curvatures()
    linear: Schedule | None = linear_terms()

    def _check_together(self) -> None:
        self.penalties()
        by_node("smoothness", self.smoothness, self.graph.nodes)
        self.problem()

    def penalties(self) -> list[Row]:
        """η per checked round and node."""
        return rows(self.penalty, self.graph.nodes, self.rounds if self.rounds > 1 else None)

    def problem(self) -> QuadraticProblem | None:
        """The concrete quadratic problem, if curvatures are given."""
        return quadratic_problem(self.curvature, self.linear, self.graph.nodes)

    def claimed(self) -> Rate:
        """Convergence, if constants L and μ with (i)-(ii) are found."""
        self.require(Scope.CLAIMED)
        coupling, split, margin = self._constants()
        if not all(pair.hold(coupling, split) for pair in self._pairs()):
            why = (
                "there are none on a bipartite network with common penalties"
                if self.graph.bipartite and not _own_penalties(self)
                else f"the best have margin {margin:.4g} (L = {coupling:.4g}, μ = {split:.4g}); "
                "try a larger proximal-weight"
            )
            raise AssumptionViolated(f"{self.key}: (i)-(ii) need constants L > 0, μ > 1; {why}")
        numbers = {"coupling": coupling, "split": split, "margin": margin}
        return Rate(0.0, numbers, "printed statement; (i)-(ii) hold for these constants")

    def _constants(self) -> tuple[float, float, float]:
        """L, μ and the smallest eigenvalue of (i)-(ii) over the checked rounds."""
        return best_constants(self._pairs(), self.coupling, self.split)

    def _pairs(self) -> list[PairConditions]:
        """(i)-(ii) for every two consecutive odd rounds."""
        found = self.penalties()
        smoothness = by_node("smoothness", self.smoothness, self.graph.nodes)
        return [
            PairConditions.of(self.graph, before, after, self.proximal_weight, smoothness)
            for before, after in dict.fromkeys(pairwise([found[0], *found]))
        ]

    def certified(self) -> Rate:
        """Convergence where it is proved; with curvatures given also a rate."""
        self.require(Scope.CERTIFIED)
        last = tail(self.penalty, self.graph.nodes)
        if last is None:
            return no_bound("nothing is proved for penalties that never settle")
        if _own_penalties(self):
            return no_bound("with penalties of its own at every node the limit is another one")
        numbers = self._rate(last)
        if _proportional(self):
            return Rate(0.0, numbers, "passive linear part, common penalties")
        if numbers:
            return Rate(0.0, numbers, "definite matrix for the given curvatures")
        return no_bound("nothing is proved for unequal degrees and γ > 0; try curvatures")

    def _rate(self, last: Row) -> dict[str, float]:
        """The contraction per two rounds in the end, for given curvatures."""
        problem = self.problem()
        if problem is None or not problem.solvable:
            return {}
        rate = self._contraction(last, problem)
        return {"contraction": rate} if rate is not None and rate < 1 else {}

    def _contraction(self, last: Row, problem: QuadraticProblem) -> float | None:
        return recycled_contraction(self.graph, last, self.proximal_weight, problem.curvature)

    def attained(self) -> Rate | None:
        """The error that never goes away, on a concrete problem."""
        if _growing(self):
            return self._stalled()
        found = self.penalties()
        if len(set(found)) > 1 or common(found[0]):
            return None
        weights = tuple(1 / x for x in found[0])
        problem = self.problem() or hardest(self.graph.nodes, weights)
        rate = self._contraction(found[0], problem) if problem.solvable else None
        if rate is None or rate >= 1:
            return None
        return biased(problem, weights, "minimiser of Σ O_i/η_i")

    def _stalled(self) -> Rate | None:
        """What ``O_i = (hV_i/2)(x - 1)²`` leaves of the error 1, a lower bound.

        The nodes stay equal. With h at most the first η every odd round leaves 2η/(2η + h) and every
        even one at least 1 - h/(2η), which is above y/(1 + y) for y = η/h.
        """
        if not _proportional(self):
            return None
        smoothness = by_node("smoothness", self.smoothness, self.graph.nodes)
        steepest = min(m / v for m, v in zip(smoothness, self.graph.degrees, strict=True))
        h = min(1.0, self.penalty.start, float(steepest))
        x = Digits(self)
        odd, even = (left_by_growing(x, self.penalty, pull / mpf(h)) for pull in (2, 1))
        left = round_down(odd * even)
        numbers = {"limit": 1 - left, "optimum": 1.0}
        return Rate(left, numbers, f"O_i = ({h:.4g}·V_i/2)(x - 1)², f(0) = 0")

    def symbolic(self) -> tuple[Formula, ...]:
        """The limit for unequal penalties; the margin of (i)-(ii) on a regular network."""
        found = self.penalties()
        if _own_penalties(self):
            same = len(set(found)) == 1
            return (limit_formula(self.problem(), found[0]),) if same else ()
        smoothness = by_node("smoothness", self.smoothness, self.graph.nodes)
        if self.graph.regular and common(smoothness) and len(set(found)) == 1:
            coupling, split, _ = self._constants()
            values = {"eta": found[0][0], "gamma": self.proximal_weight, "M": smoothness[0]}
            return (margin_formula(self.graph, values | {"L": coupling, "mu": split}),)
        return ()
