"""Private dual averaging over a network.

Statement
    (ε, δ)-DP after T rounds if σ² >= 12L²T ln(1/δ)/(q²ε²), 0 < ε <= 1, 0 < δ <= 1/3

    q = min q_i is the number of records of the smallest node.
Source
    Liu, Johansson and Shi 2022, theorem 1
Certified
    The released messages determine a(t)(ĝ + ν), ĝ the subgradient at one record drawn uniformly from
    q. Its sensitivity is 2L with probability 1/q, not 2L/q.
    *b of q drawn at random in every round (b = 1 as printed), replace-one:* sampling without
    replacement, γ = b/q, sensitivity 2L/b, and the χ²-divergence of a round; add/remove (q the
    larger size): Poisson rate γ with sensitivity 2L/b; T rounds composed numerically.
    *Full batch:* Gaussian, sensitivity 2L/q. *Mini-batch b, replace-one:* ⌊q/b⌋ batches fixed in
    advance are taken in turn: sensitivity 2L/b in the ⌈T/⌊q/b⌋⌉ rounds that use the record's batch.
Rounding
    Sixty digits, then up; numerical composition as in `dpcalc.accounting.composition`.
"""

from __future__ import annotations

from typing import Literal, Self

from dpcalc import checks
from dpcalc.accounting.enclosure import TOLERANCE
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove
from dpcalc.errors import Infeasible, InvalidInput
from dpcalc.guarantees import Guarantee
from dpcalc.guarantees.composition import compose
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian
from dpcalc.guarantees.sampled_replacement import sampled_gaussian
from dpcalc.numerals import spelt
from dpcalc.numerics.precise import mpf, round_down, round_up
from dpcalc.theorems.authoring import (
    Numbers,
    Real,
    Theorem,
    assume,
    choice,
    count,
    finding,
    number,
    theorem,
)
from dpcalc.theorems.base import Bound, Scope
from dpcalc.theorems.numbers import Digits, NotAFormula
from dpcalc.vocabulary import Adjacency

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
    if theorem.sampling == "mini-batch" and theorem.adjacency != "replace-one":
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

    rounds_share = True

    findings = (
        finding(
            "The proof uses the sensitivity 2L/q of a full-batch mean; the algorithm releases the "
            "subgradient at one sampled record, whose sensitivity is 2L with probability 1/q. The "
            "prescribed noise then hides little once T/q is not far below δ.",
            "proof fails",
            lambda t: t.sampling == "one" and t.n_records > 1,
        ),
        finding(
            "The formula is proved for full batches; the mean of b records drawn at random has the "
            "sensitivity 2L/b with probability b/q.",
            "proof fails",
            lambda t: t.sampling == "random-batch" and _samples(t),
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
            lambda t: not _samples(t) and not _batches(t),
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

    n_records: int = count("records of the smallest node", "q")
    rounds: int = count("rounds", "T")
    lipschitz: float = number("largest norm of a record's subgradient", "L")
    sigma: float = number("standard deviation of the noise per coordinate", "sigma")
    sampling: Literal["one", "mini-batch", "random-batch", "full-batch"] = choice(
        "records a subgradient is computed from: one drawn at random; a batch fixed in advance, in "
        "turn; a batch drawn at random without replacement, again every round; or all",
        default="one",
    )
    batch_size: int | None = count("records of a mini-batch or random-batch", "b", default=None)
    adjacency: Literal["replace-one", "add-remove"] = choice(
        "neighbouring relation",
        default="replace-one",
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
        random = self.sampling == "random-batch" and self.adjacency == "add-remove"
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

    def claimed_epsilon(self, x: Numbers, delta: Real) -> Real:
        """ε = √(12 T ln(1/δ))·L/(qσ), where that is at most 1 and δ at most 1/3."""
        if delta > LARGEST_CLAIMED_DELTA:
            return x.inf
        epsilon = x.sqrt(12 * x.rounds * x.log(1 / delta)) * x.lipschitz / (x.n_records * x.sigma)
        return epsilon if float(epsilon) <= LARGEST_CLAIMED_EPSILON else x.inf

    def prescribed_noise(self, x: Numbers, epsilon: Real, delta: Real) -> Real:
        """σ by the printed formula."""
        root = x.sqrt(12 * x.rounds * x.log(1 / delta))
        return root * x.lipschitz / (x.n_records * epsilon)

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """σ by the printed formula, for ε <= 1 and δ <= 1/3."""
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        if epsilon > LARGEST_CLAIMED_EPSILON or delta > LARGEST_CLAIMED_DELTA:
            raise Infeasible(
                "the paper prescribes noise for epsilon <= 1 and delta <= 1/3 only; "
                f"got epsilon={epsilon:g}, delta={spelt(delta)}"
            )
        return super().prescribed(epsilon, delta)

    def certified_mu(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
        """√uses·2L/(bσ), where chance has no part in what a round uses."""
        if _samples(self):
            raise NotAFormula
        method = "exact Gaussian composition over the record's uses"
        more = {"uses": int(self._uses(Digits(self))), "sigma": x.sigma}
        return x.sqrt(self._uses(x)) * self._mu(x), method, more

    def attained_mu(self, x: Numbers) -> tuple[Real, str]:
        """The same: opposite constant subgradients."""
        return self.certified_mu(x)[0], "opposite constant subgradients"

    def certified(self) -> Bound:
        """By what is sampled; see the module."""
        if not _samples(self):
            return super().certified()
        self.require(Scope.CERTIFIED)
        return Bound(
            self._all_rounds(), {"sigma": self.sigma}, "numerical composition of sampled rounds"
        )

    def attained(self) -> Bound | None:
        """What opposite, constant subgradients really leak."""
        if not _samples(self):
            return super().attained()
        # All other records point one way, the differing one points the other way or their way: an
        # instance of both neighbouring relations, since q - 1 records of one kind look like q.
        # More noise than there is only lowers what is attained, and is easier to account for.
        ratio = max(round_up(1 / self._mu(Digits(self))), 0.02)
        rate = round_down(mpf(self.size()) / self.n_records)
        pairs = PoissonRemove(ratio, rate), PoissonAdd(ratio, rate)
        worst = DominatedMechanism(
            tuple(((pair, self.rounds),) for pair in pairs), "opposite subgradients"
        )
        return Bound(worst, {"sigma": self.sigma}, "one record opposite to all others")

    def calibration_tolerance(self) -> float:
        """What an enclosure is worth where ε is enclosed, the last double where it is exact."""
        return TOLERANCE if _samples(self) else 0.0

    def _all_rounds(self) -> Guarantee:
        """All rounds, whose records are drawn at random."""
        rate = round_up(mpf(self.size()) / self.n_records)
        if self.adjacency == "replace-one":
            one = sampled_gaussian(round_up(self._mu(Digits(self))), rate)
            return compose((one, self.rounds))
        one = poisson_subsampled_gaussian(
            round_down(1 / self._mu(Digits(self))), rate, Adjacency.ADD_REMOVE
        )
        return compose((one, self.rounds))

    def _uses(self, x: Numbers) -> Real:
        """Rounds that use a record, if its use is not random."""
        if self.size() == self.n_records:
            return x.rounds
        return x.ceil(x.rounds / x.floor(x.n_records / x.batch_size))

    def _mu(self, x: Numbers) -> Real:
        """2L/(bσ)."""
        size = {"one": 1, "full-batch": x.n_records}.get(self.sampling, x.batch_size)
        return 2 * x.lipschitz / (size * x.sigma)
