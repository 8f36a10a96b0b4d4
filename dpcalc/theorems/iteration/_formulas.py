"""The amplification formulas as symbolic expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcalc.numerics.precise import round_up
from dpcalc.theorems.base import Formula

if TYPE_CHECKING:
    import sympy

    from dpcalc.theorems.iteration._first_user import FirstUser
    from dpcalc.theorems.iteration._gradient_admm import GradientADMM


def symbols() -> dict[str, sympy.Symbol]:
    """The symbols of the formulas by name."""
    import sympy

    names = "eta beta Delta sigma norm_A sigma_min nu mu k n"
    return {str(s): s for s in sympy.symbols(names, positive=True)}


def symbol_values(theorem: GradientADMM) -> dict[str, float]:
    """The values of the symbols that all results share."""
    return {
        "eta": theorem.step_size,
        "beta": theorem.penalty,
        "Delta": theorem.sensitivity,
        "sigma": theorem.sigma,
        "norm_A": theorem.operator_norm,
        "sigma_min": theorem.min_singular_value,
        "nu": theorem.smoothness,
    }


def paper_unit(theorem: GradientADMM) -> tuple[sympy.Expr, sympy.Expr]:
    """C and (ηΔ)²/σ²."""
    import sympy

    s = symbols()
    pull = s["eta"] * s["beta"]
    constant = (1 + pull * s["norm_A"] ** 2) * sympy.Max(1, sympy.Rational(3, 2) / pull)
    scale = s["eta"] if theorem.noise_in == "gradient" else sympy.Integer(1)
    return constant, (s["eta"] * s["Delta"] / (s["sigma"] * scale)) ** 2


def printed_rho(theorem: GradientADMM) -> sympy.Expr:
    """ρ as printed for convex users."""
    import sympy

    constant, unit = paper_unit(theorem)
    blocks = sympy.floor((symbols()["k"] - 1) / 2)
    return sympy.Piecewise((constant / blocks * unit, blocks > 0), (unit / 2, True))


def _certified_convex(theorem: FirstUser) -> Formula:
    """Min of the local and the amplified μ; W is a number that chosen shares or multipliers give."""
    import sympy

    s = symbols()
    damp = 1 + s["eta"] * s["beta"] * s["sigma_min"] ** 2 if theorem.square else sympy.Integer(1)
    if theorem.noise_in == "gradient":
        start, local = s["Delta"] ** 2 / damp, s["Delta"] / s["sigma"]
    else:
        start = (s["eta"] * s["Delta"]) ** 2 / damp
        local = s["eta"] * s["Delta"] / (s["sigma"] * damp)
    if theorem.iterations < 2:
        return Formula("certified.mu", local, symbol_values(theorem))
    weight = sympy.Symbol("W", positive=True)
    values = {**symbol_values(theorem), "W": round_up(theorem.amplification())}
    amplified = sympy.sqrt(start / weight) / s["sigma"]
    return Formula("certified.mu", sympy.Min(amplified, local), values)


def convex_formulas(theorem: FirstUser) -> tuple[Formula, ...]:
    """ρ as printed and μ as certified, convex users."""
    values = {**symbol_values(theorem), "k": float(theorem.iterations)}
    once = theorem.passes == 1
    found = [_certified_convex(theorem)] if once else []
    if not theorem.violations_of_claim():
        found.insert(0, Formula("claimed.rho", printed_rho(theorem), values))
    return tuple(found)
