"""What every batch of a target has in common: names, shapes and types of what is released."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dpcalc.auditing.sampling.looks import look
from dpcalc.auditing.targets.target import Outputs, Target, World
from dpcalc.errors import InvalidInput
from dpcalc.transcript import Transcript

_HELP = (
    "which may give the record away; release a fixed number of values of one type, padded, and what "
    "else tells the runs apart as a number"
)


def layout(outputs: Outputs) -> str:
    """Names, shapes in one run and types of what was released."""
    if isinstance(outputs, Transcript):
        return ", ".join(sorted(outputs.released))
    named = outputs.items() if isinstance(outputs, Mapping) else [("values", outputs)]
    parts = []
    for name, values in sorted(named):
        kind = f" and type {values.dtype}" if isinstance(values, np.ndarray) else ""
        try:
            parts.append(f"{name} of shape {np.shape(values)[1:]}{kind}")
        except ValueError:
            parts.append(f"{name} of no one shape")
    return ", ".join(parts)


def require_one_layout(target: Target, inside: str, outside: str) -> None:
    """Refuse what tells the worlds apart before any number is looked at."""
    if inside != outside:
        raise InvalidInput(
            "expected the same names, shapes and types with the record and without from target "
            f"{target.name!r}; got {inside} and {outside}, {_HELP}"
        )


@dataclass(frozen=True, slots=True)
class _Alike:
    """A target's runs, refused where a batch is laid out otherwise than the first."""

    run: Callable[[World, np.random.Generator, int], Outputs]
    first: str
    name: str

    def __call__(self, world: World, draw: np.random.Generator, runs: int) -> Outputs:
        outputs = self.run(world, draw, runs)
        found = layout(outputs)
        if found != self.first:
            raise InvalidInput(
                "expected the same names, shapes and types in every batch of target "
                f"{self.name!r}; got {self.first} and {found}, {_HELP}"
            )
        return outputs


def of_one_layout(target: Target, seed: int) -> Target:
    """The target, of which every batch must look like two runs that are made for this alone.

    Args:
        target: what is attacked.
        seed: of the experiment.
    """
    first = layout(look(target, World.IN, seed, 8, 2))
    return replace(target, run=_Alike(target.run, first, target.name))
