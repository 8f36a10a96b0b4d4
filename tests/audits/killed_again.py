"""Begins a command of dpcalc again and again, and kills it at random moments.

    python killed_again.py TIMES SECONDS SEED TOLD CHECKPOINT SIZE WORDS...

WORDS may hold "{size}". Every start is a copy of this process, made by fork, which has carried out
the command of size 40 before, so that it takes milliseconds. Without ``--workers`` it is killed (SIGKILL) at a uniform moment of its first
SECONDS; with them, from its first piece on, one after the other of it and its workers is, at
intervals of at most SECONDS, until it is its own turn. It ends after TIMES deaths, or when a start
comes to its end.

A piece whose writing is finished is told in a line of TOLD; after every death each told piece has to
be in CHECKPOINT. Prints how many starts and workers were killed, how many starts while they wrote a
piece, and how many came to their end.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from contextlib import closing, redirect_stdout, suppress
from pathlib import Path
from typing import Any

PASSING = ("plan", "planned", "judged")
"""Pieces that a start may write anew; so it may the rounds of the group under way."""


def lasting(key: str) -> bool:
    """Whether a piece is written once and for all."""
    return key.rpartition("/")[2] not in PASSING and "rounds" not in key


def told(notes: Path) -> list[tuple[str, str]]:
    """What was told, in order: begun or written, and which piece."""
    if not notes.exists():
        return []
    lines = [line.partition(" ") for line in notes.read_text(encoding="utf-8").splitlines()]
    return [(what, key) for what, _, key in lines]


def kept(checkpoint: Path) -> set[str]:
    """Names of the pieces in a store."""
    if not checkpoint.exists() or not checkpoint.stat().st_size:
        return set()
    with closing(sqlite3.connect(checkpoint)) as connection, suppress(sqlite3.OperationalError):
        return {key for (key,) in connection.execute("SELECT key FROM pieces")}
    return set()  # killed before there was a table


def learn(words: list[str]) -> None:
    """Carry the command out once, on one process and without a checkpoint: all is imported then."""
    from dpcalc.cli.main import main

    plain = [word for word in words if word not in ("--workers", "2")]
    if "--checkpoint" in plain:
        plain = plain[: plain.index("--checkpoint")]
    with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), suppress(SystemExit):
        main([word.format(size=40) for word in plain])


def carry_out(words: list[str], notes: Path) -> None:
    """The command itself; never returns."""
    from dpcalc import store
    from dpcalc.cli.main import main

    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    write = store.Store.write

    def written(self: store.Store, key: str, *given: Any) -> None:
        name = self.prefix + key
        os.write(file, f"begun {name}\n".encode())
        write(self, key, *given)
        os.write(file, f"written {name}\n".encode())

    store.Store.write = written  # type: ignore[method-assign]
    status = 70
    try:
        main(words)
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    finally:
        os._exit(status)


def begun(words: list[str], notes: Path) -> int:
    """The number of a process that carries out the command."""
    child = os.fork()
    if not child:
        carry_out(words, notes)
    return child


def is_going(child: int, seconds: float) -> bool:
    """Whether it is still going after some time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.001)
    return True


def end(child: int) -> None:
    """Kill a process that nobody has waited for, which keeps its number until then."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def workers_of(child: int) -> list[int]:
    """The workers that a process has started and not lost."""
    found = []
    with suppress(OSError):
        for thread in Path(f"/proc/{child}/task").iterdir():
            found += (thread / "children").read_text(encoding="ascii").split()
    return [int(pid) for pid in found if b"spawn_main" in _command(pid)]


def _command(pid: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def kill_alone(words: list[str], notes: Path, draw: random.Random, seconds: float) -> Counter[str]:
    """One start, killed at a random moment."""
    child = begun(words, notes)
    if not is_going(child, draw.random() * seconds):
        return Counter(finished=1)
    end(child)
    return Counter(starts=1)


def kill_in_turn(
    words: list[str], notes: Path, draw: random.Random, seconds: float
) -> Counter[str]:
    """One start, whose workers are killed at random moments until it is itself."""
    child, before, deaths = begun(words, notes), len(told(notes)), Counter[str]()
    while len(told(notes)) < before + 2:
        if not is_going(child, 0.01):
            return Counter(finished=1)
    while is_going(child, draw.random() * seconds):
        chosen = draw.choice([child, *workers_of(child)])
        if chosen == child:
            end(child)
            return deaths + Counter(starts=1)
        with suppress(ProcessLookupError):
            os.kill(chosen, signal.SIGKILL)
            deaths["workers"] += 1
    return deaths + Counter(finished=1)


def main(
    times: int, seconds: float, seed: int, notes: Path, checkpoint: Path, words: list[str]
) -> None:
    """Kill it as often as asked; see the module."""
    draw, deaths = random.Random(seed), Counter[str]()
    kill = kill_in_turn if "--workers" in words else kill_alone
    while deaths["starts"] + deaths["workers"] < times and not deaths["finished"]:
        deaths += kill(words, notes, draw, seconds)
        seen = told(notes)
        deaths["in writing"] += bool(seen) and seen[-1][0] == "begun"
        lost = {key for what, key in seen if what == "written" and lasting(key)} - kept(checkpoint)
        if lost:
            raise SystemExit(f"pieces were lost: {sorted(lost)}")
    sys.stdout.write(json.dumps(deaths) + "\n")


if __name__ == "__main__":
    learn(sys.argv[7:])
    main(
        int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]),
        Path(sys.argv[5]), [word.format(size=sys.argv[6]) for word in sys.argv[7:]],
    )  # fmt: skip
