"""Convergence of M-ADMM (network ADMM with private penalties).

Statement
    if every O_i is convex and differentiable, η_i(t+1) >= η_i(t) >= θ > 0 and η_i(t) < ∞, then
    (Y(t), f(t)) converges to (Y*, f*)

    Node i minimises ``O_i(f) + 2λ_iᵀf + η_i(t+1) Σ_j |f - (f_i + f_j)/2|²`` and then moves its dual
    by ``λ_i += (θ/2) Σ_j (f_i - f_j)``.
    η = penalty, θ = dual_step, the network = graph.
Source
    Zhang, Khalili and Liu 2018, theorem 3.1
Certified
    Common penalties whose inverses are not summable, θ < 2η: convergence for all convex O_i.
    Constant penalties that differ between nodes, θ < 2η, quadratic O_i: convergence, because no
    eigenvalue but 1 lies on or outside the unit circle. For given curvatures also a rate.
Rounding
    The answer is 0 or ∞. A rate is proved by a definite matrix, rounding included.
"""

from __future__ import annotations

from dpcalc.numerics.precise import round_down
from dpcalc.theorems.authoring import Numbers, Real, assume, finding, theorem
from dpcalc.theorems.base import Formula, Scope
from dpcalc.theorems.convergence._base import ConvergenceResult, Rate, by_node, no_bound
from dpcalc.theorems.convergence._penalties import (
    Row,
    common,
    left_by_growing,
    penalties_of_m_admm,
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
    m_admm_contraction,
    quadratic_problem,
)
from dpcalc.theorems.formulas import shown
from dpcalc.theorems.graph import Graph
from dpcalc.theorems.numbers import Digits, Symbols
from dpcalc.theorems.parameters import flag, graph, schedule
from dpcalc.theorems.schedule import Schedule


def _growing(result: MADMMConvergence) -> bool:
    return result.penalty.factor > 1.0


def _own_steps(result: MADMMConvergence) -> bool:
    return not common(result.steps())


def _own_penalties(result: MADMMConvergence) -> bool:
    last = result.settled()
    return last is not None and not common(last)


def _step_too_large(result: MADMMConvergence) -> str | None:
    first = rows(result.penalty, result.graph.nodes)[0]
    if any(theta > eta for theta, eta in zip(result.steps(), first, strict=True)):
        return f"the paper needs dual_step at most the first penalty {min(first):g}"
    return None


