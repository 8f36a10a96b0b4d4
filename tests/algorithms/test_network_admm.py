"""The decentralised methods against slow copies of their equations and against each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.engine.schedules import geometric
from dpcalc.algorithms.problems.builtin import classification
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Hinge, Logistic, SmoothedHinge
from dpcalc.algorithms.problems.networks import complete, from_edges, ring, star
from dpcalc.algorithms.problems.noise import ExponentialNorm
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.vocabulary import Adjacency
from tests.oracles.algorithms import network as oracle

EDGES = ((0, 1), (1, 2), (0, 2), (2, 3))
ROUNDS = 4


def problem(loss=None, network=None, sizes=(5, 8, 6, 7)):
    from dpcalc.algorithms.problems.records import split

    whole = classification(sum(sizes), 2, seed=3)
    return ConsensusProblem(
        records=split(whole.features, whole.labels, sizes=sizes),
        network=network or from_edges(EDGES),
        loss=loss or Logistic(),
        loss_weight=4.0,
        ridge=0.6,
    )


def plain(p):
    """The same numbers for the oracle."""
    parts = [(p.records.features[s], p.records.labels[s]) for s in p.records.slices]
    loss = {
        "logistic": lambda m: np.log1p(np.exp(-m)),
        "smoothed-hinge": lambda m: 0.0 if m > 1 else (1 - m) ** 2 / 2 if m > 0 else 0.5 - m,
    }[p.loss.name]
    return parts, {"loss": loss, "C": p.loss_weight, "rho": p.ridge}


def noise_of(algorithm, seed):
    """The unit noise of run 0 in every round; None where a round draws none."""
    state = algorithm.start(seed)
    drawn = []
    for t in range(1, algorithm.rounds + 1):
        kinds = list(algorithm._draws(t).values())
        drawn.append(state.streams.draw(kinds[0], 0, t)[0] if kinds else None)
    return drawn


START = np.array([[0.3, -0.2], [0.0, 0.5], [-0.4, 0.1], [0.2, 0.2]])
ETA = geometric([0.5, 0.7, 0.6, 0.8], [1.1, 1.0, 1.2, 1.05], ROUNDS)
THETA = geometric([0.5, 0.4, 0.5, 0.3], 1.0, ROUNDS)
RATE = geometric([2.0, 3.0, 4.0, 2.5], 1.1, ROUNDS)


def compare(algorithm, expected, seed=0):
    found = algorithm.run(seed)["primal"][0]
    np.testing.assert_allclose(found, expected, atol=2e-6)


@pytest.mark.parametrize("loss", [Logistic(), SmoothedHinge()])
def test_decentralised_admm_follows_its_equations(loss):
    p = problem(loss)
    data, constants = plain(p)
    eta = np.full((ROUNDS, 4), 0.7)
    expected = oracle.admm(data, EDGES, rounds=ROUNDS, eta=eta, theta=eta, start=START, **constants)
    algorithm = load("decentralised-admm")(p, rounds=ROUNDS, penalty=0.7, initial=START)
    compare(algorithm, expected)


def test_m_admm_follows_its_equations():
    p = problem()
    data, constants = plain(p)
    expected = oracle.admm(
        data, EDGES, rounds=ROUNDS, eta=ETA, theta=THETA, start=START, **constants
    )
    algorithm = load("m-admm")(p, rounds=ROUNDS, penalty=ETA, dual_step=THETA, initial=START)
    compare(algorithm, expected)


def test_penalty_perturbation_follows_its_equations():
    p = problem()
    data, constants = plain(p)
    algorithm = load("penalty-perturbation")(
        p, rounds=ROUNDS, penalty=ETA, dual_step=THETA, noise_rate=RATE, initial=START
    )
    inside = [u / RATE[t][:, None] for t, u in enumerate(noise_of(algorithm, 5))]
    expected = oracle.admm(
        data, EDGES, rounds=ROUNDS, eta=ETA, theta=THETA, start=START, inside=inside, **constants
    )
    compare(algorithm, expected, 5)


def test_dual_variable_perturbation_follows_its_equations():
    p = problem()
    data, constants = plain(p)
    algorithm = load("dual-variable-perturbation")(
        p, rounds=ROUNDS, penalty=0.7, noise_rate=RATE, initial=START
    )
    linear = [2 * u / RATE[t][:, None] for t, u in enumerate(noise_of(algorithm, 5))]
    eta = np.full((ROUNDS, 4), 0.7)
    expected = oracle.admm(
        data, EDGES, rounds=ROUNDS, eta=eta, theta=eta, start=START, linear=linear, **constants
    )
    compare(algorithm, expected, 5)


def test_primal_variable_perturbation_follows_its_equations():
    p = problem()
    data, constants = plain(p)
    algorithm = load("primal-variable-perturbation")(
        p, rounds=ROUNDS, penalty=0.7, noise_rate=RATE, initial=START
    )
    after = [u / RATE[t][:, None] for t, u in enumerate(noise_of(algorithm, 5))]
    eta = np.full((ROUNDS, 4), 0.7)
    expected = oracle.admm(
        data, EDGES, rounds=ROUNDS, eta=eta, theta=eta, start=START, after=after, **constants
    )
    compare(algorithm, expected, 5)


def logistic_slope(m):
    return -1 / (1 + np.exp(m))


def test_mr_admm_follows_its_equations_with_the_gradient_taken_anew():
    """The code recycles from the optimality condition; the oracle asks the data again."""
    p = problem()
    data, constants = plain(p)
    expected = oracle.mr_admm(
        data,
        EDGES,
        rounds=ROUNDS,
        eta=ETA,
        gamma=0.3,
        slope=logistic_slope,
        start=START,
        **constants,
    )
    algorithm = load("mr-admm")(
        p, rounds=ROUNDS, penalty=ETA[:2], proximal_weight=0.3, initial=START
    )
    compare(algorithm, expected)


def test_private_mr_admm_follows_its_equations():
    p = problem()
    data, constants = plain(p)
    algorithm = load("private-mr-admm")(
        p, rounds=ROUNDS, penalty=ETA[:2], noise_rate=RATE[:2], proximal_weight=0.3, initial=START
    )
    drawn = noise_of(algorithm, 5)
    assert drawn[1] is None
    assert drawn[3] is None
    linear = [drawn[2 * k] / RATE[k][:, None] for k in range(2)]
    expected = oracle.mr_admm(
        data,
        EDGES,
        rounds=ROUNDS,
        eta=ETA,
        gamma=0.3,
        slope=logistic_slope,
        start=START,
        linear=linear,
        **constants,
    )
    compare(algorithm, expected, 5)


# ---- against each other


def same(left, right, seed=1):
    one, other = left.run(seed, runs=2)["primal"], right.run(seed, runs=2)["primal"]
    np.testing.assert_allclose(one, other, atol=1e-11)


def test_m_admm_with_one_penalty_is_admm():
    p = problem()
    same(
        load("m-admm")(p, rounds=5, penalty=0.7, dual_step=0.7),
        load("decentralised-admm")(p, rounds=5, penalty=0.7),
    )


def test_mr_admm_with_one_penalty_is_r_admm():
    p = problem()
    same(
        load("mr-admm")(p, rounds=6, penalty=np.full((3, 4), 0.7), proximal_weight=0.2),
        load("r-admm")(p, rounds=6, penalty=0.7, proximal_weight=0.2),
    )
    same(
        load("private-mr-admm")(p, rounds=6, penalty=[0.7] * 3, noise_rate=2.0),
        load("private-r-admm")(p, rounds=6, penalty=0.7, noise_rate=2.0),
    )


def test_methods_without_noise_coincide():
    p = problem()
    plain_admm = load("decentralised-admm")(p, rounds=5, penalty=0.7)
    quiet = {"rounds": 5, "penalty": 0.7, "noise_rate": np.inf}
    same(load("penalty-perturbation")(p, dual_step=0.7, **quiet), plain_admm)
    same(load("dual-variable-perturbation")(p, **quiet), plain_admm)
    same(load("primal-variable-perturbation")(p, **quiet), plain_admm)
    same(load("private-r-admm")(p, **quiet), load("r-admm")(p, rounds=5, penalty=0.7))


def test_penalty_noise_is_dual_noise_in_another_unit():
    """Rate α inside the penalty is rate α/(ηV) on the dual: zhang2018's remark, with its unit."""
    p = problem()
    degrees = p.network.degrees
    same(
        load("penalty-perturbation")(
            p, rounds=4, penalty=0.7, dual_step=0.7, noise_rate=[[3.0, 2.0, 4.0, 5.0]]
        ),
        load("dual-variable-perturbation")(
            p,
            rounds=4,
            penalty=0.7,
            noise_rate=np.array([[3.0, 2.0, 4.0, 5.0]]) / (0.7 * degrees),
        ),
    )


