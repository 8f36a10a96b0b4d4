"""Communication networks and mixing matrices.

Graphs come from networkx or from an edge list and are kept as one array of edges, so that summing
over neighbours costs one operation per edge, run and coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.errors import InvalidInput, NumericalFailure, unknown_name
from dpcalc.extras import need

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

Array = NDArray[np.float64]

_DENSE = 1500  # nodes up to which all singular values are computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A connected undirected graph without loops.

    Attributes:
        nodes: how many, numbered from 0.
        edges: every edge once, as (smaller, larger) node, sorted.
    """

    nodes: int
    edges: tuple[tuple[int, int], ...]
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checks.count("nodes", self.nodes)
        edges = sorted({(min(i, j), max(i, j)) for i, j in self.edges})
        for i, j in edges:
            if not (0 <= i < j < self.nodes):
                raise InvalidInput(
                    f"expected edges between two different nodes 0..{self.nodes - 1}; got "
                    f"edge=({i}, {j})"
                )
        object.__setattr__(self, "edges", tuple(edges))
        if not self.connected:
            raise InvalidInput(
                f"expected a connected network; got {len(edges)} edges that leave some of the "
                f"nodes={self.nodes} unreachable; add edges"
            )

    @property
    def degrees(self) -> NDArray[np.int64]:
        """V_i, the number of neighbours of every node."""
        return np.bincount(np.array(self.edges, dtype=np.int64).ravel(), minlength=self.nodes)

    @property
    def adjacency(self) -> Any:
        """The sparse 0-1 matrix of neighbours; built once."""
        if "adjacency" not in self._cache:
            from scipy.sparse import csr_array

            # Indices of 32 bits: some graph routines of scipy know no others.
            ends = np.array(self.edges, dtype=np.int32).reshape(-1, 2)
            rows = np.concatenate([ends[:, 0], ends[:, 1]])
            columns = np.concatenate([ends[:, 1], ends[:, 0]])
            shape = (self.nodes, self.nodes)
            self._cache["adjacency"] = csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        return self._cache["adjacency"]

    @property
    def connected(self) -> bool:
        """Whether every node is reachable from every other."""
        from scipy.sparse.csgraph import connected_components

        return int(connected_components(self.adjacency, directed=False)[0]) == 1

    @property
    def bipartite(self) -> bool:
        """Whether the nodes fall into two groups without inner edges."""
        nx = _networkx()

        return bool(nx.is_bipartite(self.graph()))

    def neighbour_sum(self, values: Array) -> Array:
        """Σ over neighbours j of values_j; shapes (runs, nodes, d)."""
        return apply_matrix(self.adjacency, values)

    def graph(self) -> Any:
        """The same graph for networkx."""
        nx = _networkx()

        graph = nx.empty_graph(self.nodes)
        graph.add_edges_from(self.edges)
        return graph


def _networkx() -> Any:
    need("networkx", purpose="a network of nodes")
    import networkx as nx

    return nx


def apply_matrix(matrix: Any, values: Array) -> Array:
    """Σ_j matrix_ij·values_j for every run, for a dense or a sparse matrix.

    Args:
        matrix: shape (nodes, nodes).
        values: shape (runs, nodes, d).
    """
    runs, nodes, d = values.shape
    if isinstance(matrix, np.ndarray):
        return np.asarray(matrix @ values)
    columns = np.ascontiguousarray(values.transpose(1, 0, 2)).reshape(nodes, runs * d)
    mixed = np.asarray(matrix @ columns).reshape(nodes, runs, d)
    return np.ascontiguousarray(mixed.transpose(1, 0, 2))


def from_graph(graph: Any) -> Network:
    """The network of a networkx graph; its nodes are numbered in the graph's order."""
    number = {node: i for i, node in enumerate(graph)}
    edges = tuple((number[i], number[j]) for i, j in graph.edges if i != j)
    return Network(nodes=len(number), edges=edges)


