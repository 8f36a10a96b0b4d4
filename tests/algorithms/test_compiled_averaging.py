"""Compiled rounds of dual averaging against the same equations, a loop per run and node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcalc.algorithms import load
from dpcalc.algorithms.engine import averaging_rounds as engine
from dpcalc.algorithms.problems import compiled
from dpcalc.algorithms.problems.averaging import AveragingProblem
from dpcalc.algorithms.problems.losses import Hinge, Huber, Logistic
from dpcalc.algorithms.problems.networks import complete, ring
from dpcalc.algorithms.problems.records import split
from dpcalc.algorithms.problems.regularisers import ElasticNet, ridge

NODES, RECORDS, D = 6, 60, 11


def made(loss, network, *, share=0.2, regulariser=None, rounds=12):
    rng = np.random.default_rng(5)
    features = rng.random((RECORDS, D)) * (rng.random((RECORDS, D)) < share)
    features[[0, -1]] = 0  # the first and the last row have no number at all
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1)
    signs = np.where(rng.random(RECORDS) < 0.5, 1.0, -1.0)
    problem = AveragingProblem(
        records=split(features, signs if loss.of_margin else rng.standard_normal(RECORDS), NODES),
        network=network,
        loss=loss,
        regulariser=regulariser or ridge(0.3),
    )
    return load("private-dual-averaging")(
        problem, rounds=rounds, weights="linear", proximal=2.0, sigma=0.3
    )


@pytest.fixture
def compiled_rounds(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(engine, "_PAYS", 0)


def by_loops(algorithm, run, runs):
    """All messages and the result of one run of the batch, record by record."""
    p, source = algorithm.problem, algorithm.start(3, runs=runs).streams
    kinds = algorithm._draws(1)
    W = p.matrix
    z, weighted, whole, messages = np.zeros((NODES, D)), np.zeros((NODES, D)), 0.0, []
    for t in range(1, algorithm.rounds + 1):
        whole += t
        noise = source.draw(kinds["noise"], 0, t)[run].copy()
        index = source.draw(kinds["index"], 1, t)[run]
        sent = np.empty((NODES, D))
        for i, where in enumerate(p.records.slices):
            h = p.regulariser
            pull = np.sign(z[i]) * np.maximum(np.abs(z[i]) - whole * h.l1, 0)
            x = -pull / (whole * h.l2 + 2.0)
            weighted[i] += t * x
            if algorithm.gradients_at == "averages":
                x = weighted[i] / whole
            row, label = p.records.features[where][index[i]], p.records.labels[where][index[i]]
            if p.loss.of_margin:
                gradient = label * float(p.loss.derivative(np.array(label * (row @ x)))) * row
            else:
                gradient = float(p.loss.derivative(np.array(row @ x - label))) * row
            sent[i] = z[i] + t * (gradient + algorithm.sigma * noise[i])
        z = np.array([sum(W[i, j] * sent[j] for j in range(NODES)) for i in range(NODES)])
        messages.append(sent)
    return np.array(messages), weighted / whole


def follows_the_equations(algorithm):
    """Twelve rounds of sums of at most 18 terms: 3e-14 is ten times their rounding."""
    assert algorithm._loops() is not None
    found = algorithm.run(3, runs=3)
    for run in range(3):
        messages, average = by_loops(algorithm, run, 3)
        scale = np.abs(messages).max()
        np.testing.assert_allclose(found["message"][run], messages, rtol=0, atol=3e-14 * scale)
        np.testing.assert_allclose(found["average"][run], average, rtol=0, atol=3e-14)


@pytest.mark.parametrize("share", [0.2, 0.9])
@pytest.mark.parametrize("network", [ring(NODES), complete(NODES)])
@pytest.mark.parametrize("loss", [Logistic(), Huber(width=0.5), Hinge()])
@pytest.mark.parametrize("regulariser", [ridge(0.3), ElasticNet(l1=0.02, l2=0.3)])
def test_compiled_rounds_follow_the_equations(loss, network, regulariser, share, compiled_rounds):
    algorithm = made(loss, network, share=share, regulariser=regulariser)
    follows_the_equations(algorithm)


def test_compiled_rounds_take_gradients_at_means(compiled_rounds):
    algorithm = replace(made(Logistic(), ring(NODES)), gradients_at="averages")
    follows_the_equations(algorithm)


def test_a_run_and_a_node_alone_have_the_bits_of_the_batch(compiled_rounds):
    """The last two nodes have rows of few zeros, which alone they keep in another form."""
    algorithm = made(Hinge(), ring(NODES))
    records = algorithm.problem.records
    features = records.features.copy()
    features[40:-1] += 0.05
    records = split(features / 2, records.labels, NODES)
    algorithm = algorithm.with_records(records)
    forms = {type(algorithm.alone(i)._loops().rows) for i in range(NODES)}
    assert forms == {tuple, np.ndarray}
    together = algorithm.run(3, runs=4)
    for run in range(4):
        alone = algorithm.run(3, runs=1, first_run=run)
        np.testing.assert_array_equal(alone["message"][0], together["message"][run])
        np.testing.assert_array_equal(alone["average"][0], together["average"][run])
    state = algorithm.start(3, runs=4)
    for t in range(1, 4):
        for i in range(NODES):
            node = algorithm.alone(i)
            units = node._units(node.start(3, runs=4).streams, t)
            sent, _ = node._send(t, state.memory, units)
            np.testing.assert_array_equal(sent[:, i], together["message"][:, t - 1, i])
        state = algorithm.step(state)


def test_sparse_rows_have_the_bits_of_dense_ones(compiled_rounds):
    algorithm = made(Logistic(), ring(NODES))
    records = algorithm.problem.records
    thin = split(csr_array(records.features), records.labels, NODES)
    again = algorithm.with_records(thin)
    assert again._loops() is not None
    found, wanted = again.run(3, runs=2), algorithm.run(3, runs=2)
    np.testing.assert_array_equal(found["message"], wanted["message"])


def test_what_cannot_be_compiled_runs_as_before(compiled_rounds, monkeypatch):
    """An installation without numba, and runs too short to load it."""
    monkeypatch.setattr(compiled, "is_there", lambda: False)
    assert made(Hinge(), ring(NODES))._loops() is None
    monkeypatch.undo()
    assert made(Hinge(), ring(NODES))._loops() is None  # too little to do
