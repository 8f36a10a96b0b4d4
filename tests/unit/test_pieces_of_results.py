"""Pieces of published results, each by its own statement: sectors, formulas, conditions, rounds, weights."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from mpmath import mpf

from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, PureDP
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.worst import WorstOf
from dpcalc.numerics.certified_eigenvalues import UNIT, positive_definite
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.theorems.convergence import _recycled_conditions as conditions
from dpcalc.theorems.convergence._learning import Learning
from dpcalc.theorems.convergence._one_round import worst_quadratic_round
from dpcalc.theorems.convergence._penalties import rows
from dpcalc.theorems.convergence._quadratic import QuadraticProblem, biased, limit_formula
from dpcalc.theorems.graph import Graph
from dpcalc.theorems.iteration import _instances as instances
from dpcalc.theorems.objective_perturbation import _rounds as rounds_of
from dpcalc.theorems.objective_perturbation._rounds import Noise, Round, merged, over_nodes
from dpcalc.theorems.schedule import Schedule
from dpcalc.vocabulary import Adjacency
from tests.unit.pieces_of_results import LOGISTIC, result_of


def _two_nodes(penalty: float, dual_step: float, curvature: tuple[float, float]) -> float:
    """The largest ratio of squared norms for two nodes, where f counts by its sum s alone.

    From (s, y): f⁺ = (ηs ∓ y)/(h + 2η), s⁺ their sum, y⁺ = y + θ(f₁⁺ - f₂⁺); the squared norm is
    ηs² + y²/θ.
    """
    columns = []
    for s, y in ((1 / math.sqrt(penalty), 0.0), (0.0, math.sqrt(dual_step))):
        first = (penalty * s - y) / (curvature[0] + 2 * penalty)
        second = (penalty * s + y) / (curvature[1] + 2 * penalty)
        after = first + second, y + dual_step * (first - second)
        columns.append((math.sqrt(penalty) * after[0], after[1] / math.sqrt(dual_step)))
    return float(np.linalg.norm(np.array(columns), 2) ** 2)


@pytest.mark.parametrize("penalty", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("curvature", [(0.5, 0.5), (0.1, 2.0)])
def test_one_round_of_two_nodes(penalty: float, curvature: tuple[float, float]) -> None:
    graph = Graph.of("graph", "complete:2")
    for dual_step in (0.1, 0.5):
        found = worst_quadratic_round(graph, penalty, dual_step, curvature)
        assert found == pytest.approx(_two_nodes(penalty, dual_step, curvature), rel=1e-9)


def test_conditions_allow_for_the_rounding_of_all_their_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = Graph.of("graph", "complete:3")
    pair = conditions.PairConditions.of(graph, (1.0,) * 3, (1.5,) * 3, 50.0, (1.0,) * 3)
    seen: list[float] = []

    def noted(matrix: Any, slack: float = 0.0) -> bool:
        seen.append(slack)
        return positive_definite(matrix, slack)

    monkeypatch.setattr(conditions, "positive_definite", noted)
    assert pair.hold(0.5, 2.0) == (min(pair.margins(0.5, 2.0)) > 0)
    parts = (1, pair.identity), (1, pair.base), (2 / 0.5, pair.square)
    size = sum(factor * float(np.abs(part).sum()) for factor, part in parts)
    assert seen[0] == pytest.approx(1e-13 * size, rel=1e-12)
    assert seen[0] > 100 * UNIT * size


def test_a_pattern_of_others_is_switched_before_the_user_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With several passes: common curvatures, and those switched within the shorter stretch."""
    asked: list[instances.Pattern] = []

    def noted(*given: Any) -> mpf:
        asked.append(given[2])
        return mpf(len(asked))

    monkeypatch.setattr(instances, "_over_regularisers", noted)
    made = result_of("admm-iteration", passes=2, pass_length=6, iterations=4)
    for gap, tail in ((6, 4), (4, 6)):
        asked.clear()
        most = instances.worst_mu_squared(made, instances.Uses(2, gap, tail))
        assert most == len(asked)
        common = [p for p in asked if p.early == p.late]
        assert [p.early for p in common] == [0.0, 0.5, 1.0, 1.5, 2.0]
        switched = [p for p in asked if p.early != p.late]
        assert [(p.early, p.late, p.switch) for p in switched] == [
            pair for k in (0, 1, 2) for pair in ((0.0, 2.0, k), (2.0, 0.0, k))
        ]


