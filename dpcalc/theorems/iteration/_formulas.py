"""The amplification formulas as symbolic expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcalc.numerics.precise import round_up
from dpcalc.theorems.base import Formula

if TYPE_CHECKING:
    import sympy

    from dpcalc.theorems.iteration._gradient_admm import FirstUser, GradientADMM
    from dpcalc.theorems.iteration.admm_iteration_all_users import ADMMIterationAllUsers
    from dpcalc.theorems.iteration.admm_iteration_strongly_convex import (
        ADMMIterationStronglyConvex,
    )


def _symbols() -> dict[str, sympy.Symbol]:
    import sympy

    names = "eta beta Delta sigma norm_A sigma_min nu mu k n"
    return {str(s): s for s in sympy.symbols(names, positive=True)}


def _values(theorem: GradientADMM) -> dict[str, float]:
    return {
        "eta": theorem.step_size,
        "beta": theorem.penalty,
        "Delta": theorem.sensitivity,
        "sigma": theorem.sigma,
        "norm_A": theorem.operator_norm,
        "sigma_min": theorem.min_singular_value,
        "nu": theorem.smoothness,
    }


def _paper_unit(theorem: GradientADMM) -> tuple[sympy.Expr, sympy.Expr]:
    """C and (ηΔ)²/σ²."""
    import sympy

    s = _symbols()
    pull = s["eta"] * s["beta"]
    constant = (1 + pull * s["norm_A"] ** 2) * sympy.Max(1, sympy.Rational(3, 2) / pull)
    scale = s["eta"] if theorem.noise_in == "gradient" else sympy.Integer(1)
    return constant, (s["eta"] * s["Delta"] / (s["sigma"] * scale)) ** 2


def _printed_rho(theorem: GradientADMM) -> sympy.Expr:
    import sympy

    constant, unit = _paper_unit(theorem)
    blocks = sympy.floor((_symbols()["k"] - 1) / 2)
    return sympy.Piecewise((constant / blocks * unit, blocks > 0), (unit / 2, True))


def _certified_convex(theorem: FirstUser) -> Formula:
    """Min of the local and the amplified μ; W is a number that chosen shares or multipliers give."""
    import sympy

    s = _symbols()
    damp = 1 + s["eta"] * s["beta"] * s["sigma_min"] ** 2 if theorem.square else sympy.Integer(1)
    if theorem.noise_in == "gradient":
        start, local = s["Delta"] ** 2 / damp, s["Delta"] / s["sigma"]
    else:
        start = (s["eta"] * s["Delta"]) ** 2 / damp
        local = s["eta"] * s["Delta"] / (s["sigma"] * damp)
    if theorem.iterations < 2:
        return Formula("certified.mu", local, _values(theorem))
    weight = sympy.Symbol("W", positive=True)
    values = {**_values(theorem), "W": round_up(theorem.amplification())}
    amplified = sympy.sqrt(start / weight) / s["sigma"]
    return Formula("certified.mu", sympy.Min(amplified, local), values)


def convex_formulas(theorem: FirstUser) -> tuple[Formula, ...]:
    """ρ as printed and μ as certified, convex users."""
    values = {**_values(theorem), "k": float(theorem.iterations)}
    once = theorem.passes == 1
    found = [_certified_convex(theorem)] if once else []
    if not theorem.violations_of_claim():
        found.insert(0, Formula("claimed.rho", _printed_rho(theorem), values))
    return tuple(found)


def contraction_formulas(theorem: ADMMIterationStronglyConvex) -> tuple[Formula, ...]:
    """L, ρ as printed and μ as certified, strongly convex users."""
    import sympy

    s = _symbols()
    eta, beta, nu, mu = s["eta"], s["beta"], s["nu"], s["mu"]
    values = {
        **_values(theorem),
        "mu": theorem.strong_convexity,
        "k": float(theorem.iterations),
    }
    tau = 2 / (nu + mu) - eta
    descent = 1 - 2 * eta * nu * mu / (nu + mu)
    p = 1 - tau / eta
    q = eta / beta + eta * tau / 4 * s["sigma_min"] ** 2
    contraction = sympy.Max((descent + tau / eta) / p, eta / beta / q)
    found = [Formula("certified.contraction", contraction, values)]
    if not theorem.violations_of_claim():
        blocks = sympy.floor((s["k"] - 1) / 2)
        factor = sympy.Piecewise((contraction ** (blocks - 1), blocks > 0), (1, True))
        found.insert(0, Formula("claimed.rho", _printed_rho(theorem) * factor, values))
    return tuple(found)


def all_users_formulas(theorem: ADMMIterationAllUsers) -> tuple[Formula, ...]:
    """The printed divergence per order."""
    import sympy

    s = _symbols()
    constant, unit = _paper_unit(theorem)
    printed = 4 * constant * unit * sympy.harmonic(s["n"]) / s["n"]
    values = {**_values(theorem), "n": float(theorem.users)}
    if theorem.violations_of_claim():
        return ()
    return (Formula("claimed.divergence_per_order", printed, values),)
