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
from dpcalc.numerics.precise import mpf, round_down
from dpcalc.theorems.authoring import Numbers, Real, assume, count, finding, number, theorem
from dpcalc.theorems.convergence._formula import FormulaRate, Stated
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

    def certified_value(self, x: Numbers) -> Stated:
        """Records per node for the best, or the given, regularisation."""
        return records_per_node(x, self.learning(), self.n_nodes, self.regularization_strength)


def check_gap(tolerance: float, gap: float) -> None:
    """Refuse a tolerance that the optimisation gap already uses up."""
    if not gap < tolerance:
        raise InvalidInput(
            f"tolerance needs to be above optimization_gap; got tolerance={tolerance:g}, "
            f"optimization_gap={gap:g}; run more rounds or ask for less"
        )


def records_per_node(
    x: Numbers, learning: Learning, n_nodes: int, strength: float | None
) -> Stated:
    """Records per node, when all nodes have the same number; for the best strength unless given."""
    if strength is None:
        strength = learning.best_strength()
    numbers = {"regularization_strength": strength}
    if learning.tilt:
        numbers["noise_norm"] = learning.tilt
    if not learning.possible(strength):
        why = "no number of records suffices at this regularisation and noise"
        return x.computed(mpf("inf")), why, numbers
    needed = learning.needed(x, strength) / x.named("N", n_nodes)
    return needed, "stability and bounded differences", numbers
