"""Names are read in any case, graphs in one grammar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpcalc.claims.mechanisms import guarantee_from
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.theorems.graph import Graph
from dpcalc.training.graph import network


def test_names_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert privacy_result("DP-ADMM") is privacy_result("dp-admm")
    table = {"noise_multiplier": 2.0, "adjacency": "add-remove"}
    assert guarantee_from("a", {"mechanism": "Gaussian", **table}) == guarantee_from(
        "a", {"mechanism": "gaussian", **table}
    )
    words = "--n-records 9 --rounds 2 --gradient-bound 1 --sigma 1 --dual-start zero --delta 1e-5"
    answers = []
    for name in ("DP-ADMM", "dp-admm"):
        with pytest.raises(SystemExit) as stopped:
            main(["epsilon", name, *words.split(), "--adjacency", "add-remove", "--json"])
        assert not stopped.value.code
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]


def edges(made: Any) -> set[tuple[int, int]]:
    return {(min(pair), max(pair)) for pair in made.edges}


@pytest.mark.parametrize("text", ["ring:5", "complete:4", "star:6", "path:4", "Ring:3"])
def test_a_graph_is_the_same_in_both_verbs(text: str) -> None:
    pytest.importorskip("networkx")
    parameter, made = Graph.of("graph", text), network(text)
    assert made.nodes == parameter.nodes
    assert edges(made) == edges(parameter)


@pytest.mark.parametrize("prefix", ["@", "edges:@"])
@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2\n2 3\n0 2\n",
        "1 2\n2 3\n3 4\n1 3\n",
        "# four\n1,2\n\n 2, 3\n3,4\n3,1\n1 2\n",
        "a b\nb c\nc d\na c\n",
    ],
    ids=["from 0", "from 1", "commas", "names"],
)
def test_a_file_of_edges_is_the_same_in_both_verbs(prefix: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text(text)
    parameter, made = Graph.of("graph", f"{prefix}{path}"), network(f"{prefix}{path}")
    assert made.nodes == parameter.nodes == 4
    assert edges(made) == edges(parameter) == {(0, 1), (1, 2), (2, 3), (0, 2)}


def test_the_number_of_nodes_is_said_once() -> None:
    pytest.importorskip("networkx")
    assert network("ring").nodes == 5
    assert network("ring", 7).nodes == 7
    assert network("ring:7", 7).nodes == 7
    assert network("erdos-renyi:6:0.9").nodes == network("erdos-renyi:9/10", 6).nodes == 6
    with pytest.raises(InvalidInput, match="one number of nodes"):
        network("ring:7", 5)


@pytest.mark.parametrize(
    "text",
    ["wheel", "ring:x", "ring:1", "ring:2.5", "ring:5:5", "erdos-renyi", "erdos-renyi:5:2", "path:0",
     "erdos-renyi:0.5:5", "ring:", ""],
)  # fmt: skip
def test_other_graphs_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        network(text)


@pytest.mark.parametrize(
    "text",
    ["", "# none\n", "0 1\n1 ٣\n", "0 1_0\n1_0 1\n", "0 +1\n", "0 -1\n", "0 99999999999\n",
     "0 1 0.5\n", "a 1\n", f"0 {'9' * 5000}\n"],
)  # fmt: skip
def test_other_edges_are_refused(text: str, tmp_path: Path) -> None:
    """Numbers in other spellings are no other numbers, and no memory is asked for on trust."""
    path = tmp_path / "edges.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        network(f"@{path}")
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize("text", ["ring:99999999999", "complete:1e6", "erdos-renyi:1e6:0.5"])
def test_graphs_too_large_to_hold_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="at most"):
        network(text)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("1 2\n2 4\n", "node 3 "),
        ("0 1\n1 3\n", "node 2 "),
        ("2 3\n", "node 1 "),
        ("5 7\n", "node 1 "),
    ],
)
def test_a_number_without_an_edge_is_a_gap_in_both_verbs(
    text: str, missing: str, tmp_path: Path
) -> None:
    """It may be a node that is cut off, for which no network is connected, or a slip."""
    path = tmp_path / "edges.txt"
    path.write_text(text)
    for reader in (lambda t: Graph.of("graph", t), network):
        with pytest.raises(InvalidInput, match=missing):
            reader(f"@{path}")


def test_a_node_is_spelt_in_one_way(tmp_path: Path) -> None:
    """1 and 01 are one node to whoever counts, two to whoever compares texts."""
    path = tmp_path / "edges.txt"
    path.write_text("0 1\n01 2\n1 01\n")
    with pytest.raises(InvalidInput, match="one spelling"):
        Graph.of("graph", f"@{path}")
