"""Where decentralised methods converge to without noise, and what their rounds touch."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.engine.schedules import geometric
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.networks import complete, ring
from tests.algorithms.network_problems import plain, problem
from tests.oracles.algorithms import network as oracle


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("decentralised-admm", {"penalty": 0.6}),
        ("m-admm", {"penalty": geometric(0.5, 1.0, 400), "dual_step": 0.5}),
        ("r-admm", {"penalty": 0.6, "proximal_weight": 3.0}),
        ("mr-admm", {"penalty": 0.6, "proximal_weight": 3.0}),
    ],
)
def test_without_noise_all_nodes_reach_the_central_optimum(key, settings):
    p = problem()
    data, constants = plain(p)
    best = oracle.central_optimum(data, **constants)
    np.testing.assert_allclose(p.optimum(), best, atol=1e-6)
    transcript = load(key)(p, rounds=400, **settings).run(0, diagnostics=True)
    np.testing.assert_allclose(transcript["primal"][0, -1], np.tile(best, (4, 1)), atol=1e-6)
    assert transcript.diagnostic("consensus_gap")[0, -1] < 1e-6
    assert np.nanmax(transcript.diagnostic("gradient_norm")) < 1e-12


def test_two_nodes_with_growing_penalties_stop_short():
    """The published convergence theorem fails for summable inverses; the error is Π 2η/(1+2η).

    Two nodes, O = ½(x - 1)²: squared loss on the record (1, 1), C = B = 1, in the limit ρ → 0.
    """
    from dpcalc.algorithms.problems.losses import Squared
    from dpcalc.algorithms.problems.records import split

    p = ConsensusProblem(
        records=split(np.ones((2, 1)), np.ones(2), 2),
        network=ring(2),
        loss=Squared(),
        ridge=1e-12,
    )
    eta = geometric(0.5, 1.2, 150)
    run = load("m-admm")(p, rounds=150, penalty=eta, dual_step=0.5).run(0)
    expected = 1 - np.prod(2 * eta / (1 + 2 * eta))
    np.testing.assert_allclose(run["primal"][0, -1].ravel(), expected, rtol=1e-9)
    assert expected == pytest.approx(0.99229, abs=5e-6)


def test_node_dependent_penalties_lead_recycled_admm_astray():
    """K₃, η = (1, 2, 4), O_i = ½f² - b_i·f, b = (0, 0, 3), γ = 50: 3/7 against the optimum 1."""
    from dpcalc.algorithms.problems.losses import Linear
    from dpcalc.algorithms.problems.records import split

    p = ConsensusProblem(
        records=split(np.array([[0.0], [0.0], [3.0]]), np.ones(3), 3, row_bound=3.0),
        network=complete(3),
        loss=Linear(),
        ridge=3.0,
    )
    run = load("mr-admm")(p, rounds=6000, penalty=[[1.0, 2.0, 4.0]], proximal_weight=50.0).run(0)
    np.testing.assert_allclose(run["primal"][0, -1].ravel(), 3 / 7, atol=1e-6)
    assert p.optimum()[0] == pytest.approx(1.0)


def test_even_rounds_touch_no_data():
    """Poisoned data pass through even rounds unnoticed and stop an odd one."""
    algorithm = load("private-mr-admm").example()
    poisoned = algorithm.with_records(algorithm.problem.records.poisoned())
    odd = algorithm.step(algorithm.start(3, runs=4))
    even = algorithm.step(odd)
    again = poisoned._advance(2, odd.memory, {})
    np.testing.assert_array_equal(again[1]["primal"], even.released["primal"])
    assert not algorithm._draws(2)
