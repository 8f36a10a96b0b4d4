"""The command line as a user meets it: answers, exit statuses, one-line errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpcalc.theorems.catalogue import keys, privacy_result
from dpcalc.theorems.parameters import parameters

RECYCLED = (
    "--n-records 8000 --n-nodes 5 --degree 3 --loss-weight 1750 --regularization 0.22 "
    "--penalty 1 --noise-rate 1 --rounds 25"
).split()
DP_ADMM = "--n-records 32561 --rounds 100 --gradient-bound 1 --dual-start zero".split()


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
    assert "false for some settings" in " ".join(out.split())


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


COMPOSITION = """
delta = 1e-6
epsilon = {budget}
rounds = "rounds.csv"
[[release]]
name = "training"
mechanism = "poisson-subsampled-gaussian"
noise_multiplier = 1
rate = "1/100"
count = 1000
[[release]]
pure = 0.1
count = 10
[[release]]
theorem = "dp-admm"
[release.parameters]
n_records = 32561
rounds = 100
gradient_bound = 1
sigma = 0.01
adjacency = "add-remove"
dual_start = "zero"
"""


@pytest.mark.parametrize(("budget", "status"), [(8, 0), (1, 1)])
def test_compose_answers_and_keeps_the_budget(
    run: Any, tmp_path: Path, budget: int, status: int
) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(COMPOSITION.format(budget=budget))
    (tmp_path / "rounds.csv").write_text("mechanism,noise_multiplier,scale_multiplier,count\n"
                                         "gaussian,20,,3\nlaplace,,10,2\n")  # fmt: skip
    found, out, _ = run("compose", str(file), "--json")
    assert found == status
    answer = json.loads(out)
    spent = answer["certified"]
    assert spent["delta"] == 1e-6
    assert spent["epsilon_lower"] <= spent["epsilon"] <= spent["epsilon_lower"] * (1 + 1e-5)
    assert answer["budget"] == {"epsilon": budget, "delta": 1e-6}
    assert answer["within_budget"] == (status == 0)
    assert answer["releases"] == 1016
    assert run("compose", str(file))[0] == status


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("delta = 2\n[[release]]\npure = 1", "delta"),
        ("delta = 1e-6", "release"),
        ("[[release]]\npuer = 1", "needs exactly one of"),
        ("[[release]]\npure = 1\ncuont = 2", "did you mean 'count'"),
        ("[[release]]\nmechanism = 'gausian'\nnoise_multiplier = 1", "did you mean 'gaussian'"),
        ("[[release]]\nmechanism = 'gaussian'\nsigma = 1", "unknown field"),
        ("[[release]]\nmechanism = 'gaussian'", "noise_multiplier"),
        ("[[release]]\npure = -1", "release 1"),
        ("[[release]]\npure = 'x'", "needs a number"),
        ("rounds = 'missing.csv'", "missing.csv"),
        ("[[release]\n", "not valid TOML"),
        (
            "delta = 1e-5\n[[release]]\nmechanism = 'poisson-subsampled-gaussian'\nnoise_multiplier = 1"
            "\nrate = 0.1\n[[release]]\nmechanism = 'gaussian-without-replacement'\n"
            "noise_multiplier = 1\nsample = 1\npopulation = 10",
            "one neighbouring relation",
        ),
    ],
)
def test_bad_composition_files_are_one_line(
    run: Any, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(text)
    status, out, err = run("compose", str(file))
    assert status == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("epsilon dp-adm", "did you mean 'dp-admm'"),
        ("epsilon dp-admm --n-record 5", "did you mean '--n-records'"),
        ("epsilon dp-admm --n-records 5", "also needs --rounds"),
        ("verfy", "did you mean 'verify'"),
        ("theorems dp-adm", "did you mean 'dp-admm'"),
        ("convert --gdp 1 --to aprox", "did you mean 'approx'"),
        ("convert --gdp 1 --pure 1 --to approx", "exactly one of"),
        ("convert --gdp 1 --to approx", "--delta is needed"),
        ("convert --gdp 1 --to pure", "does not follow"),
        ("convert --gdp x --to approx", "needs a number"),
        ("convert --gdp nan --to approx --delta 1e-5", "gdp"),
        ("convert --gdp -1 --to approx --delta 1e-5", "got gdp=-1.0"),
        ("convert --gdp 1 --to approx --delta 1", "delta"),
        ("convert --rdp 2 --to approx --delta 1e-5", "joined by a colon"),
        ("convert --pure 1 --rounds 1.5 --to approx", "rounds"),
        ("verify no-such-file.toml", "no-such-file.toml"),
        ("compose no-such-file.toml", "no-such-file.toml"),
        ("epsilon admm-iteration --step-size 3 --smoothness 1 --sensitivity 1 --penalty 1 --sigma 1 "
         "--operator-norm 1 --min-singular-value 1 --iterations 5", "2/smoothness"),
        ("epsilon recycled-admm " + " ".join(RECYCLED).replace("--penalty 1", "--penalty @none.csv"), "none.csv"),
    ],
)  # fmt: skip
def test_bad_use_is_one_line_and_status_two(run: Any, arguments: str, message: str) -> None:
    status, out, err = run(*arguments.split())
    assert status == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_decreasing_penalties_are_no_claim_but_still_certified(run: Any) -> None:
    arguments = " ".join(RECYCLED).replace("--penalty 1", "--penalty 1:0.9").split()
    answer = json.loads(run("epsilon", "recycled-admm", *arguments, "--json")[1])
    assert answer["claimed"]["epsilon"] is None
    assert "must not decrease" in answer["claimed"]["reason"]
    assert answer["certified"]["epsilon"] > 0


def test_runs_as_a_module_and_reports_its_version() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "dpcalc", "--version"], capture_output=True, text=True, check=True
    )
    assert "dpcalc" in found.stdout


def test_starts_without_the_heavy_libraries() -> None:
    """An answer from a closed form loads neither sympy nor pandas nor scipy."""
    script = (
        "import sys\n"
        "from dpcalc.cli.main import main\n"
        f"arguments = ['epsilon', 'dp-admm', *{DP_ADMM!r}, '--sigma', '1', '--delta', '1e-5', '--json']\n"
        "try:\n    main(arguments)\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "heavy = {'sympy', 'pandas', 'scipy', 'matplotlib', 'networkx', 'sklearn', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stderr.strip() == "[]"