# ---- the optimum


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


# ---- even rounds


def test_even_rounds_touch_no_data():
    """Poisoned data pass through even rounds unnoticed and stop an odd one."""
    algorithm = load("private-mr-admm").example()
    poisoned = algorithm.with_records(algorithm.problem.records.poisoned())
    odd = algorithm.step(algorithm.start(3, runs=4))
    even = algorithm.step(odd)
    again = poisoned._advance(2, odd.memory, {})
    np.testing.assert_array_equal(again[1]["primal"], even.released["primal"])
    assert not algorithm._draws(2)


# ---- densities and accesses


def test_the_density_of_one_round_integrates_to_one():
    """Two nodes, one feature: integrate exp(log_density) over both released numbers."""
    p = ConsensusProblem(
        records=classification(6, 1, nodes=2), network=ring(2), loss=Logistic(), ridge=0.5
    )
    from dpcalc.transcript import Series, Transcript

    for key, extra in (
        ("penalty-perturbation", {"dual_step": 0.5}),
        ("dual-variable-perturbation", {}),
        ("primal-variable-perturbation", {}),
        ("private-r-admm", {}),
    ):
        algorithm = load(key)(p, rounds=1, penalty=0.5, noise_rate=2.0, **extra)
        grid = np.linspace(-12, 12, 601)
        first, second = (g.ravel() for g in np.meshgrid(grid, grid))
        primal = np.stack([first, second], axis=1)[:, None, :, None]
        made = Transcript(
            algorithm=key,
            release="every iterate",
            rounds=1,
            released={
                "initial": Series(
                    values=np.zeros((len(first), 2, 1)), axes=("runs", "n", "d"), meaning="-"
                ),
                "primal": Series(values=primal, axes=("runs", "rounds", "n", "d"), meaning="-"),
            },
        )
        mass = np.exp(algorithm.log_density(made)).sum() * (grid[1] - grid[0]) ** 2
        assert mass == pytest.approx(1, abs=1e-3), key


