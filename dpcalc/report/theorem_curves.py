"""Curves of a published privacy result: ε over δ or a parameter, the noise over a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.claims.verdict import surely_attained
from dpcalc.errors import AssumptionViolated, DpcalcError, InvalidInput
from dpcalc.pictures.curves import Picture, asked
from dpcalc.theorems.parameters import parameters

if TYPE_CHECKING:
    from dpcalc.theorems.base import Bound, Result, Theorem

WIDTH = 1e-3
"""Relative width of what is enclosed for a picture, finer than a line is wide."""

KINDS = ("claimed", "certified", "attained")
"""The three numbers that a published result has for one question."""


def epsilon_over_delta(theorem: Theorem, deltas: Iterable[float]) -> Picture:
    """ε at every δ, of one instance."""
    found = _bounds(theorem)
    with with_relative_width(WIDTH):
        curves, _ = asked(deltas, KINDS, lambda delta: _epsilons(found, delta))
    return Picture("delta", "epsilon", curves)


def epsilon_over(theorem: Theorem, name: str, values: Iterable[float], delta: float) -> Picture:
    """ε at δ for every value of a parameter; values that the theorem refuses are left out.

    Raises:
        InvalidInput: if the parameter is no number, with those that are.
    """
    variable(type(theorem), name)

    def at(value: float) -> Mapping[str, float | None]:
        return _epsilons(_bounds(theorem.replace(**{name: value})), delta)

    with with_relative_width(WIDTH):
        curves, reasons = asked(values, KINDS, at)
    return Picture(name, "epsilon", curves, left_out=reasons)


def noise_over_epsilon(theorem: Theorem, epsilons: Iterable[float], delta: float) -> Picture:
    """The noise for every budget: what the paper prescribes, and the smallest that is certified."""
    from dpcalc.calibration import smallest_noise

    start = theorem

    def at(epsilon: float) -> Mapping[str, float | None]:
        nonlocal start
        start = smallest_noise(start, epsilon, delta)
        return {
            "prescribed": _prescribed(theorem, epsilon, delta),
            "certified": start.noise_level(),
        }

    curves, reasons = asked(epsilons, ("prescribed", "certified"), at)
    return Picture("epsilon", theorem.noise, curves, left_out=reasons)


def _prescribed(theorem: Theorem, epsilon: float, delta: float) -> float | None:
    """The paper's noise for a budget, None where its formula gives none."""
    try:
        return theorem.prescribed(epsilon, delta).noise_level()
    except DpcalcError:
        return None


def variable(kind: type[Result], name: str, more: str = "delta, epsilon or ") -> bool:
    """Whether a parameter that can be varied takes whole numbers only.

    Args:
        kind: the result.
        name: of the parameter.
        more: what else can be varied, for the error.

    Raises:
        InvalidInput: if it is no parameter, or no number.
    """
    known = _numbers(kind)
    if name not in known:
        options = ", ".join(sorted(variables(kind)))
        raise InvalidInput(
            f"--over needs {more}a parameter of {kind.key} that is a number ({options}); "
            f"got {name.replace('_', '-')!r}"
        )
    return known[name] == "count"


def variables(kind: type[Result]) -> list[str]:
    """The options of a published result that are numbers, so that an axis can vary them."""
    return [key.replace("_", "-") for key in _numbers(kind)]


def _numbers(kind: type[Result]) -> dict[str, str]:
    known = parameters(kind).items()
    return {key: p.kind for key, p in known if p.kind in ("number", "count", "schedule")}


def _bounds(theorem: Theorem) -> dict[str, Bound | None]:
    return {kind: if_it_applies(getattr(theorem, kind)) for kind in KINDS}


def _epsilons(bounds: Mapping[str, Bound | None], delta: float) -> dict[str, float | None]:
    """ε by kind: what is attained from below, everything else from above."""
    found: dict[str, float | None] = {}
    for kind, bound in bounds.items():
        if bound is None:
            found[kind] = None
        elif kind == "attained":
            found[kind] = surely_attained(bound.guarantee, delta)
        else:
            found[kind] = bound.guarantee.epsilon(delta)
    return found


def if_it_applies(of: Callable[[], Any]) -> Any:
    """A bound, None where the paper's own conditions fail."""
    try:
        return of()
    except AssumptionViolated:
        return None
