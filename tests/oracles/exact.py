"""Slow oracles straight from the definitions, in arbitrary precision; no code of dpcalc is used."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from mpmath import mp, mpf
from scipy.special import ndtr


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


def exponential_norm_delta(bound: float, dimension: int, epsilon: float, digits: int = 20) -> mpf:
    """Noise ∝ e^{-‖b‖}, centres ``bound`` apart: (1 - e^{ε-L})₊ integrated over radius and angle."""
    with mp.workdps(digits):
        a, e, d = mpf(bound), mpf(epsilon), dimension
        weight = mp.gamma(mpf(d) / 2) / (mp.sqrt(mp.pi) * mp.gamma((mpf(d) - 1) / 2))

        def over_angles(radius: mpf) -> mpf:
            cosine = (a * a - e * e - 2 * radius * e) / (2 * a * radius)  # L > ε below this cosine
            if cosine <= -1:
                return mpf(0)
            first = mp.acos(min(cosine, mpf(1)))

            def gain(angle: mpf) -> mpf:
                far = mp.sqrt(radius * radius - 2 * a * radius * mp.cos(angle) + a * a)
                return mp.sin(angle) ** (d - 2) * (1 - mp.exp(e - far + radius))

            return weight * mp.quad(gain, [first, (first + mp.pi) / 2, mp.pi])

        kink = (a - e) / 2
        return mp.quad(
            lambda r: mp.exp(-r) * r ** (d - 1) / mp.gamma(d) * over_angles(r),
            [mpf(0), kink, *(kink + x for x in (1, 3, 8, 20, 60))],
        )


def finite_delta(p: Sequence[float], q: Sequence[float], rounds: int, epsilon: float) -> mpf:
    """Rounds with two finite distributions: Σ (P - e^ε Q)₊ over all sequences of outcomes."""
    with mp.workdps(50):
        total_p, total_q = mp.fsum(map(mpf, p)), mp.fsum(map(mpf, q))
        pairs = [(mpf(a) / total_p, mpf(b) / total_q) for a, b in zip(p, q, strict=True)]
        total = mpf(0)
        for outcome in itertools.product(pairs, repeat=rounds):
            gain = mp.fprod(a for a, _ in outcome) - mp.exp(mpf(epsilon)) * mp.fprod(
                b for _, b in outcome
            )
            total += max(gain, mpf(0))
        return +total


def convolved_delta_bounds(
    sigma: float, rate: float, rounds: int, epsilon: float, cells: int = 3000
) -> tuple[float, float]:
    """Rounds of a Poisson-sampled Gaussian: losses rounded down and up to a lattice, convolved."""
    edges = np.linspace(-8 * sigma, 1 + 8 * sigma, cells + 1)
    plain, moved = np.diff(ndtr(edges / sigma)), np.diff(ndtr((edges - 1) / sigma))
    losses = np.log1p(rate * np.expm1((2 * edges - 1) / (2 * sigma**2)))
    masses = (1 - rate) * plain + rate * moved
    step = float(losses[-1] - losses[0]) / 60_000
    found = []
    for ends, rounded in ((losses[:-1], np.floor), (losses[1:], np.ceil)):
        index = rounded(ends / step).astype(np.int64)
        lattice = np.bincount(index - index.min(), masses)
        length = (len(lattice) - 1) * rounds + 1
        total = np.fft.irfft(np.fft.rfft(lattice, 2 * length) ** rounds, 2 * length)[:length]
        sums = (np.arange(length) + index.min() * rounds) * step
        gain = -np.expm1(np.minimum(epsilon - sums, 0.0))
        found.append(float(np.maximum(total, 0.0) @ gain))
    return max(found[0] - 1e-12, 0.0), found[1] + 1e-12


def two_sampled_rounds_delta(sigma: float, rate: float, epsilon: float, digits: int = 30) -> mpf:
    """Two Poisson-sampled Gaussian rounds, a record removed: the second's δ integrated over the first.

    δ₂(ε) = ∫ p(x) δ₁(ε - l(x)) dx, and δ₁ at any real argument is a difference of normal tails.
    """
    with mp.workdps(digits + 25):
        s, r, e = mpf(sigma), mpf(rate), mpf(epsilon)

        def tail(x: mpf) -> mpf:
            return mp.erfc(x / (s * mp.sqrt(2))) / 2

        def growth(x: mpf) -> mpf:
            return 1 + r * mp.expm1((2 * x - 1) / (2 * s * s))

        def single(ratio: mpf) -> mpf:  # ∫(p - ratio·q)₊
            if ratio <= 1 - r:
                return 1 - ratio
            x = s * s * mp.log((ratio - 1 + r) / r) + mpf(1) / 2
            return (1 - r) * tail(x) + r * tail(x - 1) - ratio * tail(x)

        def integrand(x: mpf) -> mpf:
            density = (1 - r) * mp.npdf(x, 0, s) + r * mp.npdf(x, 1, s)
            return density * single(mp.exp(e) / growth(x))

        kink = s * s * mp.log((mp.exp(e) / (1 - r) - 1 + r) / r) + mpf(1) / 2
        single_kink = s * s * mp.log((mp.exp(e) - 1 + r) / r) + mpf(1) / 2 if e > 0 else kink
        far = max(kink, 1) + 20 * s
        cuts = sorted({-20 * s, mpf(0), mpf(1), kink, single_kink, far})
        fine = [a + (b - a) * k / 6 for a, b in itertools.pairwise(cuts) for k in range(6)]
        return mp.quad(integrand, [*fine, far])


def sampled_log_moment(sigma: float, rate: float, exponent: float, kind: str) -> mpf:
    """ln E_P[(p/q)^s] of a Poisson-sampled Gaussian: R(emove), A(dd) or re(P)lace, by quadrature."""
    with mp.workdps(30):
        s, r, c = mpf(sigma), mpf(rate), mpf(exponent)

        def mixture(x: mpf, centre: int) -> mpf:
            return (1 - r) * mp.npdf(x, 0, s) + r * mp.npdf(x, centre, s)

        pairs = {
            "R": (lambda x: mixture(x, 1), lambda x: mp.npdf(x, 0, s)),
            "A": (lambda x: mp.npdf(x, 0, s), lambda x: mixture(x, -1)),
            "P": (lambda x: mixture(x, 1), lambda x: mixture(x, -1)),
        }
        p, q = pairs[kind]
        far = c + 1 + 14 * s
        cuts = mp.linspace(-14 * s, far, max(12, int((far + 14 * s) / (2 * s)) + 2))
        return mp.log1p(mp.quad(lambda x: p(x) * ((p(x) / q(x)) ** c - 1), cuts))
