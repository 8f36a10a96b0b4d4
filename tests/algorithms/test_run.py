"""``dpcalc run`` as a user meets it: budgets, files, interruptions, errors."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from dpcalc.training.prepared_run import PreparedRun
from dpcalc.transcript import Transcript
from tests.algorithms.run_settings import BUDGET, R_ADMM


def test_it_ends_with_utility_next_to_the_budget(run):
    status, out, err = run(*R_ADMM)
    assert status == 0
    assert err == ""
    for words in ("claimed", "certified", "held-out", "mean loss", "distance of a node", "promise"):
        assert words in out
    assert "experiment, not a private release" in " ".join(out.split())


def test_an_algorithm_that_no_result_covers_names_another(run):
    for extra in ([], BUDGET, ["--help"]):
        status, out, err = run("run", "primal-variable-perturbation", *extra)
        assert (status, out) == (2, "")
        assert "a whole run" in err
        assert "use dual-variable-perturbation" in err
    assert "primal-variable-perturbation" in run("run", "--help")[1]


def test_json_has_all_of_it(run):
    status, out, _ = run(*R_ADMM, "--runs", 2, "--json")
    record = json.loads(out)
    assert status == 0
    assert record["certified"]["epsilon"] <= 1
    assert record["claimed"]["epsilon"] > record["certified"]["epsilon"]
    assert record["certified"]["epsilon_of_all_runs"] > record["certified"]["epsilon"]
    assert record["data"]["train"] + record["data"]["test"] == 6000
    assert len(record["utility"]["test_error"]) == len(record["weights"]) == 2
    assert record["utility"]["largest_gradient_norm"][0] < 1e-9
    assert record["seed"] == 1
    assert record["graph"] == "ring"


def test_without_noise_there_is_no_budget(run):
    status, out, _ = run("run", "r-admm", "--rounds", 4, "--nodes", 3)
    assert status == 0
    assert "No privacy" in out
    record = json.loads(run("run", "r-admm", "--rounds", 4, "--nodes", 3, "--json")[1])
    assert record["certified"]["epsilon"] == "inf"


def test_a_csv_file_is_trained_on(run, table):
    options = ["--data", table, "--positive", "yes", "--row-bound", 3, *BUDGET]
    record = json.loads(run("run", "dp-admm", *options, "--seed", 2, "--json")[1])
    assert record["data"]["features"] == 2
    assert record["utility"]["test_error"][0] < record["utility"]["test_error_of_a_constant"][0]


def test_a_regression_is_measured_in_the_labels_unit(run):
    options = ["--data", "builtin-regression", "--loss", "huber", "--step-size", 1, *BUDGET]
    record = json.loads(run("run", "dp-admm", *options, "--json")[1])
    assert record["utility"]["test_error"][0] < record["utility"]["test_error_of_a_constant"][0]


def test_files_by_suffix(run, tmp_path):
    paths = [tmp_path / f"run.{suffix}" for suffix in ("json", "csv", "npz")]
    outs = [word for path in paths for word in ("--out", path)]
    status, out, _ = run(*R_ADMM, "--runs", 2, "--measure-every", 3, *outs)
    assert status == 0
    assert all(path.name in out.replace("\n", "") for path in paths)
    assert json.loads(paths[0].read_text())["algorithm"] == "private-r-admm"
    rows = list(csv.DictReader(paths[1].read_text().splitlines()))
    assert [(r["run"], r["round"]) for r in rows] == [
        ("1", "3"),
        ("1", "4"),
        ("2", "3"),
        ("2", "4"),
    ]
    assert all(np.isfinite(float(r["objective"])) for r in rows)
    released = Transcript.load(paths[2])
    assert released["primal"].shape == (2, 4, 3, 10)
    assert not released.diagnostics  # what may be published holds nothing else


def test_an_interrupted_run_goes_on_with_the_same_bits(run, tmp_path, monkeypatch):
    whole, parts, checkpoint = (tmp_path / n for n in ("whole.npz", "parts.npz", "at.npz"))
    long = [word if word != "4" else "12" for word in R_ADMM]
    assert run(*long, "--out", whole)[0] == 0
    carry_out = PreparedRun.run

    def interrupted(self, *arguments, progress, **rest):
        def stop(done, total):
            if done == 7:
                raise KeyboardInterrupt
            progress(done, total)

        return carry_out(self, *arguments, progress=stop, **rest)

    monkeypatch.setattr(PreparedRun, "run", interrupted)
    status, _, err = run(*long, "--out", parts, "--checkpoint", checkpoint)
    assert status == 130
    assert "resumes" in err
    assert not parts.exists()
    monkeypatch.setattr(PreparedRun, "run", carry_out)
    assert run(*long, "--out", parts, "--checkpoint", checkpoint)[0] == 0
    assert parts.read_bytes() == whole.read_bytes()


def test_an_interrupted_real_run_goes_on_from_its_own_seed(run, tmp_path):
    """Without --seed the noise comes from the operating system; the file remembers it."""
    first, second, checkpoint = (tmp_path / n for n in ("1.npz", "2.npz", "at.npz"))
    real = R_ADMM[:-2]
    assert run(*real, "--out", first, "--checkpoint", checkpoint)[0] == 0
    assert run(*real, "--out", second, "--checkpoint", checkpoint)[0] == 0
    assert first.read_bytes() == second.read_bytes()
    assert run(*real, "--out", second)[0] == 0
    assert first.read_bytes() != second.read_bytes()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run private-r-adm --epsilon 1", "private-r-admm"),
        ("run private-r-admm", "needs a budget"),
        ("run private-r-admm --epsilon 0", "epsilon"),
        ("run private-r-admm --epsilon 1 --delta 2", "delta"),
        ("run private-r-admm --delta 1e-5", "budget"),
        ("run r-admm --delta 1e-5", "--epsilon"),
        ("run r-admm --epsilon 1", "no noise"),
        ("run dp-admm --epsilon 1", "delta above 0"),
        ("run dp-admm --epsilon 1 --delta 1e-5 --nodes 2", "one place"),
        ("run private-r-admm --epsilon 1 --nodes 1", "nodes"),
        ("run private-r-admm --epsilon 1 --nodes 5000", "per node"),
        ("run private-r-admm --epsilon 1 --graph rng", "ring"),
        ("run private-r-admm --epsilon 1 --data adlt", "adult"),
        ("run private-r-admm --epsilon 1 --data no/such.csv", "does not exist"),
        ("run private-r-admm --epsilon 1 --data builtin-regression", "labels"),
        ("run private-r-admm --epsilon 1 --penalti 2", "--penalty"),
        ("run private-r-admm --epsilon 1 --penalty -2", "penalty"),
        pytest.param(  # noise is looked for as far as there is any: a campaign
            "run private-r-admm --epsilon 1e-6 --penalty 1e-3",
            "try penalty",
            marks=pytest.mark.campaign,
        ),
        ("run private-r-admm --epsilon 1 --out run.txt", ".npz"),
        ("run private-r-admm --epsilon 1 --out no/such/run.json", "folder"),
        ("run private-r-admm --epsilon 1 --held-out 1", "held_out"),
        ("run private-r-admm --epsilon 1 --row-bound 0.5 --rows refuse", "rescale"),
        ("run gradient-admm --epsilon 1 --delta 1e-5 --step-size 50", "step_size"),
    ],
)
def test_errors_are_one_line_and_status_two(run, line, words):
    status, out, err = run(*line.split())
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert words in err


def test_help_names_every_method_and_its_parameters(run):
    status, out, _ = run("run", "--help")
    assert status == 0
    assert "private-mr-admm" in out
    _, out, _ = run("run", "penalty-perturbation", "--help")
    for option in ("--dual-step", "--penalty", "--epsilon", "--checkpoint", "--graph"):
        assert option in out


def test_a_column_of_categories(run, tmp_path):
    path = tmp_path / "table.csv"
    rows = [f"{k % 7},{'abc'[k % 3]},{'yes' if k % 3 else 'no'}" for k in range(120)]
    path.write_text("\n".join(["size,kind,bought", *rows]) + "\n")
    call = ["run", "admm", "--data", path, "--positive", "yes", "--rounds", "5", "--row-bound", "7"]
    status, out, _ = run(*call, "--categories", "kind=a|b|c")
    assert status == 0
    assert "4 features" in " ".join(out.split())  # lines break where the path says
    for extra, word in (
        ((), "column 'kind'"),
        (("--categories", "kind=a|b"), "one of the categories of 'kind'"),
        (("--categories", "kind"), "column=A|B|C"),
        (("--categories", "knd=a"), "did you mean 'kind'?"),
    ):
        status, out, err = run(*call, *extra)
        assert (status, out) == (2, "")
        assert word in err


def test_noise_that_drowns_the_records_is_called_that(run):
    tiny = ["run", "private-r-admm", "--epsilon", "0.001", "--delta", "1e-5", "--seed", "1"]
    assert "the noise drowns" in run(*tiny)[1]
    assert "the noise drowns" not in run("run", "dp-admm", "--epsilon", "8", *tiny[4:])[1]