def _round(cost: float, bound: float, curvature: float) -> Round:
    return Round(cost, bound, curvature)


def test_too_many_different_rounds_are_made_equal_on_the_safe_side() -> None:
    many = rounds_of._MOST_DIFFERENT + 20
    each = [_round(1 + k / many, 0.5 + k / (3 * many), 0.25 + k / (7 * many)) for k in range(many)]
    given = tuple((r, 2) for r in each)
    for up in (True, False):
        found = merged(given, up=up)
        assert len(found) <= rounds_of._MOST_DIFFERENT
        assert sum(n for _, n in found) == 2 * many
        for one in each:
            near = [
                r
                for r, _ in found
                if (r.bound >= one.bound) == up or r.bound == one.bound
                if (r.curvature >= one.curvature) == up or r.curvature == one.curvature
                if math.isclose(r.bound, one.bound, rel_tol=0.05)
            ]
            assert near
        costs = [r.cost for r, _ in found]
        assert (max(costs) == each[-1].cost) if up else (min(costs) == each[0].cost)
    few = given[: rounds_of._MOST_DIFFERENT]
    assert merged(few) == few
    twice = ((_round(1.0, 0.5, 0.25), 2), (_round(2.0, 0.5, 0.25), 3))
    assert merged(twice) == ((_round(2.0, 0.5, 0.25), 5),)
    assert merged(twice, up=False) == ((_round(1.0, 0.5, 0.25), 5),)


def test_nodes_that_another_exceeds_in_every_round_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[rounds_of.Rounds] = []

    def composed(rounds: rounds_of.Rounds, noise: object) -> PureDP:
        assert noise is law
        asked.append(rounds)
        return PureDP(9.0)

    monkeypatch.setattr(rounds_of, "composed", composed)
    cheap, dear, other = _round(0.1, 0.1, 0.1), _round(0.2, 0.2, 0.2), _round(0.15, 0.3, 0.1)
    nodes = [((one, 2),) for one in (cheap, dear, other)]
    law = Noise(3, tied=False, adjacency=Adjacency.REPLACE_ONE)
    both = over_nodes(nodes, law)
    assert asked == nodes[1:]
    assert isinstance(both, WorstOf)
    assert [node for node, _ in both.cases] == [2, 3]
    assert both.epsilon(0.0) == pytest.approx(0.4)
    assert over_nodes(nodes, None) == over_nodes(nodes[1:2], None)
    assert over_nodes(nodes, None).epsilon(0.0) == pytest.approx(0.4)
    assert over_nodes([((dear, 1),), ((dear, 1),)], None) == PureDP(0.2)
    # Of more than eight that no other exceeds one law is composed, each number at its worst.
    many = [((_round(0.1 + k / 100, 0.3 - k / 100, 0.1 + k / 200), 1),) for k in range(9)]
    asked.clear()
    assert isinstance(over_nodes(many[:8], law), WorstOf)
    assert asked == many[:8]
    asked.clear()
    together = over_nodes(many, law)
    assert isinstance(together, BestOf)
    assert asked == [((_round(0.1 + 8 / 100, 0.3, 0.1 + 8 / 200), 1),)]
    assert together.epsilon(0.0) == 0.1 + 8 / 100


