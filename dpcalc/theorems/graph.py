"""Communication graphs as parameters, and their Laplacians."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.numerics.certified_eigenvalues import (
    Array,
    smallest_eigenvalue,
)
from dpcalc.theorems.edges import read_edges

_MOST_NODES = 2000
_SHAPES = ("ring", "complete", "star", "path", "edges")


@dataclass(frozen=True, slots=True)
class Graph:
    """A connected undirected graph without loops.

    Attributes:
        text: how it was given.
        nodes: how many, at least two.
        edges: every edge once, as (smaller, larger) node, sorted.
    """

    text: str
    nodes: int
    edges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, name: str, value: Any) -> Graph:
        """A graph from "ring:5", "complete:3", "star:6", "path:4", "@file" (edges:@file) or a graph."""
        if isinstance(value, Graph):
            return value
        text = str(value).strip()
        if text.startswith("@"):
            return cls._made(name, text, _read_edges(name, text))
        shape, _, tail = text.partition(":")
        shape = shape.lower()
        if shape not in _SHAPES:
            raise unknown_name(f"{name} (SHAPE:NODES or @FILE)", shape, _SHAPES)
        if shape == "edges":
            return cls._made(name, str(value), _read_edges(name, tail))
        nodes = _node_count(name, str(value), tail)
        ends = {
            "ring": [(i, (i + 1) % nodes) for i in range(nodes)],
            "complete": [(i, j) for i in range(nodes) for j in range(i)],
            "star": [(0, i) for i in range(1, nodes)],
            "path": [(i, i + 1) for i in range(nodes - 1)],
        }
        return cls._made(name, str(value), ends[shape])

    @classmethod
    def _made(cls, name: str, text: str, pairs: list[tuple[int, int]]) -> Graph:
        edges = tuple(sorted({(min(pair), max(pair)) for pair in pairs}))
        nodes = 1 + max(j for _, j in edges)
        if any(i == j for i, j in edges):
            raise InvalidInput(f"{name} needs edges between different nodes; got a loop in {text}")
        made = cls(text, nodes, edges)
        if not made._connected():
            raise InvalidInput(
                f"{name} needs a connected graph; {text} has unreachable nodes; add edges"
            )
        return made

    def _connected(self) -> bool:
        reached, fresh = {0}, [0]
        neighbours: list[list[int]] = [[] for _ in range(self.nodes)]
        for i, j in self.edges:
            neighbours[i].append(j)
            neighbours[j].append(i)
        while fresh:
            new = [j for j in neighbours[fresh.pop()] if j not in reached]
            reached.update(new)
            fresh.extend(new)
        return len(reached) == self.nodes

    @property
    def adjacency(self) -> Array:
        """The 0-1 matrix of neighbours."""
        matrix = np.zeros((self.nodes, self.nodes))
        for i, j in self.edges:
            matrix[i, j] = matrix[j, i] = 1.0
        return matrix

    @property
    def degrees(self) -> Array:
        """Neighbours per node."""
        return self.adjacency.sum(axis=1)

    @property
    def laplacian(self) -> Array:
        """Degrees minus adjacency; its entries are whole numbers."""
        return np.diag(self.degrees) - self.adjacency

    @property
    def signless_laplacian(self) -> Array:
        """Degrees plus adjacency."""
        return np.diag(self.degrees) + self.adjacency

    @property
    def regular(self) -> bool:
        """Whether all nodes have the same number of neighbours."""
        return len(set(self.degrees.tolist())) == 1

    @property
    def bipartite(self) -> bool:
        """Whether the nodes fall into two groups without inner edges."""
        side = [0] * self.nodes
        side[0] = 1
        fresh = [0]
        adjacency = self.adjacency
        while fresh:
            i = fresh.pop()
            for j in np.flatnonzero(adjacency[i]).tolist():
                if side[j] == side[i]:
                    return False
                if side[j] == 0:
                    side[j] = -side[i]
                    fresh.append(j)
        return True

    def connectivity(self) -> float:
        """A lower bound of the smallest nonzero eigenvalue of the Laplacian."""
        # Adding 2·max degree to every entry moves the zero eigenvalue of the vector 1 to the top.
        lifted = self.laplacian + 2 * self.degrees.max()
        return smallest_eigenvalue(lifted)

    def __str__(self) -> str:
        return self.text


def _node_count(name: str, text: str, tail: str) -> int:
    if not (tail.isascii() and tail.isdigit() and 2 <= int(tail) <= _MOST_NODES):
        raise InvalidInput(
            f"{name} needs 2 to {_MOST_NODES} nodes; got {text!r}; try ring:5 or complete:3"
        )
    return int(tail)


def _read_edges(name: str, tail: str) -> list[tuple[int, int]]:
    found = read_edges(name, Path(tail.removeprefix("@")))
    nodes = 1 + max(map(max, found))
    if nodes > _MOST_NODES:
        raise InvalidInput(f"{name} needs 2 to {_MOST_NODES} nodes; got {nodes} in {tail!r}")
    return found
