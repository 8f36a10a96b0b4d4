"""Attack on private dual averaging (liu2022).

The differing record points to +L in one world and to -L in the other. Where one record is sampled all
others point to -L, so that the worlds differ in the rounds that draw it and by 2L; else they have no
gradient. The likelihood ratio of sampled messages is that of two-component mixtures, written down
apart from the algorithm's own density.

    as printed   one of q records sampled, noise for the full-batch sensitivity 2L/q: the record is
                 drawn in some round with probability 1 - (1 - 1/q)^T, and then stands many σ out
    full batch   the same noise holds, and attacks come within 10 per cent of the certified ε
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpcalc.algorithms.private_dual_averaging import PrivateDualAveraging
from dpcalc.algorithms.problems.averaging import AveragingProblem
from dpcalc.algorithms.problems.losses import Linear
from dpcalc.algorithms.problems.networks import ring
from dpcalc.algorithms.problems.records import Records, split
from dpcalc.algorithms.problems.regularisers import ridge
from dpcalc.auditing import Claim, Outcome, Target
from dpcalc.auditing.algorithm import algorithm_target
from dpcalc.audits.engine import bugs
from dpcalc.audits.engine.case import CAUGHT, Audit, Exhibit, Role, Setting, case
from dpcalc.audits.engine.neighbours import replacements, worst
from dpcalc.audits.engine.subgradients import (
    many_full_rounds,
    many_sampled_rounds,
    sampled_target,
)
from dpcalc.guarantees import GDP, ApproxDP, Guarantee
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.vocabulary import Adjacency, Release

NODES = 3
DELTA = 0.01
_ATTEST = ("subgradient-bound", "public-parameters", "independent-sampling", "fixed-batches")


def theorem(records: int, rounds: int, epsilon: float, sampling: str = "one", **more: Any) -> Any:
    """The paper's theorem with its noise for (ε, 0.01)."""
    kind = privacy_result("private-dual-averaging")
    promises = [a.key for a in kind.assumptions if a.promised]
    given = {"n_records": records, "rounds": rounds, "lipschitz": 1.0, "sigma": 1.0}
    draft = kind.from_parameters(given | {"sampling": sampling} | more, promises)
    return draft.prescribed(epsilon, DELTA)


def algorithm(records: int, rounds: int, sigma: float, sampling: str = "one", **more: Any) -> Any:
    """Dual averaging on a ring; record 0 of node 0 has a gradient.

    Where one record is sampled its node's others have the opposite one, else they have none.
    """
    rows = np.zeros((NODES * records, 2))
    rows[0, 0] = 1.0
    if sampling == "one":
        rows[1:records, 0] = -1.0
    problem = AveragingProblem(
        records=split(rows, np.ones(len(rows)), NODES),
        network=ring(NODES),
        loss=Linear(),
        regulariser=ridge(0.1),
    )
    given: dict[str, Any] = {"weights": "linear", "proximal": 0.0, "sampling": sampling} | more
    return PrivateDualAveraging(problem, rounds=rounds, sigma=sigma, **given)


def neighbour(attacked: Any) -> Records:
    """The worst neighbour found for the mean of a node's records; sampling only hides it."""
    whole = replace(attacked, sampling="full", batch_size=None, rounds=3, weights=1.0, proximal=0.0)
    records = attacked.problem.records
    return worst(whole, replacements(records, scales=(1.0, 0.5, 0.0)))[0]


def _sampled(attacked: Any) -> Target:
    """One sampled record per round, on the worst neighbour found."""
    return sampled_target(attacked, neighbour(attacked))


def as_printed(records: int, rounds: int) -> Setting:
    """The paper's noise for (1, 0.01) with one sampled record."""
    paper = theorem(records, rounds, 1.0)
    hit = 1 - (1 - 1 / records) ** rounds
    return Setting(
        target=_sampled(algorithm(records, rounds, paper.sigma)),
        claim=_claim(ApproxDP(1.0, DELTA)),
        note=f"q = {records}, T = {rounds}, sigma = {paper.sigma:.4g} = L/{1 / paper.sigma:.3g}; "
        f"the record is drawn at least once with probability {hit:.3g}",
    )


