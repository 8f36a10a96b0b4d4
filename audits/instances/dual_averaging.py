"""Settings of the attack on private dual averaging: the worst neighbours, exact sampled laws.

The differing record points to +L in one world and to -L in the other. Where one record is sampled all
others point to -L, so that the worlds differ in the rounds that draw it and by 2L; else they have no
gradient. The likelihood ratio of sampled messages is that of two-component mixtures, written down
apart from the algorithm's own density.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpcalc.algorithms.private_dual_averaging import PrivateDualAveraging
from dpcalc.algorithms.problems.averaging import AveragingProblem
from dpcalc.algorithms.problems.losses import Linear
from dpcalc.algorithms.problems.networks import ring
from dpcalc.algorithms.problems.records import Records, split
from dpcalc.algorithms.problems.regularisers import ridge
from dpcalc.auditing import Claim, Target
from dpcalc.auditing.suite.case import Instance
from dpcalc.auditing.targets.from_algorithm import algorithm_target
from dpcalc.audits.instances.neighbours import replacements, worst
from dpcalc.audits.instances.noisy_subgradients import (
    many_full_rounds,
    many_sampled_rounds,
    sampled_target,
)
from dpcalc.guarantees import ApproxDP, Guarantee
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


def sampled(attacked: Any) -> Target:
    """One sampled record per round, on the worst neighbour found."""
    return sampled_target(attacked, neighbour(attacked))


def as_printed(records: int, rounds: int) -> Instance:
    """The paper's noise for (1, 0.01) with one sampled record."""
    paper = theorem(records, rounds, 1.0)
    hit = 1 - (1 - 1 / records) ** rounds
    return Instance(
        target=sampled(algorithm(records, rounds, paper.sigma)),
        claim=claim_of(ApproxDP(1.0, DELTA)),
        note=f"q = {records}, T = {rounds}, sigma = {paper.sigma:.4g} = L/{1 / paper.sigma:.3g}; "
        f"the record is drawn at least once with probability {hit:.3g}",
    )


def sampled_certified() -> Instance:
    """Enough noise for one sampled record, against the certified composition."""
    records, rounds, sigma = 8, 8, 1.0
    proved = theorem(records, rounds, 1.0).replace(sigma=sigma).certified().guarantee
    epsilon = proved.epsilon(DELTA)
    return Instance(
        target=sampled(algorithm(records, rounds, sigma)),
        claim=claim_of(ApproxDP(epsilon, DELTA)),
        certified=epsilon,
        note=f"q = {records}, T = {rounds}, sigma = {sigma:g}",
    )


def averaged(sampling: str, guarantee: str) -> Instance:
    """Full batches or fixed batches in turn, against the paper or the certified curve."""
    records, rounds, size = 20, 8, 2
    cyclic = sampling == "cyclic"
    more: dict[str, Any] = {"batch_size": size} if cyclic else {}
    draft = theorem(records, rounds, 1.0, "mini-batch" if cyclic else "full-batch", **more)
    attacked = algorithm(records, rounds, draft.sigma, sampling, **more)
    proved = draft.certified().guarantee
    claimed: Guarantee = ApproxDP(1.0, DELTA) if guarantee == "claimed" else proved
    target = algorithm_target(attacked, neighbour(attacked), adjacency=Adjacency.REPLACE_ONE)
    return Instance(
        target=target,
        claim=claim_of(claimed),
        certified=proved.epsilon(DELTA),
        note=f"q = {records}, T = {rounds}, sigma = {draft.sigma:.4g}",
    )


MOST_ROUNDS = 1500
"""Beyond these the node's noisy subgradients are drawn, which its messages determine."""


def instance_of_theorem(claimed: Any, claim: Claim) -> Instance | None:
    """The theorem's records, rounds and σ/L on a ring of three nodes; replace-one alone."""
    if claimed.adjacency != Adjacency.REPLACE_ONE:
        return None
    sigma = claimed.sigma / claimed.lipschitz
    if claimed.sampling == "random-batch":
        drawn = many_sampled_rounds(claimed.n_records, claimed.rounds, sigma, claimed.size())
        return Instance(target=drawn, claim=claim)
    sampling = {"full-batch": "full", "mini-batch": "cyclic", "one": "one"}[claimed.sampling]
    if claimed.rounds > MOST_ROUNDS:
        if sampling == "cyclic":
            return None
        made = many_sampled_rounds if sampling == "one" else many_full_rounds
        return Instance(target=made(claimed.n_records, claimed.rounds, sigma), claim=claim)
    more: dict[str, Any] = {"batch_size": claimed.batch_size} if sampling == "cyclic" else {}
    if sampling == "cyclic" and claimed.n_records % claimed.batch_size:
        return None
    attacked = algorithm(claimed.n_records, claimed.rounds, sigma, sampling, **more)
    if sampling == "one":
        return Instance(target=sampled(attacked), claim=claim)
    other = neighbour(attacked)
    target = algorithm_target(attacked, other, adjacency=Adjacency.REPLACE_ONE)
    return Instance(target=target, claim=claim)


def claim_of(guarantee: Guarantee) -> Claim:
    """The claim about every message, one record replaced, at the paper's δ."""
    return Claim(
        guarantee=guarantee,
        delta=DELTA,
        adjacency=Adjacency.REPLACE_ONE,
        release=Release.EVERY_MESSAGE,
    )
