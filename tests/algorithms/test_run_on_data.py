"""``dpcalc run`` on files of all kinds: what is trained on, and what is refused."""

from __future__ import annotations

import json

import pytest

from tests.algorithms.run_settings import BUDGET, R_ADMM


def test_a_checkpoint_that_is_none_is_refused(run, tmp_path):
    path = tmp_path / "kept.sqlite"
    for content in (b"garbage", b"PK\x03\x04 cut off"):
        path.write_bytes(content)
        status, out, err = run(*R_ADMM, "--checkpoint", path)
        assert (status, out) == (2, "")
        assert "expected a file of finished work" in err
    path.unlink()
    assert run(*R_ADMM, "--checkpoint", path)[0] == 0
    _, _, err = run(*R_ADMM, "--checkpoint", path, "--penalty", "2")
    assert "penalty null instead of 2; name another file" in err


def test_a_checkpoint_says_what_it_was_started_with(run, tmp_path, table):
    path = tmp_path / "kept.sqlite"
    assert run(*R_ADMM, "--checkpoint", path)[0] == 0
    again = [*R_ADMM, "--checkpoint", path]
    again[again.index("--epsilon") + 1], again[again.index("--seed") + 1] = "2", "3"
    said = run(*again)[2]
    assert "seed 1 instead of 3, epsilon 1.0 instead of 2.0, " in said
    assert "digest of the data as dealt" in said  # by the seed
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
    assert "expected a line of column names first" in err
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
        (("1,yes", "2,no"), ["--positive", "yes"], "label 'b', +1 is 'yes', -1 any other ('no')"),
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


@pytest.mark.parametrize("records", [2, 3])
def test_a_run_says_that_nothing_was_held_out(run, tmp_path, records):
    """A fifth of two records is none; of three it is one."""
    path = tmp_path / "t.csv"
    path.write_text("".join(["a,b\n", "1,yes\n", "2,no\n", "1,yes\n"][: records + 1]))
    line = ["run", "dp-admm", "--data", path, "--scale", "a=0:3", "--positive", "yes", *BUDGET]
    status, out, err = run(*line, "--rounds", "2", "--seed", "1")
    assert (status, err) == (0, "")
    said = "Nothing was held out: errors are of the records that were trained on, and how accurate"
    assert (said in " ".join(out.split())) is (records == 2)
    notes = json.loads(run(*line, "--rounds", "2", "--seed", "1", "--json")[1])["notes"]
    assert [note.startswith(said) for note in notes] == [True] * (records == 2)


AVERAGES = "run private-dual-averaging --gradients-at averages --rounds 3 --seed 1".split()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--graph complete:4 --loss logistic --proximal .5", ""),
        ("--graph ring:3 --loss logistic", ""),
        ("--graph ring:4 --loss logistic", "some nodes do not hear each other"),
        ("--graph star:3 --loss logistic", "some nodes do not hear each other"),
        ("--graph complete:4", "the hinge loss has a kink"),
        (
            "--graph complete:4 --loss logistic --proximal .49",
            "proximal=0.49 is below 0.5, twice the",
        ),
        ("--graph ring:3 --loss logistic --sampling one", "sampling=one leaves records out"),
        ("--graph ring:4", "some nodes do not hear each other; the hinge loss has a kink"),
    ],
)
def test_conditions_of_gradients_at_averages_that_are_not_met_are_named(run, given, said):
    """The conditions that the option's help names, and nothing where all are met."""
    status, out, err = run(*AVERAGES, *BUDGET, *given.split())
    assert (status, err) == (0, "")
    out = " ".join(out.split())
    assert (f"gradients_at=averages: {said}" in out) is ("gradients_at" in out) is bool(said)
    assert ("That averages converge here is not shown" in out) is bool(said)
    at_iterates = [word.replace("averages", "iterates") for word in AVERAGES]
    assert "gradients_at" not in run(*at_iterates, *BUDGET, *given.split())[1]
