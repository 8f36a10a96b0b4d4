"""Time, memory and bytes over runs, nodes, records and releases; and what a second worker brings.

    python -m tests.campaign.scaling                   # all of it, about half an hour
    python -m tests.campaign.scaling workers           # on a quiet machine: its figures are wall time
    python -m tests.campaign.scaling nodes records

Every size is a process of its own: processor seconds and peak memory are those of the whole process.
Prints tables for docs/planning.md; needs about 1 GB of disk for the scores.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import numpy as np

_LAPLACE = """
from dpcalc.auditing import mechanism
def release(data, generator, runs):
    return data + generator.laplace(size=runs)
target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="mine", score=lambda x: x)
"""
_DESCENT = """
import numpy as np
from dpcalc.auditing import mechanism
rows = np.random.default_rng(0).normal(size=(400, 20)) / 5
def release(data, generator, runs):
    w = np.zeros((runs, 20))
    for _ in range(200):
        gradient = -(1 / (1 + np.exp(w @ rows.T))) @ rows + data * rows[0]
        w -= 0.01 * (gradient + 3 * generator.standard_normal(w.shape))
    return w
target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="descent")
"""
_AUDIT = "audit {module}:target --claim eps=2 --runs {size} --seed 1 --no-controls --no-early-stop"
_NETWORK = """
from dpcalc.algorithms import load
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.networks import Network
from dpcalc.algorithms.problems.records import split
import numpy as np
n, rng = {size}, np.random.default_rng(0)
rows = rng.normal(size=(10 * n, 10)) / 10
ring = Network(nodes=n, edges=tuple((i, (i + 1) % n) for i in range(n)))
records = split(rows, np.where(rows[:, 0] > 0, 1.0, -1.0), n, row_bound=2.0)
problem = ConsensusProblem(records=records, network=ring, loss=Logistic(), ridge=1.0)
load("private-r-admm")(problem, rounds=10, penalty=0.5, noise_rate=8.0).run(1)
"""
_RECORDS = """
import numpy as np
from dpcalc.training.catalogue import method
from dpcalc.training.method import Budget
from dpcalc.training.prepared_run import prepare
from dpcalc.algorithms.problems.records import split
rng = np.random.default_rng(0)
rows = rng.normal(size=({size}, 10)) / 10
records = split(rows, np.where(rows[:, 0] > 0, 1.0, -1.0), row_bound=2.0)
prepare(method("dp-admm").from_parameters(dict(rounds=10)), records, budget=Budget(1, 1e-6)).run(1)
"""
_RUN = "run dp-admm --epsilon 1 --delta 1e-6 --rounds 100 --seed 1 --runs {size}"
_ON_DISK = (
    "run dp-admm --epsilon 1 --delta 1e-6 --rounds 10 --seed 1 --data rows.npy --row-bound 8 "
    "--memory 200MB"
)
_TIMED = """
import os, sys
from dpcalc.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*os.times()[:4], file=sys.stderr)
"""
_SAMPLED = "mechanism,noise_multiplier,rate,count\n"

SIZES = {
    "runs of a training": (64, 256, 1024),
    "runs of an audit": (10**5, 10**6, 10**7),
    "nodes": (100, 1000, 10_000),
    "records": (10**4, 10**5, 10**6),
    "rows on the disk": (10**5, 10**6),
    "releases": (10, 100, 1000),
    "scores": (10**6, 10**7, 10**8),
}


def words_of(what: str, size: int, folder: Path) -> list[str]:
    """What Python is asked to do; files that it needs are written to the folder."""
    cli = ["-m", "dpcalc"]
    match what:
        case "runs of a training":
            return [*cli, *_RUN.format(size=size).split()]
        case "runs of an audit":
            (folder / "laplace.py").write_text(_LAPLACE, encoding="utf-8")
            return [*cli, *_AUDIT.format(module="laplace", size=size).split()]
        case "nodes":
            return ["-c", _NETWORK.format(size=size)]
        case "records":
            return ["-c", _RECORDS.format(size=size)]
        case "rows on the disk":
            rows = np.lib.format.open_memmap(
                folder / "rows.npy", mode="w+", dtype=np.float64, shape=(size, 51)
            )
            for start in range(0, size, 10**4):
                block = rows[start : start + 10**4]
                block[:] = np.random.default_rng(start).normal(size=block.shape)
                block[:, -1] = np.sign(block[:, 0])
            return [*cli, *_ON_DISK.split()]
        case "releases":
            rows = (f"poisson-subsampled-gaussian,{1 + k / 1000},0.01,50\n" for k in range(size))
            (folder / "rounds.csv").write_text(_SAMPLED + "".join(rows), encoding="utf-8")
            return [*cli, "compose", "rounds.csv", "--delta", "1e-6"]
    draw = np.random.default_rng(0)
    for name, mean in (("in", 1.0), ("out", 0.0)):
        scores = np.lib.format.open_memmap(
            folder / f"{name}.npy", mode="w+", dtype=np.float64, shape=(size // 2,)
        )
        for start in range(0, size // 2, 10**6):
            block = scores[start : start + 10**6]
            block[:] = draw.normal(mean, size=len(block))
    claim = "--claim eps=0.5,delta=1e-5 --adjacency add-remove --seed 1"
    return [*cli, "audit", "--scores", "in.npy", "out.npy", *claim.split()]


def measured(words: list[str], folder: Path) -> tuple[float, float, float]:
    """Processor seconds, wall seconds and peak memory in MB of a process and its children."""
    begun = time.perf_counter()
    going = subprocess.Popen([sys.executable, *words], cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(going.pid, 0)
    going.returncode = os.waitstatus_to_exitcode(status)
    if going.returncode not in (0, 1, 3):
        raise click.ClickException(f"status {going.returncode} of {' '.join(words)[:80]}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - begun, used.ru_maxrss / 1000


def curve(what: str, folder: Path) -> None:
    """Print a line for every size."""
    for size in SIZES[what]:
        seconds, _, memory = measured(words_of(what, size, folder), folder)
        click.echo(f"| {what} | {size:,} | {seconds:.1f} | {memory:.0f} |")


def both(words: list[str], folder: Path) -> float:
    """Wall seconds of two processes that do the same at the same time: what the machine can do."""
    places = [folder / "first", folder / "second"]
    for place in places:
        place.mkdir(exist_ok=True)
        shutil.copy(folder / "descent.py", place)
    begun = time.perf_counter()
    going = [
        subprocess.Popen([sys.executable, *words], cwd=place, stdout=subprocess.DEVNULL)
        for place in places
    ]
    for process in going:
        process.wait()
    return time.perf_counter() - begun


def shares(words: list[str], folder: Path) -> tuple[float, float]:
    """Processor seconds of the process that was started, and of all its workers.

    What the first takes beyond its imports is done by one process, however many workers there are.
    """
    told = subprocess.run(
        [sys.executable, "-c", _TIMED, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    own, system, theirs, their_system = map(float, told.stderr.splitlines()[-1].split())
    return own + system, theirs + their_system


def workers(folder: Path) -> None:
    """Print what two workers bring where one needs a minute or longer, and what two could bring.

    Two processes that share nothing rarely finish twice the work of one in the same time: cores share
    memory, and a virtual machine's may share more.
    """
    (folder / "descent.py").write_text(_DESCENT, encoding="utf-8")
    commands = {
        "audit": _AUDIT.format(module="descent", size=200_000),
        "run": _RUN.format(size=4096),
        "reproduce": "reproduce zhang2019 --out figures",
    }
    click.echo(
        "| what | one worker | two | gain | two alone, side by side | processor s of the two: parent, "
        "workers |"
    )
    for name, command in commands.items():
        words = ["-m", "dpcalc", *command.split()]
        one, two = (measured([*words, "--workers", k], folder)[1] for k in ("1", "2"))
        most = 2 * one / both(words, folder)
        parent, theirs = shares([*command.split(), "--workers", "2"], folder)
        click.echo(
            f"| {name} | {one:.1f} s | {two:.1f} s | {one / two:.2f} | {most:.2f} | {parent:.1f}, "
            f"{theirs:.1f} |"
        )


@click.command()
@click.argument("parts", nargs=-1)
def main(parts: tuple[str, ...]) -> None:
    """Measure the parts named, or all."""
    chosen = [
        what for what in (*SIZES, "workers") if not parts or any(part in what for part in parts)
    ]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for what in chosen:
            if what == "workers":
                workers(folder)
            else:
                curve(what, folder)


if __name__ == "__main__":
    main()