def sampled_certified() -> Setting:
    """Enough noise for one sampled record, against the certified composition."""
    records, rounds, sigma = 8, 8, 1.0
    proved = theorem(records, rounds, 1.0).replace(sigma=sigma).certified().guarantee
    epsilon = proved.epsilon(DELTA)
    return Setting(
        target=_sampled(algorithm(records, rounds, sigma)),
        claim=_claim(ApproxDP(epsilon, DELTA)),
        certified=epsilon,
        note=f"q = {records}, T = {rounds}, sigma = {sigma:g}",
    )


def averaged(sampling: str, guarantee: str) -> Setting:
    """Full batches or fixed batches in turn, against the paper or the certified curve."""
    records, rounds, size = 20, 8, 2
    cyclic = sampling == "cyclic"
    more: dict[str, Any] = {"batch_size": size} if cyclic else {}
    draft = theorem(records, rounds, 1.0, "mini-batch" if cyclic else "full-batch", **more)
    attacked = algorithm(records, rounds, draft.sigma, sampling, **more)
    proved = draft.certified().guarantee
    claimed: Guarantee = ApproxDP(1.0, DELTA) if guarantee == "claimed" else proved
    target = algorithm_target(attacked, neighbour(attacked), adjacency=Adjacency.REPLACE_ONE)
    return Setting(
        target=target,
        claim=_claim(claimed),
        certified=proved.epsilon(DELTA),
        note=f"q = {records}, T = {rounds}, sigma = {draft.sigma:.4g}",
    )


MOST_ROUNDS = 1500
"""Beyond these the node's noisy subgradients are drawn, which its messages determine."""


def instance(claimed: Any, claim: Claim) -> Setting | None:
    """The theorem's records, rounds and σ/L on a ring of three nodes; replace-one alone."""
    if claimed.adjacency != Adjacency.REPLACE_ONE:
        return None
    sigma = claimed.sigma / claimed.lipschitz
    if claimed.sampling == "random-batch":
        drawn = many_sampled_rounds(claimed.n_records, claimed.rounds, sigma, claimed.size())
        return Setting(target=drawn, claim=claim)
    sampling = {"full-batch": "full", "mini-batch": "cyclic", "one": "one"}[claimed.sampling]
    if claimed.rounds > MOST_ROUNDS:
        if sampling == "cyclic":
            return None
        made = many_sampled_rounds if sampling == "one" else many_full_rounds
        return Setting(target=made(claimed.n_records, claimed.rounds, sigma), claim=claim)
    more: dict[str, Any] = {"batch_size": claimed.batch_size} if sampling == "cyclic" else {}
    if sampling == "cyclic" and claimed.n_records % claimed.batch_size:
        return None
    attacked = algorithm(claimed.n_records, claimed.rounds, sigma, sampling, **more)
    if sampling == "one":
        return Setting(target=_sampled(attacked), claim=claim)
    other = neighbour(attacked)
    target = algorithm_target(attacked, other, adjacency=Adjacency.REPLACE_ONE)
    return Setting(target=target, claim=claim)


# ---- planted bugs


def half_the_noise() -> Setting:
    """Full batches, half of the modelled noise."""
    correct = averaged("full", "certified")
    records, rounds = 20, 8
    sigma = theorem(records, rounds, 1.0, "full-batch").sigma
    impostor = algorithm(records, rounds, sigma / 2, "full")
    target = bugs.drawn_by(correct.target, impostor, neighbour(impostor))
    return Setting(target=target, claim=correct.claim)


def one_round_charged() -> Setting:
    """The guarantee of one of eight rounds."""
    correct = averaged("full", "certified")
    curve = correct.claim.guarantee.numbers()["mu"] / np.sqrt(8)
    return Setting(target=correct.target, claim=_claim(GDP(curve)))


def norm_for_sensitivity() -> Setting:
    """Sampling amplified from the sensitivity L instead of 2L."""
    records, rounds, sigma = 2, 2, 1.0
    wrong = theorem(records, rounds, 1.0).replace(sigma=2 * sigma).certified().guarantee
    return Setting(
        target=_sampled(algorithm(records, rounds, sigma)),
        claim=_claim(ApproxDP(wrong.epsilon(DELTA), DELTA)),
        note=f"q = {records}, T = {rounds}: a replaced record moves a gradient by 2L, not L",
    )


