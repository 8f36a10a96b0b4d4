"""The process that was started is killed again and again, and the end is that of one go."""

from __future__ import annotations

import json
import logging
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

_log = logging.getLogger(__name__)

TARGET = """
from time import sleep
from dpcalc.auditing import mechanism

def release(data, generator, runs):
    sleep(0.01)
    return data + generator.laplace(size=runs)

target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="mine")
"""
DPCALC = [sys.executable, "-m", "dpcalc"]
AUDIT = (
    "audit mine:target --claim eps=1 --runs 400000 --seed 3 --no-controls --json --no-early-stop"
)
RUN = (
    "run dp-admm --epsilon 1 --delta 1e-6 --rounds 200 --runs 1500 --runs-at-once 1 --seed 3 --json"
)


def _answer(text: str) -> str:
    """What was found, times left out."""
    found = json.loads(text)
    return json.dumps(found["results"][0]["verdict"] if "results" in found else found)


def _written(file: Path) -> int:
    """When the file was changed; 0 if there is none."""
    return file.stat().st_mtime_ns if file.exists() else 0


def _killed(folder: Path, words: str, times: int, seconds: float) -> None:
    """Kill at random moments after the first piece was written; then let it come to its end."""
    (folder / "mine.py").write_text(TARGET, encoding="utf-8")
    command = [*DPCALC, *words.split()]
    alone = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    more = ["--workers", "2", "--checkpoint", "kept.sqlite"]
    file, draw, killed = folder / "kept.sqlite", random.Random(7), 0
    for _ in range(times):
        before = _written(file)
        going = subprocess.Popen([*command, *more], cwd=folder, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)  # fmt: skip
        while _written(file) == before and going.poll() is None:
            time.sleep(0.01)
        time.sleep(draw.random() * seconds)  # from the first piece on, in the middle of the work
        killed += going.poll() is None
        going.kill()
        going.wait()
    assert killed
    last = [*command, *more, "--resume"]
    found = subprocess.run(last, cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode == alone.returncode, found.stderr
    assert _answer(found.stdout) == _answer(alone.stdout)
    _log.info("%s: %d of %d were killed before the end", words.split()[0], killed, times)


def test_a_killed_audit_goes_on_to_the_same_verdict(tmp_path: Path) -> None:
    _killed(tmp_path, AUDIT.replace("400000", "9000"), 2, 0.5)


@pytest.mark.campaign
@pytest.mark.parametrize("words", [AUDIT, RUN], ids=["audit", "run"])
def test_what_was_killed_a_hundred_times_comes_to_the_same_end(tmp_path: Path, words: str) -> None:
    _killed(tmp_path, words, 100, 0.5)
