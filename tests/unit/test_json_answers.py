"""What every verb prints under --json: one envelope, the shipped schema, errors too."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import dpcalc
from dpcalc.cli.main import group, main
from dpcalc.report.output import SCHEMA_VERSION, schema
from tests.schema import problems

DP_ADMM = "dp-admm --n-records 100 --rounds 5 --gradient-bound 1 --dual-start zero"
ANSWERS = {
    "audit": ["", "--counts 900 1000 10 1000 --claim eps=0.1,delta=0 --adjacency replace-one"],
    "calibrate": [
        "gaussian --epsilon 1 --delta 1e-5",
        "poisson-subsampled-gaussian --population 5000 --rounds 10 --noise-multiplier 3 --epsilon 2 "
        "--delta 1e-5",
    ],
    "check": ["certificate.json"],
    "compose": ["plan.toml"],
    "convert": [
        "--gdp 1 --to approx --delta 1e-5",
        "--gdp 1 --to risk",
        "--gdp 1 --to rdp --order 2",
        "--pure 1 --to tradeoff --fpr 0.1",
    ],
    "epsilon": [f"{DP_ADMM} --sigma 1 --delta 1e-5", f"{DP_ADMM[:-4]}data --sigma 1 --delta 1e-5"],
    "new": ["plan rounds"],
    "noise": [f"{DP_ADMM} --epsilon 1 --delta 1e-5"],
    "plot": [f"{DP_ADMM} --sigma 1 --points 2 --from 1e-6 --to 1e-5 --out picture.svg"],
    "rate": ["m-admm-rate --graph ring:5 --penalty 1 --dual-step 0.5 --strong-convexity 1 "
             "--smoothness 2"],
    "reproduce": [""],
    "run": ["r-admm --rounds 2 --nodes 3", "dp-admm --epsilon 1 --delta 1e-6 --rounds 2 --seed 1"],
    "schema": ["table.csv"],
    "selftest": [""],
    "sweep": ["grid.toml"],
    "theorems": ["", "dp-admm"],
    "verify": ["claims.toml"],
}  # fmt: skip
FILES = {
    "plan.toml": "delta = 1e-6\nepsilon = 8\n[[release]]\ngdp = 1\ncount = 2\n",
    "claims.toml": "[[claim]]\ntheorem = 'dp-admm'\nepsilon = 1\ndelta = 1e-5\n[claim.parameters]\n"
    "n_records = 100\nrounds = 5\ngradient_bound = 1\n[claim.ours]\nrounds = 'not given'\n",
    "grid.toml": "mechanism = 'gaussian'\ndelta = 1e-6\n[parameters]\nnoise_multiplier = [1, 2]\n"
    "rounds = 1\nadjacency = 'add-remove'\n",
    "table.csv": "a,b\n1,x\n2,y\n",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def answer(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    with pytest.raises(SystemExit) as ended:
        main([*shlex.split(line), "--json"])
    printed = capsys.readouterr()
    return int(ended.value.code or 0), json.loads(printed.out), printed.err


def well_formed(record: Mapping[str, Any], verb: str | None) -> None:
    assert problems(record) == []
    envelope = {"schema_version": SCHEMA_VERSION, "dpcalc_version": dpcalc.__version__}
    assert dict(list(record.items())[:3]) == {**envelope, "verb": verb}


@pytest.mark.parametrize("verb", sorted(ANSWERS))
def test_every_answer_follows_the_schema(
    verb: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if verb == "check":
        pytest.importorskip("flint")
        answer("compose plan.toml --certify certificate.json", capsys)
    for words in ANSWERS[verb]:
        status, record, _ = answer(f"{verb} {words}", capsys)
        assert status in (0, 1)
        well_formed(record, verb)


def test_no_verb_is_left_out() -> None:
    verbs = set(group.list_commands(None))  # type: ignore[arg-type] # it needs no context
    assert verbs == set(ANSWERS)
    parts = {name for name in schema()["$defs"] if name.startswith("verb-")}
    assert parts == {f"verb-{verb}" for verb in verbs}
    listed = {choice["$ref"].rpartition("/")[2] for choice in schema()["oneOf"]}
    assert listed == parts | {"failure"}


def test_the_schema_is_one_and_refuses_what_it_does_not_describe() -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(schema())
    whole = Draft202012Validator(schema())
    good = {
        "schema_version": SCHEMA_VERSION,
        "dpcalc_version": "1",
        "verb": "convert",
        "to": "approx",
        "certified": {"epsilon": "inf", "delta": 0.0},
        "adjacency": None,
    }
    assert whole.is_valid(good)
    for change in (
        {"schema_version": SCHEMA_VERSION + 1},
        {"verb": "converts"},
        {"epsilon": 1.0},
        {"certified": {"epsilon": "Infinity", "delta": 0.0}},
        {"certified": {"epsilon": -1.0, "delta": 0.0}},
        {"certified": {"epsilon": 1.0, "delta": 1.5}},
        {"certified": 1.0},
    ):
        assert not whole.is_valid(good | change), change


def test_every_field_is_described() -> None:
    """What the page about the schema says of a field is never nothing."""
    parts = schema()["$defs"]
    bare = [
        f"{name}.{field}"
        for name, part in parts.items()
        for field, about in part.get("properties", {}).items()
        if not (about.get("description") or about.get("$ref"))
    ]
    assert bare == []


@pytest.mark.parametrize(
    ("line", "verb", "kind", "status"),
    [
        ("compose nowhere.toml", "compose", "InvalidInput", 2),
        ("epsilon dp-admm --n-recods 3", "epsilon", "InvalidInput", 2),
        ("calibrate gaussian", "calibrate", "UsageError", 2),
        ("composer", None, "InvalidInput", 2),
        ("noise recycled-admm --rounds 3", "noise", "UsageError", 2),
        ("calibrate gaussian --epsilon 1e-300 --delta 0", "calibrate", "InvalidInput", 2),
    ],
)
def test_an_error_is_json_on_standard_output_and_a_line_on_the_other(
    line: str,
    verb: str | None,
    kind: str,
    status: int,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ended, record, told = answer(line, capsys)
    well_formed(record, verb)
    error = record["error"]
    assert (ended, error["exit_status"], error["kind"]) == (status, status, kind)
    assert told == f"dpcalc: {error['message']}\n"


def test_a_defect_is_json_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.delenv("DPCALC_DEBUG", raising=False)
    monkeypatch.setattr("dpcalc.answers.asked.delta_asked", broken)
    status, record, _ = answer(f"epsilon {DP_ADMM} --sigma 1 --delta 1e-5", capsys)
    well_formed(record, "epsilon")
    assert status == record["error"]["exit_status"] == 70
    assert record["error"]["kind"] == "Defect"


def test_a_file_that_fails_after_the_answer_leaves_one_document(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer stands on standard output; that its picture failed is told on the other."""
    from dpcalc.errors import OutputFailed

    def full(*_: object, **__: object) -> None:
        raise OutputFailed("no room on the disk")

    monkeypatch.setattr("dpcalc.pictures.drawing.draw", full)
    status, record, told = answer(f"plot {ANSWERS['plot'][0]}", capsys)
    assert (status, "error" in record, "curves" in record) == (74, False, True)
    assert "no room" in told


