"""Attack on private dual averaging (liu2022): the printed noise, certified twins, planted bugs.

See `engine.dual_averaging` for the worst data.

    as printed   one of q records sampled, noise for the full-batch sensitivity 2L/q: the record is
                 drawn in some round with probability 1 - (1 - 1/q)^T, and then stands many σ out
    full batch   the same noise holds, and attacks come within 10 per cent of the certified ε
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dpcalc.auditing import Outcome
from dpcalc.auditing.suite.case import Audit, ClaimSource, Instance, SupportingTable, case, planted
from dpcalc.auditing.targets.from_algorithm import algorithm_target
from dpcalc.audits.bugs.generic import run_by
from dpcalc.audits.instances.dual_averaging import (
    DELTA,
    algorithm,
    as_printed,
    averaged,
    claim_of,
    instance_of_theorem,
    neighbour,
    sampled,
    sampled_certified,
    theorem,
)
from dpcalc.guarantees import GDP, ApproxDP
from dpcalc.vocabulary import Adjacency


def half_the_noise() -> Instance:
    """Full batches, half of the modelled noise."""
    correct = averaged("full", "certified")
    records, rounds = 20, 8
    sigma = theorem(records, rounds, 1.0, "full-batch").sigma
    actual = algorithm(records, rounds, sigma / 2, "full")
    target = run_by(correct.target, actual, neighbour(actual))
    return Instance(target=target, claim=correct.claim)


def one_round_charged() -> Instance:
    """The guarantee of one of eight rounds."""
    correct = averaged("full", "certified")
    curve = correct.claim.guarantee.parameters()["mu"] / np.sqrt(8)
    return Instance(target=correct.target, claim=claim_of(GDP(curve)))


def norm_for_sensitivity() -> Instance:
    """Sampling amplified from the sensitivity L instead of 2L."""
    records, rounds, sigma = 2, 2, 1.0
    wrong = theorem(records, rounds, 1.0).replace(sigma=2 * sigma).certified().guarantee
    return Instance(
        target=sampled(algorithm(records, rounds, sigma)),
        claim=claim_of(ApproxDP(wrong.epsilon(DELTA), DELTA)),
        note=f"q = {records}, T = {rounds}: a replaced record moves a gradient by 2L, not L",
    )


def reshuffled() -> Instance:
    """Batches in turn sold with the amplification of independent sampling."""
    records, rounds, sigma = 20, 40, 4.0
    sold = theorem(records, rounds, 1.0).replace(sigma=sigma).certified().guarantee
    attacked = algorithm(records, rounds, sigma, "cyclic", batch_size=1)
    target = algorithm_target(attacked, neighbour(attacked), adjacency=Adjacency.REPLACE_ONE)
    return Instance(
        target=target,
        claim=claim_of(ApproxDP(sold.epsilon(DELTA), DELTA)),
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


_HELD = (Outcome.NOT_REFUTED,)

AUDIT = Audit(
    key="private-dual-averaging",
    title="Private dual averaging",
    reference="liu2022, algorithm 1 and theorem 1",
    theorem="private-dual-averaging",
    libraries=("networkx",),
    instance_of_theorem=instance_of_theorem,
    cases=(
        case(
            "as-printed",
            "one sampled record, claimed (1, 0.01)",
            ClaimSource.PAPER,
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
            ClaimSource.CERTIFIED,
            partial(averaged, "full", "certified"),
            _HELD,
        ),
        case(
            "full-batch-claimed",
            "full batches, claimed (1, 0.01)",
            ClaimSource.PAPER,
            partial(averaged, "full", "claimed"),
            _HELD,
        ),
        case(
            "mini-batch",
            "batches in turn, the certified curve",
            ClaimSource.CERTIFIED,
            partial(averaged, "cyclic", "certified"),
            _HELD,
        ),
        case(
            "sampled-certified",
            "one sampled record, the certified composition",
            ClaimSource.CERTIFIED,
            sampled_certified,
            _HELD,
            tilted=4000,
        ),
        case(
            "mini-batch-claimed",
            "batches in turn, claimed (1, 0.01) with the full batch's sensitivity",
            ClaimSource.PAPER,
            partial(averaged, "cyclic", "claimed"),
            (Outcome.REFUTED,),
            alpha=1e-6,
            tilted=2000,
        ),
        planted("half-the-noise", "half of the modelled noise", half_the_noise),
        planted("one-round-charged", "one round's budget sold as the run's", one_round_charged),
        planted(
            "norm-for-sensitivity",
            "sensitivity L in place of 2L under sampling",
            norm_for_sensitivity,
        ),
        planted("reshuffled", "batches in turn accounted for as independent sampling", reshuffled),
    ),
    exhibits=(
        SupportingTable(
            key="standing-out",
            title="How far a sampled record stands out under the printed noise, T = q, ε = 1",
            columns=("records per node q", "σ/L", "2L/σ", "chance to be drawn", "claimed δ"),
            rows=detection,
            note="A record that is drawn once shows; the claim allows that once in a hundred runs.",
        ),
    ),
)
