"""The loss of a pair the other way round."""

from __future__ import annotations

from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.accounting.losses.gaussian import GaussianLoss
from dpcalc.accounting.losses.laplace import LaplaceLoss
from dpcalc.accounting.losses.randomised_response import RandomisedResponseLoss
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)

_SYMMETRIC = (
    PoissonReplace,
    WithoutReplacement,
    ExponentialNorm,
    LaplaceLoss,
    GaussianLoss,
    RandomisedResponseLoss,
)


def reversed_loss(loss: PrivacyLoss) -> PrivacyLoss | None:
    """That of (Q, P) for that of (P, Q), if it is known.

    Most pairs here are symmetric; of a disclosure nothing but its probability counts.
    """
    if isinstance(loss, _SYMMETRIC):
        return loss
    if isinstance(loss, PoissonRemove):
        return PoissonAdd(loss.sigma, loss.rate)
    if isinstance(loss, PoissonAdd):
        return PoissonRemove(loss.sigma, loss.rate)
    reveals = isinstance(loss, DiscreteLoss) and not (loss.masses > 0).any() and loss.missing == 0
    return loss if reveals else None