@pytest.mark.parametrize(("dimension", "factor"), [(1, 1), (2, 2), (3, 2)])
def test_what_rounds_really_leak_by_their_dimension(dimension: int, factor: int) -> None:
    """Opposite records move the noise twice as far, but for the line, where they cannot."""
    one = ((_round(0.9, 0.25, 0.5), 1),)
    replaced = rounds_of.attained(one, Noise(dimension, False, Adjacency.REPLACE_ONE))
    assert repr(replaced) == (
        f"DominatedMechanism(exponential-norm noise, ε = {0.25 * factor:g}, d = {dimension})"
    )
    assert replaced.epsilon(0.0) == (0.25 if dimension == 1 else 0.9)
    added = rounds_of.attained(one, Noise(dimension, False, Adjacency.ADD_REMOVE))
    assert f"ε = 0.25, d = {dimension}" in repr(added)
    assert added.epsilon(0.0) == 0.9


def test_a_weighted_problem_and_its_bias() -> None:
    problem = QuadraticProblem(curvature=(1.0, 3.0), linear=(2.0, 0.5))
    weights = (2.0, 1.0)
    found = biased(problem, weights, "w")
    assert found.numbers == {"limit": pytest.approx(4.5 / 5), "optimum": pytest.approx(2.5 / 4)}
    assert found.method == "w"
    assert 0 <= mpf("0.275") - mpf(found.value) < mpf("1e-15")
    formula = limit_formula(problem, (0.5, 1.0))
    given = {s: formula.values[str(s)] for s in formula.expression.free_symbols}
    assert float(formula.expression.subs(given)) == pytest.approx(4.5 / 5)
    assert problem.solvable
    assert not QuadraticProblem(curvature=(0.0, 0.0), linear=(1.0, 1.0)).solvable


def test_rows_of_penalties_are_limited() -> None:
    penalty = Schedule.of("penalty", 2)
    assert len(rows(penalty, 1, 100_000)) == 100_000
    with pytest.raises(InvalidInput) as caught:
        rows(penalty, 1, 100_001)
    assert str(caught.value) == (
        "rounds needs to be at most 100000, which are taken one by one; got rounds=100001; "
        "try rounds=1 for the factor of one round"
    )


def test_records_that_suffice_are_the_fewer_of_two_bounds() -> None:
    """2/(λδr) by Markov, (c + λ)(2 + √(2 ln 1/δ))²/(2λ²r) by differences, r = τ - (λR + B)²/(2λ)."""
    for delta, tilt in ((0.5, 0.0), (1e-9, 0.01), (0.05, 0.02)):
        learning = Learning(
            reference_norm=2.0, tolerance=0.3, failure_probability=delta, curvature=0.25, tilt=tilt
        )
        for strength in (0.01, 0.1):
            room = 0.3 - (strength * 2 + tilt) ** 2 / (2 * strength)
            markov = 2 / (strength * delta * room)
            spread = 2 + math.sqrt(2 * math.log(1 / delta))
            differences = (0.25 + strength) * spread**2 / (2 * strength**2 * room)
            assert float(learning.records(strength)) == pytest.approx(min(markov, differences))
        assert learning.records(0.3 / 2) == math.inf or tilt == 0
        best = learning.best_strength()
        near = [learning.records(best * factor) for factor in (0.99, 1, 1.01)]
        assert near[1] <= min(near) * (1 + mpf("1e-6"))
    whole = Learning(reference_norm=2.0, tolerance=0.3, failure_probability=0.5, curvature=0.25)
    assert whole.records(0.15) == math.inf  # λR²/2 is all of the tolerance
    assert whole.records(0.1499999) < math.inf


@pytest.mark.parametrize("key", ["noisy-gd", "noisy-cgd", "pnsgd", "pnsgd-strongly-convex"])
def test_calibration_of_closed_forms_goes_to_the_last_double(key: str) -> None:
    kind = privacy_result(key)
    made = kind.from_parameters(kind.example)
    assert made.calibration_tolerance() == 0.0
    assert isinstance(made.certified().guarantee, GDP)


def test_a_larger_network_needs_no_more_noise_than_said() -> None:
    """Degrees one by one: with more neighbours a round is stiffer and costs less."""
    betas = [
        result_of("penalty-perturbation", **LOGISTIC, n_nodes=6, degree=degree).certified().numbers
        for degree in (1, 2, 3, 5)
    ]
    totals = [numbers["beta"] for numbers in betas]
    assert all(after < before for before, after in pairwise(totals))
