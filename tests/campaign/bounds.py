"""Ten thousand random instances of a bound: ``python -m tests.campaign.bounds --store FILE``.

Instances are judged in blocks of fifty, each a line of FILE when it is finished; the same command
again resumes where it was stopped, and ``--minutes 5`` ends a piece (status 3: there is more to do;
1: an instance is above its bound by more than rounding explains). How many were judged and the
largest share of each bound are printed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from tests.oracles.random_instances import ROOM, Draw

SEED, UNFINISHED, BLOCK = 2026, 3, 50
KINDS = {draw.__name__: draw for draw in ROOM}


def block(kind: str, number: int) -> dict[str, Any]:
    """What became of the instances of one block; the same at any time."""
    draw, judged, largest, above = KINDS[kind], 0, 0.0, []
    for instance in range(number * BLOCK, (number + 1) * BLOCK):
        share = _share(draw, instance)
        if share is None:
            continue
        judged, largest = judged + 1, max(largest, share)
        if not share <= 1 + ROOM[draw]:
            above.append(instance)
    return {"kind": kind, "block": number, "judged": judged, "largest": largest, "above": above}


def _share(draw: Draw, instance: int) -> float | None:
    kind = list(ROOM).index(draw)
    return draw(np.random.default_rng((SEED, kind, instance)))


def summary(blocks: list[dict[str, Any]]) -> list[str]:
    """One line a bound."""
    lines = []
    for kind in KINDS:
        own = [found for found in blocks if found["kind"] == kind]
        if own:
            judged, largest = (f(b[n] for b in own) for f, n in ((sum, "judged"), (max, "largest")))
            above = sum(len(b["above"]) for b in own)
            lines.append(f"{kind}: {judged} instances, largest share {largest:.9f}, above: {above}")
    return lines


def main(arguments: list[str]) -> int:
    """Judge blocks until there are enough, or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--kind", choices=sorted(KINDS), action="append")
    given = parser.parse_args(arguments)
    lines = given.store.read_text().splitlines() if given.store.exists() else []
    blocks = [json.loads(line) for line in lines]
    known = {(found["kind"], found["block"]) for found in blocks}
    numbers = range(-(-given.instances // BLOCK))
    wanted = [(kind, n) for n in numbers for kind in given.kind or KINDS]
    left, end = [item for item in wanted if item not in known], monotonic() + 60 * given.minutes
    with given.store.open("a") as store:
        while left and monotonic() < end:
            blocks.append(block(*left.pop(0)))
            store.write(json.dumps(blocks[-1]) + "\n")
            store.flush()
    sys.stdout.write("".join(line + "\n" for line in summary(blocks)))
    wrong = [found for found in blocks if found["above"]]
    sys.stdout.write("".join(f"ABOVE: {json.dumps(found)}\n" for found in wrong))
    return 1 if wrong else UNFINISHED if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
