"""Questions that make sense, at the far ends of their ranges."""

from __future__ import annotations

import random
from collections.abc import Callable

from dpcalc.theorems.base import Theorem
from dpcalc.theorems.catalogue import results

MECHANISMS = (
    ("gaussian",),
    ("laplace",),
    ("exponential-norm", "dimension"),
    ("randomised-response",),
    ("poisson-subsampled-gaussian", "rate"),
    ("gaussian-without-replacement", "population", "sample"),
)
NOISES = {"laplace": "scale-multiplier", "exponential-norm": "scale-multiplier"}


def spread(rng: random.Random, low: float, high: float) -> str:
    """A number between two, uniform in its logarithm, with three digits."""
    return f"{low * (high / low) ** rng.random():.3g}"


def whole(rng: random.Random, high: int) -> str:
    """A whole number between one and another, uniform in its logarithm."""
    return str(int(high ** rng.random()))


FIELDS: dict[str, Callable[[random.Random], str]] = {
    "dimension": lambda rng: whole(rng, 10_000),
    "rate": lambda rng: spread(rng, 1e-9, 1),
    "population": lambda rng: str(1000 + int(10**8 ** rng.random())),
    "sample": lambda rng: whole(rng, 1000),
}


def _delta(rng: random.Random) -> str:
    return rng.choice((spread(rng, 1e-300, 0.5), spread(rng, 1e-15, 1e-2), spread(rng, 1e-8, 1e-4)))


def _calibrate(rng: random.Random) -> list[str]:
    name, *fields = rng.choice(MECHANISMS)
    words = ["calibrate", name, "--epsilon", spread(rng, 1e-10, 1e3), "--delta", _delta(rng)]
    for field in fields:
        words += [f"--{field}", FIELDS[field](rng)]
    if rng.randrange(3):
        words += ["--rounds", whole(rng, 10**7)]
    elif name == "randomised-response":
        words += ["--each", spread(rng, 1e-6, 10)]
    else:
        words += [f"--{NOISES.get(name, 'noise-multiplier')}", spread(rng, 1e-2, 1e3)]
    return [*words, "--adjacency", rng.choice(("add-remove", "replace-one"))]


def _convert(rng: random.Random) -> list[str]:
    given = {
        "pure": spread(rng, 1e-12, 1e3),
        "zcdp": spread(rng, 1e-12, 1e3),
        "gdp": spread(rng, 1e-12, 1e3),
        "rdp": f"{1 + float(spread(rng, 1e-3, 1e3))}:{spread(rng, 1e-12, 1e3)}",
        "approx": f"{spread(rng, 1e-6, 30)}:{spread(rng, 1e-12, 1e-2)}",
    }
    name = rng.choice(tuple(given))
    target = rng.choice(("approx", "approx", "gdp", "zcdp", "risk", "tradeoff"))
    words = ["convert", f"--{name}", given[name], "--to", target]
    if target == "approx":
        words += rng.choice((["--delta", _delta(rng)], ["--epsilon", spread(rng, 1e-6, 1e3)]))
    if target == "tradeoff":
        words += ["--fpr", spread(rng, 1e-9, 1)]
    return words + (["--rounds", whole(rng, 10**7)] if rng.randrange(2) else [])


def _theorem(rng: random.Random) -> list[str]:
    """A result's typical instance with one or two numbers moved by some powers of ten."""
    kind = rng.choice(list(results()))
    values = dict(kind.example)
    numbers = [name for name, value in values.items() if type(value) in (int, float)]
    for name in rng.sample(numbers, min(len(numbers), rng.choice((1, 2)))):
        moved = values[name] * 10 ** rng.uniform(-3, 3)
        values[name] = max(1, round(moved)) if type(values[name]) is int else float(f"{moved:.3g}")
    words = []
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not False:
            words += [option, str(value)]
    if not issubclass(kind, Theorem):
        return ["rate", kind.key, *words]
    return ["epsilon", kind.key, *words, "--attest", "all", "--delta", _delta(rng)]


def question(rng: random.Random) -> list[str]:
    """Words for the command line."""
    return [*rng.choice((_calibrate, _calibrate, _convert, _theorem))(rng), "--json"]


def plan(rng: random.Random) -> str:
    """A composition file of one to four releases."""
    lines = [f"delta = {_delta(rng)}", 'adjacency = "add-remove"']
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        name, *fields = rng.choice(MECHANISMS)
        lines += ["[[release]]", f'mechanism = "{name}"', f"count = {whole(rng, 10**6)}"]
        if name == "randomised-response":
            lines.append(f"epsilon = {spread(rng, 1e-6, 10)}")
        else:
            noise = NOISES.get(name, "noise-multiplier").replace("-", "_")
            lines.append(f"{noise} = {spread(rng, 1e-1, 1e4)}")
        lines += [f"{field} = {FIELDS[field](rng)}" for field in fields]
    return "\n".join(line.replace("+", "") for line in lines) + "\n"
