"""M-ADMM against its update equations: what is certified is never violated, what is refuted fails."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.theorems.convergence.m_admm_convergence import MADMMConvergence
from dpcalc.theorems.convergence.m_admm_rate import MADMMRate
from tests.oracles.convergence.simulate import (
    convex_minimiser,
    edge_file,
    m_admm,
    quadratic_minimiser,
    random_network,
)


def roots(adjacency):
    """Laplacian, its square root, the signless Laplacian."""
    laplacian = np.diag(adjacency.sum(1)) - adjacency
    values, vectors = np.linalg.eigh(laplacian)
    root = vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T
    return laplacian, root, np.diag(adjacency.sum(1)) + adjacency


def one_round_matrix(adjacency, eta, theta, h):
    """(Y, f) -> (Y⁺, f⁺) for quadratics with optimum 0, from (15)-(16) solved for f⁺."""
    laplacian, root, signless = roots(adjacency)
    w = np.diag(eta)
    # ∇O(f⁺) + √L Y⁺ + (W - θ)L f⁺ + W S (f⁺ - f) = 0 with Y⁺ = Y + θ√L f⁺.
    left = np.diag(h) + theta * laplacian + (w - theta * np.eye(len(h))) @ laplacian + w @ signless
    f_from_y = -np.linalg.solve(left, root)
    f_from_f = np.linalg.solve(left, w @ signless)
    top = np.hstack([np.eye(len(h)) + theta * root @ f_from_y, theta * root @ f_from_f])
    return np.vstack([top, np.hstack([f_from_y, f_from_f])])


def test_two_nodes_stop_where_the_attained_value_says():
    # Catches a wrong product, a wrong first penalty, or an attained value above the truth.
    rounds = 400
    penalties = [[0.5 * 1.2**t] * 2 for t in range(rounds)]
    adjacency = np.array([[0.0, 1.0], [1.0, 0.0]])
    history = m_admm(quadratic_minimiser([1, 1], [1, 1]), adjacency, penalties, [0.5, 0.5], [0, 0])
    stop = history[-1][0]
    assert stop == pytest.approx([0.99229, 0.99229], abs=5e-6)
    result = MADMMConvergence(graph="complete:2", penalty="0.5:1.2", dual_step=0.5)
    left = result.attained().value
    assert left <= 1 - stop[0] + 1e-12
    assert left == pytest.approx(1 - stop[0], rel=1e-6)
    assert left > result.claimed().value
    assert result.certified().value == np.inf


@pytest.mark.parametrize("graph", ["star:5", "path:4", "ring:5", "complete:4"])
def test_the_stalled_problem_stalls_on_every_network(graph):
    result = MADMMConvergence(graph=graph, penalty="0.5:1.3", dual_step=0.5)
    adjacency = result.graph.adjacency
    v = adjacency.sum(1)
    penalties = [[0.5 * 1.3**t] * len(v) for t in range(250)]
    history = m_admm(quadratic_minimiser(v, v), adjacency, penalties, 0.5 * np.ones(len(v)), 0 * v)
    assert 1 - history[-1][0] == pytest.approx(np.full(len(v), result.attained().value), rel=1e-6)


def test_own_dual_steps_lead_to_the_predicted_limit():
    theta = [0.5, 1.0, 2.0]
    h, b = [1.0, 2.0, 0.5], [0.0, 1.0, 3.0]
    result = MADMMConvergence(graph="complete:3", penalty=2, dual_step=theta, curvature=h, linear=b)
    adjacency = np.ones((3, 3)) - np.eye(3)
    history = m_admm(quadratic_minimiser(h, b), adjacency, [[2.0] * 3] * 2000, theta, [0, 0, 0])
    found = result.attained()
    assert history[-1][0] == pytest.approx([found.numbers["limit"]] * 3, abs=1e-9)
    assert abs(history[-1][0][0] - sum(b) / sum(h)) == pytest.approx(found.value, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_own_penalties_converge_on_quadratics_at_the_certified_rate(seed, tmp_path):
    # P4: constant penalties per node, θ < 2η. Catches a wrong recursion or a rate below the truth.
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, 6))
    adjacency = random_network(rng, nodes)
    eta = 10 ** rng.uniform(-0.5, 0.5, nodes)
    theta = eta.min() * rng.uniform(0.3, 1.9)
    h, b = 10 ** rng.uniform(-0.7, 1, nodes), rng.normal(size=nodes)
    result = MADMMConvergence(
        graph=edge_file(tmp_path / "e", adjacency),
        penalty=[eta.tolist()],
        dual_step=theta,
        curvature=h.tolist(),
        linear=b.tolist(),
    )
    certified = result.certified()
    assert certified.value == 0
    rate = certified.numbers["contraction"]
    history = m_admm(
        quadratic_minimiser(h, b), adjacency, [eta] * 1500, [theta] * nodes, rng.normal(size=nodes)
    )
    errors = np.array([np.abs(f - b.sum() / h.sum()).max() for f, _ in history])
    assert errors[-1] < max(1e-9, 1e-3 * errors[0])
    values = np.abs(np.linalg.eigvals(one_round_matrix(adjacency, eta, theta, h)))
    truth = np.sort(values)[-2]  # the eigenvalue 1 belongs to the kernel of the Laplacian
    assert truth <= rate <= truth * 1.01


def test_the_eigenvalue_argument_on_random_networks():
    # P4 and its sharper condition θ < 2η: no eigenvalue outside the unit disc, none but 1 on it.
    rng = np.random.default_rng(4)
    for _ in range(400):
        nodes = int(rng.integers(2, 6))
        adjacency = random_network(rng, nodes, rng.uniform(0, 1))
        eta = 10 ** rng.uniform(-2, 2, nodes)
        theta = eta.min() * rng.uniform(0.01, 1.99)
        h = 10 ** rng.uniform(-2, 2, nodes) * (rng.random(nodes) < 0.8)
        if h.max() == 0:
            h[0] = 1
        matrix = one_round_matrix(adjacency, eta, theta, h)
        # Y lives in the range of the Laplacian; its kernel adds one eigenvalue 1.
        values = np.linalg.eigvals(matrix)
        values = np.delete(values, np.argmin(np.abs(values - 1)))
        assert np.abs(values).max() < 1 + 1e-9


@pytest.mark.parametrize("graph", ["ring:4", "star:4", "complete:3"])
@pytest.mark.parametrize("growth", ["bounded", "linear"])
def test_common_penalties_converge_for_convex_objectives(graph, growth):
    # Log-cosh is neither strongly convex nor quadratic. Linear growth has Σ 1/η = ∞.
    result = MADMMConvergence(graph=graph, penalty=1, dual_step=1.5)
    assert result.certified().value == 0
    adjacency = result.graph.adjacency
    nodes = len(adjacency)
    centres = np.linspace(-1, 2, nodes)
    rounds = 150
    etas = [1.0] * rounds if growth == "bounded" else [1 + 0.05 * t for t in range(rounds)]
    minimise = convex_minimiser(lambda i, f: np.tanh(f - centres[i]), -50, 50)
    history = m_admm(minimise, adjacency, [[x] * nodes for x in etas], [1.5] * nodes, [0.0] * nodes)
    optimum = convex_minimiser(lambda _, f: np.tanh(f - centres).sum(), -50, 50)(0, 0, 0, 0)
    assert np.abs(history[-1][0] - optimum).max() < (1e-6 if growth == "bounded" else 1e-2)


def test_the_certified_round_is_never_violated_and_nearly_reached(tmp_path):
    # Random common penalties: (1 + δ)|Z⁺|² <= |Z|² for curvatures in [m, M], from random and from
    # the worst starts; the attained value is reached.
    rng = np.random.default_rng(5)
    closeness = []
    for k in range(60):
        nodes = int(rng.integers(2, 6))
        adjacency = random_network(rng, nodes)
        laplacian, _, signless = roots(adjacency)
        eta = 10 ** rng.uniform(-1, 1)
        theta = eta * rng.uniform(0.1, 1)
        low = 10 ** rng.uniform(-2, 0.5, nodes)
        high = low * (1 + rng.exponential(size=nodes))
        result = MADMMRate(
            graph=edge_file(tmp_path / f"e{k}", adjacency),
            penalty=eta,
            dual_step=theta,
            strong_convexity=low.tolist(),
            smoothness=high.tolist(),
        )
        certified = result.certified()
        delta = certified.numbers["delta"]
        assert delta >= certified.numbers["delta_printed_conditions"] * (1 - 1e-6)
        norm = np.block(
            [
                [np.eye(nodes) / theta, np.zeros((nodes, nodes))],
                [np.zeros((nodes, nodes)), eta * signless],
            ]
        )
        inside = np.eye(nodes) - 1 / nodes
        project = np.block(
            [[inside, np.zeros((nodes, nodes))], [np.zeros((nodes, nodes)), np.eye(nodes)]]
        )
        for h in (low, high, low + (high - low) * rng.random(nodes)):
            matrix = one_round_matrix(adjacency, np.full(nodes, eta), theta, h)
            slack = project @ (norm - (1 + delta) * matrix.T @ norm @ matrix) @ project
            assert np.linalg.eigvalsh((slack + slack.T) / 2)[0] >= -1e-9 * np.abs(norm).max()
        attained = result.attained()
        assert attained.value <= certified.value
        closeness.append(delta / attained.numbers["delta"])
        assert laplacian.shape == signless.shape
    assert max(closeness) > 0.5


def test_the_printed_lower_bound_is_violated_on_the_triangle():
    result = MADMMRate(
        graph="complete:3", penalty=1, dual_step=0.5, strong_convexity=0.01, smoothness=0.01
    )
    adjacency = np.ones((3, 3)) - np.eye(3)
    matrix = one_round_matrix(adjacency, np.ones(3), 0.5, np.full(3, 0.01))
    _, _, signless = roots(adjacency)
    state = np.array([0, 0, 0, 1.0, 1.0, 1.0])
    norm = np.block([[np.eye(3) / 0.5, np.zeros((3, 3))], [np.zeros((3, 3)), signless]])
    after = matrix @ state
    ratio = (after @ norm @ after) / (state @ norm @ state)
    assert ratio > result.claimed().value
    assert ratio <= result.certified().value


def test_the_contraction_fails_for_own_penalties_even_with_symmetrised_conditions():
    # Statistical: in a good share of random instances; never for common penalties.
    rng = np.random.default_rng(6)
    failures = {True: 0, False: 0}
    tried = 0
    for _ in range(600):
        nodes = int(rng.integers(2, 6))
        adjacency = random_network(rng, nodes)
        laplacian, _, signless = roots(adjacency)
        for own in (True, False):
            eta = (
                10 ** rng.uniform(-1, 1, nodes) if own else np.full(nodes, 10 ** rng.uniform(-1, 1))
            )
            theta = eta.min() * rng.uniform(0.1, 1)
            h = 10 ** rng.uniform(-1, 1, nodes)
            delta = _largest_symmetrised(laplacian, signless, eta, theta, h)
            if delta <= 1e-6:
                continue
            tried += own
            pull = np.diag(eta) @ signless
            norm = np.block(
                [
                    [np.eye(nodes) / theta, np.zeros((nodes, nodes))],
                    [np.zeros((nodes, nodes)), (pull + pull.T) / 2],
                ]
            )
            matrix = one_round_matrix(adjacency, eta, theta, h)
            slack = norm - (1 + delta) * matrix.T @ norm @ matrix
            inside = np.eye(2 * nodes)
            inside[:nodes, :nodes] -= 1 / nodes
            slack = inside @ slack @ inside
            failures[own] += (
                np.linalg.eigvalsh((slack + slack.T) / 2)[0] < -1e-9 * np.abs(norm).max()
            )
    assert failures[False] == 0
    assert failures[True] > tried / 4 > 10


def _largest_symmetrised(laplacian, signless, eta, theta, h):
    """The largest δ of (21)-(22) with symmetrised matrices, over a grid of μ."""
    nodes = len(eta)
    pull, spread = np.diag(eta) @ signless, np.diag(eta - theta) @ laplacian
    sigma = np.sort(np.linalg.eigvalsh(laplacian))[1]
    tilde = np.linalg.norm(pull, 2)
    bar = np.linalg.norm(spread, 2)
    right = spread + spread.T + 2 * np.diag(h)
    if np.linalg.eigvalsh(right)[0] <= 0:
        return 0.0
    half = np.linalg.inv(np.linalg.cholesky(right))
    best = 0.0
    for mu in 1 + np.geomspace(0.05, 50, 25):
        weight = theta * sigma * (mu - 1)
        left = (mu * bar**2 * np.eye(nodes) + mu**2 * np.diag(h**2)) / weight + (pull + pull.T) / 2
        top = np.linalg.eigvalsh(half @ left @ half.T)[-1]
        if top > 0:
            best = max(best, min(theta * sigma / (mu**2 * tilde), 1 / top))
    return best
