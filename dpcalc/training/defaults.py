"""Rounds, steps and penalties from public numbers: records, columns, budget.

Statement
    Spent in one look at the mean gradient of n rows of norm at most 1, a budget asks for noise of
    norm about λ (`noise_norm`). Every method here ends with about that noise times a length s: the
    time of a gradient flow, or one over the curvature of a ridge. What is not learnt after s is
    about ‖w‖²/(2s), what the noise costs at most λ²s/8, for a loss of curvature 1/4 and a best model
    w; so s = 2‖w‖/λ, and only ‖w‖ is left to choose. Of 18, 25, 50, 75 and 100 it was 50 that had
    the least mean loss and the least mean error over nine problems from the KEEL repository at four
    budgets each (marketing, page-blocks, penbased twice, satimage, optdigits, mushroom, spambase,
    letter), none of which is among the data that the estimators are compared on.

Where a model is the mean of the later half of the iterates, twice that was best.

How often nodes of a network look at their records is derived, not fitted: `looks`.

Nothing here is a bound, and nothing looks at a record.
"""

from __future__ import annotations

import math

from dpcalc.accounting.gaussian import gaussian_mu

LENGTH = 100.0
"""λs: twice the norm of a model."""

SHORT = LENGTH / 10
"""λs where numbers are predicted by a loss of curvature 1 and with steps of 1.

With the same steps, s ten times that has up to 9 times the error of a constant answer on five drawn
data sets (1,500 and 10,000 records, 4 to 30 columns, ε from .3 to 10), where this has up to 2; at
large budgets neither is clearly ahead.
"""

STEP = 4.0
"""One over the curvature of the logistic loss on rows of norm at most 1."""

_LONGEST_STEP = 32.0
MOST_LOOKS = 10
"""Of a network's nodes, where there is no budget to keep to."""

_AVERAGING_ROUNDS = (400, 16_000)
_ROUNDS = (5, 400)
_ACCELERATED_ROUNDS = (5, 1600)
"""The fewest and the most rounds: time grows with them, and little is learnt after the last."""


def noise_norm(
    n_records: int, dimension: int, epsilon: float, delta: float, *, pure: bool = False
) -> float:
    """λ, the norm of the noise that one look at a mean gradient asks for, rows of norm at most 1.

    2√d/(nμ) for Gaussian noise; 2d/(nε) for noise of density exp(-α‖b‖) at δ = 0.

    Args:
        n_records: of the mean.
        dimension: columns, the constant one included.
        epsilon: of the budget; replace-one.
        delta: of the budget.
        pure: whether the noise may be that of a budget without δ, whichever is less.
    """
    norms = []
    if delta > 0:
        norms.append(2 * math.sqrt(dimension) / (n_records * gaussian_mu(epsilon, delta)))
    if pure or delta == 0:
        norms.append(2 * dimension / (n_records * epsilon))
    return min(norms)


def accelerated_rounds(noise: float, step: float = STEP, length: float = LENGTH) -> int:
    """Rounds T of an accelerated method: a flow of time ηT²/2 = s."""
    return _within(math.sqrt(2 * length / (noise * step)), _ACCELERATED_ROUNDS)


def plain_rounds(noise: float, step: float = STEP, length: float = LENGTH) -> int:
    """Rounds T of a gradient method: a flow of time ηT = s."""
    return _within(length / (noise * step), _ROUNDS)


def too_many_rounds(noise: float) -> bool:
    """Whether dual averaging as printed ends before its time, with the most rounds it is given.

    Then gradients are better taken at the means so far: a flow of time s is about √s rounds, not s,
    and there is next to no noise, of which plain steps keep less. Tried on drawn data alone (two of
    scikit-learn's `make_classification`, a survey, columns of unlike scales, one-hot columns beside
    amounts): at ε = .1 to 1 held-out accuracy at means is .002 to .036 less on all five, at 10 less
    on three. Where 2/λ is 16,400, means after 1,281 rounds have .0009 less to .0104 more than 16,000
    plain rounds; at ε = 10⁴ they have .0013 less to .0120 more.
    """
    return 2 / noise > _AVERAGING_ROUNDS[1]


def averaging_rounds(noise: float, curvature: float | None = None) -> int:
    """Rounds T of dual averaging: more do not add noise, but time.

    Args:
        noise: λ.
        curvature: of the loss, where gradients are taken at means: γ falls to its least value.
    """
    rounds = 2 / noise if curvature is None else math.sqrt(2 * curvature * LENGTH / noise)
    return _within(rounds, _AVERAGING_ROUNDS)


def proximal_weight(noise: float, rounds: int, curvature: float | None = None) -> float:
    """γ of dual averaging with weights a(t) = t and without a ridge: A(T)/γ = s, but for a half.

    Steps t/γ are at most 32, beyond which nothing was gained on the same data at any budget. With
    gradients at means γ is at least twice the curvature of the loss, below which they may diverge.
    """
    least = rounds / _LONGEST_STEP if curvature is None else 2 * curvature
    return max(noise * rounds**2 / LENGTH, least)


def looks(nodes: int, dimension: int, epsilon: float, delta: float) -> int:
    """Rounds that look at the data, of nodes that hold B records each, dealt at random.

    After one look the mean of the nodes' minimisers differs from the minimiser over all records by
    the product of two deviations of a node from the mean, of its gradient (1/√B) and of its Hessian
    (√(d/B)): some √d/B. T looks remove that by and by, and leave the mean of N nodes with noise √T
    as large as one, √T·2√d/(Bμ√N). T is the largest at which that is at most half of what it
    removes: Nμ²/16, whatever B and d; without δ, or where pure budgets ask for less noise,
    ε√N/(4√d).

    This is an argument about sizes, not a bound. It was tried on drawn data alone: an age that
    decides, a survey, columns of unlike scales, scikit-learn's `make_classification`, in 47 settings
    of 320 to 20,000 records, 5 to 20 nodes on a ring and ε from .5 to 10⁴. Where it says one look,
    held-out error after ten is .0055 less to .0575 more; where it says more, error after one is
    .0125 less (one of 80 records) to .0442 more than after the nearest of 2, 4 and 10.

    Args:
        nodes: N.
        dimension: d.
        epsilon: of the budget; replace-one.
        delta: of the budget.
    """
    found = epsilon * math.sqrt(nodes / dimension) / 4
    if delta > 0:
        found = max(found, nodes * gaussian_mu(epsilon, delta) ** 2 / 16)
    return max(1, math.floor(min(found, MOST_LOOKS)))


def small_ridge(noise: float) -> float:
    """A ridge that early stopping leaves little to do for, but that keeps late rounds stable."""
    return 0.03 * noise


def ridge(noise: float) -> float:
    """The curvature that a minimiser needs: 1/s."""
    return noise / LENGTH


def _within(rounds: float, limits: tuple[int, int]) -> int:
    return max(limits[0], min(round(rounds), limits[1]))
