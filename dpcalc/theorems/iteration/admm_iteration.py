"""Amplification by iteration for gradient ADMM, convex.

Statement
    ρ = (C/T)(ηΔ)²/σ² after 2T further iterations, C = (1 + ηβ‖A‖²)·max{1, 3/(2ηβ)}

    After the user's own iteration and 2T further noisy iterations the last (x, λ) is ρ-zCDP for the
    user; one iteration alone is (ηΔ)²/(2σ²)-zCDP. k = 2T + 1.
Source
    Chan, Xie and Zhao 2023, theorem 6.1, corollaries 6.2 and 9.4, lemmas 3.2, 6.5, 6.10
Certified
    μ-GDP with ``μ² = start/(σ² Σ_{t<k} 1/λ_t)``: every noise is divided between the iteration before it
    and the one after it, the user's own included; the start needs no factor 1 + ηβ‖A‖²; any A of full
    row rank is covered; trade-off functions compose where zCDP was used. Never above the local bound.
Rounding
    Sixty digits, then up.
"""

from __future__ import annotations

from dpcalc.theorems.authoring import finding, theorem
from dpcalc.theorems.iteration._assumptions import CONVEX_PAPER, USERS
from dpcalc.theorems.iteration._first_user import FirstUser
from dpcalc.theorems.iteration._gradient_admm import EXAMPLE
from dpcalc.theorems.parameters import weak_convexity


@theorem(
    status="loose",
    example=EXAMPLE | {"sigma": 1, "iterations": 101},
)
class ADMMIteration(FirstUser):
    """Convex users; the last iterate is released."""

    findings = (
        finding(
            "The user's own difference reaches the state damped, ‖(Δx, 0)‖²_* <= (ηΔ)²; the factor "
            "1 + ηβ‖A‖² is not needed.",
            "loose",
        ),
        finding(
            "The user's own noise is left out, and every noise masks one part of the state; divided "
            "between both, k iterations make k - 1 kernels instead of ⌊(k-1)/2⌋ pairs.",
            "loose",
        ),
        finding(
            "The triangle inequality holds for trade-off functions, so the bound is μ-GDP, which is "
            "strictly better than zCDP once converted.",
            "loose",
        ),
        finding(
            "Replacing σ by ησ' for noise on the gradient is unsafe in the certified constants: the "
            "noise that reaches x is smaller along the rows of A.",
            "loose",
            lambda t: t.noise_in == "gradient",
        ),
        finding(
            "Least squares, the paper's own experiment, has no finite Δ without clipping or a "
            "bounded domain.",
            "remark",
        ),
    )
    assumptions = (*USERS, *CONVEX_PAPER)

    weak_convexity: float = weak_convexity()
