"""dpcalc audit interrupted and begun again, while it runs, and on files with several columns."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from dpcalc.auditing.stages import kept
from dpcalc.audits.suite.catalogue import audit_of
from dpcalc.cli._attacks import live_progress
from dpcalc.cli.main import main

SLOW = """
from dpcalc.auditing import mechanism

made = []

def release(data, generator, runs):
    made.append(runs)
    if INTERRUPTED and len(made) > LIMIT:
        raise KeyboardInterrupt
    return data + generator.laplace(size=runs)

INTERRUPTED, LIMIT = False, 50
target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="slow")
"""
WORDS = ("slow_mechanism:target", "--claim", "eps=1", "--runs", "4000", "--no-controls")
KEPT = ("--checkpoint", "kept.sqlite")


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["audit", *words])
    return int(stopped.value.code or 0)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    import sys

    (tmp_path / "slow_mechanism.py").write_text(SLOW, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("slow_mechanism", None)
    import slow_mechanism  # type: ignore[import-not-found]

    yield slow_mechanism
    sys.modules.pop("slow_mechanism", None)


def test_the_same_command_without_a_seed_goes_on(
    module: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    module.INTERRUPTED = True
    assert run(*WORDS, *KEPT) not in (0, 1)
    assert "finished pieces are in kept.sqlite; the same command resumes" in capsys.readouterr().err
    seed = kept.saved_seed("kept.sqlite")
    module.INTERRUPTED = False
    module.made.clear()
    status = run(*WORDS, *KEPT, "--json")
    shown = capsys.readouterr()
    assert f"going on with the work in kept.sqlite, seed {seed}" in shown.err
    resumed = json.loads(shown.out)["results"][0]["verdict"]
    assert resumed["seed"] == seed
    from_kept = sum(module.made)
    module.made.clear()
    assert run(*WORDS, "--seed", str(seed), "--json") == status
    assert json.loads(capsys.readouterr().out)["results"][0]["verdict"] == resumed
    assert from_kept < sum(module.made)


def test_an_interruption_before_anything_is_kept_says_so(
    module: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    module.INTERRUPTED, module.LIMIT = True, 0
    assert run(*WORDS, *KEPT) not in (0, 1)
    assert "nothing was finished" in capsys.readouterr().err


def test_what_differs_is_named(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(*WORDS, *KEPT, "--seed", "3")
    capsys.readouterr()
    assert run(*WORDS, *KEPT, "--seed", "4") == 2
    shown = capsys.readouterr().err
    assert "seed 3 instead of 4" in shown
    assert "{" not in shown
    Path("kept.sqlite").write_bytes(b"nothing of the kind")
    assert run(*WORDS, *KEPT) == 2


def test_one_file_holds_the_work_of_one_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ("--checkpoint", str(tmp_path / "kept"), "--no-controls", "--runs", "40")
    names = [case.key for case in audit_of("dp-admm").cases if case.key != "as-printed"][:2]
    run("dp-admm", "--case", names[0], *kept, "--seed", "3")
    run("dp-admm", "--case", names[0], "--case", names[1], *kept)
    capsys.readouterr()
    assert run("gradient-admm", *kept) == 2
    assert "audit dp-admm instead of audit gradient-admm" in capsys.readouterr().err
    assert run("dp-admm", "--case", names[0], *kept[:-1], "50") == 2
    assert "expected the planned number of runs, 40" in capsys.readouterr().err


def test_resume_does_not_begin_anew(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*WORDS, *KEPT, "--resume") == 2
    assert "--resume needs work that was begun" in capsys.readouterr().err
    assert not Path("kept.sqlite").exists()
    assert run(*WORDS, "--resume") == 2
    assert "--resume goes with --checkpoint FILE" in capsys.readouterr().err
    status = run(*WORDS, *KEPT, "--seed", "5")
    module.made.clear()
    assert run(*WORDS, *KEPT, "--resume") == status
    again = sum(module.made)
    module.made.clear()
    run(*WORDS, "--seed", "5")
    assert again < sum(module.made) / 2


def test_something_is_shown_before_the_first_run(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(
        "rich.console.Console",
        lambda **_: Console(file=screen, force_terminal=True, width=100),
    )
    first, second = audit_of("dp-admm").cases[:2]
    with live_progress(2) as live:
        live.begin(first)
        live.bar.refresh()
        shown = screen.getvalue()
        assert f"1/2 {first.key}" in shown
        assert "pilot runs" in shown
        live.begin(second)
        live.bar.refresh()
    assert f"2/2 {second.key}" in screen.getvalue()


def test_a_column_of_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(1)
    for name, mean in (("in", 2.0), ("out", 0.0)):
        scores = generator.normal(mean, size=400)
        rows = [f"{k},{s:.6f}" for k, s in enumerate(scores)]
        Path(f"{name}.csv").write_text("\n".join(["run,score", *rows]), encoding="utf-8")
        Path(f"{name}-bare.csv").write_text("\n".join(rows), encoding="utf-8")
    words = ("--claim", "mu=0.5,delta=1e-5", "--adjacency", "add-remove")
    assert run("--scores", "in.csv", "out.csv", *words) == 2
    assert "--column score" in capsys.readouterr().err
    assert run("--scores", "in.csv", "out.csv", "--column", "score", *words) == 1
    assert run("--scores", "in-bare.csv", "out-bare.csv", "--column", "2", *words) == 1
    assert run("--scores", "in.csv", "out.csv", "--column", "other", *words) == 2
    assert "run, score" in capsys.readouterr().err
    assert run("--counts", "9", "1", "1", "9", "--column", "score", *words) == 2
