"""Planted leaks and their twins, counted for the dated page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcalc.auditing import Claim, Outcome, audit, mechanism
from dpcalc.auditing.verdict import ALPHA
from dpcalc.audits.bugs.leaks import PAIRS, Release
from dpcalc.execution.kept import Keeping, in_order_kept
from dpcalc.report.leaks import LeakCount

if TYPE_CHECKING:
    from dpcalc.store import Store

LEVELS = (ALPHA, 0.05)
"""The α at which planted leaks and their twins are audited: the default, and that of 95 per cent."""


def leak_counts(
    *,
    tries: int = 20,
    twins: int = 200,
    pairs: Sequence[int] = range(len(PAIRS)),
    say: Callable[[str], None],
    executor: Executor | None = None,
    store: Store | None = None,
) -> list[LeakCount]:
    """Default audits of planted leaks and of their twins, seeds 0, 1, 2 and so on.

    Args:
        tries: seeds of a leak at each of `LEVELS`.
        twins: seeds of a twin.
        pairs: places in `leaks.PAIRS`.
        say: told what is under attack.
        executor: who does the work; this process if left out.
        store: where counts are kept as they are made.
    """
    if store is not None:
        store.begin({"levels": list(LEVELS), "tries": tries, "twins": twins})
    work = partial(_counted, tries=tries, twins=twins)
    keeping = Keeping(store=store, key=_key, pack=_packed, unpack=_unpacked)
    found = []
    with closing(in_order_kept(work, pairs, executor, keeping=keeping, what="pair")) as made:
        for count in made:
            say(f"planted leak: {count.leak}, {count.claim}")
            found.append(count)
    return found


def refuted(release: Release, claim: Claim, alpha: float, seeds: int) -> int:
    """In how many of these audits the claim was refuted of a function and nothing else."""
    target = mechanism(release, 1.0, 0.0, adjacency=claim.adjacency)
    verdicts = (audit(target, claim, seed=s, alpha=alpha, controls=False) for s in range(seeds))
    return sum(verdict.outcome is Outcome.REFUTED for verdict in verdicts)


def _key(place: int) -> str:
    leak, claim = PAIRS[place]
    return f"{leak.name}, {claim.name}"


def _packed(count: LeakCount) -> tuple[dict[str, Any], dict[str, Any]]:
    by_level = {"caught": list(count.caught.values()), "accused": list(count.accused.values())}
    return asdict(count) | by_level, {}


def _unpacked(header: Mapping[str, Any], _: Mapping[str, Any]) -> LeakCount:
    caught, accused = (dict(zip(LEVELS, header[k], strict=True)) for k in ("caught", "accused"))
    return LeakCount(**{**header, "caught": caught, "accused": accused})


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
