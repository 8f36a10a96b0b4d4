"""Add up the declared looks at the data and compare with the claim, at its δ and adjacency.

Statement
    Each look with Gaussian noise is Δ/σ-GDP; sampled, it has the subsampled profile; with
    exponential-norm noise of rate α it costs αΔ + ln(1 + κ), κ the relative change of curvature
    where an exact minimiser is released, with Gaussian noise the law of such an update. Looks at
    one node compose; a record sits in one node and in one part of its records, so the worst of them
    counts. A sum above the claim means that the claim's proof cannot be the composition of what the
    algorithm declares; where only the curvature takes it there, or the largest loss in place of the
    law of the noise in its dimension, a proof that ties curvature to gradient or knows the
    dimension may do better, and nothing is decided.
Source
    `dpcalc.guarantees.compose`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from dpcalc.accounting.losses.gaussian_update import GaussianUpdate
from dpcalc.auditing.claim import Claim
from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.targets.data_access import DataAccess
from dpcalc.errors import DpcalcError
from dpcalc.guarantees import GDP, Guarantee, PureDP, compose
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian, sampled_without_replacement
from dpcalc.guarantees.objective_perturbation import moved_noise, normally_perturbed_update
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.vocabulary import Adjacency, Release
from dpcalc.wording import at_most

_ROUNDING = 1e-9
_ANYWHERE = -1  # in place of a node that is chosen at random


def check(accesses: Sequence[DataAccess], claim: Claim) -> Finding | None:
    """The recomputed ε against the claimed one; None without declared looks."""
    if not accesses:
        return None
    wrong = sorted({str(a.adjacency) for a in accesses if a.adjacency != claim.adjacency})
    if wrong:
        return Finding(
            check="accounting",
            severity=Severity.PREMISE,
            text=f"the claim is about {claim.adjacency}, the sensitivities are about {wrong[0]}",
        )
    undecided = _undecided(accesses, claim)
    if undecided:
        return Finding(check="accounting", severity=Severity.UNDECIDED, text=undecided)
    try:
        each = {g: _total(members, claim.delta) for g, members in _groups(accesses).items()}
    except DpcalcError as error:
        return Finding(check="accounting", severity=Severity.UNDECIDED, text=str(error))
    worst = max(each, key=lambda group: each[group])
    return _compared(accesses, claim, worst, each[worst])


def cost(access: DataAccess, *, bent: bool = True) -> Guarantee:
    """The guarantee of one look; infinite ε without noise.

    If not ``bent``, without its curvature, and by the law of the noise in its dimension.
    """
    noise = access.noise
    if access.sensitivity == 0 and access.curvature_change == 0:
        return PureDP(0.0)
    if hasattr(noise, "sigma"):
        mu = access.sensitivity / noise.sigma
        if bent and access.curvature_change > 0:
            return _bent(access, mu)
        if access.sampling_rate >= 1:
            return GDP(mu)
        if access.adjacency == Adjacency.ADD_REMOVE:
            return poisson_subsampled_gaussian(1 / mu, access.sampling_rate, access.adjacency)
        return sampled_without_replacement(mu, access.sampling_rate)
    if hasattr(noise, "rate"):
        moved = noise.rate * access.sensitivity
        if not bent and access.dimension:
            return moved_noise(moved, access.dimension, moved)
        bend = access.curvature_change / access.curvature_floor if bent else 0.0
        return PureDP(moved + math.log1p(bend))
    return PureDP(math.inf)


def _bent(access: DataAccess, mu: float) -> Guarantee:
    """An exact minimiser whose linear noise is normal, curvature and gradient not tied."""
    records = 2 if access.adjacency == Adjacency.REPLACE_ONE else 1
    bend = access.curvature_change / access.curvature_floor
    update = GaussianUpdate(round_up(mpf(mu) / records), bend, tied=False)
    return normally_perturbed_update(update, access.adjacency)


def _undecided(accesses: Sequence[DataAccess], claim: Claim) -> str:
    if claim.release == Release.LAST_ITERATE:
        return "the looks bound the whole transcript; the claim is about the last iterate"
    if any(a.node is None and a.sampling_rate >= 1 for a in accesses):
        return "chance decides whose data a round reads; the looks do not add up to a worst case"
    return ""


def _groups(accesses: Sequence[DataAccess]) -> dict[tuple[int, int], list[DataAccess]]:
    """The looks that can read one record: by node and part, those of a random node in all."""
    parts = {(a.node, a.batch) for a in accesses if a.node is not None} or {(_ANYWHERE, 0)}
    return {
        (node, batch): [
            a for a in accesses if a.node is None or (a.node == node and a.batch == batch)
        ]
        for node, batch in sorted(parts)
    }


def _total(members: Sequence[DataAccess], delta: float, *, bent: bool = True) -> float:
    """ε at δ of looks that compose."""
    costs = Counter(cost(a, bent=bent) for a in members)
    if any(isinstance(each, PureDP) and each.bound == math.inf for each in costs):
        return math.inf
    return compose(*costs.items()).epsilon(delta)


def _compared(
    accesses: Sequence[DataAccess], claim: Claim, worst: tuple[int, int], total: float
) -> Finding:
    members = _groups(accesses)[worst]
    one = max(each.epsilon(claim.delta) for each in {cost(a) for a in members})
    low = total > claim.epsilon * (1 + _ROUNDING)
    curved = low and any(a.curvature_change > 0 for a in members)
    tied = curved and _total(members, claim.delta, bent=False) <= claim.epsilon * (1 + _ROUNDING)
    where = "any record" if worst[0] == _ANYWHERE else f"a record of node {worst[0]}"
    many = "1 look" if len(members) == 1 else f"{len(members)} looks together"
    text = f"{many} at {where} cost ε = {at_most(total, 6)}"
    if low:
        text += f", above the claimed {at_most(claim.epsilon, 6)}"
        if one <= claim.epsilon * (1 + _ROUNDING) and len(members) > 1:
            text += f", which covers one look ({one:.6g}) and not all of them"
        if tied:
            text += (
                "; by its curvature, or by its largest loss instead of the law of the loss, "
                "which the claim's proof may count better"
            )
    else:
        text += f", within the claimed {at_most(claim.epsilon, 6)}"
    return Finding(
        check="accounting",
        severity=_severity(low, tied),
        text=text,
        numbers={
            "epsilon": total,
            "delta": claim.delta,
            "looks": len(members),
            "one_look": one,
            "claimed": claim.epsilon,
        },
    )


def _severity(low: bool, tied: bool) -> Severity:
    if tied:
        return Severity.UNDECIDED
    return Severity.PREMISE if low else Severity.HOLDS
