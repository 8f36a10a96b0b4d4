"""How near every certified bound is to what an instance really leaks, on one page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dpcalc.claims.verdict import surely_attained
from dpcalc.numerals import spelt
from dpcalc.theorems.base import Scope, Theorem
from dpcalc.theorems.catalogue import keys, privacy_result

DELTAS = (1e-3, 1e-6, 1e-9)
NEAR = 0.9
_ROUNDED = 1e-9
"""Both numbers are rounded outward: an attained bound comes out a few doubles below 1."""
_LENGTHS = ("iterations", "rounds", "steps", "passes", "users", "position", "n_records")

_INTRODUCTION = """\
# How tight the certified bounds are

Every privacy result at its example, with half and twice the noise, and with a quarter of the length
of the run (or of the place in it): the ε that a concrete instance within the assumptions attains,
over the certified ε, at three values of δ. No correct bound can be below what is attained, so 1 means
that nothing smaller is true. Where the share is small either the bound may be improved or a worse
instance exists; the result's page says what is known. Where no instance is known the row says so.

This page is written by

    dpcalc theorems --tightness docs/tightness.md

"""


@dataclass(frozen=True, slots=True)
class Row:
    """One result in one setting.

    Attributes:
        key: the result.
        setting: what differs from the example.
        shares: attained over certified ε at `DELTAS`; None without an instance.
    """

    key: str
    setting: str
    shares: tuple[float, ...] | None


def settings(theorem: Theorem) -> Iterator[tuple[str, Theorem]]:
    """The example and three more."""
    yield "example", theorem
    level = theorem.noise_level()
    more, less = (0.5, 2.0) if theorem.noise_is_a_rate else (2.0, 0.5)
    yield "half the noise", theorem.with_noise_level(level * less)
    yield "twice the noise", theorem.with_noise_level(level * more)
    inputs = theorem.inputs()
    length = next(name for name in _LENGTHS if isinstance(inputs.get(name), int))
    fewer = max(1, inputs[length] // 4)
    yield f"{length.replace('_', ' ')} = {fewer}", theorem.replace(**{length: fewer})


def share(theorem: Theorem, delta: float) -> float | None:
    """Attained over certified ε; 1 if neither is finite, None without an instance."""
    if theorem.violations(Scope.CERTIFIED) or (instance := theorem.attained()) is None:
        return None
    attained = surely_attained(instance.guarantee, delta)
    certified = theorem.certified().guarantee.epsilon(delta)
    if certified == attained or certified == 0.0:
        return 1.0
    return 0.0 if math.isinf(certified) else attained / certified


def rows(say: Callable[[str], None] = lambda _: None) -> list[Row]:
    """Every privacy result in all its settings."""
    found = []
    for key in keys(privacy=True):
        say(key)
        kind = privacy_result(key)
        for name, theorem in settings(kind.from_parameters(kind.example)):
            shares = tuple(share(theorem, delta) for delta in DELTAS)
            known = tuple(x for x in shares if x is not None)
            found.append(Row(key, name, known if len(known) == len(shares) else None))
    return found


def page(found: list[Row]) -> str:
    """The page as Markdown."""
    near = sorted(
        {row.key for row in found}
        - {row.key for row in found if row.shares is None or min(row.shares) < NEAR}
    )
    count = len({row.key for row in found})
    lines = [
        _INTRODUCTION,
        f"At least {NEAR:g} everywhere: {len(near)} of {count} results"
        + (f" ({', '.join(f'`{key}`' for key in near)})." if near else "."),
        "",
        "| result | setting | " + " | ".join(f"δ = {spelt(delta)}" for delta in DELTAS) + " |",
        "|---|---|" + "---|" * len(DELTAS),
    ]
    for row in found:
        link = f"[{row.key}](theorems/{row.key}.md)"
        shares = row.shares
        cells = ["no instance", *["–"] * (len(DELTAS) - 1)]
        if shares is not None:
            cells = [f"{math.floor(1000 * x + _ROUNDED) / 1000:.3f}" for x in shares]
        lines.append(f"| {link} | {row.setting} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
