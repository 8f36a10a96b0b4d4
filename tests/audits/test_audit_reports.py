"""Reports of ``dpcalc audit`` and evidence of ``dpcalc verify``: pages, records, exit statuses."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from dpcalc.cli.main import main
from tests.audits.user_mechanisms import QUICK, run


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


def test_no_method_that_was_not_asked_for_decides(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert here.is_dir()
    words = ["audit", "my_mechanism:claimed", "--json", *QUICK, "--methods", "clopper-pearson"]
    run(*words)
    evidence = json.loads(capsys.readouterr().out)["results"][0]["verdict"]["evidence"]
    assert {e["method"]: e["alpha"] for e in evidence if e["gates"]} == {
        "clopper-pearson": 1e-4 - 1e-6
    }
    assert run(*words, "--early-stop") == 2
    assert "--early-stop goes with e-process or" in " ".join(capsys.readouterr().err.split())


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
    assert ", 100 guesses about canaries of one run)" in out


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
