"""Networks and mixing matrices."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from dpcalc.algorithms.problems.networks import (
    Network,
    complete,
    erdos_renyi,
    from_edges,
    from_graph,
    metropolis,
    mixing_matrix,
    ring,
    second_singular_value,
    star,
    uniform,
)
from dpcalc.errors import InvalidInput

NETWORKS = [ring(6), complete(5), star(5), erdos_renyi(12, 0.4, 3), ring(2), from_edges([(0, 1)])]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: f"{n.nodes}-{len(n.edges)}")
def test_neighbour_sums_and_degrees(network):
    values = np.random.default_rng(0).standard_normal((3, network.nodes, 2))
    summed = network.neighbour_sum(values)
    for i in range(network.nodes):
        near = [b if a == i else a for a, b in network.edges if i in (a, b)]
        assert network.degrees[i] == len(near)
        expected = sum((values[:, j] for j in near), np.zeros((3, 2)))
        np.testing.assert_allclose(summed[:, i], expected, atol=1e-14)


@pytest.mark.parametrize("make", [metropolis, uniform])
@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: f"{n.nodes}-{len(n.edges)}")
def test_mixing_matrices_are_symmetric_doubly_stochastic_and_contract(network, make):
    W = make(network).toarray()
    np.testing.assert_allclose(W, W.T, atol=1e-15)
    np.testing.assert_allclose(W.sum(axis=0), 1)
    assert (W >= -1e-15).all()
    off = ~np.eye(network.nodes, dtype=bool)
    assert ((W > 0) & off == (network.adjacency.toarray() > 0)).all()
    assert second_singular_value(make(network)) < 1


def test_known_weights_and_singular_values():
    np.testing.assert_allclose(metropolis(ring(5)).toarray()[0], [1 / 3, 1 / 3, 0, 0, 1 / 3])
    np.testing.assert_allclose(metropolis(star(4)).toarray()[1], [1 / 4, 3 / 4, 0, 0])
    beta = (1 + 2 * np.cos(2 * np.pi / 20)) / 3
    assert second_singular_value(uniform(ring(20))) == pytest.approx(beta, abs=1e-12)
    assert second_singular_value(metropolis(complete(9))) == pytest.approx(0, abs=1e-12)


def test_the_iterative_singular_value_agrees_with_the_dense_one(monkeypatch):
    from dpcalc.algorithms.problems import networks

    W = metropolis(erdos_renyi(60, 0.1, 1))
    dense = second_singular_value(W)
    monkeypatch.setattr(networks, "_DENSE", 10)
    assert second_singular_value(W) == pytest.approx(dense, abs=1e-9)


def test_bipartite_graphs_are_recognised():
    assert ring(6).bipartite
    assert star(4).bipartite
    assert not ring(5).bipartite
    assert not complete(3).bipartite


def test_networkx_graphs_come_and_go():
    graph = nx.petersen_graph()
    network = from_graph(nx.relabel_nodes(graph, str))
    assert nx.is_isomorphic(network.graph(), graph)


def test_random_graphs_repeat_and_are_connected():
    assert erdos_renyi(20, 0.2, 5) == erdos_renyi(20, 0.2, 5)
    assert erdos_renyi(20, 0.2, 5) != erdos_renyi(20, 0.2, 6)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: from_edges([(0, 1), (2, 3)]), "unreachable"),
        (lambda: from_edges([(0, 0)]), "two different nodes"),
        (lambda: Network(nodes=2, edges=((0, 2),)), "two different nodes"),
        (lambda: Network(nodes=3, edges=((0, 1),)), "unreachable"),
        (lambda: ring(1), "nodes"),
        (lambda: erdos_renyi(30, 0.001, 0), "connected random graph"),
        (lambda: erdos_renyi(5, 1.5, 0), "probability"),
        (lambda: mixing_matrix("uniforme", ring(3)), "did you mean 'uniform'"),
    ],
)
def test_what_is_no_network_is_refused(make, word):
    with pytest.raises(InvalidInput, match=word):
        make()


def test_edges_are_kept_once():
    assert from_edges([(1, 0), (0, 1), (1, 2)]).edges == ((0, 1), (1, 2))
