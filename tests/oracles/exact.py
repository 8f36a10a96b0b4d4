"""Slow oracles straight from the definitions, in arbitrary precision; no code of dpcalc is used."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from mpmath import mp, mpf


def gaussian_delta(mu: float, epsilon: float, digits: int = 80) -> mpf:
    """Hockey-stick divergence of N(mu, 1) from N(0, 1) by quadrature-free closed form."""
    with mp.workdps(digits):
        m, e = mpf(mu), mpf(epsilon)
        first = mp.erfc((e / m - m / 2) / mp.sqrt(2)) / 2
        second = mp.exp(e) * mp.erfc((e / m + m / 2) / mp.sqrt(2)) / 2
        return +(first - second)


def gaussian_delta_by_quadrature(mu: float, epsilon: float, digits: int = 40) -> mpf:
    """The same as the integral of (p - e^ε q)₊."""
    with mp.workdps(digits):
        m, e = mpf(mu), mpf(epsilon)
        start = e / m + m / 2
        integrand = lambda x: mp.npdf(x - m) - mp.exp(e) * mp.npdf(x)  # noqa: E731
        return mp.quad(integrand, [start, start + 1, start + 3, start + 8, start + 20, start + 60])


def randomised_response_delta(epsilons: Sequence[float], epsilon: float, digits: int = 60) -> mpf:
    """δ(ε) of composed randomised response, summed over all outcomes."""
    with mp.workdps(digits):
        total = mpf(0)
        rounds = [(mpf(e), mp.exp(mpf(e)) / (1 + mp.exp(mpf(e)))) for e in epsilons]
        for signs in itertools.product((1, -1), repeat=len(rounds)):
            loss, mass = mpf(0), mpf(1)
            for sign, (e, p) in zip(signs, rounds, strict=True):
                loss += sign * e
                mass *= p if sign > 0 else 1 - p
            total += mass * max(mpf(0), 1 - mp.exp(mpf(epsilon) - loss))
        return +total


def equal_rounds_delta(epsilon_0: float, rounds: int, epsilon: float, digits: int = 60) -> mpf:
    """The same for equal rounds, by the binomial sum."""
    with mp.workdps(digits):
        e0, e = mpf(epsilon_0), mpf(epsilon)
        p = mp.exp(e0) / (1 + mp.exp(e0))
        total = mpf(0)
        for k in range(rounds + 1):
            loss = (2 * k - rounds) * e0
            if loss > e:
                mass = mp.binomial(rounds, k) * p**k * (1 - p) ** (rounds - k)
                total += mass * (1 - mp.exp(e - loss))
        return +total


def laplace_delta(epsilon_0: float, epsilon: float) -> mpf:
    """One Laplace mechanism: 1 - e^{(ε - ε₀)/2}."""
    return max(mpf(0), 1 - mp.exp((mpf(epsilon) - mpf(epsilon_0)) / 2))


def subsampled_gaussian_delta(
    sigma: float, rate: float, epsilon: float, *, remove: bool = True, digits: int = 40
) -> mpf:
    """One Poisson-subsampled Gaussian: P-mass minus e^ε Q-mass of the region where the loss exceeds ε."""
    with mp.workdps(digits):
        s, q, e = mpf(sigma), mpf(rate), mpf(epsilon)

        def mixture(x: mpf) -> mpf:
            return (1 - q) * mp.ncdf(x / s) + q * mp.ncdf((x - 1) / s)

        if remove:  # mixture against N(0): the loss increases in x
            edge = s * s * mp.log((mp.exp(e) - 1 + q) / q) + mpf(1) / 2
            upper = (
                1 - mixture(edge)
                if edge < 6 * s
                else (1 - q) * mp.ncdf(-edge / s) + q * mp.ncdf((1 - edge) / s)
            )
            return upper - mp.exp(e) * mp.ncdf(-edge / s)
        if e >= -mp.log(1 - q):
            return mpf(0)
        edge = s * s * mp.log((mp.exp(-e) - 1 + q) / q) + mpf(1) / 2
        return mp.ncdf(edge / s) - mp.exp(e) * mixture(edge)
