"""Dual averaging against a slow copy of its equations, its mixtures and its convergence."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.averaging import AveragingProblem
from dpcalc.algorithms.problems.builtin import averaging_example, classification
from dpcalc.algorithms.problems.losses import Hinge, Logistic, Squared
from dpcalc.algorithms.problems.networks import complete, ring
from dpcalc.algorithms.problems.records import split
from dpcalc.algorithms.problems.regularisers import ElasticNet, lasso, ridge
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.transcript import Series, Transcript
from dpcalc.vocabulary import Adjacency, Release
from tests.oracles.algorithms import averaging as oracle


def problem(mixing="metropolis", regulariser=None):
    return AveragingProblem(
        records=classification(16, 2, nodes=4, seed=6),
        network=ring(4),
        loss=Hinge(),
        regulariser=regulariser or ElasticNet(l1=0.02, l2=0.3),
        mixing=mixing,
    )


def hinge_subgradient(x, features, label):
    return -label * features if label * (features @ x) < 1 else np.zeros_like(features)


@pytest.mark.parametrize("sampling", ["one", "cyclic", "full"])
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("gradients_at", ["iterates", "averages"])
def test_it_follows_its_equations(sampling, linear, gradients_at):
    p, rounds = problem(), 5
    algorithm = load("private-dual-averaging")(
        p,
        rounds=rounds,
        weights="linear" if linear else 1.0,
        proximal=[0.5, 0.6, 0.7, 0.8, 0.9],
        sigma=0.4,
        sampling=sampling,
        batch_size=2 if sampling == "cyclic" else None,
        gradients_at=gradients_at,
    )
    state = algorithm.start(2)
    kinds = algorithm._draws(1)
    noise = np.array(
        [0.4 * state.streams.draw(kinds["noise"], 0, t)[0] for t in range(1, rounds + 1)]
    )
    index = (
        [state.streams.draw(kinds["index"], 1, t)[0] for t in range(1, rounds + 1)]
        if sampling == "one"
        else None
    )
    x, y = p.records.features.reshape(4, 4, 2), p.records.labels.reshape(4, 4)

    def subgradients(t, i, at):
        chosen = {
            "one": lambda: [index[t][i]],
            "cyclic": lambda: [2 * (t % 2), 2 * (t % 2) + 1],
            "full": lambda: range(4),
        }[sampling]()
        return np.mean([hinge_subgradient(at, x[i, n], y[i, n]) for n in chosen], axis=0)

    W = np.array([[1 / 3 if (i - j) % 4 in (0, 1, 3) else 0 for j in range(4)] for i in range(4)])
    messages, average = oracle.dual_averaging(
        subgradients,
        W,
        lambda v: 0.02 * np.abs(v).sum() + 0.15 * v @ v,
        a=np.arange(1, 6) if linear else np.ones(5),
        gamma=[0.5, 0.6, 0.7, 0.8, 0.9],
        noise=noise,
        at_means=gradients_at == "averages",
    )
    run = algorithm.run(2)
    np.testing.assert_allclose(run["message"][0], messages, atol=1e-6)
    np.testing.assert_allclose(run["average"][0], average, atol=1e-6)


def test_without_noise_the_optimum_is_approached_at_the_published_rate():
    """Full batches, a(t) = t, γ = 0: F - F* is of order 1/T; the optimum is scipy's."""
    p = replace(problem(regulariser=ridge(0.3)), loss=Logistic())
    x, y = p.records.features, p.records.labels

    def total(v):
        return np.mean(np.log1p(np.exp(-y * (x @ v)))) + 0.15 * v @ v

    from scipy.optimize import minimize

    best = minimize(total, np.zeros(2), method="BFGS", options={"gtol": 1e-10})
    gaps = []
    for rounds in (50, 500):
        run = load("private-dual-averaging")(
            p, rounds=rounds, weights="linear", proximal=0.0, sampling="full"
        ).run(0, diagnostics=True)
        gaps.append(run.diagnostic("objective")[0, -1] - best.fun)
        assert run.diagnostic("objective")[0, -1] == pytest.approx(
            total(run["average"][0].mean(axis=0)), abs=1e-12
        )
    assert 0 <= gaps[1] < gaps[0] / 5
    assert gaps[1] < 1e-4


