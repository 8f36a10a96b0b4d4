"""Runs that checks look at before any statistics, and errors that say which runs they come from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.sampling.runner import Stage, generator
from dpcalc.auditing.targets.target import Outputs, Target, World, numbers_of
from dpcalc.errors import InvalidInput

Array = NDArray[np.float64]


def look(target: Target, world: World, seed: int, batch: int, runs: int) -> Outputs:
    """What runs of a check released.

    Args:
        target: what is attacked.
        world: of all of them.
        seed: of the experiment.
        batch: which of the checks' batches.
        runs: how many.
    """
    with telling(world, seed, batch, runs):
        return target.run(world, _generator(world, seed, batch), runs)


def looked(
    target: Target, world: World, seed: int, batch: int, runs: int, width: int | None = None
) -> Array:
    """The same as numbers, shape (runs, numbers); ``width`` is how many there were so far."""
    with telling(world, seed, batch, runs):
        return every_run(
            target, target.run(world, _generator(world, seed, batch), runs), runs, width
        )


def every_run(target: Target, outputs: Outputs, runs: int, width: int | None = None) -> Array:
    """`numbers_of`, refused unless there is one release per run."""
    found = numbers_of(target, outputs, width)
    if len(found) != runs:
        raise InvalidInput(
            f"expected one release per run from target {target.name!r}, {runs} of them; got "
            f"{len(found)}; keep the runs axis first"
        )
    return found


@contextlib.contextmanager
def telling(world: World, seed: int, batch: int, runs: int) -> Iterator[None]:
    """Errors inside say in which runs they came up."""
    try:
        yield
    except Exception as error:
        error.add_note(
            f"in {runs} runs of the world {world.name}, checks batch {batch}, seed {seed}; no verdict "
            "rests on the other runs"
        )
        raise


def _generator(world: World, seed: int, batch: int) -> np.random.Generator:
    return generator(seed, Stage.CHECKS, batch, list(World).index(world))
