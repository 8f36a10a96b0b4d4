"""Whatever is killed, however often: nothing finished is lost, and the end is that of one go."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audits.killed_again import lasting, told

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied by fork")

_log = logging.getLogger(__name__)

TARGET = """
import os
from time import sleep
from dpcalc.auditing import mechanism

def release(data, generator, runs):
    sleep(float(os.environ.get("PAUSE", "0")) * (runs > 100))
    return data + generator.laplace(size=runs)

target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="mine", score=lambda x: x)
"""
GRID = """
theorem = "dp-admm"
delta = 1e-5
[parameters]
n_records = {{from = 1000, to = 50000, count = {size}, whole = true}}
rounds = [10, 100]
gradient_bound = 1
sigma = 0.1
dual_start = "zero"
"""
AUDIT = "audit mine:target --claim eps=1 --seed 3 --no-controls --no-early-stop --runs {size}"
RUN = (
    "run dp-admm --epsilon 1 --delta 1e-6 --rounds 50 --runs-at-once 1 --seed 3 --measure-every 0 "
    "--runs {size}"
)
COMMANDS = {"audit": AUDIT, "run": RUN, "sweep": "sweep grid.toml"}
KEPT = ["--json", "--checkpoint", "kept.sqlite"]
SCRIPT = Path(__file__).with_name("killed_again.py")


def _answer(text: str) -> str:
    """What was found, times left out."""
    found = json.loads(text)
    return json.dumps(found["results"][0]["verdict"] if "results" in found else found)


def _killed(
    folder: Path, words: str, times: int, *, size: int, seconds: float, pause: float = 0.02
) -> dict[str, int]:
    """Kill a command of some size so often; the deaths, after its end was compared."""
    (folder / "mine.py").write_text(TARGET, encoding="utf-8")
    (folder / "grid.toml").write_text(GRID.format(size=size), encoding="utf-8")
    script = [sys.executable, str(SCRIPT), str(times), str(seconds), str(size)]
    done = subprocess.run(
        [*script, *words.split(), *KEPT],
        cwd=folder, env=os.environ | {"PAUSE": str(pause)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ended, alone = (_answer((folder / name).read_text("utf-8")) for name in ("ended", "alone"))
    assert ended == alone
    written = [key for what, key in told(folder / "told") if what == "written" and lasting(key)]
    assert len(set(written)) == len(written), "a finished piece was made again"
    deaths: dict[str, int] = json.loads(done.stdout)
    _log.info("%s: %s, %d pieces kept on the way", words.split()[0], deaths, len(written))
    return deaths


@pytest.mark.parametrize(("what", "size"), [("audit", 16_000), ("run", 24), ("sweep", 80)])
def test_nothing_finished_is_lost_however_often_it_is_killed(
    tmp_path: Path, what: str, size: int
) -> None:
    assert _killed(tmp_path, COMMANDS[what], 5, size=size, seconds=0.1)["starts"]


def test_nor_with_workers_that_are_killed_too(tmp_path: Path) -> None:
    assert _killed(tmp_path, f"{AUDIT} --workers 2", 2, size=9000, seconds=0.5)


@pytest.mark.campaign
@pytest.mark.parametrize(("what", "size"), [("audit", 300_000), ("run", 500), ("sweep", 2400)])
def test_a_hundred_deaths(tmp_path: Path, what: str, size: int) -> None:
    assert _killed(tmp_path, COMMANDS[what], 100, size=size, seconds=0.1)["starts"] == 100


@pytest.mark.campaign
@pytest.mark.parametrize(("words", "size"), [(AUDIT, 1_500_000), (RUN, 2500)], ids=["audit", "run"])
def test_a_hundred_deaths_among_workers(tmp_path: Path, words: str, size: int) -> None:
    deaths = _killed(tmp_path, f"{words} --workers 2", 100, size=size, seconds=1)
    assert deaths["starts"] + deaths["workers"] >= 100
