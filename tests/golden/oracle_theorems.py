"""ε(δ) and the printed numbers of every privacy theorem, from its page; no code of dpcalc is used.

Forty digits of mpmath. A setting is the table of parameters of theorems.toml, whose values are dyadic,
so that text, double and number agree. Run as a script it prints the values of theorems.toml again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tests.golden.oracle_descent import (
    noisy_cgd,
    noisy_cgd_constrained,
    noisy_gd,
    noisy_sgd,
    noisy_sgd_constrained,
    noisy_sgd_constrained_tradeoff,
    pnsgd,
    pnsgd_all_users,
    pnsgd_strongly_convex,
)
from tests.golden.oracle_normal import kifer, redberg
from tests.golden.oracle_profiles import Found, Table, gaussian, inverse, mean, responses, sampled

DIGITS = 40


def private_dual_averaging(p: Table) -> Found:
    unit = p["lipschitz"] / p["sigma"]
    if p["sampling"] == "one":
        assert p["rounds"] == 1
        return sampled(2 * unit, 1 / p["n_records"]), {}
    mu = 2 * unit * mp.sqrt(p["rounds"]) / p["n_records"]
    logarithm = mp.log(1 / p["delta"])
    claim = unit * mp.sqrt(12 * p["rounds"] * logarithm) / p["n_records"]
    return gaussian(mu), {"epsilon": claim}


def dp_admm(p: Table) -> Found:
    """The claim solves σ²·2n²εμ = c²T(ln(1/δ)/((1 - μ)ε) + 1), a quadratic in ε."""
    assert p["dual_start"] == "zero"
    unit = p["gradient_bound"] / (p["n_records"] * p["sigma"])
    moved = {"add-remove": 1, "replace-one": 2}[p["adjacency"]]
    per, logarithm = unit**2 * p["rounds"], mp.log(1 / p["delta"])
    split = mpf(1) / 2
    linear = per / (2 * split)
    root = mp.sqrt(linear**2 + 4 * linear * logarithm / (1 - split))
    return gaussian(moved * mp.sqrt(per)), {"epsilon": (linear + root) / 2}


def schedule(value: Any, t: int) -> Any:
    """Value number t, from 1: a constant, or "first:ratio"."""
    if not isinstance(value, str):
        return value
    first, ratio = map(mpf, value.split(":"))
    return first * ratio ** (t - 1)


def logistic_cost(a: Any, kappa: Any) -> Any:
    """The maximum over s in [0, 1] of a(1 + s) + ln(1 + κs(1 - s)), concave: halve where F' > 0."""
    low, high = mpf(0), mpf(1)
    for _ in range(130):
        s = (low + high) / 2
        rising = a + kappa * (1 - 2 * s) / (1 + kappa * s * (1 - s)) > 0
        low, high = (s, high) if rising else (low, s)
    return a * (1 + high) + mp.log1p(kappa * high * (1 - high))


def perturbed(p: Table, rounds: Sequence[tuple[Any, Any, Any]]) -> Found:
    """From effective rate, penalty and printed cost of every round; at δ = 0 costs add up."""
    weight = p["loss_weight"] / p["n_records"]
    costs = []
    for rate, penalty, _ in rounds:
        shared = p["regularization"] / p["n_nodes"] + 2 * penalty * p["degree"]
        costs.append(logistic_cost(rate * weight, weight / shared))
    certified = responses(costs) if p["delta"] else mp.fsum(costs)
    return certified, {"beta": mp.fsum(cost for *_, cost in rounds)}


def penalty_perturbation(p: Table) -> Found:
    rounds = []
    for t in range(1, int(p["rounds"]) + 1):
        eta, alpha = schedule(p["penalty"], t), schedule(p["noise_rate"], t)
        both = eta * p["degree"]
        printed = p["loss_weight"] * (mpf("1.4") / 4 + alpha) / (both * p["n_records"])
        rounds.append((alpha / (2 * both), eta, printed))
    return perturbed(p, rounds)


