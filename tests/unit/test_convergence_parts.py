"""Graphs, matrices, definiteness and schedules behind the convergence results."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mpf

from dpcalc.errors import InvalidInput, NumericalFailure
from dpcalc.numerics.certified_eigenvalues import (
    contraction,
    largest_eigenvalue,
    positive_definite,
    singular_values,
    smallest_eigenvalue,
)
from dpcalc.theorems.convergence._base import Rate, by_node
from dpcalc.theorems.convergence._mixing import check_mixing, mixing_matrix, second_singular_value
from dpcalc.theorems.convergence._penalties import rows, tail
from dpcalc.theorems.convergence._quadratic import QuadraticProblem, hardest
from dpcalc.theorems.graph import Graph
from dpcalc.theorems.matrix import Matrix
from dpcalc.theorems.schedule import Schedule


@pytest.mark.parametrize(
    ("text", "nodes", "edges", "regular", "bipartite"),
    [
        ("ring:5", 5, 5, True, False),
        ("ring:4", 4, 4, True, True),
        ("ring:2", 2, 1, True, True),
        ("complete:3", 3, 3, True, False),
        ("complete:2", 2, 1, True, True),
        ("star:6", 6, 5, False, True),
        ("path:4", 4, 3, False, True),
    ],
)
def test_graph_shapes(text, nodes, edges, regular, bipartite):
    graph = Graph.of("graph", text)
    assert (graph.nodes, len(graph.edges)) == (nodes, edges)
    assert (graph.regular, graph.bipartite) == (regular, bipartite)
    assert str(graph) == text
    assert np.array_equal(graph.laplacian.sum(axis=1), np.zeros(nodes))
    truth = np.sort(np.linalg.eigvalsh(graph.laplacian))[1]
    assert truth * (1 - 1e-12) <= graph.connectivity() + 1e-15
    assert graph.connectivity() <= truth * (1 + 1e-14)


def test_graph_of_a_file(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("# a triangle with a tail\n1,2\n2 3\n3,1\n4,3\n2,1\n")
    graph = Graph.of("graph", f"edges:@{path}")
    assert graph.nodes == 4
    assert graph.edges == ((0, 1), (0, 2), (1, 2), (2, 3))
    assert not graph.bipartite
    assert graph.degrees.tolist() == [2, 2, 3, 1]
    assert Graph.of("graph", graph) is graph


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("ring", "2 to 2000 nodes"),
        ("ring:1", "2 to 2000 nodes"),
        ("ring:-3", "2 to 2000 nodes"),
        ("ring:2.5", "2 to 2000 nodes"),
        ("ring:99999", "2 to 2000 nodes"),
        ("wheel:5", "unknown graph"),
        ("compleet:5", "did you mean 'complete'"),
        ("edges:@/no/such/file", "readable edge list"),
        ("", "unknown graph"),
    ],
)
def test_graph_errors(text, match):
    with pytest.raises(InvalidInput, match=match):
        Graph.of("graph", text)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "two node names"),
        ("1,2,3\n", "two node names"),
        ("1\n2\n", "two node names"),
        ("1,1\n", "two different nodes"),
        ("1,2\n3,3\n", "different nodes|connected"),
        ("1,2\n3,4\n", "connected"),
    ],
)
def test_graph_file_errors(content, match, tmp_path):
    path = tmp_path / "edges"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=match):
        Graph.of("graph", f"edges:@{path}")


def test_second_singular_values():
    # A complete graph with uniform weights mixes at once; a ring of n has 1/3 + (2/3)cos(2π/n).
    complete = second_singular_value(mixing_matrix(Graph.of("graph", "complete:5"), "uniform"))
    assert 0 <= complete < 1e-12
    ring = second_singular_value(mixing_matrix(Graph.of("graph", "ring:20"), "uniform"))
    truth = 1 / 3 + 2 / 3 * math.cos(2 * math.pi / 20)
    assert truth <= ring <= truth * (1 + 1e-12)
    # Two nodes swapping: eigenvalue -1 counts.
    assert second_singular_value(np.array([[0.0, 1.0], [1.0, 0.0]])) >= 1
    star = mixing_matrix(Graph.of("graph", "star:5"), "metropolis")
    assert star.sum(axis=0) == pytest.approx(np.ones(5))
    assert star[0, 1] == pytest.approx(1 / 5)


@pytest.mark.parametrize(
    ("matrix", "match"),
    [
        ([[0.5, 0.5]], "square"),
        ([[0.5, 0.5], [0.4, 0.6]], "symmetric"),
        ([[0.5, 0.4], [0.4, 0.5]], "sum to 1"),
        ([[1.5, -0.5], [-0.5, 1.5]], "below 0"),
    ],
)
def test_bad_mixing_matrices(matrix, match):
    with pytest.raises(InvalidInput, match=match):
        check_mixing("mixing_matrix", np.array(matrix))


def test_definiteness_is_one_sided():
    # Never true for a matrix that is not positive definite, true for well-conditioned ones.
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 8))
        q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        values = 10 ** rng.uniform(-3, 3, n)
        assert positive_definite(q @ np.diag(values) @ q.T)
        values[0] = -(10 ** rng.uniform(-12, 3))
        assert not positive_definite(q @ np.diag(values) @ q.T)
    assert not positive_definite(np.zeros((2, 2)))
    assert not positive_definite(np.array([[np.nan]]))
    assert not positive_definite(np.eye(2), slack=1.0)


def test_eigenvalue_bounds_enclose():
    rng = np.random.default_rng(1)
    for _ in range(100):
        n = int(rng.integers(1, 9))
        q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        values = np.sort(rng.normal(size=n))
        matrix = q @ np.diag(values) @ q.T
        slack = 1e-14
        assert values[-1] <= largest_eigenvalue(matrix, slack) <= values[-1] + 1e-11
        assert values[0] - 1e-11 <= smallest_eigenvalue(matrix, slack) <= values[0]


def test_singular_values_enclose():
    low, high = singular_values(np.array([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]]))
    assert 3 * (1 - 1e-12) <= low <= 3
    assert 4 <= high <= 4 * (1 + 1e-12)
    low, _ = singular_values(np.array([[1.0, 2.0], [2.0, 4.0]]))
    assert 0 <= low < 1e-6


def test_contraction_encloses_the_spectral_radius():
    matrix = np.array([[0.9, 5.0], [0.0, 0.5]])
    assert 0.9 <= contraction(matrix, np.abs(matrix)) <= 0.9001
    assert contraction(np.array([[1.5]]), np.array([[1.5]])) >= 1.5
    jordan = np.array([[0.5, 1.0], [0.0, 0.5]])  # defective: the estimate alone would be too low
    assert 0.5 <= contraction(jordan, jordan) <= 0.51
    assert contraction(np.zeros((2, 2)), np.zeros((2, 2))) <= 1e-9


def test_matrices():
    plain = Matrix.of("matrix", [[3, 0, 0], [0, 4, 0]])
    assert plain.columns == 3
    assert plain.norm == pytest.approx(4)
    assert plain.row_rank_margin == pytest.approx(3)
    assert plain.column_margin == 0
    assert plain.squared_entries(3) == pytest.approx(25)
    assert sorted(x for x, _ in plain.gram_eigenvalues(3)) == pytest.approx([0, 9, 16], abs=1e-10)
    assert Matrix.of("matrix", 3).gram_eigenvalues(7) == [(pytest.approx(9), 7)]
    factor = Matrix.of("matrix", -2)
    assert (factor.norm, factor.row_rank_margin, factor.columns) == (2, 2, None)
    assert factor.squared_entries(3) == pytest.approx(12)
    assert Matrix.of("matrix", plain) is plain
    tall = Matrix.of("matrix", [[2.0], [1.0]])
    assert tall.row_rank_margin == 0
    assert tall.column_margin == pytest.approx(math.sqrt(5))


def test_matrix_of_a_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,0\n0,1/2\n")
    assert Matrix.of("matrix", f"@{path}").rows == ((1.0, 0.0), (0.0, 0.5))


@pytest.mark.parametrize("value", ["1:2", "abc", "@/no/such", "inf", [[1, 2], [3]], float("nan")])
def test_matrix_errors(value):
    with pytest.raises(InvalidInput):
        Matrix.of("matrix", value)


def test_penalty_rows_and_tails():
    assert rows(Schedule.of("penalty", 2), 3) == [(2.0, 2.0, 2.0)]
    assert rows(Schedule.of("penalty", "1:2"), 2, 3) == [(1, 1), (2, 2), (4, 4)]
    table = Schedule.of("penalty", [[1, 2], [3, 4]])
    assert tail(table, 2) == (3, 4)
    assert tail(Schedule.of("penalty", "1:1.1"), 2) is None


def test_quadratic_problems():
    problem = QuadraticProblem(curvature=(1.0, 1.0, 1.0), linear=(0.0, 0.0, 3.0))
    assert float(problem.minimiser((1.0, 0.5, 0.25))) == pytest.approx(3 / 7)
    assert float(problem.bias((1.0, 0.5, 0.25))) == pytest.approx(4 / 7)
    assert hardest(3, (1.0, 0.5, 0.25)).linear == (1.0, 0.0, 0.0)
    assert not QuadraticProblem(curvature=(0.0,), linear=(0.0,)).solvable


def test_per_node_values():
    assert by_node("h", Schedule.of("h", 2), 3) == (2, 2, 2)
    assert by_node("h", Schedule.of("h", [1, 2, 3]), 3) == (1, 2, 3)
    with pytest.raises(InvalidInput, match="does not change over rounds"):
        by_node("h", Schedule.of("h", "1:2"), 3)
    with pytest.raises(InvalidInput, match="one for each of the n_nodes=3"):
        by_node("h", Schedule.of("h", [[1, 2]]), 3)


def test_a_rate_is_never_nan():
    with pytest.raises(NumericalFailure):
        Rate(math.nan, {}, "")
    with pytest.raises(NumericalFailure):
        Rate(1.0, {"delta": math.nan}, "")


@pytest.mark.parametrize("shape", [1e5 + 1, 1e6, 1e9])
@pytest.mark.parametrize("chance", [0.1, 1e-6, 1e-30])
def test_large_gamma_variables_exceed_the_quantile_no_more_often_than_asked(
    shape: float, chance: float
) -> None:
    """Above the quantile that scipy finds, and above the mean by at most 1.5 normal deviations."""
    from scipy.special import gammainccinv
    from scipy.stats import norm

    from dpcalc.theorems.convergence.private_recycled_admm_sample_complexity import gamma_quantile

    found = float(gamma_quantile(mpf(shape), mpf(chance)))
    exact = float(gammainccinv(shape, chance))
    deviations = float(norm.isf(chance))
    assert exact <= found <= shape + 1.75 * deviations * math.sqrt(shape) + deviations**2
