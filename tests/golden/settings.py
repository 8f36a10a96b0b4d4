"""Settings of every published result: those of settings.toml, and others by the kinds of parameters."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpcalc.theorems.catalogue import result
from dpcalc.theorems.parameters import Parameter, parameters, required

Change = dict[str, Any]

LEFT_OUT = "left out"
"""In place of a value: the parameter is not given."""

SETTINGS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("settings.toml").read_text("utf-8")
)


def _own(key: str) -> Any:
    """What settings.toml says of a result; a new one is asked for its example alone."""
    return SETTINGS.get(key, {"base": {}, "changes": []})


def answered(key: str) -> list[Change]:
    """What is changed in the instances of a result that are answered in full."""
    return [{}, *_own(key)["changes"]]


def glanced_at(key: str) -> Iterator[Change]:
    """One change of each parameter after the other, and each left out."""
    for name, parameter in parameters(result(key)).items():
        for value in _values(parameter):
            yield {name: value}
        if name in required(result(key)):
            yield {name: LEFT_OUT}


def changed(key: str, change: Change) -> Change:
    """The parameters of a setting."""
    given = {**result(key).example, **_own(key)["base"], **change}
    return {name: value for name, value in given.items() if value not in (LEFT_OUT, None)}


def _values(parameter: Parameter) -> list[Any]:
    """Values of a parameter: some in its range, some at its ends, some beyond."""
    if parameter.kind == "choice":
        return [*parameter.choices, "elsewhere"]
    if parameter.kind == "flag":
        return [True, False, "yes"]
    if parameter.kind == "graph":
        return ["ring:4", "ring:2", "wheel:5"]
    if parameter.kind == "matrix":
        return [2, 0, -1, "x"]
    if parameter.kind == "count":
        return [1, 6, 0, 1.5]
    if parameter.kind == "schedule":
        return ["1:1.25", "2:0.5", 0, "1:", [[1, 2], [3]], -1, [[2]] * 7, [[2] * 7]]
    return [0.25, 3, 0, 1, -1, float("inf"), "1,5"]
