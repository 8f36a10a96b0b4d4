"""Planted bugs: the declared mechanism is unchanged; the one that runs is faulty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dpcalc.auditing import Target, World


def run_by(target: Target, actual: Any, neighbour: Any, *, release: Any = None) -> Target:
    """The densities and declarations of the target, the runs of another algorithm.

    Args:
        target: what is modelled.
        actual: the algorithm that really runs, on the data of the world IN.
        neighbour: data of the world OUT.
        release: as for `Algorithm.run`.
    """
    pair = {World.IN: actual, World.OUT: actual.with_records(neighbour)}

    def run(world: World, generator: np.random.Generator, runs: int) -> Any:
        made = pair[world].run(generator, runs=runs, release=release)
        return replace(made, algorithm=target.name) if made.algorithm != target.name else made

    return replace(target, run=run, tilted=None)


def seed_reused(target: Target, seed: int = 7) -> Target:
    """Every batch draws from a generator with the same fixed seed."""

    def run(world: World, _: np.random.Generator, runs: int) -> Any:
        return target.run(world, np.random.default_rng(seed), runs)

    return replace(target, run=run, tilted=None)


def noise_reused(algorithm: Any) -> Any:
    """The algorithm with its first round's noise in every round."""
    kind = type(algorithm)

    def advance(self: Any, t: int, memory: Any, unit: Any) -> tuple[Any, Any, Any]:
        first = memory.get("first noise", unit["noise"])
        after, released, extra = kind._advance(self, t, memory, unit | {"noise": first})  # noqa: SLF001
        return after | {"first noise": first}, released, extra

    changed = type(kind.__name__, (kind,), {"_advance": advance, "__slots__": ()})
    given = {e.name: getattr(algorithm, e.name) for e in fields(algorithm) if e.init}
    return changed(given.pop("problem"), **given)


def fitted_parameter(target: Target, name: str, values: Mapping[World, float]) -> Target:
    """A parameter called public that was computed from the data."""
    return replace(target, public=lambda world: {name: values[world]})
