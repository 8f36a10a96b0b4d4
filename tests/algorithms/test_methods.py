"""Every method: its theorem charges at least what its algorithm's own accesses add up to."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache

import numpy as np
import pytest

from dpcalc.algorithms import catalogue
from dpcalc.algorithms.problems.builtin import classification
from dpcalc.algorithms.problems.networks import star
from dpcalc.algorithms.problems.noise import ExponentialNorm, Gaussian
from dpcalc.errors import InvalidInput
from dpcalc.training.catalogue import UNCOVERED, method, methods
from dpcalc.training.graph import network
from dpcalc.training.method import Budget
from dpcalc.training.metrics import baseline_error, error, mean_loss
from dpcalc.training.prepared_run import prepare
from dpcalc.vocabulary import Release

PRIVATE = [key for key in methods() if method(key).theorem_key]
SHORT = {"rounds": 4}
PURE = Budget(2.0, 0.0)
"""Met in closed form, where noise of any size will do."""
SETTINGS = {
    "private-dual-averaging": SHORT | {"sampling": "full"},
    "gradient-admm": {},
    "gradient-admm-noisy-oracle": {},
}


@cache
def planned(key, budget=None, *, records=40, **settings):
    """A prepared run, calibrated once for all tests that ask for it."""
    kind = method(key)
    nodes = 4 if kind.distributed else 1
    given = SETTINGS.get(key, SHORT) | settings
    return prepare(
        kind.from_parameters(given),
        classification(records, 2, nodes=nodes),
        network=star(nodes) if kind.distributed else None,
        budget=budget or (Budget(2.0, 1e-5) if kind.theorem_key else None),
    )


def test_every_algorithm_but_one_has_a_method():
    """Primal variable perturbation has no theorem here, so nothing could say what it spends."""
    assert set(catalogue()) - set(methods()) == set(UNCOVERED)


@pytest.mark.parametrize("key", methods())
def test_a_method_is_its_algorithm(key):
    found = planned(key)
    assert found.algorithm.key == found.method.key == key
    assert found.method.title
    model = found.method.weights(found.run(1, runs=3))
    assert model.shape == (3, 2)
    assert np.isfinite(model).all()


@pytest.mark.parametrize("key", PRIVATE)
def test_calibration_meets_the_budget_and_hardly_more(key):
    found = planned(key)
    assert 2.0 * (1 - 1e-5) < found.certified <= 2.0
    assert found.theorem.key == found.method.theorem_key


def accesses_by_node(algorithm):
    grouped = defaultdict(list)
    for access in algorithm.data_accesses():
        grouped[access.node, access.batch].append(access)
    return grouped.values()


@pytest.mark.parametrize(
    "key",
    [k for k in PRIVATE if ("r-admm" in k or "perturbation" in k) and not k.startswith("gaussian")],
)
def test_the_pure_cost_lies_between_the_noise_alone_and_the_general_loss(key):
    """From the algorithm's own list of accesses: 2a <= certified round <= 2a + ln(1 + κc₁)."""
    found = planned(key, PURE, penalty=0.7)
    assert all(isinstance(a.noise, ExponentialNorm) for a in found.algorithm.data_accesses())
    noise, general = (
        max(sum(cost(a) for a in node) for node in accesses_by_node(found.algorithm))
        for cost in (
            lambda a: a.noise.rate * a.sensitivity,
            lambda a: (
                a.noise.rate * a.sensitivity + math.log1p(a.curvature_change / a.curvature_floor)
            ),
        )
    )
    beta = found.theorem.certified().numbers["beta"]
    assert noise * (1 - 1e-12) <= beta <= general * (1 + 1e-12)


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("dp-admm", {}),
        ("dp-admm", {"dual_start": "noised"}),
        ("dp-admm", {"dual_start": "shared"}),
        ("dp-admm", {"loss": "huber"}),
        ("dp-acc-admm", {}),
        ("private-dual-averaging", {"sampling": "full"}),
        ("private-dual-averaging", {"sampling": "full", "gradients_at": "averages"}),
        ("private-dual-averaging", {"sampling": "cyclic", "batch_size": 5}),
    ],
)
def test_the_gaussian_cost_is_that_of_the_accesses(key, settings):
    """μ² = Σ (Δ/σ)² over the rounds that may see the record, at the worst node and batch."""
    found = planned(key, **settings)
    totals = []
    for node in accesses_by_node(found.algorithm):
        assert all(isinstance(a.noise, Gaussian) for a in node)
        totals.append(sum((a.sensitivity / a.noise.sigma) ** 2 for a in node))
    mu = found.theorem.certified().numbers["mu"]
    assert mu == pytest.approx(math.sqrt(max(totals)), rel=1e-12)


