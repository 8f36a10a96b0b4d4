"""The command line as a user meets it: answers, exit statuses, one-line errors."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dpcalc.theorems.base import Theorem
from dpcalc.theorems.catalogue import keys, privacy_result, results
from dpcalc.theorems.parameters import parameters
from tests.unit.verb_options import DP_ADMM, RECYCLED


def test_help_teaches(run: Any) -> None:
    status, out, _ = run("--help")
    assert status == 0
    for verb in ("compose", "convert", "epsilon", "noise", "theorems", "verify"):
        assert verb in out
    assert "dpcalc verify" in out
    status, out, _ = run("epsilon", "--help")
    assert status == 0
    for key in keys(privacy=True):
        assert key in out
    _, out, _ = run("epsilon", "dp-admm", "--help")
    assert "--gradient-bound" in out
    assert "[required]" in out
    assert "--dual-start data|zero|noised" in out


def test_no_arguments_show_the_help(run: Any) -> None:
    status, out, _ = run()
    assert status == 0
    assert "Start here" in out


def test_ledger_lists_every_result(run: Any) -> None:
    status, out, _ = run("theorems")
    assert status == 0
    record = json.loads(run("theorems", "--json")[1])
    assert [r["key"] for r in record["theorems"]] == keys()
    headings = set()
    for result in results():
        paper, place = re.split(r"(?<=\d{4}), ", result.reference, maxsplit=1)
        headings.add((issubclass(result, Theorem), paper))
        assert re.search(rf"^  {result.key} +\S", out, re.MULTILINE)
        assert place in " ".join(out.split())
    papers = Counter(paper for _, paper in headings)
    assert {paper: len(re.findall(f"^{paper}$", out, re.MULTILINE)) for paper in papers} == papers
    assert re.search(r"^  dp-admm +false for some settings$", out, re.MULTILINE)
    assert "every iterate, last iterate or average of iterates" in " ".join(out.split())


def test_a_paper_has_a_ledger_of_its_own(run: Any) -> None:
    status, out, _ = run("theorems", "zhang2018")
    assert status == 0
    listed = ["penalty-perturbation", "m-admm-convergence", "m-admm-rate"]
    assert re.findall(r"^  ([a-z0-9-]+-[a-z0-9-]+) ", out, re.MULTILINE) == listed
    assert "One in full: dpcalc theorems penalty-perturbation" in out
    record = json.loads(run("theorems", "zhang2018", "--json")[1])
    assert [each["key"] for each in record["theorems"]] == listed
    assert "Statement" in run("theorems", "balle2019")[1]  # its only one
    status, _, err = run("theorems", "zhang2017")
    assert (status, "unknown theorem 'zhang2017'" in err) == (2, True)


@pytest.mark.parametrize("key", keys(privacy=True))
def test_one_result_in_full_with_an_example_that_runs(run: Any, key: str) -> None:
    status, out, _ = run("theorems", key)
    assert status == 0
    for heading in ("Statement", "Findings", "Assumptions", "Formulas", "Parameters", "Example"):
        assert heading in out
    (record,) = json.loads(run("theorems", key, "--json")[1])["theorems"]
    options = [p["option"] for p in record["parameters"]]
    kind = privacy_result(key)
    assert options == ["--" + n.replace("_", "-") for n in parameters(kind)]
    arguments = []
    for name, value in record["example"].items():
        arguments += ["--" + name.replace("_", "-")] + ([] if value is True else [str(value)])
    status, out, _ = run("epsilon", key, *arguments, "--delta", "1e-5")
    assert status == 0
    assert "certified" in out
    answer = json.loads(run("epsilon", key, *arguments, "--delta", "1e-5", "--json")[1])
    assert answer["theorem"] == key
    assert answer["certified"]["epsilon"] > 0


def test_epsilon_matches_the_library(run: Any) -> None:
    answer = json.loads(run("epsilon", "recycled-admm", *RECYCLED, "--json")[1])
    assert answer["claimed"]["beta"] == pytest.approx(11.570876075, abs=1e-9)
    assert answer["certified"]["beta"] == pytest.approx(10.9375, abs=1e-9)
    assert answer["certified"]["worst_node"] == 1
    assert answer["certified"]["delta"] == 0
    at_delta = json.loads(
        run("epsilon", "recycled-admm", *RECYCLED, "--delta", "1e-6", "--json")[1]
    )
    assert at_delta["certified"]["epsilon"] < answer["certified"]["epsilon"]


def test_infinite_values_are_the_word_inf(run: Any) -> None:
    arguments = [x for x in DP_ADMM if x not in ("--dual-start", "zero")]
    answer = json.loads(
        run("epsilon", "dp-admm", *arguments, "--sigma", "1", "--delta", "1e-5", "--json")[1]
    )
    assert answer["certified"]["epsilon"] == "inf"
    assert answer["verdict"] == "REFUTED"
    _, out, _ = run("epsilon", "dp-admm", *arguments, "--sigma", "1", "--delta", "1e-5")
    assert "∞" in out


def test_worst_node_of_a_network_with_uneven_nodes(run: Any, tmp_path: Path) -> None:
    table = tmp_path / "records.csv"
    table.write_text("8000,8000,500,8000,8000\n")
    arguments = ["--n-records", f"@{table}", *RECYCLED[2:]]
    answer = json.loads(run("epsilon", "recycled-admm", *arguments, "--json")[1])
    assert answer["claimed"]["worst_node"] == answer["certified"]["worst_node"] == 3
    answer = json.loads(run("epsilon", "recycled-admm", *arguments, "--delta", "1e-6", "--json")[1])
    assert answer["certified"]["worst_node"] == 3


def test_noise_stands_next_to_the_prescription(run: Any) -> None:
    arguments = ("noise", "dp-admm", *DP_ADMM, "--epsilon", "1", "--delta", "1e-3")
    answer = json.loads(run(*arguments, "--json")[1])
    assert answer["claimed"]["sigma"] == pytest.approx(0.0011821174, abs=1e-9)
    assert answer["certified"]["epsilon"] <= 1
    assert answer["certified"]["sigma"] == pytest.approx(0.0015814, rel=1e-4)
    status, out, _ = run(*arguments)
    assert status == 0
    assert "prescribed by the paper" in out


def test_infeasible_says_what_to_change(run: Any) -> None:
    status, out, err = run("noise", "dp-admm", *DP_ADMM[:-2], "--epsilon", "1", "--delta", "1e-3")
    assert status == 2
    assert out == ""
    assert "dual-start zero or noised" in err
    general = [*RECYCLED, "--loss", "general", "--curvature", "5"]
    _, _, err = run("noise", "recycled-admm", *general, "--epsilon", "0.2")
    assert "penalty" in err
    assert "rounds" in err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--gdp 1 --to approx --delta 1e-5", {"epsilon": 4.377178095681225, "delta": 1e-5}),
        (
            "--pure 0.1 --rounds 100 --to approx --delta 1e-6",
            {"epsilon": 4.774567588108, "delta": 1e-6},
        ),
        ("--pure 1/2 --to approx", {"epsilon": 0.5, "delta": 0}),
        ("--zcdp 0.5 --to approx --delta 1e-5", {"epsilon": 4.728386984943, "delta": 1e-5}),
        ("--gdp 2 --to zcdp", {"rho": 2}),
        ("--gdp 1 --rounds 4 --to gdp", {"mu": 2}),
        ("--zcdp 0.1 --to rdp --order 3", {"order": 3, "divergence": 0.3}),
        ("--approx 1:1e-6 --to approx", {"epsilon": 1, "delta": 1e-6}),
        ("--gdp 1 --to approx --epsilon 1", {"epsilon": 1, "delta": 0.12693673750664}),
        (
            "--gdp 1 --to tradeoff --fpr 0.05",
            {"false_positive_rate": 0.05, "false_negative_rate": 0.74048897},
        ),
    ],
)
def test_convert(run: Any, arguments: str, expected: dict[str, float]) -> None:
    status, out, _ = run("convert", *arguments.split(), "--json")
    assert status == 0
    answer = json.loads(out)
    assert answer["adjacency"] is None
    found = answer["certified"]
    assert found == {k: pytest.approx(v, rel=1e-8) for k, v in expected.items()}
    assert run("convert", *arguments.split())[0] == 0


def test_convert_risk(run: Any) -> None:
    answer = json.loads(run("convert", "--gdp", "1", "--to", "risk", "--json")[1])
    assert answer["certified"]["attack_accuracy"] == pytest.approx(0.69146246, abs=1e-8)
