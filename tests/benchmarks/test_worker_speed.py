"""Two workers next to two independent programs with half the work each; marked ``campaign``.

Both take what the machine takes from processes that share it, so their ratio is what is lost here: a
process that hands out, workers that are started, those that wait for the last piece. Run with
``-m campaign -s`` on a machine with nothing else to do to see the numbers of docs/workers.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.campaign

CASES = 4
AUDIT = "audit private-r-admm --runs 40000 --seed 1 --no-early-stop --no-controls --json".split()


def taken(*programs: list[str]) -> tuple[float, float]:
    """Seconds until programs that are started together have ended, and their processor seconds."""
    begun, before = time.monotonic(), os.times()
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "dpcalc", *words], stdout=subprocess.DEVNULL, env=environment
        )
        for words in programs
    ]
    assert all(program.wait() in (0, 3) for program in started)
    after = os.times()
    used = after.children_user + after.children_system
    return time.monotonic() - begun, used - before.children_user - before.children_system


def same_cases(count: int, *more: str) -> list[str]:
    return [*AUDIT, *["--case", "certified"] * count, *more]


@pytest.mark.skipif(sys.platform == "win32", reason="times of children are POSIX")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="two workers need two processors")
def test_two_workers_next_to_two_programs_with_half_the_work_each() -> None:
    alone = taken(same_cases(CASES))
    pairs = [
        (
            taken(same_cases(CASES, "--workers", "2")),
            taken(same_cases(CASES // 2), same_cases(CASES // 2)),
        )
        for _ in range(2)
    ]
    (shared, used), (apart, used_apart) = min(pairs, key=lambda pair: pair[0][0] / pair[1][0])
    print(  # noqa: T201
        f"\nspeed: an audit: one process {alone[0]:.1f} s ({alone[1]:.1f} of a processor), two workers "
        f"{shared:.1f} s ({used:.1f}), two programs with half each {apart:.1f} s ({used_apart:.1f}): "
        f"workers take {shared / apart:.2f} of the time, {used / used_apart:.2f} of the processor"
    )
    assert shared < 1.5 * apart
    assert used < 1.25 * used_apart
