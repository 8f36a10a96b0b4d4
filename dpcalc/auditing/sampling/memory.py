"""How many runs fit into memory at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcalc import checks
from dpcalc.auditing.sampling.runner import Stage, generator
from dpcalc.auditing.targets.target import World, numbers_of
from dpcalc.errors import InvalidInput
from dpcalc.numerals import spelt_size

if TYPE_CHECKING:
    from dpcalc.auditing.targets.target import Target

FEWEST = 40
"""Runs that have to fit; a pilot of fewer chooses nothing."""

_COPIES = 4
"""What a run releases is held as it is, as a row of numbers, and in what a score makes of it."""

_PROBE = 999
"""Number of the batch of checks that is made to see how much a run releases."""


def most_at_once(target: Target, memory: float) -> int:
    """How many runs may be held at once, by what two of them release.

    Args:
        target: what is attacked; every run releases as many numbers.
        memory: bytes for the releases that one process holds, above 0.

    Raises:
        InvalidInput: if they hold fewer than `FEWEST` runs; says how much would do.
    """
    checks.positive("memory", memory)
    outputs = target.run(World.IN, generator(0, Stage.CHECKS, _PROBE), 2)
    each = _COPIES * max(numbers_of(target, outputs).nbytes // 2, 8)
    if memory < FEWEST * each:
        raise InvalidInput(
            f"expected memory for {FEWEST} runs of {target.name!r}, "
            f"{spelt_size(FEWEST * each, at_least=True)}; got {spelt_size(memory)}; have it release "
            "fewer numbers, such as a score"
        )
    return int(memory // each)
