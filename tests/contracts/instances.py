"""Random instances around the example of a result, drawn from a fixed seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpcalc.errors import DpcalcError
from dpcalc.theorems.base import Result, Theorem
from dpcalc.theorems.catalogue import result
from dpcalc.theorems.parameters import Parameter, parameters

_KEPT = 0.4
"""Share of parameters left at the example's value: a result with many conditions meets them too."""

_RARE, FEW = 0.2, 4
"""Share and rounds of instances whose updates are known by the laws of their noise."""

GRAPHS = ("ring:4", "ring:5", "complete:3", "star:4", "path:3")


def drawn(key: str, count: int) -> Iterator[Result]:
    """At most ``count`` instances; combinations that are refused are dropped."""
    kind = result(key)
    rng = np.random.default_rng(sum(key.encode()))
    found = 0
    for _ in range(40 * count):
        given = dict(kind.example)
        for name, parameter in parameters(kind).items():
            if rng.random() < _KEPT:
                continue
            changed = _drawn(rng, parameter, given.get(name), split=name == "split")
            given.update({} if changed is None else {name: changed})
        if given.get("loss") == "general":
            given["curvature"] = float(rng.uniform(0.1, 2))
        if issubclass(kind, Theorem) and given.get("dimension") is not None:
            # Every round has a law of its own: a few instances of a few rounds.
            given["dimension"] = given["dimension"] if rng.random() < _RARE else None
            given["rounds"] = min(given["rounds"], FEW)
        try:
            instance = kind.from_parameters(given)
        except DpcalcError:
            continue
        yield instance
        found += 1
        if found == count:
            return


def _drawn(rng: np.random.Generator, parameter: Parameter, value: Any, *, split: bool) -> Any:
    """Another value for a parameter; None leaves it as it is."""
    if parameter.kind == "choice":
        return str(rng.choice(parameter.choices))
    if parameter.kind == "flag":
        return bool(rng.integers(2))
    if parameter.kind == "graph":
        return str(rng.choice(GRAPHS))
    whole = parameter.kind == "count" or isinstance(value, int)
    if value is None:
        if split or rng.random() < 0.5:
            return None
        size = rng.uniform(0, 7)
        return int(np.exp(size)) if parameter.kind == "count" else float(np.exp(size - 4))
    if isinstance(value, int | float) and not split:
        step = rng.normal(0, 0.8)
        if whole and value >= 2:
            return max(1, round(value * np.exp(-abs(step))))  # smaller ones are answered sooner
        return float(value * np.exp(step))
    return None
