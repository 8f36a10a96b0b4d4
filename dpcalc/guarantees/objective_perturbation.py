"""Guarantees of objective-perturbed updates, with noise of density ∝ e^{-η|b|} or normal."""

from __future__ import annotations

import math

from dpcalc import checks
from dpcalc.accounting.losses import LaplaceLoss
from dpcalc.accounting.losses.exponential_norm import LARGEST_DIMENSION, ExponentialNorm
from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.gaussian_update import LARGEST_MU, GaussianUpdate
from dpcalc.accounting.losses.objective_perturbation import (
    NoisyUpdate,
    removal_laws,
    replacement_law,
)
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.pure import PureDP
from dpcalc.vocabulary import Adjacency

_SMALLEST_BOUND, _LARGEST_BOUND = 1e-9, 300.0
"""Below it, the bound is taken for it; above it, the loss has no room in the doubles."""

_LARGEST_CURVATURE = 1e12
"""Above it, the law of an update is of no use."""


def perturbed_update(update: Update, adjacency: Adjacency | str, pure: float) -> Guarantee:
    """One update by the loss of its noise in its dimension.

    Args:
        update: rounded up; see `Update`.
        adjacency: replace-one or add-remove.
        pure: ε of the update at δ = 0.

    Returns:
        The pure guarantee itself where the noise is next to nothing.
    """
    if update.dimension > LARGEST_DIMENSION:
        raise InvalidInput(
            f"dimension needs to be at most {LARGEST_DIMENSION:,}; got "
            f"dimension={update.dimension}; without a dimension the bound holds in all"
        )
    if update.bound > _LARGEST_BOUND or update.curvature > _LARGEST_CURVATURE:
        return PureDP(pure)
    update = update.at_least(_SMALLEST_BOUND)
    described = f"objective perturbation, a = {update.bound:g}, d = {update.dimension}"
    typed = (("bound", update.bound), ("dimension", update.dimension))
    return _dominated(update, adjacency, described, pure, typed)


def normally_perturbed_update(update: GaussianUpdate, adjacency: Adjacency | str) -> Guarantee:
    """One update with normal noise; no finite ε at δ = 0.

    Args:
        update: rounded up; see `GaussianUpdate`. Beyond its largest μ, where ε is above a hundred at
            any δ of use, and for next to no stiffness, nothing is promised.
        adjacency: replace-one or add-remove.
    """
    if update.mu > LARGEST_MU or update.curvature > _LARGEST_CURVATURE:
        return GDP(math.inf)
    described = f"objective perturbation, normal noise, μ = {update.mu:g}"
    update = update.at_least(_SMALLEST_BOUND)
    return _dominated(update, adjacency, described, math.inf, (("mu", update.mu),))


def _dominated(
    update: NoisyUpdate,
    adjacency: Adjacency | str,
    described: str,
    largest: float,
    noise: tuple[tuple[str, float], ...],
) -> Guarantee:
    pairs = (
        removal_laws(update) if adjacency == Adjacency.ADD_REMOVE else (replacement_law(update),)
    )
    typed = (*noise, ("curvature", update.curvature), ("tied", update.tied))
    return DominatedMechanism(tuple(((law, 1),) for law in pairs), described, largest, typed=typed)


def moved_noise(bound: float, dimension: int, largest: float) -> Guarantee:
    """Noise ∝ e^{-η|b|} whose centre moves by ``bound``/η, exactly.

    Args:
        bound: positive; the largest loss of the noise.
        dimension: 1 or above.
        largest: ε at δ = 0, if another instance leaks more there.
    """
    checks.positive("bound", bound)
    described = f"exponential-norm noise, ε = {bound:g}, d = {dimension}"
    if dimension == 1:
        return DominatedMechanism((((LaplaceLoss(bound, bound), 1),),), described, largest)
    return DominatedMechanism((((ExponentialNorm(bound, dimension), 1),),), described, largest)
