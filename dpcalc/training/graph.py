"""Communication graphs by description, in the grammar that all verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpcalc import checks
from dpcalc.errors import InvalidInput, shortened, unknown_name
from dpcalc.numerals import number, whole
from dpcalc.theorems.edges import read_edges

__all__ = [
    "network",
]

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.networks import Network

_NODES = 5
"""Of a graph that does not say how many it has."""

_MOST_NODES = 100_000
_MOST_JOINED = 2000
"""Of a graph in which every two nodes may be joined."""


def network(description: str, nodes: int | None = None, seed: int = 0) -> Network:
    """A network by description.

    Args:
        description: ring:5, complete:5, star:5, path:5, erdos-renyi:5:0.5 (nodes, then the
            probability of an edge), or @file (edges:@file) with one edge ``i j`` a line, nodes
            counted from 0 or from 1, or named. The number of nodes may be left out and given as
            ``nodes``.
        nodes: how many; what the description or the file says, else 5, if left out.
        seed: of a random graph; not secret.

    Raises:
        InvalidInput: for an unknown graph, or two numbers of nodes.
    """
    from dpcalc.algorithms.problems import networks

    text = description.strip()
    if text.removeprefix("edges:").startswith("@"):
        edges = read_edges("graph", Path(text.removeprefix("edges:")[1:]))
        _bounded(max(nodes or 0, 1 + max(map(max, edges))), _MOST_NODES)
        return networks.from_edges(edges, nodes)
    shape, *rest = text.lower().split(":")
    if shape == "erdos-renyi" and rest:
        count = _agreed(description, nodes, rest[:-1])
        return networks.erdos_renyi(
            _bounded(count, _MOST_JOINED), _probability(description, rest[-1]), seed
        )
    known = {
        "ring": networks.ring,
        "complete": networks.complete,
        "star": networks.star,
        "path": _path,
    }
    if shape not in known:
        raise unknown_name("graph", description, [*known, "erdos-renyi:P", "@file"])
    count = checks.count("nodes", _agreed(description, nodes, rest), minimum=2)
    return known[shape](_bounded(count, _MOST_JOINED if shape == "complete" else _MOST_NODES))


def _bounded(nodes: int, most: int) -> int:
    if nodes > most:
        raise InvalidInput(f"expected a graph of at most {most:,} nodes; got nodes={nodes}")
    return nodes


def _path(nodes: int) -> Network:
    from dpcalc.algorithms.problems import networks

    return networks.from_edges([(i, i + 1) for i in range(nodes - 1)], nodes)


def _agreed(description: str, nodes: int | None, said: list[str]) -> int:
    """The number of nodes that the description and the option state."""
    if len(said) > 1:
        raise InvalidInput(f"expected a graph such as ring:5; got {shortened(description)!r}")
    if not said:
        return _NODES if nodes is None else nodes
    count = whole(f"graph {shortened(description)}", said[0])
    if nodes not in (None, count):
        raise InvalidInput(
            f"expected one number of nodes; got graph={description!r} and nodes={nodes}; leave "
            "one out"
        )
    return count


def _probability(description: str, text: str) -> float:
    try:
        return float(checks.probability("probability", number(text)))
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(
            f"graph erdos-renyi needs a probability; got graph={shortened(description)!r}; "
            "try erdos-renyi:0.5, or erdos-renyi:5:0.5 with the number of nodes"
        ) from None
