"""Records needed by private MR-ADMM.

Statement
    B_i >= w max_k CN ln(1/δ)/[NC(τ - Δ_i(k))²/(2|f_ref|²) - (1+a) N d² ln²(d/δ)/(C α_i(k)²)] for
    some w, a suffices for an expected loss of at most that of f_ref plus τ with probability 1 - 2δ

    With the regulariser ``|f|²/2`` and noise of density ∝ exp(-α_i|ε|) in every odd round, for the
    classifier of every odd round and some constants w and a > 0.
    |f_ref| = reference_norm, τ = tolerance, Δ = optimization_gap, δ = failure_probability,
    C = loss_weight, d = dimension, α = noise_rate, w = constant, a = slack, N = n_nodes.
Source
    Zhang, Khalili and Liu 2019, theorem VI.2
Certified
    The noise of all nodes tilts the objective by ``b = Σ_i ε_i/(NC)``. The density exp(-α|ε|) is a
    Gaussian scale mixture, so ``|b|² = (Σ V_i)χ²_d/(NC)²`` with V_i gamma of shape (d + 1)/2 and
    scale 2/α²; the smallest rate is used for all nodes and δ is halved between the two factors. The
    rest is `_learning`.
Rounding
    Quantiles are raised until sixty digits confirm them; then up.
"""

from __future__ import annotations

from dpcalc import checks
from dpcalc.errors import AssumptionViolated
from dpcalc.numerics.precise import context, mpf, round_down, round_up
from dpcalc.theorems.authoring import Numbers, Real, count, finding, number, theorem
from dpcalc.theorems.convergence._base import by_node
from dpcalc.theorems.convergence._formula import FormulaRate, Stated
from dpcalc.theorems.convergence._learning import Learning
from dpcalc.theorems.convergence.recycled_admm_sample_complexity import (
    BOUNDED,
    EQUAL_COUNTS,
    GAP,
    SAMPLES,
    check_gap,
    records_per_node,
)
from dpcalc.theorems.numbers import Digits
from dpcalc.theorems.parameters import schedule
from dpcalc.theorems.schedule import Schedule


def _unequal_rates(result: PrivateRecycledADMMSampleComplexity) -> bool:
    return len(set(result.rates())) > 1