def test_accesses_carry_the_numbers_of_the_theorems():
    """One node of C=1750, B=8000, ρ=.22, N=5, V=3, η=1, α=1."""
    whole = classification(40, 2)
    from dpcalc.algorithms.problems.records import split

    p = ConsensusProblem(
        records=split(whole.features, whole.labels, sizes=(8,) * 5),
        network=from_edges([(0, 1), (0, 2), (0, 3), (1, 4), (2, 3)]),
        loss=Logistic(),
        loss_weight=1.75,
        ridge=0.22,
    )
    algorithm = load("private-r-admm")(p, rounds=50, penalty=1.0, noise_rate=1.0)
    accesses = algorithm.data_accesses()
    assert len(accesses) == 25 * 5
    assert {a.round for a in accesses} == set(range(1, 51, 2))
    one = accesses[0]
    assert p.network.degrees[0] == 3
    assert one.sensitivity == pytest.approx(2 * 1.75 / 8)
    assert one.noise == ExponentialNorm(1.0)
    assert one.curvature_change == pytest.approx(1.75 / 8 / 4)
    assert one.curvature_floor == pytest.approx(0.22 / 5 + 2 * 3)
    assert one.adjacency == Adjacency.REPLACE_ONE
    penalty = load("penalty-perturbation")(
        p, rounds=1, penalty=2.0, dual_step=0.5, noise_rate=3.0
    ).data_accesses()[0]
    assert penalty.noise.rate == pytest.approx(3.0 / (2 * 2.0 * 3))
    dual = load("dual-variable-perturbation")(p, rounds=1, penalty=2.0, noise_rate=3.0)
    assert dual.data_accesses()[0].noise.rate == pytest.approx(1.5)
    primal = load("primal-variable-perturbation")(p, rounds=1, penalty=2.0, noise_rate=3.0)
    assert primal.data_accesses()[0].sensitivity == pytest.approx(2 * 1.75 / 8 / (0.22 / 5 + 12))
    with pytest.raises(InvalidInput, match="adjacency"):
        algorithm.data_accesses(Adjacency.ADD_REMOVE)