def recycled_admm(p: Table) -> Found:
    """Entry k of the penalty is that of the k-th noisy round, η(2k-1)."""
    rounds = []
    for k in range(1, int(p["rounds"]) + 1):
        eta, alpha = schedule(p["penalty"], k), schedule(p["noise_rate"], k)
        shared = p["regularization"] / p["n_nodes"] + 2 * eta * p["degree"]
        printed = 2 * p["loss_weight"] / p["n_records"] * (mpf("1.4") / 4 / shared + alpha)
        rounds.append((alpha, eta, printed))
    return perturbed(p, rounds)


def largest(f: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The maximum of a concave function by thirds."""
    for _ in range(170):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if f(left) < f(right) else (low, right)
    return f((low + high) / 2)


def revealed(e: Any, steps: Sequence[tuple[Any, Any]]) -> Any:
    """dᵀC⁻¹d of (x, λ) after the user's own iteration and some more, in one dimension.

    Each step multiplies by m and keeps r: the exact law of quadratics, whatever proves a bound.
    """
    d, c = mp.matrix([1, 0]), mp.matrix([[1, 0], [0, 0]])
    for m, r in steps:
        swing = e * (2 * r - 1)
        a = mp.matrix([[(m - swing) / (1 + e), swing / (1 + e)], [-r, r]])
        d, c = a * d, a * c * a.T + mp.matrix([[1, 0], [0, 0]])
    det = c[0, 0] * c[1, 1] - c[0, 1] ** 2
    return (c[1, 1] * d[0] ** 2 - 2 * c[0, 1] * d[0] * d[1] + c[0, 0] * d[1] ** 2) / det


def worst_of_three(e: Any, moved: tuple[Any, Any], least: Any) -> Any:
    """The largest over curvatures: at an end of their range, but for the last of g, which is searched."""
    tiny = mpf(10) ** -9
    low, high = max(least, tiny), 1 - tiny
    return max(
        largest(lambda r: revealed(e, [(m, first), (n, r)]), low, high)  # noqa: B023 # called at once
        for m in set(moved)
        for n in set(moved)
        for first in (low, high)
    )


def admm_mu(p: Table, k: int, moved: tuple[Any, Any] | None = None, least: Any = 0) -> Any:
    """Square A = σI: one and two iterations reveal what the first does, three what the worst does."""
    assert p["square"]
    assert p["operator_norm"] == p["min_singular_value"]
    e = p["step_size"] * p["penalty"] * p["min_singular_value"] ** 2
    local = p["step_size"] * p["sensitivity"] / p["sigma"] / (1 + e)
    ends = moved or (1 - p["step_size"] * p["smoothness"], mpf(1))
    return local if k <= 2 else local * mp.sqrt(worst_of_three(e, ends, least))


def printed_rho(p: Table) -> Any:
    square = (p["step_size"] * p["sensitivity"] / p["sigma"]) ** 2
    pairs, product = int(p["iterations"] - 1) // 2, p["step_size"] * p["penalty"]
    if not pairs:
        return square / 2
    constant = (1 + product * p["operator_norm"] ** 2) * max(1, 3 / (2 * product))
    return constant / pairs * square


def admm_iteration(p: Table) -> Found:
    return gaussian(admm_mu(p, int(p["iterations"]))), {"rho": printed_rho(p)}


def admm_iteration_all_users(p: Table) -> Found:
    users = int(p["users"])
    whole = printed_rho({**p, "iterations": 3})  # one pair of iterations
    rate = 4 * whole * mp.fsum(1 / mpf(j) for j in range(1, users + 1)) / users
    return mean([admm_mu(p, t) for t in range(1, users + 1)]), {"divergence_per_order": rate}


def admm_iteration_strongly_convex(p: Table) -> Found:
    """The claim's L, and the worst quadratics of these curvatures."""
    k, eta, s = int(p["iterations"]), p["step_size"], p["min_singular_value"]
    large, small = p["smoothness"], p["strong_convexity"]
    tau = 2 / (large + small) - eta
    rho2 = 1 - 2 * eta * large * small / (large + small)
    first, plain = 1 - tau / eta, eta / p["penalty"]
    second = plain + eta * tau / 4 * s**2
    contraction = max((rho2 + tau / eta) / first, plain / second)
    curved = p["regularizer_strong_convexity"]
    least = curved / (curved + p["penalty"] * (p["coupling_norm"] / s) ** 2)
    mu = admm_mu(p, k, (1 - eta * large, 1 - eta * small), least)
    pairs = (k - 1) // 2
    return gaussian(mu), {"rho": printed_rho(p) * contraction ** max(pairs - 1, 0)}


def fixed_point_admm(p: Table) -> Found:
    """Two quadratics (m/2)x² + ax with slopes a apart, no regulariser: the law, step by step.

    Where γ²mM <= 1 nothing is worse; prox_γf(v) = (v - γa)/(1 + γm) is written out.
    """
    step, slope = p["prox_step"], p["sensitivity"] / p["n_records"]
    relaxed = p.get("relaxation", mpf(1))
    curved, noise = p.get("strong_convexity", mpf(0)), p["sigma"]
    assert step**2 * curved * p.get("smoothness", mpf(0)) <= 1
    gap = variance = mpf(0)
    for _ in range(int(p["steps"])):
        # z <- z + 2λ(prox(z) - z + ξ/2): the distance of the two means, and the variance
        gap = gap + 2 * relaxed * ((gap + step * slope) / (1 + step * curved) - gap)
        keeps = 1 + 2 * relaxed * (1 / (1 + step * curved) - 1)
        variance = keeps**2 * variance + (relaxed * noise) ** 2
    per = step * p["sensitivity"] / (p["n_records"] * noise)
    return gaussian(gap / mp.sqrt(variance)), {"rho": 2 * p["steps"] * per**2}


ORACLES: dict[str, Callable[[Table], Found]] = {
    "noisy-gd": noisy_gd,
    "noisy-cgd": noisy_cgd,
    "noisy-cgd-constrained": noisy_cgd_constrained,
    "noisy-sgd": noisy_sgd,
    "noisy-sgd-constrained": noisy_sgd_constrained,
    "noisy-sgd-constrained-tradeoff": noisy_sgd_constrained_tradeoff,
    "pnsgd": pnsgd,
    "pnsgd-strongly-convex": pnsgd_strongly_convex,
    "pnsgd-all-users": pnsgd_all_users,
    "private-dual-averaging": private_dual_averaging,
    "dp-admm": dp_admm,
    "penalty-perturbation": penalty_perturbation,
    "recycled-admm": recycled_admm,
    "gaussian-objective-perturbation": kifer,
    "gaussian-objective-perturbation-profile": redberg,
    "fixed-point-admm": fixed_point_admm,
    "admm-iteration": admm_iteration,
    "admm-iteration-all-users": admm_iteration_all_users,
    "admm-iteration-strongly-convex": admm_iteration_strongly_convex,
}


def exactly(value: Any) -> Any:
    """Numbers as mpf, flags and choices as they are."""
    return mpf(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def values(case: Table) -> dict[str, Any]:
    """The certified ε under "certified", the printed quantities under their names."""
    with mp.workdps(DIGITS):
        delta = mpf(case["delta"])
        table = {k: exactly(v) for k, v in case["parameters"].items()} | {"delta": delta}
        certified, printed = ORACLES[case["theorem"]](table)
        answer = {name: inverse(v, delta) if callable(v) else v for name, v in printed.items()}
        return {"certified": inverse(certified, delta) if callable(certified) else certified} | {
            f"claimed_{name}": value for name, value in answer.items()
        }


def main() -> None:
    """Print every case's values, to be copied under its parameters."""
    import sys

    path = Path(__file__).with_name("theorems.toml")
    for case in tomllib.loads(path.read_text())["case"]:
        sys.stdout.write(f"# {case['theorem']}\n")
        for name, value in values(case).items():
            sys.stdout.write(f'{name} = "{mp.nstr(value, 25)}"\n')


if __name__ == "__main__":
    main()