def from_edges(edges: Iterable[tuple[int, int]], nodes: int | None = None) -> Network:
    """The network with these edges; ``nodes`` is one more than the largest number if left out."""
    pairs = tuple((int(i), int(j)) for i, j in edges)
    largest = max((max(pair) for pair in pairs), default=0)
    return Network(nodes=largest + 1 if nodes is None else nodes, edges=pairs)


def ring(nodes: int) -> Network:
    """A cycle; two nodes are joined by one edge."""
    nx = _networkx()

    checks.count("nodes", nodes, minimum=2)
    return from_graph(nx.cycle_graph(nodes))


def complete(nodes: int) -> Network:
    """Every two nodes joined."""
    nx = _networkx()

    return from_graph(nx.complete_graph(checks.count("nodes", nodes, minimum=2)))


def star(nodes: int) -> Network:
    """Node 0 joined to all others."""
    nx = _networkx()

    return from_graph(nx.star_graph(checks.count("nodes", nodes, minimum=2) - 1))


def erdos_renyi(nodes: int, probability: float, seed: int) -> Network:
    """A random graph, each edge present independently, conditioned on being connected.

    Raises:
        InvalidInput: if none of 1,000 graphs was connected; above ln(nodes)/nodes most are.
    """
    nx = _networkx()

    checks.count("nodes", nodes, minimum=2)
    checks.probability("probability", probability)
    rng = np.random.default_rng(seed)
    for _ in range(1000):
        graph = nx.gnp_random_graph(nodes, probability, seed=int(rng.integers(2**31)))
        if nx.is_connected(graph):
            return from_graph(graph)
    raise InvalidInput(
        f"expected a connected random graph; got none of 1000 with probability={probability!r} "
        f"on nodes={nodes}; try above {np.log(nodes) / nodes:.3g}"
    )


def metropolis(network: Network) -> Any:
    """w_ij = 1/(1 + max(V_i, V_j)) for neighbours, the rest on the diagonal; sparse."""
    degrees = network.degrees
    return _mixing(network, lambda i, j: 1 / (1 + np.maximum(degrees[i], degrees[j])))


def uniform(network: Network) -> Any:
    """w_ij = 1/(1 + max V) for neighbours, the rest on the diagonal; sparse.

    On a ring every weight is 1/3: the uniform weights of liu2022.
    """
    weight = 1 / (1 + int(network.degrees.max(initial=0)))
    return _mixing(network, lambda i, _: np.full(len(i), weight))


def mixing_matrix(name: str, network: Network) -> Any:
    """The mixing matrix of that name: "metropolis" or "uniform"."""
    known = {"metropolis": metropolis, "uniform": uniform}
    if name not in known:
        raise unknown_name("mixing matrix", name, known)
    return known[name](network)


def second_singular_value(mixing: Any) -> float:
    """σ₂(W), the β of liu2022; the spectral gap is 1 - σ₂.

    Raises:
        NumericalFailure: if the iterative solver for large networks did not converge.
    """
    if mixing.shape[0] <= _DENSE:
        dense = mixing.toarray() if hasattr(mixing, "toarray") else np.asarray(mixing)
        values = np.linalg.svd(dense, compute_uv=False)
        return float(values[1]) if len(values) > 1 else 0.0
    from scipy.sparse.linalg import ArpackError, eigsh

    start = np.random.default_rng(0).standard_normal(mixing.shape[0])
    try:  # the matrix is symmetric: singular values are eigenvalues without their sign
        values = eigsh(mixing, k=2, which="LM", v0=start, return_eigenvectors=False)
    except ArpackError as error:
        raise NumericalFailure(f"σ₂ of the mixing matrix did not converge: {error}") from error
    return float(np.abs(values).min())


def _mixing(network: Network, weight: Any) -> Any:
    """The symmetric, doubly stochastic matrix with these weights on the edges."""
    from scipy.sparse import csr_array, diags_array

    ends = network.adjacency.tocoo()
    rows, columns = ends.row, ends.col
    w = csr_array((weight(rows, columns), (rows, columns)), shape=network.adjacency.shape)
    return csr_array(w + diags_array(1 - np.asarray(w.sum(axis=1)).ravel()))