def test_an_error_is_told_although_the_library_cannot_be_loaded() -> None:
    """An interruption while numpy was being loaded leaves one that cannot be loaded again."""
    program = (
        "import sys; sys.modules['numpy'] = None; sys.modules['dpcalc.guarantees'] = None\n"
        "from dpcalc.cli._json import print_error\n"
        "print_error(['audit', '--json'], ['audit'], 'Interrupted', 'interrupted \u03b5', 130)"
    )
    found = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program],
        capture_output=True, text=True, check=True, encoding="utf-8",
    )  # fmt: skip
    answer = json.loads(found.stdout)
    assert answer["verb"] == "audit"
    assert answer["error"] == {
        "kind": "Interrupted", "message": "interrupted ε", "exit_status": 130,
    }  # fmt: skip


def test_an_answer_about_releases_says_which_they_are(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "epsilon dp-sgd --noise-multiplier 2 --sample 5 --population 1_000 --rounds 9 --delta 1e-5"
    )
    fields = {"noise_multiplier": 2.0, "sample": 5, "population": 1000}
    name = "poisson-subsampled-gaussian"
    (only,) = answer(words, capsys)[1]["composed"]
    assert only == {"name": name, "count": 9, "mechanism": name, "fields": fields}

    (here / "rounds.csv").write_text("mechanism,noise_multiplier\n" + "gaussian,60/3\n" * 3)
    (here / "mixed.toml").write_text(
        'delta = 1e-5\nrounds = "rounds.csv"\n[[release]]\nname = "metrics"\napprox = [".1", 1e-6]\n'
        '[[release]]\ntheorem = "dp-admm"\n[release.parameters]\nn_records = 100\nrounds = 5\n'
        'gradient_bound = 1\nsigma = 1\ndual_start = "zero"\n'
    )
    _, found, _ = answer("compose mixed.toml --adjacency replace-one", capsys)
    well_formed(found, "compose")
    metrics, theorem, table = found["composed"]
    assert metrics == {"name": "metrics", "count": 1, "fields": {"approx": [0.1, 1e-6]}}
    assert (theorem["theorem"], theorem["fields"]["n_records"]) == ("dp-admm", 100)
    assert (table["count"], table["fields"]) == (3, {"noise_multiplier": 20.0})
    assert found["releases"] == 5