def test_gradients_at_the_means_are_heavy_ball_steps_and_fall_as_one_over_rounds_squared():
    """Momentum (t-1)/(t+2), step 2t/((t+2)γ), on least squares with curvatures from 1 to 1e-6.

    The largest ½ℓp(ℓ)²T²/γ over curvatures ℓ <= γ/2 is .340 for the polynomial p of 100 rounds.
    """
    rng = np.random.default_rng(0)
    features = rng.standard_normal((40, 4)) * [1, 0.1, 0.01, 0.001]
    features /= np.linalg.norm(features, axis=1).max()
    best, gamma, rounds = np.array([0.5, -2.0, 30.0, 100.0]), 2.0, 100
    p = AveragingProblem(
        records=split(features, features @ best, 2),
        network=complete(2),
        loss=Squared(),
        regulariser=ridge(0.0),
    )
    algorithm = load("private-dual-averaging")(
        p, rounds=rounds, weights="linear", proximal=gamma, sampling="full"
    )
    H = features.T @ features / 40
    y = before = np.zeros(4)
    for t in range(1, rounds):
        step = (t - 1) / (t + 2) * (y - before) - 2 * t / ((t + 2) * gamma) * H @ (y - best)
        y, before = y + step, y
    run = replace(algorithm, gradients_at="averages").run(0)
    np.testing.assert_allclose(run["average"][0], [y, y], rtol=1e-9)

    def gap(x):
        return (x - best) @ H @ (x - best) / 2

    assert gap(y) <= 0.341 * gamma * best @ best / rounds**2
    assert gap(y) < gap(algorithm.run(0)["average"][0, 0]) / 3


def test_dual_averaging_is_the_private_one_without_noise_and_weights():
    p = problem()
    plain = load("dual-averaging")(p, rounds=6, proximal=1.0).run(3, runs=2)
    same = load("private-dual-averaging")(p, rounds=6, proximal=1.0, sigma=1e-300).run(3, runs=2)
    assert plain["message"].shape == same["message"].shape
    with pytest.raises(InvalidInput, match="private-dual-averaging"):
        load("dual-averaging")(p, rounds=6, proximal=1.0, sigma=0.1)


# ---- densities


def test_the_mixture_integrates_to_one_and_weighs_records_alike():
    """One node's worth: two nodes, one feature, one round; a one-dimensional integral each."""
    p = AveragingProblem(
        records=split(np.array([[0.9], [-0.5], [0.3], [0.8]]), [1, 1, -1, 1], 2),
        network=ring(2),
        loss=Hinge(),
        regulariser=ridge(0.1),
    )
    algorithm = load("private-dual-averaging")(p, rounds=1, weights=2.0, proximal=1.0, sigma=0.3)

    def terms(value):
        message = np.full((1, 1, 2, 1), value)
        released = {"message": Series(values=message, axes=("runs", "a", "b", "c"), meaning="-")}
        made = Transcript(
            algorithm=algorithm.key, release="every message", rounds=1, released=released
        )
        return algorithm.log_density_terms(made)[0, 0]

    for node in (0, 1):
        mass = integrate.quad(
            lambda v, node=node: math.exp(terms(v)[node]), -8, 8, points=[-2, 0, 2], limit=200
        )[0]
        assert mass == pytest.approx(1, abs=1e-7)
    # node 0 at x = 0: gradients -0.9 and 0.5, messages around -1.8 and 1.0 with spread 0.6
    gauss = [math.exp(-((0.2 - m) ** 2) / (2 * 0.36)) for m in (-1.8, 1.0)]
    expected = math.log(sum(gauss) / 2 / (0.6 * math.sqrt(2 * math.pi)))
    assert terms(0.2)[0] == pytest.approx(expected, abs=1e-12)


def test_the_hidden_record_is_drawn_uniformly_and_independently():
    """40,000 draws of 4 records: χ² over pairs of rounds, false alarm 1e-4."""
    from scipy.stats import chi2

    algorithm = replace(load("private-dual-averaging").example(), rounds=4)
    streams = algorithm.start(1, runs=40_000).streams
    kind = algorithm._draws(1)["index"]
    pairs = streams.draw(kind, 1, 1)[:, 0] * 4 + streams.draw(kind, 1, 2)[:, 0]
    counts = np.bincount(pairs, minlength=16)
    assert ((counts - 2500) ** 2 / 2500).sum() < chi2.isf(1e-4, 15)


def test_no_noise_means_no_density_and_a_sampled_record_hides_the_noise():
    example = load("private-dual-averaging").example()
    quiet = replace(example, sigma=0.0)
    with pytest.raises(AssumptionViolated, match="no such density"):
        quiet.log_density(quiet.run(1))
    with pytest.raises(AssumptionViolated, match="sampled record is hidden"):
        example.implied_noise(example.run(1))


# ---- accesses


def test_accesses_of_the_three_samplings():
    example = load("private-dual-averaging").example()
    one = example.data_accesses()
    assert one[0].sensitivity == pytest.approx(2.0)
    assert one[0].sampling_rate == pytest.approx(1 / 4)
    full = replace(example, sampling="full").data_accesses()
    assert full[0].sensitivity == pytest.approx(2 / 4)
    assert full[0].sampling_rate == 1.0
    cyclic = replace(example, sampling="cyclic", batch_size=2).data_accesses()
    assert cyclic[0].sensitivity == pytest.approx(2 / 2)
    assert [a.batch for a in cyclic if a.node == 0] == [0, 1, 0, 1]
    with pytest.raises(InvalidInput, match="adjacency"):
        example.data_accesses(Adjacency.ADD_REMOVE)


