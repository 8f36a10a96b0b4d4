"""The process that was started is killed again and again, and the verdict is that of one go."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

TARGET = """
from time import sleep
from dpcalc.auditing import mechanism

def release(data, generator, runs):
    sleep(0.01)
    return data + generator.laplace(size=runs)

target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="mine")
"""
WORDS = [
    "audit",
    "mine:target",
    "--claim",
    "eps=1",
    "--runs",
    "9000",
    "--seed",
    "3",
    "--no-controls",
]
COMMAND = [sys.executable, "-m", "dpcalc", *WORDS, "--json", "--no-early-stop"]


def _verdict(text: str) -> str:
    (result,) = json.loads(text)["results"]
    return json.dumps(result["verdict"])


def _killed(folder: Path, times: int) -> None:
    """Kill at random moments, those with work in the file counted; then let it come to its end."""
    (folder / "mine.py").write_text(TARGET, encoding="utf-8")
    alone = subprocess.run(COMMAND, cwd=folder, capture_output=True, text=True, check=False)
    more = ["--workers", "2", "--checkpoint", "kept.sqlite"]
    draw, killed = random.Random(7), 0
    for attempt in range(times):
        going = subprocess.Popen([*COMMAND, *more], cwd=folder, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)  # fmt: skip
        while attempt == 0 and not (folder / "kept.sqlite").exists() and going.poll() is None:
            time.sleep(0.01)
        time.sleep(draw.random() * 3)
        killed += going.poll() is None
        going.kill()
        going.wait()
    assert killed
    last = [*COMMAND, *more, "--resume"]
    found = subprocess.run(last, cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode == alone.returncode, found.stderr
    assert _verdict(found.stdout) == _verdict(alone.stdout)


def test_a_killed_audit_goes_on_to_the_same_verdict(tmp_path: Path) -> None:
    _killed(tmp_path, 2)


@pytest.mark.campaign
def test_an_audit_killed_a_hundred_times_goes_on_to_the_same_verdict(tmp_path: Path) -> None:
    _killed(tmp_path, 100)