def test_the_sampled_cost_has_the_sensitivity_and_rate_of_the_accesses():
    made = method("private-dual-averaging").from_parameters({"rounds": 6, "sampling": "one"})
    records = classification(40, 2, nodes=4)
    theorem = made.theorem(records, star(4)).replace(sigma=0.7)
    accesses = made.algorithm(records, star(4), theorem).data_accesses()
    assert accesses[0].sampling_rate == 1 / theorem.n_records
    assert accesses[0].sensitivity == 2 * theorem.lipschitz
    assert accesses[0].noise.sigma == 0.7
    assert len(accesses) == 4 * theorem.rounds


@pytest.mark.parametrize("key", ["gradient-admm", "gradient-admm-noisy-oracle"])
def test_the_last_user_pays_the_local_cost_of_its_access(key):
    found = planned(key)
    access = found.algorithm.data_accesses()[-1]
    local = access.sensitivity / access.noise.sigma
    assert float(found.theorem.mu_local()) == pytest.approx(local, rel=1e-12)
    assert found.theorem.users == found.algorithm.rounds == 40


def test_only_what_the_theorem_covers_is_kept():
    """The theorem on gradient ADMM covers the last iterate and nothing more."""
    kept = planned("gradient-admm").run(1, full_release=True)
    assert kept.release == Release.LAST_ITERATE
    kept = planned("dp-admm").run(1, full_release=True)
    assert kept.release == Release.EVERY_ITERATE


def test_the_open_penalty_makes_curvature_free_and_no_larger():
    found = planned("private-r-admm", budget=Budget(1.0, 0.0))
    smaller = planned(
        "private-r-admm", budget=Budget(1.0, 0.0), penalty=0.9 * found.method.own_penalty().first
    )
    for plan_, free in ((found, True), (smaller, False)):
        noise = max(
            sum(a.noise.rate * a.sensitivity for a in node)
            for node in accesses_by_node(plan_.algorithm)
        )
        beta = plan_.theorem.certified().numbers["beta"]
        assert (beta <= noise * (1 + 1e-9)) == free


@pytest.mark.parametrize(
    ("key", "budget", "word"),
    [
        ("dp-admm", Budget(1.0, 0.0), "delta above 0"),
        ("r-admm", Budget(1.0, 0.0), "no noise"),
        ("private-r-admm", Budget(-1.0, 0.0), "epsilon"),
        ("private-r-admm", Budget(1.0, 1.0), "delta"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(key, budget, word):
    with pytest.raises(InvalidInput, match=word):
        planned(key, budget)


def test_a_constant_penalty_is_insisted_on():
    with pytest.raises(InvalidInput, match="constant"):
        planned("dual-variable-perturbation", PURE, penalty="1:1.1")


def test_parameters_are_known_by_name():
    with pytest.raises(InvalidInput, match="step_size"):
        method("dp-admm").from_parameters({"step_sizes": 1})
    with pytest.raises(InvalidInput, match="private-r-admm"):
        method("private-radmm")


def test_utility_is_what_it_says():
    from dpcalc.algorithms.problems.losses import Huber, Logistic

    x, y = np.array([[1.0], [2.0], [-1.0]]), np.array([1.0, -1.0, -1.0])
    w = np.array([[1.0], [-1.0]])
    np.testing.assert_allclose(error(Logistic(), w, x, y), [1 / 3, 2 / 3])
    expected = np.mean(np.log1p(np.exp([-1.0, 2.0, -1.0])))
    np.testing.assert_allclose(mean_loss(Logistic(), w, x, y)[0], expected)
    assert baseline_error(Logistic(), y) == pytest.approx(1 / 3)
    z = np.array([0.0, 3.0, 0.5])
    np.testing.assert_allclose(error(Huber(), w, x, z)[0], np.sqrt((1 + 1 + 2.25) / 3))
    assert baseline_error(Huber(), z) == pytest.approx(np.std(z))


def test_networks_by_description(tmp_path):
    file = tmp_path / "edges.txt"
    file.write_text("# a path\n0 1\n1,2\n")
    assert network(f"@{file}", 3).edges == ((0, 1), (1, 2))
    assert network("complete", 3).degrees.tolist() == [2, 2, 2]
    assert network("erdos-renyi:0.9", 6, 1) == network("erdos-renyi:0.9", 6, 1)
    for bad in ("rings", "ring:3", "erdos-renyi", "erdos-renyi:x", f"@{tmp_path}/none"):
        with pytest.raises(InvalidInput):
            network(bad, 4)
    file.write_text("0 one\n")
    with pytest.raises(InvalidInput, match="all whole numbers, or none"):
        network(f"@{file}", 3)
