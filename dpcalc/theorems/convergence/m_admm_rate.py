"""Linear rate of M-ADMM (network ADMM with private penalties).

Statement
    (1 + δ(t)) |Z(t) - Z*|²_J(t) <= |Z(t-1) - Z*|²_J(t) with δ(t) from (21)-(22), bounded below by
    (23)

    With O_i m_i-strongly convex and M_i-smooth, Z = (Y, f), ``J(t) = diag(I/θ, W(t)(D + A))``,
    W(t) = diag(η_i(t)), for every δ(t) with, for some μ > 1,
    (21) ``δ μ² σ̃_max <= θ σ_min(D - A)`` and
    (22) ``δ[(μ σ̄_max² I + μ² D_M)/(θ σ_min(D - A)(μ - 1)) + W(D + A)] ≼ 2(W - θI)(D - A) + 2D_m``,
    σ̃ singular values of W(D + A), σ̄ of (W - θI)(D - A), D_m = diag(m_i), D_M = diag(M_i²); (23) is
    ``min{θσ_min(D - A)/(μ²σ̃_max), (2m + 2σ̄_min)/[(μ²M² + μσ̄_max²)/(θσ_min(D - A)(μ - 1)) + σ̃_max]}``.
    η = penalty, θ = dual_step, m = strong_convexity, M = smoothness, μ = split.
Source
    Zhang, Khalili and Liu 2018, theorem 3.2
Certified
    For common penalties the largest δ of (21)-(22), solved as matrix inequalities with the best μ,
    after σ̄_max² I is replaced by the matrix ``(W - θI)²(D - A)²`` that the proof has before it is
    bounded. No rate for penalties that differ between nodes.
Rounding
    δ is accepted only if a definite matrix proves it, rounding included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.numerics.search import minimise
from dpcalc.theorems.authoring import assume, count, finding, number, theorem
from dpcalc.theorems.base import Formula, Scope
from dpcalc.theorems.convergence._base import ConvergenceResult, Rate, by_node, no_bound
from dpcalc.theorems.convergence._one_round import (
    Conditions,
    first_condition,
    regular_delta,
    second_condition,
    worst_quadratic_round,
)
from dpcalc.theorems.convergence._penalties import Row, common, penalties_of_m_admm, rows
from dpcalc.theorems.graph import Graph
from dpcalc.theorems.parameters import graph, schedule
from dpcalc.theorems.schedule import Schedule


def _own_penalties(result: MADMMRate) -> bool:
    return not all(common(row) for row in result.penalties())


def _printed_too_large(result: MADMMRate) -> bool:
    """Whether (23) exceeds the largest δ of (21)-(22) in some round."""
    if _own_penalties(result):
        return True
    return any(
        result.printed(row)[0] > result.proved(row[0], printed=True)[0] * (1 + 1e-6)
        for row in set(result.penalties())
    )


def _step_too_large(result: MADMMRate) -> str | None:
    smallest = min(result.penalties()[0])
    if result.step() > smallest:
        limit, given = checks.told_apart(smallest, result.step())
        return f"the paper needs dual_step at most the first penalty {limit}; got dual_step={given}"
    return None


@theorem(
    quantity="largest factor 1/(1 + δ) of the squared distance in one round",
    example={
        "graph": "complete:3",
        "penalty": 1,
        "dual_step": 0.5,
        "strong_convexity": 0.01,
        "smoothness": 0.01,
    },
)
class MADMMRate(ConvergenceResult):
    """How much one round of M-ADMM contracts the squared distance to the optimum."""

    findings = (
        finding(
            "Eq. (23) is no lower bound of what (21)-(22) allow: it uses the smallest nonzero "
            "singular value of (W - θI)(D - A) although the vector 1 is in its kernel. On K₃ with "
            "η = 1, θ = 0.5, m = M = 0.01 it says 0.249, the largest δ of (21)-(22) is 0.00353.",
            "proof fails",
            _printed_too_large,
        ),
        finding(
            "(22) replaces the matrix (W - θI)²(D - A)² by its largest eigenvalue, which costs most in "
            "the direction 1, where it vanishes; without that step δ nears what quadratics reach.",
            "loose",
            lambda result: not _own_penalties(result),
        ),
        finding(
            "The proof treats W(D - A) and W(D + A) as symmetric; for penalties that differ between "
            "nodes the contraction fails on random instances even with symmetrised conditions, so "
            "no rate is certified there.",
            "proof fails",
            _own_penalties,
        ),
        finding(
            "The norm J(t) changes with the penalties: over rounds with growing penalties the factors "
            "do not simply multiply, each growth of η costs its ratio.",
            "loose",
            lambda result: len(set(result.penalties())) > 1,
        ),
    )
    assumptions = (
        assume(
            "curvature",
            "Every objective is strong_convexity-strongly convex and smoothness-smooth.",
        ),
        *penalties_of_m_admm(_step_too_large),
    )

    graph: Graph = graph("network: ring:5, complete:3, star:6, path:4 or @file")
    penalty: Schedule = schedule("penalty per round and node, η")
    dual_step: float | None = number(
        "step of the dual update, θ (the smallest first penalty unless given)", default=None
    )
    strong_convexity: Schedule = schedule("strong convexity of the objectives, m; one per node")
    smoothness: Schedule = schedule("smoothness of the objectives, M; one per node")
    rounds: int = count("rounds", default=1)
    split: float | None = number(
        "the paper's free μ > 1 (the best one unless given)", check=checks.above_one, default=None
    )

    def _check_together(self) -> None:
        self.penalties()
        for m, big in zip(self.lows(), self.highs(), strict=True):
            if m > big:
                raise InvalidInput(
                    "strong_convexity needs to be at most smoothness; got "
                    f"strong_convexity={m:g}, smoothness={big:g}"
                )

    def penalties(self) -> list[Row]:
        """η per round and node."""
        return rows(self.penalty, self.graph.nodes, self.rounds)

    def step(self) -> float:
        """θ."""
        return min(self.penalties()[0]) if self.dual_step is None else self.dual_step

    def lows(self) -> Row:
        """m_i."""
        return by_node("strong_convexity", self.strong_convexity, self.graph.nodes)

    def highs(self) -> Row:
        """M_i."""
        return by_node("smoothness", self.smoothness, self.graph.nodes)

    def claimed(self) -> Rate:
        """Eq. (23) for the μ that makes it largest, in the worst round."""
        self.require(Scope.CLAIMED)
        found = [self.printed(row) for row in dict.fromkeys(self.penalties())]
        delta, split = min(found)
        return Rate(1 / (1 + delta), {"delta": delta, "split": split}, "printed lower bound (23)")

    def printed(self, row: Row) -> tuple[float, float]:
        """Eq. (23) for one round and the μ that makes it largest."""
        values = self.printed_values(row)
        if self.split is not None:
            return printed_delta(self.split, values), self.split
        return _best(partial(printed_delta, values=values))

    def printed_values(self, row: Row) -> dict[str, float]:
        """The singular values and constants of (23) for one round."""
        w = np.array(row)[:, None]
        spread = np.linalg.svd((w - self.step()) * self.graph.laplacian, compute_uv=False)
        nonzero = spread[spread > 1e-12 * max(spread[0], 1e-300)]
        pull = np.linalg.svd(w * self.graph.signless_laplacian, compute_uv=False)
        return {
            "theta_sigma": self.step() * self.graph.connectivity(),
            "sigma_tilde": float(pull[0]),
            "bar_max": float(spread[0]),
            "bar_min": float(nonzero[-1]) if spread[0] > 0 else 0.0,
            "m": min(self.lows()),
            "M": max(self.highs()),
        }

    def conditions(self, eta: float, *, printed: bool = False) -> Conditions:
        """(21)-(22) for a round with a common penalty."""
        return Conditions.of(
            self.graph, eta, self.step(), self.lows(), self.highs(), printed=printed
        )

    def certified(self) -> Rate:
        """The largest proved δ in the worst round, and what all rounds make together."""
        self.require(Scope.CERTIFIED)
        if _own_penalties(self):
            return no_bound("no rate is proved for penalties that differ between nodes")
        etas = [row[0] for row in self.penalties()]
        found = {eta: self.proved(eta) for eta in dict.fromkeys(etas)}
        delta, split = min(found.values())
        if delta <= 0:
            return no_bound("(21)-(22) allow no positive δ")
        total = mpf(1)
        for before, eta in zip([etas[0], *etas], etas, strict=False):
            total *= max(mpf(1), mpf(eta) / mpf(before)) / (1 + mpf(found[eta][0]))
        printed = min(self.proved(eta, printed=True)[0] for eta in found)
        numbers = {
            "delta": delta,
            "split": split,
            "delta_printed_conditions": printed,
            "total": round_up(total),
        }
        return Rate(round_up(1 / (1 + mpf(delta))), numbers, "matrix inequalities, best split")

    def proved(self, eta: float, *, printed: bool = False) -> tuple[float, float]:
        """The largest proved δ of a round with a common penalty, and its μ."""
        conditions = self.conditions(eta, printed=printed)
        split = _best(conditions.estimate)[1] if self.split is None else self.split
        return conditions.proved(split), split

    def attained(self) -> Rate | None:
        """The slowest contraction of a quadratic within the curvature bounds, common penalties."""
        if _own_penalties(self):
            return None
        worst = 0.0
        for eta in {row[0] for row in self.penalties()}:
            for curvature in (self.lows(), self.highs()):
                factor = worst_quadratic_round(self.graph, eta, self.step(), curvature)
                worst = max(worst, factor)
        return Rate(worst * (1 - 1e-9), {"delta": 1 / worst - 1}, "worst start, quadratics")

    def symbolic(self) -> tuple[Formula, ...]:
        """Eq. (23); and on regular networks with equal curvatures the certified δ."""
        return rate_formulas(self)


def printed_delta(split: Any, values: Mapping[str, Any], take: Callable[..., Any] = min) -> Any:
    """Eq. (23), for numbers or symbols.

    Args:
        split: μ.
        values: theta_sigma, sigma_tilde, bar_max, bar_min, m and M.
        take: the smallest of several, in the number system of the values.
    """
    ends = values["theta_sigma"], values["sigma_tilde"]
    below = second_condition(*ends, values["bar_max"] ** 2, values["M"] ** 2, split)
    right = (2 * values["m"] + 2 * values["bar_min"]) / below
    return take(first_condition(*ends, split), right)


def _best(delta: Any) -> tuple[float, float]:
    """The largest δ over μ > 1 and that μ; every μ gives a valid one, so the search may be rough."""
    log_excess, negative = minimise(
        lambda x: -delta(1 + math.exp(x)), math.log(1e-9), math.log(1e9)
    )
    return -negative, 1 + math.exp(log_excess)


def rate_formulas(result: MADMMRate) -> tuple[Formula, ...]:
    """Eq. (23) and, where the eigenvectors of D - A and D + A agree, the certified δ."""
    import sympy

    row = result.penalties()[0]
    values = result.printed_values(row)
    named = {name: sympy.Symbol(name, nonnegative=True) for name in (*values, "mu")}
    printed = printed_delta(named["mu"], named, sympy.Min)
    found = [Formula("claimed.delta", printed, {**values, "mu": result.printed(row)[1]})]
    uniform = common(result.lows()) and common(result.highs()) and common(row)
    if result.graph.regular and uniform:
        eta = row[0]
        split = result.proved(eta)[1]
        found.append(regular_delta(result.graph, eta, result.step(), {**values, "mu": split}))
    return tuple(found)
