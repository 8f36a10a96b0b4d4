"""What convergence and utility results print, in forty digits from the equations of their pages.

No code of the package is used: a formula stands once there, for digits and for symbols, so that a
misprint would be in both. Parameters are dyadic; β is given, not computed from a network.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mpmath import mp, mpf

from dpcalc.theorems.catalogue import result

Printed = dict[str, Any]
MIXED = {"strong_convexity": 0.25, "subgradient_bound": 1.5, "second_singular_value": 0.75}
NOISY = MIXED | {"dimension": 32, "sigma": 0.125, "rounds": 96, "weight_power": 2}
NOISY |= {"prox_weight": 0.5, "prox_growth": 0.25}
BUDGET = MIXED | {"dimension": 32, "records_per_node": 1024, "epsilon": 0.5, "delta": 2.0**-10}
LEARNT = {"reference_norm": 3, "tolerance": 0.125, "failure_probability": 0.0625, "n_nodes": 5}
LEARNT |= {"optimization_gap": 0.03125, "constant": 1.25}


def rate(mu: Any, L: Any, beta: Any, p: Printed) -> Printed:
    """Eq. (12)."""
    t, M = p["rounds"], L**2 / 2 + 2 * L**2 / (1 - beta)
    inner = L**2 * (mp.log(t) + 1) / (mu**2 * (1 - beta) ** 2 * t) + M / mu**2
    return {"value": 16 * inner / (t + 1)}


def utility(mu: Any, L: Any, beta: Any, p: Printed) -> Printed:
    """2·(11) + (4/μ)·(10), or what is left of it for many rounds."""
    m, q, log = p["dimension"], p["records_per_node"] * p["epsilon"], -mp.log(p["delta"])
    limit = 24 * m * log * L**2 / (mu * q**2)
    if p.get("rounds") is None:
        return {"value": 4 * limit / mu, "floor": 4 * limit / mu}
    T, M = p["rounds"], L**2 / 2 + 2 * L**2 / (1 - beta)
    ten = 4 * M / (mu * (T + 1)) + limit
    ten += 16 * mp.sqrt(3 * m) * log * L**2 / (mu * (1 - beta) * q * mp.sqrt(T + 1))
    variance = 12 * L**2 * T * log / q**2
    eleven = 8 * (L**2 + m * variance) * (mp.log(T) + 1)
    eleven /= mu**2 * T * (T + 1) * (1 - beta) ** 2
    return {"value": 2 * eleven + 4 * ten / mu, "suboptimality": ten, "spread": eleven}


def _gamma(t: int, p: Printed) -> Any:
    return p["prox_weight"] + p["prox_growth"] * mp.sqrt(t)


def _sums(p: Printed) -> list[Any]:
    """A(1), A(2), ..."""
    found = [mpf(0)]
    for t in range(1, p["rounds"] + 1):
        found.append(found[-1] + mpf(t) ** p["weight_power"])
    return found[1:]


def consensus(mu: Any, L: Any, beta: Any, p: Printed) -> Printed:
    """(B.1), (B.2)."""
    t = p["rounds"]
    noise = p["dimension"] * mpf(p["sigma"]) ** 2
    share = mpf(t) ** p["weight_power"] / ((1 - beta) * (mu * _sums(p)[-1] + _gamma(t, p)))
    return {"value": share * (L + mp.sqrt(noise)), "second_moment": share**2 * (L**2 + noise)}


def convergence(mu: Any, L: Any, beta: Any, p: Printed) -> Printed:
    """Eq. (7)."""
    noise, sums = p["dimension"] * mpf(p["sigma"]) ** 2, _sums(p)
    per = L**2 / 2 + 2 * L**2 / (1 - beta) + noise / 2 + 2 * mp.sqrt(noise) * L / (1 - beta)
    weights = [mpf(t) ** p["weight_power"] for t in range(1, p["rounds"] + 1)]
    rounds = enumerate(zip(weights, sums, strict=True), start=1)
    share = sum(a**2 / (mu * A + _gamma(t, p)) for t, (a, A) in rounds)
    prox = _gamma(p["rounds"], p) * p["prox_distance"]
    return {"value": (prox + share * per) / sums[-1]}


def gradient_admm(p: Printed) -> Printed:
    """[r²/(2η) + (λ + βar + κ)²/(2β) + κar + ηκ²a²/2]/T + (η/2)(G² + pσ²)."""
    eta, beta, r, a = p["step_size"], p["penalty"], p["distance"], p["matrix"]
    kappa = p["feasibility_weight"]
    start = mpf(r) ** 2 / (2 * eta) + (p["dual_norm"] + beta * a * r + mpf(kappa)) ** 2 / (2 * beta)
    start += kappa * a * r + eta * (kappa * mpf(a)) ** 2 / 2
    noise = mpf(p["gradient_bound"]) ** 2 + p["dimension"] * mpf(p["sigma"]) ** 2
    return {"value": start / p["rounds"] + eta * noise / 2}


def sample(p: Printed) -> Printed:
    """w |f_ref|² ln(1/δ)/(τ - Δ)²."""
    room = mpf(p["tolerance"]) - p["optimization_gap"]
    log = -mp.log(p["failure_probability"])
    return {"value": p["constant"] * mpf(p["reference_norm"]) ** 2 * log / room**2}


def private_sample(p: Printed) -> Printed:
    """w CN ln(1/δ)/[NC(τ - Δ)²/(2|f_ref|²) - (1 + a)Nd² ln²(d/δ)/(Cα²)]."""
    n, c, d, delta = p["n_nodes"], p["loss_weight"], p["dimension"], mpf(p["failure_probability"])
    room = mpf(p["tolerance"]) - p["optimization_gap"]
    below = n * c * room**2 / (2 * mpf(p["reference_norm"]) ** 2)
    below -= (1 + mpf(p["slack"])) * n * d**2 * mp.log(d / delta) ** 2 / (c * p["noise_rate"] ** 2)
    return {"value": -p["constant"] * c * n * mp.log(delta) / below}


def dp_admm(p: Printed) -> Printed:
    """Theorem 2 with the variance of theorem 1 for a budget, A a multiple of I, γ the smallest."""
    a, eta, rho, smooth = (mpf(p[k]) for k in ("matrix", "step_size", "penalty", "smoothness"))
    mu, eps, T = mpf(p["split"]), mpf(p["epsilon"]), p["rounds"]
    alpha = -mp.log(p["delta"]) / ((1 - mu) * eps) + 1
    variance = (p["gradient_bound"] / mpf(p["n_records"])) ** 2 * alpha * T / (2 * eps * mu)
    start = 1 / (2 * eta) + rho * a**2 / 2 + smooth / (2 * rho * a**2)  # G = γI - ηρAᵀA = I
    value = start * p["distance"] ** 2 / T + eta * p["dimension"] * variance
    return {"value": value, "sigma": mp.sqrt(variance)}


def contraction(p: Printed) -> Printed:
    """Eq. (23) on the complete network of three nodes: D - A has 0, 3, 3 and D + A 4, 1, 1."""
    eta, theta, mu = (mpf(p[k]) for k in ("penalty", "dual_step", "split"))
    m, M, connected, pull, apart = (
        *(mpf(p[k]) for k in ("strong_convexity", "smoothness")), 3 * theta, 4 * eta, 3 * (eta - theta)
    )  # fmt: skip
    below = (mu**2 * M**2 + mu * apart**2) / (connected * (mu - 1)) + pull
    delta = min(connected / (mu**2 * pull), (2 * m + 2 * apart) / below)
    return {"value": 1 / (1 + delta), "delta": delta}


def mixed(formula: Callable[..., Printed]) -> Callable[[Printed], Printed]:
    """With μ, L and β taken out of the parameters."""
    return lambda p: formula(*(mpf(p[name]) for name in MIXED), p)


GRADIENT = {
    "matrix": 2, "dimension": 16, "penalty": 0.5, "step_size": 0.25, "smoothness": 1, "distance": 3,
    "dual_norm": 0.75, "gradient_bound": 4, "sigma": 0.125, "feasibility_weight": 1.5, "rounds": 50,
}  # fmt: skip
BUDGETED = {
    "matrix": 2, "dimension": 16, "penalty": 0.5, "step_size": 0.25, "smoothness": 2, "distance": 3,
    "gradient_bound": 4, "n_records": 1024, "epsilon": 0.5, "delta": 2.0**-10, "split": 0.375,
    "rounds": 50,
}  # fmt: skip
TRIANGLE = {"graph": "complete:3", "penalty": 1, "dual_step": 0.5, "split": 1.5}
TRIANGLE |= {"strong_convexity": 0.125, "smoothness": 0.25}
PRIVATE = LEARNT | {"dimension": 10, "loss_weight": 8192, "noise_rate": 4, "slack": 0.5}
SUMMED = 1e-9
"""Sums in doubles over so few rounds are inflated by less than this."""

CASES = [
    ("dual-averaging-rate", MIXED | {"rounds": 96}, mixed(rate), 0.0),
    ("dual-averaging-utility", BUDGET | {"rounds": 96}, mixed(utility), 0.0),
    ("dual-averaging-utility", BUDGET, mixed(utility), 0.0),
    ("dual-averaging-consensus", NOISY, mixed(consensus), SUMMED),
    ("dual-averaging-convergence", NOISY | {"prox_distance": 2}, mixed(convergence), SUMMED),
    ("gradient-admm-utility", GRADIENT, gradient_admm, 0.0),
    ("dp-admm-utility", BUDGETED, dp_admm, 0.0),
    ("m-admm-rate", TRIANGLE, contraction, SUMMED),
    ("m-admm-rate", TRIANGLE | {"smoothness": 4}, contraction, SUMMED),
    ("recycled-admm-sample-complexity", LEARNT, sample, 0.0),
    ("private-recycled-admm-sample-complexity", PRIVATE, private_sample, 0.0),
]


@pytest.mark.parametrize(("key", "given", "printed", "slack"), CASES)
def test_the_claim_is_what_the_paper_prints(
    key: str, given: Printed, printed: Callable[[Printed], Printed], slack: float
) -> None:
    claimed = result(key).from_parameters(given).claimed()
    found = {"value": claimed.value, **claimed.numbers}
    with mp.workdps(40):
        for name, exact in printed(given).items():
            room = exact * (mpf(slack) + mpf(2) ** -52)
            assert (exact - room if slack else exact) <= found[name] <= exact + room, name


def records(p: Printed, tilt: Any, strength: float) -> Any:
    """min{2/(λδ room), (c + λ)(2 + √(2 ln(1/δ)))²/(2λ² room)}/N, room = τ - Δ - (λR + B)²/(2λ)."""
    lam, delta = mpf(strength), mpf(p["failure_probability"])
    room = mpf(p["tolerance"]) - p["optimization_gap"]
    room -= (lam * p["reference_norm"] + tilt) ** 2 / (2 * lam)
    differences = (p["curvature"] + lam) * (2 + mp.sqrt(-2 * mp.log(delta))) ** 2
    return min(2 / (lam * delta * room), differences / (2 * lam**2 * room)) / p["n_nodes"]


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("strength", [2.0**-8, 2.0**-10])
@pytest.mark.parametrize("delta", [2.0**-4, 2.0**-40])
def test_certified_records_are_those_of_the_page(
    private: bool, strength: float, delta: float
) -> None:
    key = (
        "private-recycled-admm-sample-complexity" if private else "recycled-admm-sample-complexity"
    )
    given = {**(PRIVATE if private else LEARNT), "failure_probability": delta, "curvature": 0.25}
    if private:
        given["noise_rate"] = 2.0**14
    certified = (
        result(key).from_parameters(given | {"regularization_strength": strength}).certified()
    )
    tilt = mpf(certified.numbers.get("noise_norm", 0.0))
    assert (tilt > 0) is private
    with mp.workdps(40):
        exact = records(given, tilt, strength)
        assert exact <= certified.value <= exact * (1 + mpf(2) ** -52)


@pytest.mark.parametrize("curvature", [0.25, 3.75])
def test_the_jacobian_of_the_printed_profile(curvature: float) -> None:
    """C = -ln(1 - β/λ), and δ(ε) = 2H(ε - C) from the normal distribution function."""
    given = {"regularization": 4, "sigma": 5, "curvature": curvature, "gradient_bound": 1}
    made = result("gaussian-objective-perturbation-profile").from_parameters(given)
    claimed = made.claimed()  # type: ignore[attr-defined]
    with mp.workdps(40):
        jacobian = -mp.log(1 - mpf(curvature) / 4)
        assert jacobian <= claimed.numbers["jacobian"] <= jacobian * (1 + mpf(2) ** -52)
        epsilon, mu = jacobian + mpf("0.25"), mpf(1) / 5
        left = mpf(float(epsilon)) - jacobian
        profile = mp.ncdf(mu / 2 - left / mu) - mp.exp(left) * mp.ncdf(-mu / 2 - left / mu)
        assert claimed.guarantee.delta(float(epsilon)) == pytest.approx(
            float(2 * profile), rel=1e-9
        )


def test_the_limit_under_penalties_of_ones_own() -> None:
    """Σ(b/η)/Σ(h/η), the example of the page: 3/7 for η = (1, 2, 4), b = (0, 0, 3)."""
    given = {"graph": "complete:3", "penalty": [[1, 2, 4]], "proximal_weight": 50, "smoothness": 1}
    given |= {"curvature": 1, "linear": [[0, 0, 3]]}
    attained = result("recycled-admm-convergence").from_parameters(given).attained()
    assert attained is not None
    assert attained.numbers["limit"] == pytest.approx(3 / 7, rel=1e-15)
    assert attained.value == pytest.approx(4 / 7, rel=1e-15)


def test_the_margin_of_the_printed_conditions() -> None:
    """(i) and (ii) on three nodes that are all joined, where D - A has 0, 3, 3 and D + A 4, 1, 1."""
    eta, gamma, m, big, mu = 1.0, 50.0, 1.0, 4.0, 8.0
    given = {"graph": "complete:3", "penalty": eta, "proximal_weight": gamma, "smoothness": m}
    claimed = (
        result("recycled-admm-convergence")
        .from_parameters(given | {"coupling": big, "split": mu})
        .claimed()
    )
    tilde = 4 * eta + gamma
    damping = big * mu / (2 * tilde)
    first = 1 + eta / tilde - damping * m**2 / (3 * eta), 1 + 4 * eta / tilde
    second = [
        eta * pull
        - eta * pull / tilde * (eta * apart + 2 / big * eta * pull)
        - damping / (mu - 1) * m**2
        for apart, pull in ((0, 4), (3, 1))
    ]
    assert claimed.numbers["margin"] == pytest.approx(min(*first, *second), rel=1e-12)
