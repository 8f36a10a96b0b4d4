"""Planted leaks and their twins, counted for the dated page."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial

from dpcalc.auditing import Claim, Outcome, audit, mechanism
from dpcalc.audits.bugs.leaks import PAIRS, Release
from dpcalc.report.leaks import LeakCount

LEVELS = (0.05, 1e-6)
"""The α at which planted leaks and their twins are audited."""


def leak_counts(
    *,
    tries: int = 20,
    twins: int = 200,
    pairs: Sequence[int] = range(len(PAIRS)),
    say: Callable[[str], None],
    executor: Executor | None = None,
) -> list[LeakCount]:
    """Default audits of planted leaks and of their twins, seeds 0, 1, 2 and so on.

    Args:
        tries: seeds of a leak at each of `LEVELS`.
        twins: seeds of a twin.
        pairs: places in `leaks.PAIRS`.
        say: told what is under attack.
        executor: who does the work; this process if left out.
    """
    work = partial(_counted, tries=tries, twins=twins)
    found = []
    made = map(work, pairs) if executor is None else executor.map(work, pairs)
    for count in made:
        say(f"planted leak: {count.leak}, {count.claim}")
        found.append(count)
    return found


def refuted(release: Release, claim: Claim, alpha: float, seeds: int) -> int:
    """In how many of these audits the claim was refuted of a function and nothing else."""
    target = mechanism(release, 1.0, 0.0, adjacency=claim.adjacency)
    verdicts = (audit(target, claim, seed=s, alpha=alpha, controls=False) for s in range(seeds))
    return sum(verdict.outcome is Outcome.REFUTED for verdict in verdicts)


def _counted(place: int, *, tries: int, twins: int) -> LeakCount:
    leak, claim = PAIRS[place]
    begun = time.process_time()
    caught = {alpha: refuted(leak.broken, claim, alpha, tries) for alpha in LEVELS}
    seconds = (time.process_time() - begun) / (tries * len(LEVELS))
    return LeakCount(
        leak=leak.name,
        claim=claim.name,
        tries=tries,
        twins=twins,
        caught=caught,
        accused={alpha: refuted(leak.sound, claim, alpha, twins) for alpha in LEVELS},
        seconds=seconds,
    )
