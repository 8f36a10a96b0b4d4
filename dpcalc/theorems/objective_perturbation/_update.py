"""What one objective-perturbed primal update costs.

Node i releases the minimiser f of its data term plus a linear noise term plus terms that depend on
released quantities only. With B(f) the noise that makes f the minimiser, f ↔ B(f) is a bijection, so
the likelihood ratio of f under two neighbouring data sets is the ratio of noise densities times the
ratio of Jacobians.

*Densities.* The noise has density proportional to exp(-a|b|); the two gradients at f differ by at
most (C/B)(s + ŝ), s = |L'| at the one record and ŝ at the other, so this ratio is at most
exp(a·(C/B)(s + ŝ)).

*Jacobians.* Both Hessians are H₀ + (C/B)L''xxᵀ with the same H₀ ⪰ hI, h = ρ/N + 2ηV. By the matrix
determinant lemma their determinants have ratio at most 1 + κL'', κ = C/(Bh).

Any loss with |L'| <= 1 and L'' <= c₁ therefore costs at most ``2a + ln(1 + κc₁)``, a the effective
noise rate times C/B. For the logistic loss L'' = s(1-s), and the cost is the maximum over s in [0, 1]
of the concave ``a(1 + s) + ln(1 + κs(1-s))``, which is 2a exactly when a >= κ. A record added or
removed costs a less: the other record's gradient is missing.

The full proof stands in docs/theorems/objective-perturbation.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcalc.numerics.rounding import Extended, extended

Values = NDArray[np.longdouble]

OPERATIONS = 64
"""More extended-precision operations than any cost needs, the reading of its inputs included."""


class Fixed(NamedTuple):
    """What is the same for all nodes and rounds, as numbers or as symbols.

    Attributes:
        loss_weight: C.
        curvature: c₁.
        ridge: ρ/N.
    """

    loss_weight: Any
    curvature: Any
    ridge: Any


def gradient_cost(rate: Any, loss_weight: Any, n_records: Any) -> Any:
    """a: the effective noise rate times C/B, for numbers or symbols."""
    return rate * loss_weight / n_records


def curvature_share(loss_weight: Any, n_records: Any, ridge: Any, pull: Any) -> Any:
    """κ = C/(B(ρ/N + 2ηV)), for numbers or symbols.

    Args:
        loss_weight: C.
        n_records: B.
        ridge: ρ/N.
        pull: ηV.
    """
    return loss_weight / (n_records * (ridge + 2 * pull))


def cost_of_any_loss(
    a: Any, curvature: Any, log1p: Callable[[Any], Any] = np.log1p, *, records: int = 2
) -> Any:
    """2a + ln(1 + κc₁) for a record replaced, a less for one added or removed.

    Args:
        a: the noise rate times a record's largest gradient.
        curvature: κc₁.
        log1p: of numbers, or of symbols.
        records: 2 if one replaces another, 1 if one is added or removed.
    """
    return records * a + log1p(curvature)


def cost_of_logistic_loss(a: Values, kappa: Values, *, records: int = 2) -> Values:
    """The maximum over s of a(1 + s) + ln(1 + κs(1-s)), or of as + ln(1 + κs(1-s)) for one record.

    The maximiser solves aκs² + (2κ - aκ)s - (a + κ) = 0. What rounding does to it is covered by
    concavity: the maximum exceeds the value at s by at most the slope there.
    """
    a, kappa = np.broadcast_arrays(extended(a), extended(kappa))
    linear, root = maximiser_terms(a, kappa, np.sqrt)
    with np.errstate(invalid="ignore", divide="ignore"):
        s = np.where(
            linear >= 0, 2 * (a + kappa) / (linear + root), (root - linear) / (2 * a * kappa)
        )
    s = np.clip(np.where(a >= kappa, Extended(1), s), 0, 1)
    spread = s * (1 - s)
    slope = a + kappa * (1 - 2 * s) / (1 + kappa * spread)
    value = cost_at(s, a, kappa, np.log1p, records=records)
    return np.asarray(np.where(a >= kappa, records * a, value + np.abs(slope)))


def maximiser_terms(a: Any, kappa: Any, sqrt: Callable[[Any], Any]) -> tuple[Any, Any]:
    """``(2 - a)κ`` and the root of the discriminant: s is their difference over ``2aκ``."""
    linear = (2 - a) * kappa
    return linear, sqrt(linear**2 + 4 * a * kappa * (a + kappa))


def cost_at(s: Any, a: Any, kappa: Any, log1p: Callable[[Any], Any], *, records: int = 2) -> Any:
    """What a logistic loss of slope s costs, for numbers or symbols."""
    return a * (records - 1 + s) + log1p(kappa * (s * (1 - s)))
