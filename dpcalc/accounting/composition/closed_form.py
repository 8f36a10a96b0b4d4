"""Answers that need no sum: nothing is released, everything is revealed, δ covers all that differs."""

from __future__ import annotations

import math

from dpcalc.accounting.composition import chernoff, overlap
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt, Estimate, Query
from dpcalc.accounting.contour.saddle_points import infinite_mass
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import GaussianLoss

_FAR, _REST = 9.0, 1e-15
"""e^{-81/2} is below a hundredth of the second."""


def enclose(total: LossSum, query: Query, estimate: Estimate | None = None) -> Bracket | None:
    """The answer, or None where it has to be computed."""
    del estimate
    if isinstance(query, EpsilonAt):
        return _epsilon(total, query)
    assert isinstance(query, DeltaAt)  # noqa: S101 # there is no third kind
    return _delta(total, query)


def _epsilon(total: LossSum, query: EpsilonAt) -> Bracket | None:
    if total.total_variation_bound <= query.at:
        return Bracket(0.0, 0.0, "total variation")
    if total.infinite_mass > query.at:  # whatever can be integrated of the rest
        return _used_up(total, query)
    total.require_tractable()
    # The masses are upper bounds; those of exact distributions are off by rounding only.
    revealed = infinite_mass(total.coarse_upper(query.tail(total)))
    return None if revealed < query.at else _used_up(total, query)


def _used_up(total: LossSum, query: EpsilonAt) -> Bracket:
    surely = total.infinite_mass * (1 - 1e-12) > query.at
    lower = math.inf if surely else total.epsilon_of_largest(query.at)
    return Bracket(lower, math.inf, "infinite losses use up δ")


def _delta(total: LossSum, query: DeltaAt) -> Bracket | None:
    if not total.parts:
        return Bracket(0.0, 0.0, "nothing is released")
    if total.infinite_mass >= 1:
        return Bracket(1.0, 1.0, "everything is revealed")
    if _tells_all(total, query.at):
        return Bracket(1 - _REST, 1.0, "one release alone tells as good as all")
    if total.total_variation_bound >= 1 - _REST and (
        overlap.least_delta(total, query.at, cells=False) >= 1 - _REST
    ):
        return Bracket(1 - _REST, 1.0, "all releases together tell as good as all")
    return chernoff.enclose(total, query) if query.at >= total.largest else None


def _tells_all(total: LossSum, epsilon: float) -> bool:
    """Whether δ(ε) of the Gaussian rounds alone is as good as 1; that of all is no less.

    With a = μ/2 - ε/μ > 0 and b = μ/2 + ε/μ it is 1 - Φ(-a) - e^{-a²/2}·e^{b²/2}Φ(-b), both terms at
    most e^{-a²/2}/2.
    """
    mu = max((loss.mu for loss, _ in total.parts if isinstance(loss, GaussianLoss)), default=0.0)
    return mu / 2 - epsilon / mu >= _FAR if mu > 0 else False
