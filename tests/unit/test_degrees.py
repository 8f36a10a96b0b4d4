"""Numbers of neighbours: what no network has is refused."""

from __future__ import annotations

import itertools

import pytest

from dpcalc.errors import InvalidInput
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.theorems.objective_perturbation._degrees import check_degrees


def _connected_sequences(nodes: int) -> set[tuple[int, ...]]:
    """Degree sequences of all connected graphs, by listing the graphs."""
    pairs = list(itertools.combinations(range(nodes), 2))
    found = set()
    for chosen in itertools.product((False, True), repeat=len(pairs)):
        edges = [pair for pair, taken in zip(pairs, chosen, strict=True) if taken]
        degrees = [sum(node in edge for edge in edges) for node in range(nodes)]
        reached, grown = {0}, True
        while grown:
            more = {b for e in edges for b in e if reached & set(e)} - reached
            reached, grown = reached | more, bool(more)
        if len(reached) == nodes:
            found.add(tuple(degrees))
    return found


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_exactly_the_networks_there_are_pass(nodes: int) -> None:
    networks = _connected_sequences(nodes)
    for degrees in itertools.product(range(1, nodes), repeat=nodes):
        try:
            check_degrees("degree", degrees)
            passed = True
        except InvalidInput:
            passed = False
        assert passed == (degrees in networks), degrees


@pytest.mark.parametrize(
    ("degrees", "words"),
    [
        ([[3, 3, 3, 3, 3]], "even sum"),
        ([[1, 1, 3, 3, 1]], "even sum"),
        ([[1, 1, 1, 1, 2]], "at least 8"),
        ([[4, 4, 4, 1, 1]], "more than the others have room for"),
    ],
)
def test_networks_that_cannot_be_are_refused_with_the_reason(degrees, words) -> None:
    for key in ("recycled-admm", "penalty-perturbation"):
        kind = privacy_result(key)
        with pytest.raises(InvalidInput, match=words):
            kind.from_parameters({**kind.example, "n_nodes": 5, "degree": degrees})


def test_one_number_is_the_fewest_neighbours_and_covers_every_node_with_more() -> None:
    for key in ("recycled-admm", "penalty-perturbation"):
        kind = privacy_result(key)
        given = {**kind.example, "n_nodes": 5}
        fewest = kind.from_parameters({**given, "degree": 3})
        listed = kind.from_parameters({**given, "degree": [[3, 3, 3, 3, 4]]})
        for bound in ("claimed", "certified"):
            one, every = (getattr(t, bound)().numbers["beta"] for t in (fewest, listed))
            assert one == every
        with pytest.raises(InvalidInput, match="below n_nodes"):
            kind.from_parameters({**given, "degree": 5})
