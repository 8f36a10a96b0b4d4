"""What guarantees are asked, closed and enclosed, refused and calibrated; all answers as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dpcalc.errors import DpcalcError
from dpcalc.guarantees import Guarantee, WorstOf
from dpcalc.guarantees.attainment import is_attained
from dpcalc.guarantees.best_count import BestCount
from tests.golden.guarantees import CLOSED, ENCLOSED, NUMBERS, REFUSED, Made

Plain = dict[str, Any]

_INF = math.inf

SEARCHED = {
    "composed worst, many",
    "group of approximate",
    "random selection",
    "random selection, geometric",
    "renyi curve",
    "renyi, bounded",
    "through renyi, bare",
    "to rdp from pure",
    "zcdp, nothing",
    "group of one",
    "composed zcdp",
    "to zcdp from pure",
    "to zcdp from gdp",
}
"""Of these, ε, δ and divergences are all that is asked."""

COSTLY = {
    "composed of all kinds",
    "exponential norm",
    "moved noise, plane",
    "sampled",
    "sampled, replaced",
    "without replacement",
    "densities",
    "densities, either order",
    "densities, symmetric",
    "composed profile",
    "group of finite",
}
"""Of these, ε at two δ is all that is asked."""


def tried(call: Callable[[], Any]) -> Any:
    """What a call gives, or the message that refuses it."""
    try:
        return call()
    except DpcalcError as error:
        return f"{type(error).__name__}: {error}"


def _said(made: Made) -> Any:
    return tried(lambda: str(made()))


def asked(made: Made, *, thoroughly: bool) -> Any:
    """What a guarantee in closed form answers."""
    found = made()
    first = {
        **_described(found),
        "epsilon": [found.epsilon(d) for d in (0.0, 2**-10)],
        "delta": [found.delta(e) for e in (0.125, _INF)],
        "renyi": [tried(lambda a=a: found.renyi(a)) for a in (1.5, 2, 64)],
    }
    if not thoroughly:
        return first
    return {
        **first,
        "far": [*map(found.epsilon, (2**-40, 2**-25, 0.25)), *map(found.delta, (0.0, 2.0))],
        "misses": [found.tradeoff(a) for a in (0.0, 0.125, 1.0)],
        "many": [found.epsilons([0.25]), found.deltas([0.125]), found.tradeoffs([0.5])],
        "attacks": [found.advantage(), *map(found.attack_accuracy, (0.0, 0.5, 0.875))],
    }


def enclosed(made: Made, *, thoroughly: bool) -> Plain:
    """What a guarantee answers that encloses its answers."""
    found = made()
    first = {
        **_described(found),
        "attained": is_attained(found),
        "losses": len(found.losses() or ()),
        "epsilon": [_between(found, "bracket", d) for d in (0.0, 2**-14)],
    }
    if not thoroughly:
        return first
    return {
        **first,
        "delta": _between(found, "delta_bracket", 0.25),
        "renyi": tried(lambda: found.renyi(1.5)),
        "misses": [found.tradeoff(0.25), *found.tradeoffs([0.5, 0.0])],
        "deltas": [*found.deltas([0.125, _INF]), *found.deltas([_INF])],
    }


def _between(found: Any, method: str, at: float) -> Any:
    enclose = getattr(found, method, None)
    if enclose is None:
        return found.epsilon(at) if method == "bracket" else found.delta(at)
    bracket = enclose(at)
    return {"from": bracket.lower, "to": bracket.upper}


def _described(found: Guarantee) -> Plain:
    numbers: Mapping[str, float] = found.parameters()
    return {
        "notion": found.notion,
        "adjacency": str(found.adjacency),
        "parameters": {name: float(value) for name, value in numbers.items()},
        "page": "" if " at 0x" in (page := found._repr_html_()) else page,
        "post-processed": found.post_processed() == found,
        "worst": found.worst(2**-10) if isinstance(found, WorstOf) else None,
        "labels": [label for label, _ in found.cases] if isinstance(found, WorstOf) else [],
        "needs delta": found.needs_delta() if not isinstance(found, BestCount) else None,
    }


PARTS: dict[str, dict[str, Callable[[], Any]]] = {
    "guarantees in closed form": {
        name: partial(asked, made, thoroughly=name not in SEARCHED) for name, made in CLOSED.items()
    },
    "guarantees by enclosures": {
        name: partial(enclosed, made, thoroughly=name not in COSTLY)
        for name, made in ENCLOSED.items()
    },
    "guarantees refused": {name: partial(_said, made) for name, made in REFUSED.items()},
    "noise and other numbers": dict(NUMBERS),
}
"""Questions by name, in parts."""
