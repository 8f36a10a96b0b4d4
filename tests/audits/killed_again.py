"""Begins a command of dpcalc again and again, and kills it at random moments.

    python killed_again.py TIMES SECONDS SIZE WORDS...

WORDS may hold "{size}". Every start is a copy of this process, made by fork, which has carried out
the command of size 40 before, so that it takes milliseconds. Without ``--workers`` it is killed
(SIGKILL) within SECONDS of its first piece, one time in four before it; with them, from its first
piece on, one after the other of it and its workers is, at intervals of at most SECONDS, until it is
its own turn. That ends after TIMES deaths, or when a start comes to its end; then the command is left
to come to its end (file ``ended``), and is carried out in one go without its store and its workers
(file ``alone``).

Every piece whose writing is finished is told in a line of the file ``told``; after every death each
of them has to be in the store, ``kept.sqlite``. Prints how many starts and workers were killed, how
many starts while they wrote a piece, and how many came to their end.
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

TOLD, STORE = Path("told"), Path("kept.sqlite")

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


def plain(words: list[str]) -> list[str]:
    """The command on one process and without a store."""
    leave = [("--workers", 2), ("--checkpoint", 2), ("--resume", 1)]
    found = list(words)
    for name, count in leave:
        if name in found:
            at = found.index(name)
            del found[at : at + count]
    return found


def learn(words: list[str]) -> None:
    """Carry the command out in this process: all is imported then."""
    from dpcalc.cli.main import main

    with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), suppress(SystemExit):
        main([word.format(size=40) for word in plain(words)])


def carry_out(words: list[str], output: str | Path, notes: Path | None) -> None:
    """The command itself; never returns."""
    from dpcalc import store
    from dpcalc.cli.main import main

    os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT, 0o600), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if notes is not None:
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
        sys.stdout.flush()
        os._exit(status)


def begun(words: list[str], output: str | Path = os.devnull, notes: Path | None = TOLD) -> int:
    """The number of a process that carries out the command."""
    child = os.fork()
    if not child:
        carry_out(words, output, notes)
    return child


def finished(words: list[str], output: Path) -> int:
    """The status of a command that is left alone."""
    return os.waitstatus_to_exitcode(os.waitpid(begun(words, output, None), 0)[1])


def is_going(child: int, seconds: float) -> bool:
    """Whether it is still going after some time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            ENDS.append(os.waitstatus_to_exitcode(status))
            return False
        time.sleep(0.001)
    return True


ENDS: list[int] = []
"""Status of every start that came to an end by itself."""


def how_it_ended() -> Counter[str]:
    """At its end, or given up because workers were lost too often, which the next start resumes."""
    return Counter(given_up=1) if ENDS[-1] == _GIVEN_UP else Counter(finished=1)


_GIVEN_UP = 75


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


def pieces() -> int:
    """How many pieces were written that are never written again."""
    return sum(what == "written" and lasting(key) for what, key in told(TOLD))


def until_it_writes(child: int, before: int) -> bool:
    """Wait for a further piece; whether the process is still going."""
    while pieces() <= before:
        if not is_going(child, 0.005):
            return False
    return True


def kill_alone(words: list[str], draw: random.Random, seconds: float) -> Counter[str]:
    """One start, killed at a random moment, before its first piece or after it."""
    before, at = pieces(), time.monotonic()
    child = begun(words)
    if draw.random() < EARLY:
        going = is_going(child, draw.random() * STARTS[-1])
    else:
        going = until_it_writes(child, before)
        STARTS.append(time.monotonic() - at)
        going = going and is_going(child, draw.random() * seconds)
    if not going:
        return how_it_ended()
    end(child)
    return Counter(starts=1)


EARLY = 0.25
"""Share of starts that are killed before their first piece."""

STARTS = [0.1]
"""Seconds from a start to its first piece."""


def kill_in_turn(words: list[str], draw: random.Random, seconds: float) -> Counter[str]:
    """One start, whose workers are killed at random moments until it is itself."""
    before, deaths = pieces(), Counter[str]()
    child = begun(words)
    if not until_it_writes(child, before):
        return how_it_ended()
    while is_going(child, draw.random() * seconds):
        chosen = draw.choice([child, *workers_of(child)])
        if chosen == child:
            end(child)
            return deaths + Counter(starts=1)
        with suppress(ProcessLookupError):
            os.kill(chosen, signal.SIGKILL)
            deaths["workers"] += 1
    return deaths + how_it_ended()


def killed(times: int, seconds: float, words: list[str]) -> Counter[str]:
    """Kill it as often as asked; see the module."""
    draw, deaths = random.Random(7), Counter[str]()
    kill = kill_in_turn if "--workers" in words else kill_alone
    while deaths["starts"] + deaths["workers"] < times and not deaths["finished"]:
        deaths += kill(words, draw, seconds)
        seen = told(TOLD)
        deaths["in writing"] += bool(seen) and seen[-1][0] == "begun"
        lost = {key for what, key in seen if what == "written" and lasting(key)} - kept(STORE)
        if lost:
            raise SystemExit(f"pieces were lost: {sorted(lost)}")
    return deaths


def main(times: int, seconds: float, size: str, template: list[str]) -> None:
    """All of it."""
    learn(template)
    words = [word.format(size=size) for word in template]
    deaths = killed(times, seconds, words)
    os.environ["PAUSE"] = "0"
    more = ["--resume"] if "plan" in kept(STORE) else []  # all were killed before there was one
    status = finished([*words, *more], Path("ended")), finished(plain(words), Path("alone"))
    if status[0] != status[1] or status[0] not in (0, 1, 3):
        raise SystemExit(f"status {status[0]} at the end, {status[1]} in one go")
    sys.stdout.write(json.dumps(deaths) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:])
