"""Everything that a published result answers about an instance, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy
from mpmath import mp, mpf

from dpcalc.errors import DpcalcError
from dpcalc.theorems.base import Formula, Result, Scope, Theorem
from dpcalc.theorems.catalogue import result
from dpcalc.theorems.convergence._base import ConvergenceResult, Rate

DELTAS = (2.0**-10, 2.0**-20)
BUDGET = (0.5, 2.0**-10)
_FREE = {"epsilon": 0.5, "delta": 2.0**-10, "alpha": 1.5, "eta": 1.25}
"""For symbols of formulas that stand for no parameter: a budget, or the noise and penalty of a round."""

_DIGITS = 40

Plain = dict[str, Any]


def glance(key: str, given: Mapping[str, Any]) -> Any:
    """The message that refuses an instance, or the conditions of the paper that it fails."""
    return _tried(lambda: _violations(result(key).from_parameters(given)))


def answers(key: str, given: Mapping[str, Any], *, points: int = 1, budget: bool = True) -> Any:
    """All answers about an instance, or the message that refuses it.

    Args:
        key: the result's.
        given: its parameters.
        points: how many δ to ask about.
        budget: whether to ask which noise the paper prescribes.
    """
    try:
        instance = result(key).from_parameters(given)
    except DpcalcError as error:
        return _said(error)
    found: Plain = _checked(instance)
    for name in ("claimed", "certified", "attained"):
        bound = getattr(instance, name, None)
        found[name] = _tried(lambda bound=bound: _bound(bound(), points))  # type: ignore[misc] # mypy
    found["formulas"] = _tried(lambda: {f.name: _formula(f) for f in instance.symbolic()})
    if isinstance(instance, Theorem):
        found |= _of_a_theorem(instance)
        if budget:
            found["prescribed"] = _tried(lambda: instance.prescribed(*BUDGET).noise_level())
    if isinstance(instance, ConvergenceResult):
        found["quantity"] = instance.quantity
    return found


def _checked(instance: Result) -> Plain:
    inputs = instance.inputs()
    return {
        "violations": _violations(instance),
        "findings": [k for k, f in enumerate(instance.findings) if f.applies(instance)],
        "inputs": {k: v if _is_plain(v) else str(v) for k, v in inputs.items()},
    }


def _violations(instance: Result) -> Plain:
    return {str(s): found for s in Scope if (found := instance.violations(s))}


def _of_a_theorem(theorem: Theorem) -> Plain:
    return {
        "release": str(theorem.release),
        "adjacency": str(theorem.adjacency),  # type: ignore[attr-defined] # every one has it
        "noise_level": theorem.noise_level(),
        "tolerance": theorem.calibration_tolerance(),
        "suggestion": theorem.suggestion(*BUDGET),
    }


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float | bool | type(None))


def _tried(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except DpcalcError as error:
        return _said(error)


def _said(error: DpcalcError) -> str:
    return f"{type(error).__name__}: {error}"


def _bound(found: Any, points: int) -> Any:
    if found is None:
        return None
    numbers = {name: float(value) for name, value in found.numbers.items()}
    stated: Plain = {"method": found.method, "numbers": numbers}
    if isinstance(found, Rate):
        return {**stated, "value": float(found.value)}
    epsilons = [_epsilon(found.guarantee, delta) for delta in DELTAS[:points]]
    return {**stated, "notion": found.guarantee.notion, "epsilon": epsilons}


def _epsilon(guarantee: Any, delta: float) -> Any:
    """ε; both ends of its enclosure where it is one."""
    if not hasattr(guarantee, "bracket"):
        return guarantee.epsilon(delta)
    found = guarantee.bracket(delta)
    return {"from": found.lower, "to": guarantee.epsilon(delta)}


def _formula(found: Formula) -> Plain:
    """A formula's value at the exact values of doubles, where its symbols have values."""
    symbols = sorted(found.expression.free_symbols, key=str)
    names = [str(symbol) for symbol in symbols]
    record: Plain = {"symbols": " ".join(names)}
    if found.shown:
        record["shown"] = found.shown
    known = {**_FREE, **found.values}
    if not {*names} <= {*known}:
        return record
    values = {s: sympy.Rational(float(known[str(s)])) for s in symbols}
    if found.expression.has(sympy.Product):
        factors = found.expression.replace(sympy.Product, _three_factors)
        return record | {"three factors": str(sympy.N(factors.subs(values), 25))}
    if found.expression.has(sympy.Sum):
        return record | {"value": str(sympy.N(found.expression.subs(values).doit(), 25))}
    evaluated = sympy.lambdify(symbols, found.expression, "mpmath")
    with mp.workdps(_DIGITS):
        try:
            value = evaluated(*(mpf(v.p) / v.q for v in values.values()))
        except ZeroDivisionError:
            return record | {"value": "none: a division by zero"}
        return record | {"value": mp.nstr(mpf(value), 25)}


def _three_factors(term: Any, limits: Any) -> Any:
    """The first of an infinite product, which has no closed form."""
    symbol, first, _ = limits
    return sympy.prod(term.subs(symbol, first + k) for k in range(3))
