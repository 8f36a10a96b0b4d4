"""Private dual averaging over a network.

Statement
    (ε, δ)-DP after T rounds if σ² >= 12L²T ln(1/δ)/(q²ε²), 0 < ε <= 1, 0 < δ <= 1/3

    For 0 < ε <= 1 and 0 < δ <= 1/3, ``σ² >= 12L²T ln(1/δ)/(q²ε²)`` makes T rounds
    (ε, δ)-differentially private; q = min q_i.
    L = lipschitz, T = rounds, q = n_records (the smallest node), σ = sigma.
Source
    Liu, Johansson and Shi 2022, theorem 1

    Liu, Johansson and Shi 2022, theorem 1.
Certified
    The released messages determine a(t)(ĝ + ν), ĝ the subgradient at one record drawn uniformly from
    q. Its sensitivity is 2L with probability 1/q, not 2L/q.
    *b of q drawn at random in every round (b = 1 as printed), replace-one:* sampling without
    replacement, γ = b/q, sensitivity 2L/b; add/remove (q the larger size): Poisson rate γ with
    sensitivity 2L/b; T rounds composed numerically.
    *Full batch:* Gaussian, sensitivity 2L/q. *Mini-batch b, replace-one:* ⌊q/b⌋ batches fixed in
    advance are taken in turn: sensitivity 2L/b in the ⌈T/⌊q/b⌋⌉ rounds that use the record's batch.
Rounding
    Sixty digits, then up; numerical composition as in `dpcalc.accounting.composition`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

from dpcalc import checks
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove
from dpcalc.errors import Infeasible, InvalidInput
from dpcalc.guarantees import GDP, ClaimedCurve, Guarantee
from dpcalc.guarantees.composition import compose
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.mechanisms import (
    poisson_subsampled_gaussian,
    sampled_without_replacement,
)
from dpcalc.numerals import spelt
from dpcalc.numerics.precise import context, mpf, round_down, round_up
from dpcalc.theorems.authoring import Theorem, assume, choice, count, finding, number, theorem
from dpcalc.theorems.base import Bound, Formula, Scope
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpcalc.numerics.precise import Real

LARGEST_CLAIMED_EPSILON = 1.0
LARGEST_CLAIMED_DELTA = 1 / 3


BATCHES = ("mini-batch", "random-batch")
"""The samplings that need a batch size."""


def _samples(theorem: PrivateDualAveraging) -> bool:
    """Whether chance decides if a record is used."""
    return theorem.sampling in ("one", "random-batch") and theorem.size() < theorem.n_records


def _two_readings(sampling: str, size: int) -> str:
    """Why a batch size next to a sampling without one is refused."""
    return (
        f"batch_size belongs to sampling mini-batch or random-batch; got sampling={sampling} and "
        f"batch_size={size}, which can be read in two ways: sampling {sampling} (leave out "
        f"--batch-size), or batches of {size}; try --sampling mini-batch for batches fixed in "
        "advance and taken in turn, --sampling random-batch for batches drawn again every round"
    )


def _batches(theorem: PrivateDualAveraging) -> bool:
    return theorem.sampling == "mini-batch" and theorem.batch_size != theorem.n_records


def _shifted(theorem: PrivateDualAveraging) -> str | None:
    if theorem.sampling == "mini-batch" and theorem.adjacency != Adjacency.REPLACE_ONE:
        return "a record more or less shifts all later batches; try --adjacency replace-one"
    return None


@theorem(
    status="false for some settings",
    releases="every message",
    noise="sigma",
    example={
        "n_records": 20000,
        "rounds": 60000,
        "lipschitz": 1,
        "sigma": 0.5,
        "sampling": "one",
    },
)
class PrivateDualAveraging(Theorem):
    """Gaussian noise on subgradients; every message is released."""

    findings = (
        finding(
            "The proof uses the sensitivity 2L/q of a full-batch mean; the algorithm releases the "
            "subgradient at one sampled record, whose sensitivity is 2L with probability 1/q. The "
            "prescribed noise then hides little once T/q is not far below δ.",
            "proof fails",
            lambda theorem: theorem.sampling == "one" and theorem.n_records > 1,
        ),
        finding(
            "The formula is proved for full batches; the mean of b records drawn at random has the "
            "sensitivity 2L/b with probability b/q.",
            "proof fails",
            lambda theorem: theorem.sampling == "random-batch" and _samples(theorem),
        ),
        finding(
            "The formula is proved for full batches; a batch's mean has the sensitivity 2L/b in every "
            "round that uses it.",
            "proof fails",
            _batches,
        ),
        finding(
            "For full batches the transcript is a Gaussian mechanism, whose exact law is smaller "
            "than the Rényi conversion at a fixed order.",
            "loose",
            lambda theorem: not _samples(theorem) and not _batches(theorem),
        ),
        finding(
            "Definition 2 stops one message early: after T rounds the last noisy subgradient has "
            "been sent as well.",
            "remark",
        ),
    )
    assumptions = (
        assume(
            "subgradient-bound",
            "Every subgradient that is used has norm at most lipschitz; a Lipschitz loss on the "
            "domain does not guarantee that on its boundary.",
        ),
        assume(
            "public-parameters",
            "The mixing matrix, weights a(t) and n_records do not depend on the data.",
        ),
        assume(
            "independent-sampling",
            "Records are drawn independently over rounds and nodes; reshuffling per epoch gives no "
            "amplification.",
            "certified",
        ),
        assume(
            "fixed-batches",
            "Mini-batches hold batch_size records each, at places that do not depend on the data.",
            "certified",
            _shifted,
        ),
    )

    n_records: int = count("records of the smallest node, q")
    rounds: int = count("rounds, T")
    lipschitz: float = number("largest norm of a record's subgradient, L")
    sigma: float = number("standard deviation of the noise per coordinate, σ")
    sampling: str = choice(
        "records a subgradient is computed from: one drawn at random; a batch fixed in advance, in "
        "turn; a batch drawn at random without replacement, again every round; or all",
        ("one", "mini-batch", "random-batch", "full-batch"),
        default="one",
    )
    batch_size: int | None = count("records of a mini-batch or random-batch, b", default=None)
    adjacency: str = choice(
        "neighbouring relation",
        (Adjacency.REPLACE_ONE.value, Adjacency.ADD_REMOVE.value),
        default=Adjacency.REPLACE_ONE.value,
    )

    def _check_together(self) -> None:
        if self.sampling not in BATCHES:
            if self.batch_size is not None:
                raise InvalidInput(_two_readings(self.sampling, self.batch_size))
            return
        if self.batch_size is None:
            raise InvalidInput(
                f"sampling {self.sampling} needs the batch's size; got none; try --batch-size 100"
            )
        random = self.sampling == "random-batch" and self.adjacency == Adjacency.ADD_REMOVE
        largest = self.n_records - 1 if random else self.n_records
        if self.batch_size > largest:
            why = ", all that the neighbour without the record has" if random else ""
            raise InvalidInput(
                f"batch_size needs to be at most {largest} for n_records={self.n_records}{why}; "
                f"got batch_size={self.batch_size}"
            )

    def size(self) -> int:
        """b, the records that a subgradient is the mean of."""
        return {"one": 1, "full-batch": self.n_records}.get(self.sampling, self.batch_size or 1)

    def claimed(self) -> Bound:
        """ε = √(12 T ln(1/δ))·L/(qσ), where that is at most 1 and δ at most 1/3."""
        curve = ClaimedCurve(self._claimed_epsilon, {"sigma": self.sigma})
        return Bound(curve, {"sigma": self.sigma}, "printed formula")

    def certified(self) -> Bound:
        """By what is sampled; see the module."""
        self.require(Scope.CERTIFIED)
        base = {"sigma": self.sigma}
        if not _samples(self):
            uses = self._uses()
            mu = round_up(context().sqrt(uses) * self._mu())
            numbers = {**base, "mu": mu, "uses": uses}
            return Bound(GDP(mu), numbers, "exact Gaussian composition over the record's uses")
        return Bound(
            compose((self._one_round(), self.rounds)),
            base,
            "numerical composition of sampled rounds",
        )

    def attained(self) -> Bound | None:
        """What opposite, constant subgradients really leak."""
        if not _samples(self):
            mu = round_down(context().sqrt(self._uses()) * self._mu())
            return Bound(GDP(mu), {"mu": mu}, "opposite constant subgradients")
        # All other records point one way, the differing one points the other way or their way: an
        # instance of both neighbouring relations, since q - 1 records of one kind look like q.
        # More noise than there is only lowers what is attained, and is easier to account for.
        ratio = max(round_up(1 / self._mu()), 0.02)
        rate = round_down(mpf(self.size()) / self.n_records)
        pairs = PoissonRemove(ratio, rate), PoissonAdd(ratio, rate)
        worst = DominatedMechanism(
            tuple(((pair, self.rounds),) for pair in pairs), "opposite subgradients"
        )
        return Bound(worst, {"sigma": self.sigma}, "one record opposite to all others")

    def calibration_tolerance(self) -> float:
        """Five digits where ε is enclosed numerically, the last double where it is exact."""
        return 1e-5 if _samples(self) else 0.0

    def _one_round(self) -> Guarantee:
        """One round whose records are drawn at random."""
        rate = round_up(mpf(self.size()) / self.n_records)
        if self.adjacency == Adjacency.REPLACE_ONE:
            return sampled_without_replacement(round_up(self._mu()), rate)
        return poisson_subsampled_gaussian(round_down(1 / self._mu()), rate, Adjacency.ADD_REMOVE)

    def _uses(self) -> int:
        """Rounds that use a record for sure, where chance has no part in it."""
        return -(-self.rounds // (self.n_records // self.size()))

    def _mu(self) -> Real:
        """2L/(bσ)."""
        return 2 * mpf(self.lipschitz) / (self.size() * mpf(self.sigma))

    def _claimed_epsilon(self, delta: float) -> float:
        if delta > LARGEST_CLAIMED_DELTA:
            return math.inf
        ctx = context()
        root = ctx.sqrt(-12 * self.rounds * ctx.log(mpf(delta)))
        epsilon = float(root * mpf(self.lipschitz) / (self.n_records * mpf(self.sigma)))
        return epsilon if epsilon <= LARGEST_CLAIMED_EPSILON else math.inf

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ by the printed formula, for ε <= 1 and δ <= 1/3."""
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        if epsilon > LARGEST_CLAIMED_EPSILON or delta > LARGEST_CLAIMED_DELTA:
            raise Infeasible(
                "the paper prescribes noise for epsilon <= 1 and delta <= 1/3 only; "
                f"got epsilon={epsilon:g}, delta={spelt(delta)}"
            )
        ctx = context()
        root = ctx.sqrt(-12 * self.rounds * ctx.log(mpf(delta)))
        sigma = root * mpf(self.lipschitz) / (self.n_records * mpf(epsilon))
        return self.replace(sigma=round_up(sigma))

    def symbolic(self) -> tuple[Formula, ...]:
        """The prescribed noise, and μ where the law is Gaussian."""
        import sympy

        lip, t, q, s, eps, delta, b = sympy.symbols("L T q sigma epsilon delta b", positive=True)
        values = {
            "L": self.lipschitz,
            "T": float(self.rounds),
            "q": float(self.n_records),
            "sigma": self.sigma,
            "b": float(self.batch_size or 1),
        }
        prescribed = sympy.sqrt(12 * t * sympy.log(1 / delta)) * lip / (q * eps)
        found = [Formula("prescribed.sigma", prescribed, values)]
        if self.sampling == "full-batch":
            found.append(Formula("certified.mu", 2 * sympy.sqrt(t) * lip / (q * s), values))
        if self.sampling == "mini-batch":
            uses = sympy.ceiling(t / sympy.floor(q / b))
            found.append(Formula("certified.mu", 2 * sympy.sqrt(uses) * lip / (b * s), values))
        return tuple(found)