@theorem(
    quantity="records per node that suffice",
    example={
        "reference_norm": 3,
        "tolerance": 0.1,
        "failure_probability": 0.05,
        "n_nodes": 5,
        "dimension": 10,
        "loss_weight": 1750,
        "noise_rate": 3,
        "constant": 1,
        "slack": 1,
    },
)
class PrivateRecycledADMMSampleComplexity(FormulaRate):
    """Records per node for a given excess of the expected loss, noise included."""

    findings = (
        finding(
            "The constants w and a are not specified and the proof is not part of the paper; the "
            "number is only an order until they are given.",
            "incomplete",
        ),
        finding(
            "The formula for node i knows only the noise of node i, but the limit minimises an "
            "objective tilted by the noise of all: next to a node with a small rate no number of "
            "records helps.",
            "proof fails",
            _unequal_rates,
        ),
        finding(
            "The noise enters by the worst norm of one node, d ln(d/δ)/α; the mean over N nodes is "
            "smaller by about √N.",
            "loose",
        ),
    )
    assumptions = (SAMPLES, EQUAL_COUNTS, BOUNDED, GAP)

    reference_norm: float = number("norm of the reference classifier, |f_ref|")
    tolerance: float = number("how much larger the expected loss may be, τ")
    failure_probability: float = number(
        "half of the failure probability, δ", check=checks.open_unit
    )
    n_nodes: int = count("nodes in the network, N", minimum=2)
    dimension: int = count("features, d")
    loss_weight: float = number("weight of the loss in the objective, C")
    noise_rate: Schedule = schedule("rate of the noise density exp(-α|b|); one number or per node")
    optimization_gap: float = number(
        "largest loss of an odd round against the limit, Δ", check=checks.non_negative, default=0.0
    )
    constant: float | None = number("the paper's unspecified constant w", default=None)
    slack: float | None = number("the paper's unspecified constant a", default=None)
    regularization_strength: float | None = number(
        "weight λ of |f|²/2 next to the mean loss, ρ/(NC) (the best unless given)", default=None
    )
    curvature: float = number("largest second derivative of the loss, c₁", default=0.25)

    def _check_together(self) -> None:
        check_gap(self.tolerance, self.optimization_gap)
        self.rates()

    def rates(self) -> tuple[float, ...]:
        """α per node; once if it is the same at all of them."""
        nodes = self.n_nodes if self.noise_rate.table else 1
        return by_node("noise_rate", self.noise_rate, nodes)

    def claimed_value(self, x: Numbers) -> tuple[Real, str, dict[str, float]]:
        """The printed number for the given w and a, at the node with the largest rate of noise."""
        if self.constant is None or self.slack is None:
            raise AssumptionViolated(
                f"{self.key}: the paper does not specify its constants w and a; "
                "try --constant 1 --slack 1"
            )
        if self._printed_room(Digits(self)) <= 0:
            raise AssumptionViolated(
                f"{self.key}: the noise alone exceeds the tolerance in the printed formula; "
                "try a larger noise-rate, loss-weight or tolerance"
            )
        logarithm = x.log(1 / x.named("delta", self.failure_probability))
        needed = x.named("w", self.constant) * x.named("C", self.loss_weight)
        needed *= x.named("N", self.n_nodes) * logarithm / self._printed_room(x)
        numbers = {"constant": self.constant, "slack": self.slack}
        return needed, "printed formula, worst node", numbers

    def _printed_room(self, x: Numbers) -> Real:
        """NC(τ - Δ)²/(2|f_ref|²) less what the noise takes."""
        n, d, weight = (
            x.named("N", self.n_nodes),
            x.named("d", self.dimension),
            x.named("C", self.loss_weight),
        )
        norm = d * x.log(d / x.named("delta", self.failure_probability))
        norm /= x.named("alpha", min(self.rates()))
        room = x.named("tau", self.tolerance) - x.named("Delta", self.optimization_gap)
        gained = n * weight * room**2 / (2 * x.named("R", self.reference_norm) ** 2)
        return gained - (1 + x.named("a", self.slack)) * n / weight * norm**2

    def noise_norm(self) -> float:
        """A bound of |b| that fails with probability δ at most."""
        ctx, half = context(), mpf(self.failure_probability) / 2
        shape = mpf(self.n_nodes * (self.dimension + 1)) / 2
        variance = gamma_quantile(shape, half) * 2 / mpf(min(self.rates())) ** 2
        square = gamma_quantile(mpf(self.dimension) / 2, half) * 2
        return round_up(ctx.sqrt(variance * square) / (self.n_nodes * mpf(self.loss_weight)))

    def learning(self) -> Learning:
        """The classification problem with its tilt."""
        return Learning(
            reference_norm=self.reference_norm,
            tolerance=round_down(mpf(self.tolerance) - mpf(self.optimization_gap)),
            failure_probability=self.failure_probability,
            curvature=self.curvature,
            tilt=self.noise_norm(),
        )

    def certified_value(self, x: Numbers) -> Stated:
        """Records per node for the best, or the given, regularisation."""
        return records_per_node(x, self.learning(), self.n_nodes, self.regularization_strength)


_LARGE = 100_000


def gamma_quantile(shape: Real, tail: Real) -> Real:
    """A number that a gamma variable of unit scale exceeds with at most this probability.

    For large shapes s the weaker s + √(2s ln(1/p)) + ln(1/p) (Laurent and Massart 2000, lemma 1).
    """
    if shape > _LARGE:
        surprise = -context().log(mpf(tail))
        return shape + context().sqrt(2 * shape * surprise) + surprise
    from scipy.special import gammainccinv

    ctx = context()
    found = mpf(float(gammainccinv(float(shape), float(tail))))
    while ctx.gammainc(shape, found, regularized=True) > tail:
        found *= 1 + mpf("1e-12")
    return found