@theorem(
    quantity="limit of the distance between the iterates and the minimisers",
    example={
        "graph": "complete:2",
        "penalty": "0.5:1.2",
        "dual_step": 0.5,
    },
)
class MADMMConvergence(ConvergenceResult):
    """Whether M-ADMM reaches a minimiser of the sum of all objectives."""

    findings = (
        finding(
            "False for penalties whose inverses are summable, such as growing geometric ones: with "
            "O_i = (V_i/2)(x - 1)² and f(0) = 0 the error is Π 2η/(1 + 2η) on every network, and for "
            "η = 0.5·1.2^t the iterates stop at 0.99229. The proof treats the sum over rounds of the "
            "growth of the norm as finite because every single penalty is.",
            "proof fails",
            _growing,
        ),
        finding(
            "The paper remarks that dual steps may differ between nodes. Then Σ λ_i/θ_i stays zero, "
            "so a limit minimises Σ O_i/θ_i and not Σ O_i.",
            "proof fails",
            _own_steps,
        ),
        finding(
            "The proof treats W(D - A) and W(D + A) as positive semidefinite; for penalties that "
            "differ between nodes they are not even symmetric. For constant penalties and quadratic "
            "objectives the conclusion is true by another argument; beyond them nothing is proved.",
            "proof fails",
            lambda result: _own_penalties(result) and not result.is_quadratic,
        ),
        finding(
            "For penalties that differ between nodes the conclusion survives on quadratic objectives "
            "although the proof does not.",
            "remark",
            lambda result: _own_penalties(result) and result.is_quadratic,
        ),
        finding(
            "θ < 2η is enough, and what common penalties need is that the sum of their inverses "
            "diverges; finite is not enough, bounded is more than needed.",
            "remark",
        ),
    )
    assumptions = (
        assume("convex", "Every objective is convex and continuously differentiable."),
        assume("solvable", "The sum of the objectives has a minimiser."),
        *penalties_of_m_admm(_step_too_large),
    )

    graph: Graph = graph("network: ring:5, complete:3, star:6, path:4 or @file")
    penalty: Schedule = schedule("penalty per round and node, η; a table keeps its last row")
    dual_step: Schedule | None = schedule(
        "step of the dual update, θ; one number, or one per node (the smallest first penalty "
        "unless given)",
        default=None,
    )
    quadratic: bool = flag("every objective is quadratic")
    curvature: Schedule | None = curvatures()
    linear: Schedule | None = linear_terms()

    def _check_together(self) -> None:
        rows(self.penalty, self.graph.nodes)
        self.steps()
        self.problem()

    def settled(self) -> Row | None:
        """The penalties that are used for ever, None if they keep growing or falling."""
        return tail(self.penalty, self.graph.nodes)

    def steps(self) -> Row:
        """θ per node."""
        if self.dual_step is not None:
            return by_node("dual_step", self.dual_step, self.graph.nodes)
        return (min(rows(self.penalty, self.graph.nodes)[0]),) * self.graph.nodes

    @property
    def is_quadratic(self) -> bool:
        """Whether the objectives are known to be quadratic."""
        return self.quadratic or self.curvature is not None

    def problem(self) -> QuadraticProblem | None:
        """The concrete quadratic problem, if curvatures are given."""
        return quadratic_problem(self.curvature, self.linear, self.graph.nodes)

    def claimed(self) -> Rate:
        """Convergence."""
        self.require(Scope.CLAIMED)
        return Rate(0.0, {}, "printed statement")

    def certified(self) -> Rate:
        """Convergence where it is proved; with curvatures given also a rate."""
        self.require(Scope.CERTIFIED)
        last, steps = self.settled(), self.steps()
        if last is None:
            return no_bound(
                "the inverses of growing penalties are summable"
                if _growing(self)
                else "nothing is proved for penalties that fall to zero"
            )
        if not common(steps):
            return no_bound("with dual steps of its own at every node the limit is another one")
        numbers = self._rate(last, steps)
        if steps[0] < 2 * min(last) and common(last):
            return Rate(0.0, numbers, "monotone operators, common penalties, θ < 2η")
        if steps[0] < 2 * min(last) and self.is_quadratic:
            return Rate(0.0, numbers, "eigenvalues of the recursion, quadratic objectives")
        if numbers:
            return Rate(0.0, numbers, "definite matrix for the given curvatures")
        if steps[0] >= 2 * min(last):
            return no_bound("nothing is proved for dual steps of twice a penalty or more")
        return no_bound("nothing is proved for penalties that differ between nodes")

    def _rate(self, last: Row, steps: Row) -> dict[str, float]:
        """The contraction per round in the end, for given curvatures."""
        problem = self.problem()
        if problem is None or not problem.solvable:
            return {}
        rate = m_admm_contraction(self.graph, last, steps, problem.curvature)
        return {"contraction": rate} if rate is not None and rate < 1 else {}

    def attained(self) -> Rate | None:
        """The error that never goes away, on a concrete problem."""
        if _growing(self):
            left = round_down(self._stalled(Digits(self)))
            return Rate(
                left,
                {"limit": 1 - left, "optimum": 1.0},
                "O_i = (V_i/2)(x - 1)², f(0) = 0: Π 2η/(1 + 2η)",
            )
        last, steps = self.settled(), self.steps()
        if last is None or common(steps):
            return None
        weights = tuple(1 / x for x in steps)
        problem = self.problem() or hardest(self.graph.nodes, weights)
        if not problem.solvable or not self._settles(last, steps, problem):
            return None
        return biased(problem, weights, "minimiser of Σ O_i/θ_i")

    def _settles(self, last: Row, steps: Row, problem: QuadraticProblem) -> bool:
        rate = m_admm_contraction(self.graph, last, steps, problem.curvature)
        return rate is not None and rate < 1

    def _stalled(self, x: Numbers) -> Real:
        """Π 2η/(1 + 2η): what growing penalties leave of the error."""
        return left_by_growing(x, self.penalty, 2)

    def symbolic(self) -> tuple[Formula, ...]:
        """What is left of the error under growing penalties, and the limit for unequal steps."""
        found = []
        if _growing(self):
            x = Symbols(self)
            found.append(shown("attained.value", self._stalled(x), x))
        if _own_steps(self):
            found.append(limit_formula(self.problem(), self.steps()))
        return tuple(found)
