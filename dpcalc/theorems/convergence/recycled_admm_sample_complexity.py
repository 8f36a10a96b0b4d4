"""Records needed by MR-ADMM without noise.

Statement
    B_i >= w max_k |f_ref|² ln(1/δ)/(τ - Δ_i(k))² for some w suffices for an expected loss of at
    most that of f_ref plus τ with probability 1 - δ

    With the regulariser ``|f|²/2``, for the classifier of every odd round; Δ_i(k) < τ is what the round
    loses to the limit.
    |f_ref| = reference_norm, τ = tolerance, Δ = optimization_gap, δ = failure_probability,
    w = constant.
Source
    Zhang, Khalili and Liu 2019, theorem VI.1
Certified
    Explicit records per node, for equal record counts, from `_learning`: the better of an
    in-expectation bound with Markov's inequality and a bounded-difference bound, with the best
    regularisation.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from dpcalc import checks
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.numerics.precise import mpf, round_down, round_up
from dpcalc.theorems.authoring import Numbers, Real, assume, count, finding, number, theorem
from dpcalc.theorems.base import Formula, Scope
from dpcalc.theorems.convergence._base import Rate, no_bound
from dpcalc.theorems.convergence._formula import FormulaRate
from dpcalc.theorems.convergence._learning import Learning

SAMPLES = assume("independent-records", "Records are drawn independently from one distribution.")
EQUAL_COUNTS = assume("equal-counts", "Every node has the same number of records.", "certified")
BOUNDED = assume(
    "bounded-loss-slope",
    "Features have norm at most 1, labels are ±1; the loss is convex with |L'| <= 1 and L'' at most "
    "the curvature.",
)
GAP = assume(
    "gap", "optimization_gap bounds what every odd round loses to the limit of the method."
)


@theorem(
    quantity="records per node that suffice",
    example={
        "reference_norm": 3,
        "tolerance": 0.1,
        "failure_probability": 0.05,
        "n_nodes": 5,
        "constant": 1,
    },
)
class RecycledADMMSampleComplexity(FormulaRate):
    """Records per node for a given excess of the expected loss over a reference's."""

    findings = (
        finding(
            "The constant w is not specified and the proof is not part of the paper; the number is "
            "only an order until w is given.",
            "incomplete",
        ),
        finding(
            "The formula asks every node for as many records as all nodes together need: the limit "
            "is trained on the records of all.",
            "loose",
        ),
    )
    assumptions = (SAMPLES, EQUAL_COUNTS, BOUNDED, GAP)

    reference_norm: float = number("norm of the reference classifier, |f_ref|")
    tolerance: float = number("how much larger the expected loss may be, τ")
    failure_probability: float = number("failure probability, δ", check=checks.open_unit)
    n_nodes: int = count("nodes in the network, N", minimum=2)
    optimization_gap: float = number(
        "largest loss of an odd round against the limit, Δ", check=checks.non_negative, default=0.0
    )
    constant: float | None = number("the paper's unspecified constant w", default=None)
    regularization_strength: float | None = number(
        "weight λ of |f|²/2 next to the mean loss, ρ/(NC) (the best unless given)", default=None
    )
    curvature: float = number("largest second derivative of the loss, c₁", default=0.25)

    def _check_together(self) -> None:
        check_gap(self.tolerance, self.optimization_gap)

    def claimed_value(self, x: Numbers) -> tuple[Real, str, dict[str, float]]:
        """The printed number for the given w."""
        if self.constant is None:
            raise AssumptionViolated(
                f"{self.key}: the paper does not specify its constant w; try --constant 1"
            )
        room = x.named("tau", self.tolerance) - x.named("Delta", self.optimization_gap)
        square = x.named("R", self.reference_norm) ** 2
        logarithm = x.log(1 / x.named("delta", self.failure_probability))
        needed = x.named("w", self.constant) * square * logarithm / room**2
        return needed, "printed formula", {"constant": self.constant}

    def learning(self) -> Learning:
        """The classification problem after the optimisation gap is taken off."""
        return Learning(
            reference_norm=self.reference_norm,
            tolerance=round_down(mpf(self.tolerance) - mpf(self.optimization_gap)),
            failure_probability=self.failure_probability,
            curvature=self.curvature,
        )

    def certified(self) -> Rate:
        """Records per node for the best, or the given, regularisation."""
        self.require(Scope.CERTIFIED)
        return certified_records(self.learning(), self.n_nodes, self.regularization_strength)

    def symbolic(self) -> tuple[Formula, ...]:
        """The printed number and the certified ones for a regularisation strength."""
        certified = records_formula(self.certified(), self.learning(), self.n_nodes)
        return (*FormulaRate.symbolic(self), *certified)


def check_gap(tolerance: float, gap: float) -> None:
    """Refuse a tolerance that the optimisation gap already uses up."""
    if not gap < tolerance:
        raise InvalidInput(
            f"tolerance needs to be above optimization_gap; got tolerance={tolerance:g}, "
            f"optimization_gap={gap:g}; run more rounds or ask for less"
        )


def certified_records(learning: Learning, n_nodes: int, strength: float | None) -> Rate:
    """Records per node, when all nodes have the same number."""
    chosen = learning.best_strength() if strength is None else strength
    needed = learning.records(chosen)
    numbers = {"regularization_strength": chosen}
    if learning.tilt:
        numbers["noise_norm"] = learning.tilt
    if needed == mpf("inf"):
        return no_bound("no number of records suffices at this regularisation and noise", numbers)
    return Rate(round_up(needed / n_nodes), numbers, "stability and bounded differences")


def records_formula(found: Rate, learning: Learning, n_nodes: int) -> tuple[Formula, ...]:
    """``min{2/(λδ·room), (c + λ)(2 + √(2 ln(1/δ)))²/(2λ²·room)}/N``, if finite."""
    import sympy

    if "regularization_strength" not in found.numbers or found.value == float("inf"):
        return ()
    lam, delta, tau, r, tilt, c, n = sympy.symbols("lambda delta tau R B c N", positive=True)
    room = tau - (lam * r + tilt) ** 2 / (2 * lam)
    spread = 2 + sympy.sqrt(2 * sympy.log(1 / delta))
    needed = sympy.Min(2 / (lam * delta * room), (c + lam) * spread**2 / (2 * lam**2 * room))
    values = {
        "lambda": found.numbers["regularization_strength"],
        "delta": learning.failure_probability,
        "tau": learning.tolerance,
        "R": learning.reference_norm,
        "B": learning.tilt,
        "c": learning.curvature,
        "N": float(n_nodes),
    }
    return (Formula("certified.value", needed / n, values),)