@pytest.mark.parametrize("sampling", ["full", "cyclic"])
@pytest.mark.parametrize("gradients_at", ["iterates", "averages"])
def test_no_neighbour_moves_a_mean_by_more_than_its_sensitivity(sampling, gradients_at):
    """And a batch that does not hold the record is not moved at all."""
    example = load("private-dual-averaging").example()
    settings = {"sampling": sampling, "batch_size": 2 if sampling == "cyclic" else None}
    algorithm = replace(example, **settings, gradients_at=gradients_at)
    other = algorithm.problem.records.replaced(1, [-1.0, 0.0], algorithm.problem.records.labels[1])
    run = algorithm.run(3, runs=200)
    moved = algorithm.implied_noise(run).unit - algorithm.implied_noise(run, other).unit
    moved = np.linalg.norm(moved, axis=-1).max(axis=0) * algorithm.sigma
    for access in algorithm.data_accesses():
        found = moved[access.round - 1, access.node]
        holds = access.node == 0 and access.batch == 0
        assert found <= access.sensitivity * (1 + 1e-12) if holds else found < 1e-12
    assert moved.max() > 0.2 * algorithm.data_accesses()[0].sensitivity


@pytest.mark.parametrize("sampling", ["full", "cyclic"])
@pytest.mark.parametrize("gradients_at", ["iterates", "averages"])
def test_messages_tell_the_noise_and_what_another_record_would_change(sampling, gradients_at):
    """Slopes of the logistic loss differ from point to point, so they tell where they were taken."""
    algorithm = load("private-dual-averaging")(
        replace(problem(), loss=Logistic()),
        rounds=4,
        weights="linear",
        proximal=0.5,
        sigma=0.4,
        sampling=sampling,
        batch_size=2 if sampling == "cyclic" else None,
        gradients_at=gradients_at,
    )
    other = algorithm.problem.records.replaced(1, [-1.0, 0.0], 1.0)
    run, state = algorithm.run(3, runs=5), algorithm.start(3, runs=5)
    found, moved = (algorithm.implied_noise(run, records).unit for records in (None, other))
    for t in range(1, 5):
        drawn = algorithm.start(3, runs=5).streams.draw(algorithm._draws(1)["noise"], 0, t)
        np.testing.assert_allclose(found[:, t - 1], drawn, atol=1e-12)
        told = algorithm.normalised_distance(state, other)
        np.testing.assert_allclose((moved - found)[:, t - 1], told, atol=1e-12)
        state = algorithm.step(state)


def test_one_record_moves_a_subgradient_by_at_most_the_sensitivity():
    p = averaging_example()
    other = p.with_records(p.records.replaced(1, [-1.0, 0.0], 1.0))
    x = np.random.default_rng(0).standard_normal((500, 3, 2))
    chosen = np.ones((500, 3), dtype=int)
    gap = p.record_gradients(chosen, x) - other.record_gradients(chosen, x)
    assert np.linalg.norm(gap[:, 0], axis=1).max() <= 2.0
    assert (gap[:, 1:] == 0).all()


# ---- releases and errors


def test_the_last_iterate_release_holds_no_message():
    last = load("private-dual-averaging").example().run(1, release=Release.LAST_ITERATE)
    assert set(last.released) == {"average"}


def test_a_given_mixing_matrix_is_checked():
    W = np.full((4, 4), 0.25)
    with pytest.raises(InvalidInput, match="zeros off the edges"):
        problem(mixing=W)
    full = AveragingProblem(
        records=classification(8, 2, nodes=4),
        network=complete(4),
        loss=Hinge(),
        regulariser=ridge(0.1),
        mixing=W,
    )
    np.testing.assert_allclose(full.mix(np.arange(8.0).reshape(1, 4, 2))[0], [[3, 4]] * 4)
    W = W.copy()
    W[0, 0] = 0.5
    with pytest.raises(InvalidInput, match="rows that sum to 1"):
        replace(full, mixing=W)
    with pytest.raises(InvalidInput, match="did you mean 'metropolis'"):
        problem(mixing="metropoly")


@pytest.mark.parametrize(
    "bad",
    [
        {"weights": 0.0},
        {"weights": "quadratic"},
        {"proximal": -1.0},
        {"proximal": [2.0, 1.0, 1.0]},
        {"sigma": -0.1},
        {"sampling": "two"},
        {"gradients_at": "mean"},
        {"batch_size": 2},
        {"sampling": "cyclic", "batch_size": 3},
        {"sampling": "cyclic", "batch_size": None},
    ],
)
def test_bad_parameters_are_refused_by_name(bad):
    good = {"rounds": 3, "proximal": 1.0, "sigma": 0.1}
    with pytest.raises(InvalidInput, match=list(bad)[-1]):
        load("private-dual-averaging")(problem(), **(good | bad))


def test_proximal_zero_needs_a_strongly_convex_regulariser():
    with pytest.raises(AssumptionViolated, match="strongly convex"):
        load("private-dual-averaging")(
            problem(regulariser=lasso(0.1)), rounds=3, proximal=0.0, sigma=0.1
        )
