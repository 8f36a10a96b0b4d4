"""What hostile inputs are made of: odd values, commands, whole files, and how they are damaged."""

from __future__ import annotations

import random
from typing import Any

VALUES = (
    *"nan inf -inf -1 0 -0 1e999 1e-400 5e-324 1.8e308 0x10 1_000 1__0 1,5 1.5.2 1/0 1/3".split(),
    *"0/0 1e 1e1e1 ½ １ ٣ ∞ true null None [] {} '' -- -h @nofile @/dev/zero ../x .5 5.".split(),
    *"+1 ++1 1e4 99999999999999999999".split(),
    *("", " ", " 1 ", "9" * 400, "x" * 100_000, "\ufeff1", "1\u00a0", "1\n2", "\x1b[2J", "💥"),
)
"""What is given where a number or a name belongs."""

COMMANDS = tuple(
    line.split()
    for line in """
epsilon dp-admm --n-records 1000 --rounds 5 --gradient-bound 1 --epsilon 0.5 --delta 1e-5
epsilon recycled-admm -h
noise dp-admm --n-records 1000 --rounds 5 --gradient-bound 1 --epsilon 0.5 --delta 1e-5
calibrate gaussian --epsilon 1 --delta 1e-5
calibrate laplace --epsilon 1 --rounds 3
convert --pure 1 --delta 1e-5
theorems dp-admm
rate m-admm -h
compose nofile.toml --delta 1e-5
verify nofile.toml --strict
audit --counts 40 60 50 50 --claim eps=1 --adjacency add-remove
run dp-admm --epsilon 1 --delta 1e-6 --rounds 2 --data nofile --out x.json
run dp-admm --epsilon 1 --delta 1e-6 --rounds 2 --seed 1 --runs 1 --measure-every 0
reproduce nothing --quick
sweep nofile.toml --workers 1 --scheduler tcp://127.0.0.1:1 --checkpoint x.json --resume
verify --workers 1 --scheduler tcp://127.0.0.1:1 --certify x.json
audit dp-admm --workers 1 --scheduler nowhere --runs 10 --seed 1
check nofile.json --json
schema nofile.csv --label y --out x.json
plot dp-admm --n-records 1000 --gradient-bound 1 --sigma 0.01 --over rounds --from 1 --to 9 --csv x.json
calibrate gaussian --epsilon 1 --delta 1e-5 --certify x.json
calibrate poisson-subsampled-gaussian --rate 0.01 --rounds 100 --epsilon 1 --delta 1e-5
calibrate gaussian-without-replacement --sample 10 --population 1000 --rounds 10 --epsilon 1 --delta 1e-5
calibrate exponential-norm --dimension 3 --epsilon 1 --delta 1e-5
selftest --json
""".strip().splitlines()
)

PLAN = """delta = 1e-6
epsilon = 9
adjacency = "add-remove"
[[release]]
mechanism = "gaussian"
noise_multiplier = 2.5
count = 3
[[release]]
pure = 0.1
count = 12
"""
CLAIMS = """[[claim]]
name = "ours"
theorem = "dp-admm"
epsilon = 1
delta = 1e-5
attest = "all"
[claim.parameters]
n_records = 1000
rounds = 5
gradient_bound = 1
dual_start = "zero"
"""
GRID = """theorem = "dp-admm"
delta = 1e-6
attest = "all"
[parameters]
n_records = 1000
gradient_bound = 1
dual_start = "zero"
rounds = [2, 5]
sigma = {from = 0.01, to = 0.1, count = 2, scale = "log"}
"""
RECORDS = "age,sex,y\n" + "31,a,yes\n52,b,no\n47,a,yes\n66,b,no\n" * 5
COLUMNS = """# public
age = [18, 90]
sex = ["a", "b"]
"""
ROUNDS = "mechanism,noise_multiplier,count\ngaussian,2.5,3\ngaussian,10,12\nlaplace,,\n".replace(
    "laplace,,\n", "gaussian,4,1\n"
)


def mutated(text: str, rng: random.Random) -> bytes:
    """A text with a few bytes, cells or lines changed."""
    content = bytearray(text.encode())
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        place = rng.randrange(len(content) + 1)
        lines = bytes(content).split(b"\n")
        match rng.randrange(8):
            case 0:
                content[place:place] = rng.choice(VALUES).encode()
            case 1:
                del content[place : place + rng.randrange(1, 9)]
            case 2:
                content[place : place + 1] = rng.randbytes(1)
            case 3:
                rng.shuffle(lines)
                content = bytearray(b"\n".join(lines))
            case 4:
                lines.insert(rng.randrange(len(lines)), rng.choice(lines))
                content = bytearray(b"\n".join(lines))
            case 5:
                content[place:place] = rng.choice(
                    (b",", b";", b"#", b'"', b"\0", b"\r", b"\t", b"=")
                )
            case 6:
                digits = [k for k, c in enumerate(content) if chr(c).isdigit()]
                if digits:
                    k = rng.choice(digits)
                    content[k : k + 1] = rng.choice(VALUES).encode()
            case _:
                content = content[:place]
        content = content or bytearray(b" ")
    return bytes(content)


def replace_one_value(record: Any, rng: random.Random) -> None:
    """Put something else at one place of a record of lists and dictionaries."""
    places = list(record) if isinstance(record, dict) else list(range(len(record)))
    if not places:
        return
    place = rng.choice(places)
    if isinstance(record[place], (dict, list)) and rng.randrange(8):
        replace_one_value(record[place], rng)
        return
    numbers: tuple[Any, ...] = (0, -1, 1.5, 10**9, 10**30, True, None, [], {}, ["1"] * 3)
    record[place] = rng.choice((*VALUES, *numbers))
