"""DP-ADMM on a line as the paper prints it, followed symbol by symbol; no code of dpcalc is used.

    y_t = argmin_y (k/2)y² + (ρ/2)(x_{t-1} - y + u_{t-1})²
    x_t = x_{t-1} - (η/γ)(G + P_t + ρ(x_{t-1} - y_t + u_{t-1})),  P_t ~ N(0, σ²)
    u_t = u_{t-1} + x_t - y_t

A = 1, B = -1, c = 0, x₀ = 0, a linear loss of gradient G. Every quantity is a number times G plus a
sum of numbers times the P_t.
"""

from __future__ import annotations

from mpmath import matrix, mp, mpf


def last_iterate_mu(
    *, gap: float, sigma: float, rounds: int, curvature: float, step: float, from_data: bool
) -> mpf:
    """μ of the Gaussian law of (x_T, y_T) for gradients ``gap`` apart; ρ = 1, γ = 2."""
    with mp.workdps(80):
        rho, k, eta = mpf(1), mpf(curvature), mpf(step) / 2
        zero = [mpf(0)] * (rounds + 1)  # coefficients of G, P_1, ..., P_T
        x, y, u = list(zero), list(zero), list(zero)
        if from_data:
            u[0] = -1 / rho
        for t in range(1, rounds + 1):
            y = [rho * (a + b) / (k + rho) for a, b in zip(x, u, strict=True)]
            pull = [rho * (a - b + c) for a, b, c in zip(x, y, u, strict=True)]
            pull[0] += 1
            pull[t] += 1
            x = [a - eta * b for a, b in zip(x, pull, strict=True)]
            u = [a + b - c for a, b, c in zip(u, x, y, strict=True)]
        d = matrix([x[0], y[0]]) * mpf(gap)
        rows = (x[1:], y[1:])
        spread = matrix(
            [
                [sum(a * b for a, b in zip(r, c, strict=True)) * mpf(sigma) ** 2 for c in rows]
                for r in rows
            ]
        )
        if curvature == 0 or spread[1, 1] == 0:  # y_T adds nothing, or is constant
            return +abs(d[0]) / mp.sqrt(spread[0, 0])
        return +mp.sqrt((d.T * (spread**-1) * d)[0])
