"""dpcalc audit and dpcalc verify --audit as users run them: exit status, output, reports."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from dpcalc.auditing import Progress
from dpcalc.auditing.suite.case import Case
from dpcalc.auditing.suite.run import carry_out
from dpcalc.audits.suite.catalogue import audit_of
from dpcalc.cli.main import main
from dpcalc.store import open_store, plan_of

MINE = """
from dpcalc.auditing import Claim, mechanism

def release(data, generator, runs):
    return data + generator.laplace(size=runs)

target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="mine")

def claimed():
    return target, Claim.of(epsilon=0.2, adjacency="add-remove")

number = 3

def broken(data, generator, runs):
    raise RuntimeError("out of paper")

def silent(data, generator, runs):
    return None

def words(data, generator, runs):
    return ["a"] * runs

def named(release):
    return lambda: (mechanism(release, 1.0, 0.0, adjacency="add-remove", name="a/b c"),
                    Claim.of(epsilon=1, adjacency="add-remove"))

broken_target, nothing_target, words_target = named(broken), named(silent), named(words)
fine = named(release)
"""

QUICK = ["--no-controls", "--seed", "3"]


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_mechanism.py").write_text(MINE)
    return tmp_path


def test_without_a_target_the_audits_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit") == 0
    assert "dp-admm" in capsys.readouterr().out


def test_the_printed_start_is_refuted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", "dp-admm", "--case", "as-printed", *QUICK) == 1
    assert "REFUTED" in capsys.readouterr().out


def test_a_twin_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", "dp-admm", "--case", "zero-start", "--json", *QUICK) == 0
    found = json.loads(capsys.readouterr().out)
    (result,) = found["results"]
    assert result["verdict"]["outcome"] == "NOT REFUTED"
    certified, attack = (result[name]["epsilon"] for name in ("certified", "attack"))
    assert 0.85 * certified < attack <= certified


def test_the_same_seed_gives_the_same_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "gradient-admm-noisy-oracle", "--case", "local", "--json", *QUICK]
    found = []
    for _ in range(2):
        run(*words)
        record = json.loads(capsys.readouterr().out)["results"][0]
        found.append(record["verdict"])
    assert found[0] == found[1]


def test_a_claim_of_ones_own_is_held_against_the_twin() -> None:
    assert run("audit", "dp-admm", "--claim", "eps=0.3,delta=1e-3", *QUICK) == 1


def test_a_theorems_claim() -> None:
    settings = ["n_records=10", "rounds=5", "gradient_bound=1", "sigma=3", "dual_start=zero"]
    words = [w for s in [*settings, "adjacency=add-remove"] for w in ("--set", s)]
    theorem = ["--theorem", "dp-admm", "--certified", "--delta", "1e-3"]
    assert run("audit", "dp-admm", *theorem, *words, *QUICK) == 1


def test_ones_own_mechanism(here: Path) -> None:
    assert here.is_dir()
    words = ["audit", "my_mechanism:target", "--claim", "eps=1", "--runs", "4000", *QUICK]
    assert run(*words) in (0, 3)
    assert run("audit", "my_mechanism:claimed", "--runs", "4000", *QUICK) == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["my_mechanism:target"], "a claim was needed"),
        (["my_mechanism:nothing"], "module:object"),
        (["my_mechanism:number"], "a Target"),
        (["dp-adm"], "did you mean 'dp-admm'"),
        (["dp-admm", "--case", "zero-stat"], "did you mean"),
        (["dp-admm", "--claim", "eps=1,mu=2"], "one of eps"),
        (["dp-admm", "--claim", "eps=x"], "needs a number"),
        (["dp-admm", "--set", "rounds=3"], "--theorem"),
        (["dp-admm", "--report", "report.pdf"], ".html"),
        (["--counts", "1", "2", "3", "4"], "--claim and --adjacency"),
    ],
)
def test_bad_use_is_one_line_and_status_two(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert here.is_dir()
    assert run("audit", *words) == 2
    said = capsys.readouterr().err
    assert text in said
    assert said.count("\n") == 1


def test_counts_and_scores_recorded_elsewhere(here: Path) -> None:
    claim = ["--claim", "eps=1,delta=1e-5", "--adjacency", "add-remove"]
    assert run("audit", "--counts", "990", "10", "10", "990", *claim) == 1
    assert run("audit", "--counts", "6", "4", "5", "5", *claim) == 3
    generator = np.random.default_rng(1)
    for name, shift in (("in", 5.0), ("out", 0.0)):
        np.savetxt(here / f"{name}.csv", generator.standard_normal(4000) + shift)
    assert run("audit", "--scores", "in.csv", "out.csv", *claim) == 1


def test_interrupted_runs_go_on(tmp_path: Path) -> None:
    """Stopped after the first of four batches and started again: the verdict of one go."""
    case = audit_of("dp-admm").case("half-the-noise")
    case = replace(case, runs=2000, batch=500)
    kept = tmp_path / "kept.sqlite"

    def interrupt(_: Case, seen: Progress) -> None:
        if seen.runs == 500:
            raise KeyboardInterrupt

    options = {"seed": 3, "controls": False}
    with pytest.raises(KeyboardInterrupt), open_store(kept, {"seed": 3}) as store:
        carry_out([case], checkpoint=store, progress=interrupt, **options)
    made: list[int] = []
    with open_store(kept, {"seed": 3}) as store:
        assert "counted/0/in" not in store.section("half-the-noise").names()
        (resumed,) = carry_out(
            [case], checkpoint=store, progress=lambda _, seen: made.append(seen.runs), **options
        )
    (at_once,) = carry_out([case], **options)
    assert made == [500, 1000, 1500, 2000]
    assert resumed.verdict.record() == at_once.verdict.record()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("broken_target", "could not release (RuntimeError: out of paper)"),
        ("nothing_target", "numbers with runs as the first axis"),
        ("words_target", "numbers with runs as the first axis"),
    ],
)
def test_a_mechanism_that_fails_is_the_users(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    assert run("audit", f"my_mechanism:{name}", *QUICK) == 2
    assert text in capsys.readouterr().err


def test_a_module_that_fails_is_the_users(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "badly.py").write_text("1 / 0")
    assert run("audit", "badly:target", *QUICK) == 2
    assert "division by zero" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import sys; sys.exit(0)", "the code ends the program: exit 0"),
        ("def target(): raise ValueError('boom')", "got 'ending:target' (ValueError: boom)"),
        ("def target(): raise SystemExit", "the code ends the program: exit None"),
    ],
)
def test_code_that_ends_or_fails_gives_no_verdict(
    here: Path, capsys: pytest.CaptureFixture[str], code: str, text: str
) -> None:
    """Status 0 would read as not refuted, 70 as a defect of dpcalc."""
    (here / "ending.py").write_text(code)
    sys.modules.pop("ending", None)
    assert run("audit", "ending:target", *QUICK) == 2
    assert text in capsys.readouterr().err


def test_a_release_that_ends_the_program_gives_no_verdict(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "leaving.py").write_text(
        "from dpcalc.auditing import Claim, mechanism\n"
        "def release(data, generator, runs): raise SystemExit(0)\n"
        "target = mechanism(release, 1.0, 0.0, adjacency='add-remove', name='leaving')\n"
        "pair = target, Claim.of(epsilon=1, adjacency='add-remove')\n"
    )
    assert run("audit", "leaving:pair", *QUICK) == 2
    assert "could not release (the code ends the program: exit 0)" in capsys.readouterr().err


def test_checkpoints_of_targets_with_any_name(here: Path) -> None:
    words = ["my_mechanism:fine", "--runs", "200", "--checkpoint", "kept", *QUICK]
    assert run("audit", *words) in (0, 3)
    assert plan_of(here / "kept") is not None
    assert run("audit", *words, "--resume") in (0, 3)


class Addresses(HTMLParser):
    """Everything on a page that could be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.found += [v for k, v in attrs if k in ("src", "href", "xlink:href") and v]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    cases = ["--case", "zero-start", "--case", "as-printed"]
    assert run("audit", "dp-admm", *cases, "--report", str(path), "--seed", "3") == 1
    return path


