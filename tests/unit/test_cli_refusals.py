"""The command line: budgets kept, bad use in one line, a fast start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.verb_options import DP_ADMM, RECYCLED

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
        ("delta = 0\ndelta = 1\n", "a field that stands there already (at line 2"),
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
        ("convert --gdp 1 --to approx", "--delta above 0 is needed"),
        ("convert --gdp 1 --to pure", "does not follow"),
        ("convert --gdp x --to approx", "needs a number"),
        ("convert --gdp 1 --to risk --json=1", "--json takes no value; got one"),
        ("convert --gdp 1 --to risk --rounds", "--rounds needs a value; got none"),
        ("convert --gdp nan --to approx --delta 1e-5", "gdp"),
        ("convert --gdp -1 --to approx --delta 1e-5", "got gdp=-1.0"),
        ("convert --gdp 1 --to approx --delta 1", "delta"),
        ("convert --rdp 2 --to approx --delta 1e-5", "joined by a colon; got '2'; try 2:0.1"),
        ("convert --approx 1,1e-5 --to risk", "joined by a colon; got '1,1e-5'; try 1:1e-5"),
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
