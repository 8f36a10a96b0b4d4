"""``dpcalc run`` as a user meets it: budgets, files, interruptions, errors."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from dpcalc.training.prepared_run import PreparedRun
from dpcalc.transcript import Transcript

BUDGET = "--epsilon 1 --delta 1e-5".split()
R_ADMM = ["run", "private-r-admm", *BUDGET, "--rounds", "4", "--nodes", "3", "--seed", "1"]


@pytest.fixture
def table(tmp_path):
    """A CSV file of two classes that a line parts."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 2))
    lines = [f"{a:.4f},{b:.4f},{'yes' if a > b else 'no'}" for a, b in x]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,b,bought", *lines]) + "\n")
    return path


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
        ("run private-r-admm --epsilon 1e-6 --penalty 1e-3", "try penalty"),
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


def test_a_checkpoint_that_is_none_is_refused(run, tmp_path):
    path = tmp_path / "kept.sqlite"
    for content in (b"garbage", b"PK\x03\x04 cut off"):
        path.write_bytes(content)
        status, out, err = run(*R_ADMM, "--checkpoint", path)
        assert (status, out) == (2, "")
        assert "a file of finished work was needed" in err
    path.unlink()
    assert run(*R_ADMM, "--checkpoint", path)[0] == 0
    _, _, err = run(*R_ADMM, "--checkpoint", path, "--penalty", "2")
    assert "penalty null instead of 2; name another file" in err


def test_a_checkpoint_says_what_it_was_started_with(run, tmp_path, table):
    path = tmp_path / "kept.sqlite"
    assert run(*R_ADMM, "--checkpoint", path)[0] == 0
    again = [*R_ADMM, "--checkpoint", path]
    again[again.index("--epsilon") + 1], again[again.index("--seed") + 1] = "2", "3"
    assert "seed 1 instead of 3, epsilon 1.0 instead of 2.0;" in run(*again)[2]
    assert "runs 1 instead of 2;" in run(*R_ADMM, "--checkpoint", path, "--runs", "2")[2]
    other = ["run", "r-admm", "--rounds", "4", "--nodes", "3", "--checkpoint", path]
    assert "work run private-r-admm instead of run r-admm," in run(*other)[2]


def test_data_are_known_by_what_they_are_and_not_by_their_name(run, tmp_path, table):
    path, copy = tmp_path / "kept.sqlite", tmp_path / "copy.csv"
    words = [*R_ADMM, "--positive", "yes", "--row-bound", "4", "--checkpoint", path, "--data"]
    assert run(*words, table)[0] == 0
    copy.write_bytes(table.read_bytes())
    assert run(*words, copy, "--resume")[0] == 0
    table.write_text(table.read_text().replace("yes", "no", 3).replace("no", "yes", 1))
    _, _, err = run(*words, table)
    assert "digest of the data" in err  # the options are all the same


DATA = ["run", "dp-admm", *BUDGET, "--rounds", "3", "--data"]


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (("--positive", "maybe"), ("'maybe'", "known: 'no', 'yes'")),
        ((), ("got 'no' in line", "--positive no")),
        (
            ("--positive", "yes", "--rows", "refuse", "--row-bound", "1"),
            ("--rows rescale", "--row-bound"),
        ),
        (("--label", "a"), ("'no' in line", "column 'bought'", "--categories 'bought=A|B|C'")),
        (("--positive", "yes"), ("public range", "'a', 'b'", "--scale a=LOW:HIGH", "--row-bound")),
        (("--positive", "yes", "--scale", "a=-3:3"), ("got none for 'b'", "--scale b=LOW:HIGH")),
        (("--positive", "yes", "--scale", "c=0:1"), ("unknown numeric column", "'c'")),
        (("--positive", "yes", "--scale", "a=3"), ("COLUMN=LOW:HIGH",)),
        (("--positive", "yes", "--scale", "a=3:1"), ("from a lower to a higher",)),
    ],
)
def test_data_errors_name_the_option_that_helps(run, table, extra, words):
    table.write_text(table.read_text().replace("yes", "?", 1).replace("?", "no", 1))
    rows = table.read_text().splitlines()
    rows.sort(key=lambda row: (not row.startswith("a,"), row.endswith("yes")))
    table.write_text("\n".join(rows) + "\n")
    status, out, err = run(*DATA, table, *extra)
    assert (status, out) == (2, "")
    for word in words:
        assert word in err


def test_one_class_is_not_blamed_on_the_noise(run, tmp_path):
    path = tmp_path / "one.csv"
    for labels, extra in (("yes", ("--positive", "yes")), ("1", ())):
        path.write_text("a,b,y\n" + "".join(f"0.{k},1,{labels}\n" for k in range(9)))
        status, out, err = run(*DATA, path, *extra)
        assert (status, out) == (2, "")
        assert f"got '{labels}' for every record" in err