def test_the_one_node_cost_of_the_theory_page_is_not_exceeded():
    """|log-ratio| of one objective perturbation stays below 2aC/B + ln(1 + Cc₁/(Bh))."""
    p = problem(network=star(4))
    algorithm = load("private-r-admm")(p, rounds=1, penalty=0.3, noise_rate=1.5)
    transcript = algorithm.run(2, runs=3000)
    here = algorithm.log_density(transcript)
    worst = 0.0
    for row in range(5):
        for turned in ([1.0, 0.0], [0.0, -1.0], [0.0, 0.0]):
            other = p.records.replaced(row, turned, -p.records.labels[row])
            worst = max(worst, float(np.abs(algorithm.log_density(transcript, other) - here).max()))
    access = algorithm.data_accesses()[0]
    bound = access.sensitivity * access.noise.rate + np.log1p(
        access.curvature_change / access.curvature_floor
    )
    assert 0.4 * bound < worst <= bound * (1 + 1e-9)


# ---- bad input


def test_a_kinked_loss_has_no_exact_minimiser():
    with pytest.raises(AssumptionViolated, match="SmoothedHinge"):
        load("decentralised-admm")(problem(Hinge()), rounds=1, penalty=1.0).run(0)


@pytest.mark.parametrize(
    "bad",
    [
        {"penalty": -1.0},
        {"penalty": [1.0, 2.0]},
        {"penalty": np.nan},
        {"noise_rate": 0.0},
        {"noise_rate": "loud"},
        {"initial": np.zeros(3)},
        {"initial": "best"},
        {"proximal_weight": -1.0},
    ],
)
def test_bad_parameters_are_refused_by_name(bad):
    good = {"rounds": 6, "penalty": 1.0, "noise_rate": 1.0}
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        load("private-mr-admm")(problem(), **(good | bad)).run(0)


def test_r_admm_refuses_several_penalties():
    with pytest.raises(InvalidInput, match="mr-admm"):
        load("r-admm")(problem(), rounds=4, penalty=[1.0, 2.0])


def test_a_random_start_is_the_runs_own_and_is_released():
    algorithm = replace(load("decentralised-admm").example(), initial="random")
    batch = algorithm.run(3, runs=4)
    assert np.unique(batch["initial"].round(9)).size == batch["initial"].size
    np.testing.assert_array_equal(algorithm.run(3, first_run=2)["initial"][0], batch["initial"][2])


def test_a_transcript_made_with_other_parameters_is_noticed():
    algorithm = load("private-r-admm").example()
    other = replace(algorithm, proximal_weight=3.0)
    with pytest.raises(InvalidInput, match="these parameters"):
        other.log_density(algorithm.run(1))
