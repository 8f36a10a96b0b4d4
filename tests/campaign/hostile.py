"""Hostile inputs, generated: each a name, a call, and what its answer may be.

An input is one of two kinds. A *mutant* may mean anything: it must end in an answer or in one of
dpcalc's own errors. A *rewriting* means what the original means, or nothing: it must give the
original's answer or be refused.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpcalc.cli.main import main
from tests.campaign.hostile_extremes import plan, question
from tests.campaign.hostile_texts import (
    CLAIMS,
    COLUMNS,
    COMMANDS,
    GRID,
    PLAN,
    RECORDS,
    ROUNDS,
    VALUES,
    mutated,
    replace_one_value,
)


@dataclass(frozen=True)
class Answer:
    """How a call ended.

    Attributes:
        status: exit status of the command line.
        out: standard output.
        err: standard error.
    """

    status: int
    out: str
    err: str

    @property
    def refused(self) -> bool:
        """Whether it ended with one line about bad use."""
        return self.status == 2

    def parameters(self) -> object:
        """The answer as far as it is JSON; the text otherwise."""
        with contextlib.suppress(ValueError):
            found = json.loads(self.out)
            if "claims" in found:
                return [(claim.get("verdict"), claim.get("claimed")) for claim in found["claims"]]
            return {name: found.get(name) for name in ("certified", "results")}
        return self.out


Maker = Callable[[Path, str, random.Random], "Hostile"]


def command(*words: str) -> Answer:
    """The command line, in this process."""
    out, err = io.StringIO(), io.StringIO()
    status = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as stopped:
            status = int(stopped.code or 0)
    return Answer(status, out.getvalue(), err.getvalue())


@dataclass(frozen=True)
class Hostile:
    """One input.

    Attributes:
        name: kind and number, to repeat it.
        call: carries it out.
        same: carries out the original that it rewrites; None for a mutant.
        given: what is given, for the report of a failure.
    """

    name: str
    call: Callable[[], Answer]
    given: object
    same: Callable[[], Answer] | None = None


def inputs(folder: Path, seed: int) -> Iterator[Hostile]:
    """Damaged inputs without end, of all kinds in turn; a number and a seed name one again."""
    makers = (
        *(_arguments, _plan, _claims, _rounds, _scores, _rewritten_table, _rewritten_toml),
        *(_grid, _certificate, _records),
    )
    return _in_turn(makers, folder, seed)


def far_ends(folder: Path, seed: int) -> Iterator[Hostile]:
    """Questions that make sense, at the far ends of their ranges, without end."""
    return _in_turn((_question, _far_plan), folder, seed)


def _in_turn(makers: Sequence[Maker], folder: Path, seed: int) -> Iterator[Hostile]:
    number = 0
    while True:
        for maker in makers:
            rng = random.Random(f"{seed}/{number}/{maker.__name__}")
            yield maker(folder, f"{maker.__name__[1:]} {seed}/{number}", rng)
            number += 1


def _arguments(folder: Path, name: str, rng: random.Random) -> Hostile:
    words = list(rng.choice(COMMANDS))
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(1, len(words))
        match rng.randrange(5):
            case 0:
                del words[place]
            case 1:
                words.insert(place, rng.choice(VALUES))
            case 2:
                words.insert(place, rng.choice(words))
            case _:
                words[place] = rng.choice(VALUES)
        if len(words) < 2:
            words.append("-h")
    words = [str(folder / "x.json") if word == "x.json" else word for word in words]
    return Hostile(name, lambda: command(*words), words)


def _question(folder: Path, name: str, rng: random.Random) -> Hostile:
    words = question(rng)
    return Hostile(name, lambda: command(*words), words)


def _far_plan(folder: Path, name: str, rng: random.Random) -> Hostile:
    file = _written(folder, "far.toml", plan(rng).encode())
    return Hostile(name, lambda: command("compose", str(file), "--json"), file.read_bytes())


def _plan(folder: Path, name: str, rng: random.Random) -> Hostile:
    file = _written(folder, "plan.toml", mutated(PLAN, rng))
    return Hostile(name, lambda: command("compose", str(file), "--json"), file.read_bytes())


def _claims(folder: Path, name: str, rng: random.Random) -> Hostile:
    file = _written(folder, "claims.toml", mutated(CLAIMS, rng))
    return Hostile(name, lambda: command("verify", str(file), "--json"), file.read_bytes())


def _rounds(folder: Path, name: str, rng: random.Random) -> Hostile:
    file = _written(folder, "rounds.csv", mutated(ROUNDS, rng))
    return Hostile(
        name, lambda: command("compose", str(file), "--delta", "1e-6", "--json"), file.read_bytes()
    )


def _grid(folder: Path, name: str, rng: random.Random) -> Hostile:
    file = _written(folder, "grid.toml", mutated(GRID, rng))
    return Hostile(name, lambda: command("sweep", str(file), "--json"), file.read_bytes())


@functools.cache
def _whole_certificate(folder: Path) -> str:
    """One that verifies; an empty record where the extra that certifies is not installed."""
    plan, file = _written(folder, "whole.toml", PLAN.encode()), folder / "whole.json"
    command("compose", str(plan), "--certify", str(file))
    return file.read_text("utf-8") if file.exists() else "{}"


def _certificate(folder: Path, name: str, rng: random.Random) -> Hostile:
    """A damaged certificate, or one with another value and the right digest of that."""
    whole = _whole_certificate(folder)
    if rng.randrange(3):
        certificate = json.loads(whole)
        replace_one_value(certificate, rng)
        certificate.pop("digest", None)
        sealed = certificate | {
            "digest": hashlib.sha256(json.dumps(certificate, sort_keys=True).encode()).hexdigest()
        }
        content = json.dumps(sealed).encode()
    else:
        content = mutated(whole, rng)
    file = _written(folder, "given.json", content)
    return Hostile(name, lambda: command("check", str(file), "--json"), file.read_bytes())


def _records(folder: Path, name: str, rng: random.Random) -> Hostile:
    """Training data, their schema, or the writing of one."""
    texts = [RECORDS.encode(), COLUMNS.encode()]
    k = rng.randrange(2)
    texts[k] = mutated(texts[k].decode(), rng)
    data = _written(folder, "records.csv", texts[0])
    schema = _written(folder, "columns.toml", texts[1])
    words = ["schema", str(data), "--json"]
    if rng.randrange(3):
        words = ["run", "dp-admm", "--data", str(data), "--schema", str(schema), "--json"]
        words += "--positive yes --epsilon 1 --delta 1e-6 --rounds 2 --seed 1".split()
    return Hostile(name, lambda: command(*words), texts)


def _scores_text(rng: random.Random, middle: float) -> str:
    return "".join(f"{rng.gauss(middle, 1):.6f}\n" for _ in range(60))


def _scores(folder: Path, name: str, rng: random.Random) -> Hostile:
    with_it = _written(folder, "in.csv", mutated(_scores_text(rng, 1.0), rng))
    without = _written(folder, "out.csv", _scores_text(rng, 0.0).encode())
    words = ("audit", "--scores", str(with_it), str(without), "--claim", "eps=1", "--json")
    return Hostile(name, lambda: command(*words, "--adjacency", "add-remove"), with_it.read_bytes())


def _rewritten_table(folder: Path, name: str, rng: random.Random) -> Hostile:
    """A table in which only marks between numbers were added, or the file's encoding changed."""
    lines = ROUNDS.splitlines()
    k = rng.randrange(len(lines))
    place = rng.randrange(len(lines[k]) + 1)
    match rng.randrange(8):
        case 0:
            lines[k] = lines[k][:place] + "," + lines[k][place:]
        case 1:
            lines[k] += rng.choice((",", ";", "\t", " ", ",,", "|"))
        case 2:
            lines.insert(k, rng.choice(("", "# a note", "   ", "# 1,2,3")))
        case 3:
            lines[0] = "\ufeff" + lines[0]
        case 4:
            lines = [line + "\r" for line in lines]
        case 5:
            lines[k] = lines[k].replace(",", rng.choice((" , ", ";", "\t", ", ")))
        case 6:
            lines = [line.replace(",", rng.choice((";", "\t", "|"))) for line in lines]
        case _:
            lines[k] += " #" + rng.choice(("", " a note", "1"))
    file = _written(folder, "again.csv", ("\n".join(lines) + "\n").encode())
    plain = _written(folder, "plain.csv", ROUNDS.encode())
    return Hostile(
        name,
        lambda: command("compose", str(file), "--delta", "1e-6", "--json"),
        file.read_bytes(),
        same=lambda: command("compose", str(plain), "--delta", "1e-6", "--json"),
    )


def _rewritten_toml(folder: Path, name: str, rng: random.Random) -> Hostile:
    """A composition file with notes, blanks and line ends changed, or a key said twice."""
    lines = PLAN.splitlines()
    k = rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            lines.insert(k, rng.choice(("# note", "", "   ")))
        case 1:
            lines[k] += rng.choice(("  # note", "   ", "\t"))
        case 2:
            lines = [line + "\r" for line in lines]
        case 3:
            lines[0] = "\ufeff" + lines[0]
        case 4:
            lines.insert(k, rng.choice([line for line in lines if "=" in line]))
        case _:
            lines[k] = lines[k].replace(" = ", rng.choice(("=", " =", "  =  ", " : ", " == ")))
    file = _written(folder, "again.toml", ("\n".join(lines) + "\n").encode())
    plain = _written(folder, "plain.toml", PLAN.encode())
    return Hostile(
        name,
        lambda: command("compose", str(file), "--json"),
        file.read_bytes(),
        same=lambda: command("compose", str(plain), "--json"),
    )


def _written(folder: Path, name: str, content: bytes) -> Path:
    file = folder / name
    file.write_bytes(content)
    return file
