"""Amplification by iteration for every record at once: one pass of noisy SGD, stopped at random.

Statement
    For convex, L-Lipschitz, β-smooth losses, η <= 2/β and σ >= L√(2α(α-1)), one pass over n records
    that stops after a step drawn uniformly from 1..n is (α, 4αL²H_n/(nσ²))-RDP for every record,
    H_n the n-th harmonic number.
    L = lipschitz, β = smoothness, η = step_size, σ = sigma, n = n_records.
Source
    Feldman, Mironov, Talwar and Thakurta 2018, weak convexity and random stopping (section 4).
    Restated from the proof; summaries print ln n for H_n.
Certified
    ``δ(ε) <= (1/m) Σ_{t<=m} δ_{μ_t}(ε)``, μ_t = 2L/(σ√t), by joint convexity of hockey-stick
    divergences, at every order; m = n for a random permutation, n - r + 1 for a stopping time
    uniform on r..n. Linear losses in high dimension attain it for stopping times from 1 on.
Rounding
    Every term is an upper bound in double precision, the sum is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dpcalc.accounting.iteration import mixed_positions
from dpcalc.accounting.iteration.position_mixture import mixed_down
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, RDP
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.numerics.precise import Real, context, mpf, round_down, round_up
from dpcalc.theorems.averages import LAST_ONLY, averaged
from dpcalc.theorems.base import Assumption, Bound, Finding, Formula, Scope
from dpcalc.theorems.noisy_gradient_descent._base import (
    CONVEX,
    HIDDEN,
    LIPSCHITZ,
    NO_EXPANSION_CLAIMED,
    PUBLIC,
    NoisyDescent,
)
from dpcalc.theorems.parameters import choice, count, number, weak_convexity
from dpcalc.theorems.prescription import claiming
from dpcalc.vocabulary import Bearing, Status

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


@dataclass(frozen=True, kw_only=True, slots=True)
class PNSGDAllUsers(NoisyDescent):
    """Every record's guarantee when the order or the stopping time is random."""

    key: ClassVar[str] = "pnsgd-all-users"
    title: ClassVar[str] = "Noisy SGD, one pass, every record: random stopping or random order"
    reference: ClassVar[str] = (
        "Feldman, Mironov, Talwar and Thakurta 2018, random stopping (weak convexity)"
    )
    statement: ClassVar[str] = "(α, 4αL²H_n/(nσ²))-RDP for every record if σ >= L√(2α(α-1))"
    status: ClassVar[Status] = Status.LOOSE
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(
            "Weak convexity of the Rényi divergence restricts the order and loses a factor of two; "
            "joint convexity of the hockey-stick divergence needs neither.",
            Bearing.LOOSE,
        ),
        Finding(
            "Summaries of the result print ln n. The proof gives the harmonic number H_n, which is "
            "used here; ln n would promise perfect privacy for n = 1.",
            Bearing.LOOSE,
        ),
        Finding(
            "The claim is made for a random stopping time; the same average serves a random order.",
            Bearing.LOOSE,
            lambda theorem: theorem.order == "permutation",
        ),
    )
    assumptions: ClassVar[tuple[Assumption, ...]] = (
        CONVEX,
        LIPSCHITZ,
        PUBLIC,
        HIDDEN,
        Assumption(
            "random-order",
            "The permutation or the stopping time is drawn uniformly and independently of the data.",
        ),
        NO_EXPANSION_CLAIMED,
        LAST_ONLY,
        Assumption(
            "paper-stopping", "The stopping time is uniform from 1 on.", Scope.CLAIMED, _late
        ),
    )
    example: ClassVar[Mapping[str, Any]] = {
        "lipschitz": 1,
        "step_size": 0.1,
        "smoothness": 2,
        "sigma": 4,
        "n_records": 1000,
        "order": "stopping",
    }

    weak_convexity: float = weak_convexity()
    lipschitz: float = number("largest norm of a record's gradient, L")
    n_records: int = count("records, n")
    order: str = choice(
        "what is random: the step after which to stop, or the records' order",
        ("stopping", "permutation"),
        default="stopping",
    )
    stop_from: int | None = count(
        "first possible stopping step, uniform from there to n (1 unless given)", default=None
    )

    def _check_together(self) -> None:
        NoisyDescent._check_together(self)  # noqa: SLF001 # super() fails in dataclasses with slots
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

    def own_uses(self) -> tuple[Real, int]:
        """One step."""
        return 2 * mpf(self.lipschitz) / mpf(self.sigma), 1

    def claimed(self) -> Bound:
        """4αL²H_n/(nσ²) at the orders that the noise admits, nothing beyond."""
        self.require(Scope.CLAIMED)
        unit = (mpf(self.lipschitz) / mpf(self.sigma)) ** 2
        slope = 4 * unit * context().harmonic(self.n_records) / self.n_records
        largest = self.largest_order()

        def curve(order: float) -> float:
            return round_up(mpf(order) * slope) if order <= largest else math.inf

        points = ((largest, curve(largest)),) if largest > 1 else ()
        numbers = {"largest_order": largest, "divergence_per_order": round_up(slope)}
        return Bound(RDP(curve, "printed curve", points), numbers, "printed formula")

    def certified(self) -> Bound:
        """The mixture of Gaussian profiles over the worst record's positions."""
        self.require(Scope.CERTIFIED)
        if averaged(self):
            return self.composed_uses()
        positions = self.n_records - self.first_stop() + 1
        mus, shares = mixed_positions(self._mu_after, positions)
        numbers = {
            "positions": float(positions),
            "largest_mu": max(mus),
            "smallest_mu": min(mus),
        }
        return Bound(GaussianMixture(mus, shares), numbers, "joint convexity over positions")

    def attained(self) -> Bound | None:
        """Linear losses: a random walk, whose length is told by the coordinates that no loss moves.

        A stopped walk has the noise of the steps before the record's and of those after it; a random
        order has that of all steps, wherever the record stands.
        """
        if averaged(self):
            return None
        unit, lead = self.own_uses()[0], self.first_stop() - 1
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

    def calibration_tolerance(self) -> float:
        """The guarantee of the sum over positions."""
        return 1e-12

    def _mu_after(self, steps: int) -> Real:
        return self.mu_with_left(steps)

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ for which the printed curve, converted at the best admissible order, gives ε."""
        return claiming(self, epsilon, delta)

    def symbolic(self) -> tuple[Formula, ...]:
        """The printed divergence per order."""
        if averaged(self) or self.contraction() > 1:
            return ()
        import sympy

        lip, s, n = sympy.symbols("L sigma n", positive=True)
        values = {"L": self.lipschitz, "sigma": self.sigma, "n": float(self.n_records)}
        if self.violations_of_claim():
            return ()
        printed = 4 * lip**2 * sympy.harmonic(n) / (n * s**2)
        return (Formula("claimed.divergence_per_order", printed, values),)