def test_the_page_stands_alone(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    seen = Addresses()
    seen.feed(text)
    assert all(address.startswith("#") for address in seen.found)
    assert "script" not in seen.tags
    assert seen.tags.count("svg") == 5
    assert "NOT REFUTED" in text
    assert "@import" not in text
    assert "seed 3" in text


def test_markdown_and_json_reports(here: Path) -> None:
    for suffix in ("md", "json"):
        path = here / f"report.{suffix}"
        run("audit", "dp-admm", "--case", "as-printed", "--report", str(path), *QUICK)
        text = path.read_text(encoding="utf-8")
        assert "REFUTED" in text
    assert json.loads((here / "report.json").read_text())["exit_status"] == 1


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_browser_shows_the_page(page: Path, tmp_path: Path) -> None:
    picture = tmp_path / "page.png"
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,2400"]
    done = subprocess.run(
        [str(BROWSER), *words, f"--screenshot={picture}", page.as_uri()],
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert picture.exists(), done.stderr.decode()[-500:]
    from matplotlib.image import imread

    pixels = imread(picture)[..., :3]
    assert pixels.shape[:2] == (2400, 1200)
    ink = (np.abs(pixels - pixels[0, 0]).max(axis=2) > 0.1).mean()
    assert 0.01 < ink < 0.6  # neither blank nor broken
    rows = (np.abs(pixels - pixels[0, 0]).max(axis=2) > 0.1).any(axis=1)
    assert rows[:200].any()
    assert rows[1200:].any()  # pictures and tables reach far down


def test_verify_with_evidence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared = 'theorem = "dp-admm"\nepsilon = 1\ndelta = 1e-3\nattest = "all"\n[claim.parameters]\n'
    numbers = "n_records = 50\nrounds = 4\ngradient_bound = 1\n"
    sound = 'dual_start = "zero"\nadjacency = "add-remove"\n'
    (here / "claims.toml").write_text(
        f'[[claim]]\nname = "sound"\n{shared}{numbers}{sound}'
        f'[[claim]]\nname = "printed"\n{shared}{numbers}'
    )
    words = ["--audit", "--runs", "400", "--junit", "out.xml", "--json"]
    assert run("verify", "claims.toml", *words) == 1
    first, second = json.loads(capsys.readouterr().out)["claims"]
    assert first["audit"]["verdict"]["outcome"] == "NOT REFUTED"
    assert first["audit"]["attack"]["epsilon"] <= first["certified"]["epsilon"]
    assert second["audit"]["verdict"]["outcome"] == "REFUTED"
    suite = ET.parse(here / "out.xml").getroot()[0]  # noqa: S314 - written by this test
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.find("failure") is not None for case in suite] == [False, True]


def test_recorded_scores_with_coins_and_canaries(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    for name, middle in (("in", 2.0), ("out", 0.0)):
        np.savetxt(here / f"{name}.csv", rng.normal(middle, 1, 800))
    words = ["audit", "--scores", "in.csv", "out.csv", "--adjacency", "add-remove"]
    words += ["--claim", "eps=1"]
    found = []
    for more in ([], [], ["--fair-coins"], ["--fair-coins", "--one-run", "60", "60"]):
        run(*words, "--seed", "3", "--json", *more)
        found.append(json.loads(capsys.readouterr().out)["results"][0]["verdict"]["evidence"][0])
    plain, again, coins, one = found
    assert plain == again
    assert plain["counted"]["runs"] < coins["counted"]["runs"] == 1280
    assert one["method"] == "one-run"
    for wrong, said in (
        (["--one-run", "60", "60"], "fair coin"),
        (["--methods", "accuracy"], "goes with a TARGET"),
    ):
        assert run(*words, *wrong) == 2
        assert said in " ".join(capsys.readouterr().err.split())


def test_methods_are_chosen(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert here.is_dir()
    words = ["audit", "my_mechanism:claimed", "--json", "--no-early-stop", *QUICK]
    run(*words, "--methods", "clopper-pearson,accuracy")
    evidence = json.loads(capsys.readouterr().out)["results"][0]["verdict"]["evidence"]
    assert {e["method"]: e["alpha"] for e in evidence if e["gates"]} == {
        "clopper-pearson": (1e-4 - 1e-6) / 2,
        "accuracy": (1e-4 - 1e-6) / 2,
    }
    assert run(*words, "--methods", "accurracy") == 2
    assert "accuracy" in capsys.readouterr().err


def test_the_page_is_small_named_for_screen_readers_and_says_the_verdict_second(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = ("zero-start", "zero-start-replace-one", "as-printed")
    words = [w for case in cases for w in ("--case", case)]
    run("audit", "dp-admm", *words, "--no-early-stop", *QUICK, "--report", "r.html")
    capsys.readouterr()
    text = (here / "r.html").read_text(encoding="utf-8")
    assert text.count("<svg") >= 10
    assert len(text.encode()) / text.count("<svg") < 300_000 / 15
    assert text.count("<svg") == text.count('role="img"') == text.count("<svg role=")
    heads = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', text)
    assert heads[:2] == ["case", "verdict"]
    assert text.count("<table>") == text.count("<caption>")
    assert ">0.001</text>" in text  # numbers that are read are not cut short


def test_one_run_is_one_run(tmp_path, capsys):
    """Scores that give every canary away refute a claim of ε = 0.1 from a single run."""
    for name, score in (("in.csv", 1), ("out.csv", 0)):
        (tmp_path / name).write_text("\n".join(str(score + k / 1000) for k in range(100)) + "\n")
    line = f"audit --scores {tmp_path}/in.csv {tmp_path}/out.csv --one-run 50 50 --fair-coins"
    with pytest.raises(SystemExit) as stopped:
        main([*line.split(), *"--claim eps=0.1 --adjacency add-remove".split()])
    out = " ".join(capsys.readouterr().out.split())
    assert stopped.value.code == 1
    assert ", 1 run)" in out


@pytest.mark.parametrize(("extra", "taken"), [("", True), ("--release every-message", False)])
def test_a_release_that_nobody_said_is_called_the_default(extra, taken, capsys):
    line = "audit --counts 60 40 40 60 --claim eps=1 --adjacency add-remove"
    words = extra.replace("every-message", "every message").split(" ", 1) if extra else []
    for form in ([], ["--json"]):
        with pytest.raises(SystemExit):
            main([*line.split(), *words, *form])
        out = " ".join(capsys.readouterr().out.split())
        mark = '"release_basis": "default"' if form else "every message (the default; --release"
        assert (mark in out) is taken