@pytest.mark.parametrize("last", ["1", "yes"])
def test_a_file_without_column_names_loses_no_record(run, tmp_path, last):
    path = tmp_path / "bare.csv"
    rows = [
        f"0.{k},0.{9 - k},{last if k % 2 else 'no' if last == 'yes' else -1}" for k in range(10)
    ]
    path.write_text("\n".join(rows[1:]) + "\n")
    status, out, err = run(*DATA, path, *(("--positive", "yes") if last == "yes" else ()))
    assert (status, out) == (2, "")
    assert "a line of column names was needed first" in err
    path.write_text("\n".join(["a,b,y", *rows]) + "\n")
    scaled = ("--scale", "*=0:1")
    status, out, _ = run(*DATA, path, *scaled, *(("--positive", "yes") if last == "yes" else ()))
    assert status == 0
    assert "8 to train on, 2 held out" in out


def test_numbers_may_be_the_names_of_columns(run, tmp_path):
    """Those that pandas writes for columns without names, and those that the user points at."""
    path = tmp_path / "years.csv"
    rows = [f"0.{k},0.{9 - k},{1 if k % 2 else -1}" for k in range(10)]
    for header, extra in (("0,1,2", ()), ("2019,2020,2021", ("--label", "2021"))):
        path.write_text("\n".join([header, *rows]) + "\n")
        status, out, _ = run(*DATA, path, "--row-bound", "1", *extra)
        assert status == 0
        assert "8 to train on, 2 held out" in out
    assert "--label 2021" in run(*DATA, path)[2]


@pytest.mark.parametrize(
    ("method", "hint"),
    [("dp-admm", "try --loss huber"), ("private-r-admm", "try dpcalc run dp-admm --loss huber")],
)
def test_numbers_to_predict_name_the_loss_that_takes_them(run, method, hint):
    status, out, err = run("run", method, *BUDGET, "--data", "builtin-regression")
    assert (status, out) == (2, "")
    assert hint in err
    assert run("run", "dp-admm", *BUDGET, "--data", "builtin-regression", "--loss", "huber")[0] == 0


@pytest.mark.parametrize(("method", "rounds"), [("dp-admm", 3), ("private-r-admm", 2)])
def test_the_noise_on_the_screen_is_never_less_than_what_was_drawn(
    run, monkeypatch, method, rounds
):
    """0.0026923515 is 0.00269236 to six digits, as in the table above it, not 0.00269235."""
    monkeypatch.setenv("COLUMNS", "80")
    line = ("run", method, *BUDGET, "--rounds", rounds, "--seed", "1")
    ((name, drawn),) = json.loads(run(*line, "--json")[1])["noise"].items()
    out = run(*line)[1]
    shown = float(out.split(f"{name.replace('_', ' ')} = ")[1].split(",")[0])
    assert shown <= drawn if name == "noise_rate" else shown >= drawn
    if name == "sigma":
        table = next(row for row in out.splitlines() if row.startswith(" σ "))
        assert float(table.split()[-1]) == shown
    assert "\n  ? public-parameters" in out
    promise = out.split("? public-parameters")[1].splitlines()[1]
    assert promise.startswith("    ")


def test_a_relation_that_was_said_is_not_called_the_default(run):
    line = ["run", "dp-admm", *BUDGET, "--rounds", "2", "--seed", "1"]
    for said, basis in (([], "default"), (["--adjacency", "replace-one"], "stated")):
        found = json.loads(run(*line, *said, "--json")[1])
        assert (found["adjacency"], found["adjacency_basis"]) == ("replace-one", basis)
        words = " ".join(run(*line, *said)[1].split())
        assert ("(the default" in words) is (basis == "default")


@pytest.mark.parametrize(
    ("rows", "extra", "said"),
    [
        (("1,yes", "2,no"), ["--positive", "yes"], "label 'b', +1 is 'yes', -1 any other"),
        (("1,7", "2,3"), [], "label 'b', +1 is 7, -1 is 3"),
        (("1,7", "2,3", "?,3"), [], "+1 is 7, -1 is 3; 1 incomplete row left out"),
    ],
)
def test_it_says_which_class_became_plus_one(run, tmp_path, rows, extra, said):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "\n".join([*rows] * 20) + "\n")
    if "?" in rows[-1]:
        path.write_text("a,b\n" + "\n".join([*rows[:2]] * 20 + [rows[2]]) + "\n")
    scaled = ["--scale", "a=0:3"]
    line = [
        "run",
        "dp-admm",
        "--data",
        path,
        *scaled,
        *extra,
        *BUDGET,
        "--rounds",
        "2",
        "--seed",
        "1",
    ]
    status, out, err = run(*line)
    assert (status, err) == (0, "")
    assert said.replace(" ", "") in "".join(out.split())
    assert " 0 incomplete" not in " ".join(out.split())
    data = json.loads(run(*line, "--json")[1])["data"]
    assert data["source"].endswith(said)
    assert data["label"] == "b"
    assert f"+1 is {data['classes']['+1']}" in said.replace("'", "")
    assert f"-1 is {data['classes']['-1']}" in said.replace("-1 any", "-1 is any")
    assert data["left_out"] == said.count("left out")