def reshuffled() -> Setting:
    """Batches in turn sold with the amplification of independent sampling."""
    records, rounds, sigma = 20, 40, 4.0
    sold = theorem(records, rounds, 1.0).replace(sigma=sigma).certified().guarantee
    attacked = algorithm(records, rounds, sigma, "cyclic", batch_size=1)
    target = algorithm_target(attacked, neighbour(attacked), adjacency=Adjacency.REPLACE_ONE)
    return Setting(
        target=target,
        claim=_claim(ApproxDP(sold.epsilon(DELTA), DELTA)),
        note="every record is used exactly once per pass, whatever the order",
    )


def detection(_: int) -> list[tuple[float, ...]]:
    """q, prescribed σ/L, the chance that the record is ever drawn, certified ε, claimed ε."""
    rows: list[tuple[float, ...]] = []
    for records in (100, 500, 2000, 20000):
        paper = theorem(records, records, 1.0)
        hit = 1 - (1 - 1 / records) ** records
        rows.append((float(records), paper.sigma, 2 / paper.sigma, hit, DELTA))
    return rows


def _claim(guarantee: Guarantee) -> Claim:
    return Claim(
        guarantee=guarantee,
        delta=DELTA,
        adjacency=Adjacency.REPLACE_ONE,
        release=Release.EVERY_MESSAGE,
    )


_HELD = (Outcome.NOT_REFUTED,)

AUDIT = Audit(
    key="private-dual-averaging",
    title="Private dual averaging",
    reference="liu2022, algorithm 1 and theorem 1",
    theorem="private-dual-averaging",
    libraries=("networkx",),
    instance=instance,
    cases=(
        case(
            "as-printed",
            "one sampled record, claimed (1, 0.01)",
            Role.PAPER,
            partial(as_printed, 2000, 1000),
            (Outcome.REFUTED,),
            runs=600,
            alpha=1e-6,
            batch=300,
            methods=("likelihood-ratio", "importance-sampling"),
        ),
        case(
            "full-batch",
            "full batches, the certified curve",
            Role.CERTIFIED,
            partial(averaged, "full", "certified"),
            _HELD,
        ),
        case(
            "full-batch-claimed",
            "full batches, claimed (1, 0.01)",
            Role.PAPER,
            partial(averaged, "full", "claimed"),
            _HELD,
        ),
        case(
            "mini-batch",
            "batches in turn, the certified curve",
            Role.CERTIFIED,
            partial(averaged, "cyclic", "certified"),
            _HELD,
        ),
        case(
            "sampled-certified",
            "one sampled record, the certified composition",
            Role.CERTIFIED,
            sampled_certified,
            _HELD,
            tilted=4000,
        ),
        case(
            "mini-batch-claimed",
            "batches in turn, claimed (1, 0.01) with the full batch's sensitivity",
            Role.PAPER,
            partial(averaged, "cyclic", "claimed"),
            (Outcome.REFUTED,),
            alpha=1e-6,
            tilted=2000,
        ),
        case("half-the-noise", "half of the modelled noise", Role.BUG, half_the_noise, CAUGHT),
        case(
            "one-round-charged",
            "one round's budget sold as the run's",
            Role.BUG,
            one_round_charged,
            CAUGHT,
        ),
        case(
            "norm-for-sensitivity",
            "sensitivity L in place of 2L under sampling",
            Role.BUG,
            norm_for_sensitivity,
            CAUGHT,
        ),
        case(
            "reshuffled",
            "batches in turn accounted for as independent sampling",
            Role.BUG,
            reshuffled,
            CAUGHT,
        ),
    ),
    exhibits=(
        Exhibit(
            key="standing-out",
            title="How far a sampled record stands out under the printed noise, T = q, ε = 1",
            columns=("records per node q", "σ/L", "2L/σ", "chance to be drawn", "claimed δ"),
            rows=detection,
            note="A record that is drawn once shows; the claim allows that once in a hundred runs.",
        ),
    ),
)
