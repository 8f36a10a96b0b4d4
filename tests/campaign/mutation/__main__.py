"""Mutation testing on a random sample: how many small changes of the code do the tests notice?

``python -m tests.campaign.mutation --folder FOLDER`` copies the checkout to an empty folder, lets
mutmut write every mutant of the measured packages, runs each file of tests once to see which functions
it reaches, then runs tests that reach each mutant of a seeded sample, some of every file. The sample is
drawn in every area apart; the table gives for each the share that died and its exact 95 % confidence
interval (Clopper and Pearson). A survivor that changes nothing a user could notice is listed, with the
reason, in ``survivors.toml`` beside this file; any other is a missing test.

It takes minutes to hours and resumes where it was stopped: ``--minutes 5`` ends a piece, the same
command again resumes (status 3 says that there is more to do). Tests that have changed since are copied
again, and mutants that survived are judged again; the library stays as it was when the folder was filled.
Tests that fail in the copy with honest code are left out. What runs at import only
is noticed by tests that import again. Needs ``pip install 'mutmut==3.8.*'``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic

from tests.campaign.mutation.areas import AREAS, NEAR, TESTS
from tests.campaign.mutation.survivors import change, registered, unnoticeable
from tests.campaign.mutation.workcopy import (
    edition,
    measure_reach,
    mutants,
    prepare,
    reached,
    renew_tests,
)

UNFINISHED = 3

Tests = list[tuple[float, str]]


def sample(names: list[str], size: int | None, seed: int) -> list[str]:
    """A simple random sample in the order it was drawn; a larger one begins with the smaller."""
    drawn = sorted(names)
    random.Random(seed).shuffle(drawn)
    return drawn[:size]


def interval(killed: int, judged: int) -> tuple[float, float]:
    """The exact 95 % confidence interval of a share."""
    from scipy.stats import binomtest

    if judged == 0:
        return 0.0, 1.0
    found = binomtest(killed, judged).proportion_ci(0.95, method="exact")
    return float(found.low), float(found.high)


def within(tests: Tests, budget: float) -> Tests:
    """The tests, in turn, that fit a budget in seconds; the shortest if none does."""
    kept: Tests = []
    spent = 0.0
    for seconds, test in tests:
        if spent + seconds <= budget:
            kept.append((seconds, test))
            spent += seconds
    return kept or sorted(tests)[:1]


def judged(folder: Path) -> dict[str, tuple[bool, str]]:
    """What is known: whether a mutant survived, and which tests; the last word counts."""
    path = folder / "judged.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {e["name"]: (e["survived"], e["tests"]) for e in map(json.loads, lines)}


def judge(
    folder: Path, names: list[str], files: Sequence[str], budget: float, until: float
) -> bool:
    """Judge mutants, in order, and write down what becomes of each; whether all are done."""
    copy, tests, known = folder / "mutants", reached(folder, files), judged(folder)
    with (
        (folder / "judged.jsonl").open("a", encoding="utf-8") as file,
        _judging(copy, files) as judging,
    ):
        assert judging.stdin is not None
        assert judging.stdout is not None
        for name in names:
            chosen = within(tests.get(name.partition("__mutmut_")[0], []), budget)
            tag = edition(folder, chosen)
            survived, before = known.get(name, (True, None))
            if not survived or before == tag:
                continue
            if monotonic() > until:
                return False
            if chosen:
                judging.stdin.write(json.dumps({"name": name, "tests": chosen}) + "\n")
                judging.stdin.flush()
                survived = json.loads(judging.stdout.readline())["survived"]
            file.write(json.dumps({"name": name, "survived": survived, "tests": tag}) + "\n")
            file.flush()
    return True


@contextlib.contextmanager
def _judging(copy: Path, files: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """The process that judges, inside the copy."""
    command = [sys.executable, "-m", "tests.campaign.mutation.judge", *files]
    environment = {**os.environ, "PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=copy, env=environment, text=True, **pipes) as judging:
        yield judging
        assert judging.stdin is not None
        judging.stdin.close()


def table(folder: Path, samples: dict[str, list[str]], totals: dict[str, int]) -> list[str]:
    """The figures of each area as a table in Markdown, and what became of nobody's attention."""
    known, register = judged(folder), registered()
    lines = [
        "| area | mutants | judged | of these no change of an answer | died | share | 95 % |",
        "|---|---|---|---|---|---|---|",
    ]
    missed = []
    for area, names in samples.items():
        done = [name for name in names if name in known]
        changes = {n: change(folder / "mutants", n) for n in done if known[n][0]}
        relevant = [n for n, found in changes.items() if not unnoticeable(n, found, register)]
        died = len(done) - len(changes)
        counted = died + len(relevant)
        low, high = interval(died, counted)
        share = 100 * died / counted if counted else math.nan
        lines.append(
            f"| {area} | {totals[area]} | {len(done)} | {len(done) - counted} | {died} "
            f"| {share:.1f} % | {100 * low:.1f} to {100 * high:.1f} % |"
        )
        for name in relevant:
            missed.append(f"\n{name}")
            missed += [f"  - {line}" for line in changes[name].removed]
            missed += [f"  + {line}" for line in changes[name].added]
    return lines + missed


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, default=120, help="mutants in each area")
    parser.add_argument("--all", action="store_true", help="every mutant: days on one core")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", choices=AREAS, action="append", help="default: each")
    parser.add_argument("--only", default="", help="a module's prefix")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files of tests; default: all")
    parser.add_argument("--near", action="store_true", help="the files about the areas alone")
    parser.add_argument("--budget", type=float, default=20, help="seconds of tests per mutant")
    parser.add_argument("--minutes", type=float, default=math.inf, help="length of this piece")
    parser.add_argument("--folder", type=Path, help="default: a new temporary one")
    return parser.parse_args()


def main() -> int:
    """Run the campaign; status 1 if a survivor could be noticed, 3 if it is not finished."""
    given = _arguments()
    until = monotonic() + 60 * given.minutes
    folder = (given.folder or Path(tempfile.mkdtemp(prefix="dpcalc-mutants-"))).resolve()
    areas = given.area or list(AREAS)
    tests = [t for area in areas for t in NEAR.get(area, TESTS)] if given.near else given.tests
    copy = prepare(folder, areas)
    renew_tests(copy)
    everything = {
        area: [name for name in names if name.startswith(given.only)]
        for area, names in mutants(copy).items()
        if area in areas
    }
    samples = {
        area: sample(names, None if given.all else given.sample, given.seed)
        for area, names in everything.items()
    }
    finished = measure_reach(folder, tests, until)
    if finished:
        longest = max(map(len, samples.values()), default=0)
        turns = [n[k] for k in range(longest) for n in samples.values() if k < len(n)]
        finished = judge(folder, turns, tests, given.budget, until)
    lines = table(folder, samples, {area: len(names) for area, names in everything.items()})
    sys.stdout.write(f"folder {folder}, seed {given.seed}\n" + "\n".join(lines) + "\n")
    if not finished:
        return UNFINISHED
    return 1 if len(lines) > 2 + len(samples) else 0


if __name__ == "__main__":
    raise SystemExit(main())
