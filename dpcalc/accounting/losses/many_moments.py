"""Moments of privacy losses at many orders at once, where a formula or a short sum bounds them."""

from __future__ import annotations

import math

import numpy as np

from dpcalc.accounting.losses.batch_moments import batch_moments
from dpcalc.accounting.losses.closed_moments import atoms_moments, laplace_moments
from dpcalc.accounting.losses.deferred import DeferredLaw
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.distribution import Reals
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.accounting.losses.laplace import LaplaceLoss
from dpcalc.accounting.losses.norm_moments import norm_moments
from dpcalc.accounting.losses.sampled_moments import log_moments
from dpcalc.accounting.losses.subsampled_gaussian import PoissonPair, WithoutReplacement


def moments_of_round(loss: PrivacyLoss, orders: Reals) -> Reals | None:
    """Upper bounds of ln E_Q[(P/Q)^α] for the mechanism whose loss it is; None without a formula.

    The mechanism may lose less than the pair that dominates it in every order.

    Args:
        loss: of one round.
        orders: α, above 1 and increasing, shape (n,).
    """
    match loss:
        case LaplaceLoss():
            return laplace_moments(loss.epsilon, orders)
        case DeferredLaw() if (near := loss.near()) is not None:
            return np.asarray(np.max([atoms_moments(law, orders) for law in near], axis=0))
        case DiscreteLoss() if loss.infinite_mass == 0:
            return atoms_moments(loss, orders)
    return moments_of_pair(loss, orders)


def moments_of_pair(loss: PrivacyLoss, orders: Reals) -> Reals | None:
    """The same for a pair of densities."""
    match loss:
        case PoissonPair():
            return log_moments(loss, orders)
        case WithoutReplacement():
            return batch_moments(loss, orders)
        case ExponentialNorm():
            return norm_moments(loss, orders)
    return None


def one_moment(moments: Reals | None) -> float:
    """The only one; infinite if there is none."""
    value = math.inf if moments is None else float(moments[0])
    return value if value >= 0 else math.inf


def order_above(exponent: float) -> Reals:
    """The least double that is no less than 1 + s and above 1: log-moments increase with s > 0."""
    order = 1 + exponent
    return np.array([order if order - 1 >= exponent else math.nextafter(order, math.inf)])
