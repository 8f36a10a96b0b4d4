"""Noisy SGD, one pass, every record: random stopping or random order.

Statement
    (α, 4αL²H_n/(nσ²))-RDP for every record if σ >= L√(2α(α-1))

    With convex, L-Lipschitz, β-smooth losses and η <= 2/β, after one pass over n records that stops
    after a step drawn uniformly from 1..n; H_n is the n-th harmonic number.
    β = smoothness.
Source
    Feldman, Mironov, Talwar and Thakurta 2018, random stopping (weak convexity)

    Restated from the proof in section 4; summaries print ln n for H_n.
Certified
    ``δ(ε) <= (1/m) Σ_{t<=m} δ_{μ_t}(ε)``, μ_t = 2L/(σ√t), by joint convexity of hockey-stick
    divergences, at every order; m = n for a random permutation, n - r + 1 for a stopping time
    uniform on r..n. Linear losses in high dimension attain it for stopping times from 1 on.
Rounding
    Every term is an upper bound in double precision, the sum is rounded up.
"""

from __future__ import annotations

from typing import Literal

from dpcalc.accounting.iteration.position_mixture import mixed_down
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.numerics.precise import context, mpf, round_down
from dpcalc.theorems.authoring import Numbers, Real, assume, choice, count, finding, number, theorem
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Bound, Scope
from dpcalc.theorems.noisy_gradient_descent._base import (
    CONVEX,
    HIDDEN,
    LIPSCHITZ,
    NO_EXPANSION_CLAIMED,
    PUBLIC,
    NoisyDescent,
)
from dpcalc.theorems.numbers import Digits
from dpcalc.theorems.parameters import weak_convexity
from dpcalc.theorems.positions import RANDOM_ORDER, WEAK_CONVEXITY, over_positions

_MOST_RECORDS = 20_000_000
_BLOCKS = 1.002
"""Positions share the least μ of a block this much longer than the one before."""


def _late(theorem: PNSGDAllUsers) -> str | None:
    if theorem.first_stop() > 1:
        return (
            "the paper's average is over stopping times from 1 on; "
            f"got stop_from={theorem.first_stop()}; try stop-from 1"
        )
    return None


@theorem(
    status="loose",
    example={
        "lipschitz": 1,
        "step_size": 0.1,
        "smoothness": 2,
        "sigma": 4,
        "n_records": 1000,
        "order": "stopping",
    },
)
class PNSGDAllUsers(NoisyDescent):
    """Every record's guarantee when the order or the stopping time is random."""

    findings = (
        WEAK_CONVEXITY,
        finding(
            "Summaries of the result print ln n. The proof gives the harmonic number H_n, which is "
            "used here; ln n would promise perfect privacy for n = 1.",
            "loose",
        ),
        finding(
            "The claim is made for a random stopping time; the same average serves a random order.",
            "loose",
            lambda t: t.order == "permutation",
        ),
    )
    assumptions = (
        CONVEX,
        LIPSCHITZ,
        PUBLIC,
        HIDDEN,
        RANDOM_ORDER,
        NO_EXPANSION_CLAIMED,
        LAST_ONLY,
        assume("paper-stopping", "The stopping time is uniform from 1 on.", "claimed", _late),
    )

    weak_convexity: float = weak_convexity()
    lipschitz: float = number("largest norm of a record's gradient", "L")
    n_records: int = count("records", "n")
    order: Literal["stopping", "permutation"] = choice(
        "what is random: the step after which to stop, or the records' order",
        default="stopping",
    )
    stop_from: int | None = count(
        "first possible stopping step, uniform from there to n (1 unless given)", default=None
    )

    def _check_together(self) -> None:
        super()._check_together()
        if self.n_records > _MOST_RECORDS:
            raise InvalidInput(
                f"n_records needs at most {_MOST_RECORDS}; got n_records={self.n_records}"
            )
        if self.stop_from is not None and self.order != "stopping":
            raise InvalidInput("stop_from goes with --order stopping; got --order permutation")
        if self.stop_from is not None and self.stop_from > self.n_records:
            raise InvalidInput(
                f"stop_from needs to be at most n_records={self.n_records}; "
                f"got stop_from={self.stop_from}"
            )

    def first_stop(self) -> int:
        """The first possible stopping step."""
        return 1 if self.stop_from is None else self.stop_from

    def largest_order(self) -> float:
        """The largest α with 2α(α-1)L² <= σ²."""
        ratio = mpf(self.sigma) / mpf(self.lipschitz)
        return float((1 + context().sqrt(1 + 2 * ratio**2)) / 2)

    def own_mu(self, x: Numbers) -> Real:
        """2L/σ."""
        return 2 * x.lipschitz / x.sigma

    def claimed_divergence(self, x: Numbers) -> Real:
        """4L²H_n/(nσ²) per order, at the orders that the noise admits."""
        return 4 * (x.lipschitz / x.sigma) ** 2 * x.harmonic(x.n_records) / x.n_records

    def own_numbers(self, x: Numbers) -> dict[str, Real]:
        """The largest order of the claim."""
        return {} if averaged(self) else {"largest_order": x.computed(mpf(self.largest_order()))}

    def certified(self) -> Bound:
        """The mixture of Gaussian profiles over the worst record's positions."""
        self.require(Scope.CERTIFIED)
        if averaged(self):
            return self.gaussian(self.composed_mu(Digits(self)))
        return over_positions(self.mu_with_left, self.n_records - self.first_stop() + 1)

    def attained(self) -> Bound | None:
        """Linear losses: a random walk, whose length is told by the coordinates that no loss moves.

        A stopped walk has the noise of the steps before the record's and of those after it; a random
        order has that of all steps, wherever the record stands.
        """
        if averaged(self):
            return None
        unit, lead = self.own_unit(), self.first_stop() - 1
        method = "linear losses, no projection"
        if self.order == "permutation":
            mu = round_down(unit / context().sqrt(self.n_records))
            return Bound(GDP(mu), {"mu": mu}, method)
        positions = self.n_records - lead
        mus, shares = mixed_down(
            lambda left: unit / context().sqrt(lead + left), positions, _BLOCKS
        )
        return Bound(
            GaussianMixture(mus, shares), {"largest_mu": max(mus)}, method + ", in high dimension"
        )
