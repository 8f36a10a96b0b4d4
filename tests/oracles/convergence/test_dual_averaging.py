"""Dual averaging against simulation: the bounds hold, and not by a ridiculous margin."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.theorems.convergence.dual_averaging_consensus import DualAveragingConsensus
from dpcalc.theorems.convergence.dual_averaging_convergence import DualAveragingConvergence
from dpcalc.theorems.convergence.dual_averaging_rate import DualAveragingRate
from dpcalc.theorems.convergence.dual_averaging_utility import DualAveragingUtility
from tests.oracles.convergence.simulate import dual_averaging

RUNS = 400


def ring(nodes):
    w = np.eye(nodes) / 3
    for i in range(nodes):
        w[i, (i + 1) % nodes] += 1 / 3
        w[i, (i - 1) % nodes] += 1 / 3
    return w


class Problem:
    """f_i(x) = E|⟨±1, x⟩ kinks at random points: absolute values per coordinate; h = (μ/2)|x|²."""

    def __init__(self, rng, nodes, dimension, records, mu):
        self.rng, self.mu = rng, mu
        self.kinks = rng.normal(size=(nodes, records, dimension)) + rng.normal(
            size=(nodes, 1, dimension)
        )
        self.bound = np.sqrt(dimension)  # |sign vector|

    def subgradient(self, x):
        runs, nodes, _dimension = x.shape
        drawn = self.rng.integers(self.kinks.shape[1], size=(runs, nodes))
        kinks = np.stack([self.kinks[i, drawn[:, i]] for i in range(nodes)], axis=1)
        return np.sign(x - kinks)

    def value(self, x):
        flat = self.kinks.reshape(-1, self.kinks.shape[2])
        losses = np.abs(x[..., None, :] - flat).sum(-1).mean(-1)
        return losses + self.mu / 2 * (x**2).sum(-1)

    def optimum(self):
        """Coordinate by coordinate, by bisection on the subgradient."""
        flat = self.kinks.reshape(-1, self.kinks.shape[2])
        low, high = np.full(flat.shape[1], -10.0), np.full(flat.shape[1], 10.0)
        for _ in range(100):
            middle = (low + high) / 2
            up = np.sign(middle - flat).mean(0) + self.mu * middle > 0
            low, high = np.where(up, low, middle), np.where(up, middle, high)
        return (low + high) / 2


@pytest.mark.parametrize(
    ("sigma", "power", "prox"), [(0.0, 1.0, 0.0), (0.5, 1.0, 0.0), (3.0, 1.0, 2.0), (0.5, 0.0, 1.0)]
)
def test_bounds_hold_in_simulation(sigma, power, prox):
    # False alarms: the means of 400 runs stay below bounds that are several times larger.
    rng = np.random.default_rng(7)
    nodes, dimension, rounds, mu = 8, 3, 60, 0.7
    problem = Problem(rng, nodes, dimension, 5, mu)
    w = ring(nodes)
    best = problem.optimum()
    x, y, x_mean, y_mean = dual_averaging(
        rng, problem.subgradient, w, mu, sigma, rounds, dimension, RUNS, power=power, prox=prox
    )
    shared = {
        "strong_convexity": mu,
        "subgradient_bound": problem.bound,
        "graph": f"ring:{nodes}",
        "dimension": dimension,
        "sigma": sigma,
        "weight_power": power,
        "prox_weight": prox,
    }
    gap = (problem.value(y_mean) - problem.value(best)).mean()
    result = DualAveragingConvergence(**shared, rounds=rounds, prox_distance=best @ best / 2)
    assert 0 <= gap <= result.certified().value <= result.claimed().value
    # x and y of the last step stand at round t = rounds.
    apart = np.sqrt(((x - y[:, None]) ** 2).sum(-1))
    consensus = DualAveragingConsensus(**shared, rounds=rounds)
    certified = consensus.certified()
    assert apart.mean() <= certified.value <= consensus.claimed().value
    assert (apart**2).mean() <= certified.numbers["second_moment"]
    assert certified.numbers["second_moment"] <= consensus.claimed().numbers["second_moment"]
    if power == 1 and prox == 0:
        squared = ((x_mean - best) ** 2).sum(-1).mean()
        spread = ((x_mean - y_mean[:, None]) ** 2).sum(-1).mean()
        if sigma == 0:
            rate = DualAveragingRate(
                strong_convexity=mu,
                subgradient_bound=problem.bound,
                graph=f"ring:{nodes}",
                rounds=rounds,
            )
            assert squared <= rate.certified().value <= rate.claimed().value
            assert spread <= rate.certified().numbers["spread"]
            assert gap <= rate.certified().numbers["suboptimality"]


def test_disagreement_is_nearly_reached_by_noise_along_the_slowest_mode():
    # Pure noise on two nodes: x_1 - x_2 is a Gaussian sum whose variance is the bound's.
    w = np.array([[0.7, 0.3], [0.3, 0.7]])
    rng = np.random.default_rng(8)
    rounds, mu, sigma = 25, 1.0, 1.0
    x, y, _, _ = dual_averaging(rng, np.zeros_like, w, mu, sigma, rounds, 2, 20_000)
    observed = ((x - y[:, None]) ** 2).sum(-1).mean()
    result = DualAveragingConsensus(
        strong_convexity=mu,
        subgradient_bound=1e-9,
        second_singular_value=0.4,
        n_nodes=2,
        dimension=2,
        sigma=sigma,
        rounds=rounds,
    )
    bound = result.certified().numbers["second_moment"]
    assert observed <= bound * 1.05  # five standard errors
    assert observed >= 0.9 * bound


def test_utility_at_a_budget_holds_and_its_floor_is_the_limit():
    rng = np.random.default_rng(9)
    nodes, dimension, rounds, mu = 5, 2, 80, 0.5
    problem = Problem(rng, nodes, dimension, 50, mu)
    shared = {
        "strong_convexity": mu,
        "subgradient_bound": problem.bound,
        "graph": f"ring:{nodes}",
        "dimension": dimension,
        "records_per_node": 50,
        "epsilon": 1.0,
        "delta": 0.1,
    }
    result = DualAveragingUtility(**shared, rounds=rounds)
    sigma = np.sqrt(12 * problem.bound**2 * rounds * np.log(10) / 50**2)
    assert result.noise(rounds) == pytest.approx(np.sqrt(dimension) * sigma)
    best = problem.optimum()
    _, y, x_mean, y_mean = dual_averaging(
        rng, problem.subgradient, ring(nodes), mu, sigma, rounds, dimension, RUNS
    )
    squared = ((x_mean - best) ** 2).sum(-1).mean()
    certified, claimed = result.certified(), result.claimed()
    assert squared <= certified.value <= claimed.value
    assert (problem.value(y_mean) - problem.value(best)).mean() <= certified.numbers[
        "suboptimality"
    ]
    assert y.shape == y_mean.shape
    floor = DualAveragingUtility(**shared)
    many = DualAveragingUtility(**shared, rounds=1_000_000)
    assert 1 <= many.certified().value / floor.certified().value <= 1.12
    assert 1 <= many.claimed().value / floor.claimed().value <= 1.12
    expected = 96 * dimension * problem.bound**2 * np.log(10) / (mu * 50) ** 2
    assert floor.claimed().value == pytest.approx(expected)
    assert floor.certified().value == pytest.approx(expected / (2 * nodes))


def test_certified_sums_by_hand():
    # Term by term, in the order of the proof; catches a lost factor that simulation is too far from.
    mu, big, beta, m, sigma, n, rounds, power, prox = 0.3, 2.0, 0.8, 5, 0.7, 4, 12, 1.5, 0.9
    a = [t**power for t in range(1, rounds + 1)]
    root = np.sqrt(m) * sigma
    value, total, apart = 0.9 * 3.0, 0.0, 0.0
    for t in range(rounds):
        total += a[t]
        stiff = mu * total + prox
        first = sum(a[s] * beta ** (t - s) for s in range(t))
        second = sum(a[s] ** 2 * beta ** (2 * (t - s)) for s in range(t))
        apart = (
            min(
                first * np.sqrt(big**2 + root**2),
                first * big + np.sqrt(second * (n - 1) / n) * root,
            )
            / stiff
        )
        value += 2 * big * a[t] * apart + a[t] ** 2 * (big**2 + root**2 / n) / (2 * stiff)
    shared = {
        "strong_convexity": mu,
        "subgradient_bound": big,
        "second_singular_value": beta,
        "n_nodes": n,
        "dimension": m,
        "sigma": sigma,
        "rounds": rounds,
        "weight_power": power,
        "prox_weight": prox,
    }
    certified = DualAveragingConvergence(**shared, prox_distance=3.0).certified().value
    assert certified == pytest.approx(value / total, rel=1e-12)
    assert certified >= value / total * (1 - 1e-15)
    assert DualAveragingConsensus(**shared).certified().value == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize("sigma", [1.0, 100.0])
def test_an_unknown_number_of_nodes_is_the_worst_number(sigma):
    given = {"strong_convexity": 1, "subgradient_bound": 1, "rounds": 100}
    noisy = {**given, "dimension": 10, "sigma": sigma, "second_singular_value": 0.967}
    budget = {**given, "dimension": 10, "epsilon": 1 / sigma, "delta": 0.01}
    budget |= {"records_per_node": 100, "second_singular_value": 0.967}
    for kind, parameters in (
        (DualAveragingConsensus, noisy),
        (DualAveragingConvergence, noisy),
        (DualAveragingUtility, budget),
    ):
        unknown = kind(**parameters).certified().value
        for nodes in (2, 5, 20, 1000):
            assert kind(**parameters, n_nodes=nodes).certified().value <= unknown
