"""E5 for a whole trade-off curve: one run, many canaries, tested against a Gaussian curve.

Statement
    Let g(x) = 1 - f(x), f the claimed trade-off curve, and g⁻¹ its inverse; m canaries, r guesses,
    v right. Start with a = αv/m, h = α(r - v)/m; for i = v-1, ..., 0 put h' = max(h, g⁻¹(a)),
    a ← a + i(h' - h)/(r - i), h ← h'. The curve is refuted if a + h > r/m. For the Gaussian curve
    g⁻¹(x) = Φ(Φ⁻¹(x) - μ); a larger μ has a smaller g⁻¹, every step is increasing in g⁻¹, so the
    test is monotone in μ and inverts by bisection.
Source
    Mahloujifar, Melis and Chaudhuri 2025, algorithm 1.
Assumes
    As `one_run`. It tests the curve: a bound on μ says nothing about mechanisms that do not claim
    to be Gaussian.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators.clopper_pearson import require_curve
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.estimators.one_run_power import smallest_gaussian
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.errors import InvalidInput

Array = NDArray[np.float64]

_LARGEST = 30.0


def refutes(guesses: Guesses, inverse_blow_up: Callable[[Array], Array], *, alpha: float) -> Array:
    """Whether a curve is refuted at α; one answer per entry that ``inverse_blow_up`` returns.

    Args:
        guesses: m, r and v.
        inverse_blow_up: g⁻¹, increasing from [0, 1] to [0, 1]; may broadcast over many curves.
        alpha: error probability.
    """
    if not 0 < alpha < 1:
        raise InvalidInput(f"alpha needs a number in (0, 1); got alpha={alpha!r}")
    m, r, v = guesses.canaries, guesses.guessed, guesses.correct
    right = np.asarray(alpha * v / m)
    wrong = np.asarray(alpha * (r - v) / m)
    for i in range(v - 1, -1, -1):
        moved = np.maximum(wrong, inverse_blow_up(np.minimum(right, 1.0)))
        right = right + i / (r - i) * (moved - wrong)
        wrong = moved
    return np.asarray(right + wrong > r / m)


def mu_lower(guesses: Guesses, *, alpha: float) -> float:
    """The lower bound of μ: the largest Gaussian curve that is refuted, 0 if none is."""
    if guesses.correct == 0:
        return 0.0
    low, high = 0.0, _LARGEST
    for _ in range(6):  # sixty-three curves at once, six times: a relative 1e-9 of the range
        mus = np.linspace(low, high, 65)
        refuted = refutes(guesses, gaussian_inverse_blow_up(mus), alpha=alpha)
        if not refuted[0]:
            return 0.0 if low == 0 else low
        last = int(np.flatnonzero(refuted).max())
        if last == 64:
            return high
        low, high = float(mus[last]), float(mus[last + 1])
    return low


def gaussian_inverse_blow_up(mu: Array | float) -> Callable[[Array], Array]:
    """g⁻¹(x) = Φ(Φ⁻¹(x) - μ) of the Gaussian curve, for one μ or many."""
    from scipy.special import ndtr, ndtri

    return lambda x: np.asarray(ndtr(ndtri(x) - np.asarray(mu)))


def approximate_inverse_blow_up(epsilon: float, delta: float) -> Callable[[Array], Array]:
    """g⁻¹ of the (ε, δ) curve: max(0, e^{-ε}(x - δ), 1 - δ - e^ε(1 - x))."""
    grown = np.exp(epsilon)
    return lambda x: np.maximum(
        np.maximum((x - delta) / grown, 1 - delta - grown * (1 - np.asarray(x))), 0.0
    )


def evidence(guesses: Guesses, claim: Claim, *, alpha: float) -> Evidence:
    """The bound on μ for a claim that is a Gaussian curve."""
    require_curve(claim)
    curve = gaussian_inverse_blow_up(claim.bound(Quantity.MU))
    return Evidence(
        method="one-run-curve",
        quantity=Quantity.MU,
        lower=mu_lower(guesses, alpha=alpha),
        alpha=alpha,
        delta=claim.delta,
        access=AdversaryAccess.ONE_RUN,
        runs=1,
        detectable=smallest_gaussian(
            lambda right: bool(refutes(replace(guesses, correct=right), curve, alpha=alpha)),
            guesses.canaries,
            guesses.guessed,
            guesses.guessed_in,
            claimed=claim.bound(Quantity.MU),
        ),
        reference="Gaussian mechanism of every canary",
        counted={
            "canaries": guesses.canaries,
            "guessed": guesses.guessed,
            "correct": guesses.correct,
        },
        assumes=(
            "an independent fair coin per canary",
            "the number of guesses was fixed before",
        ),
    )
