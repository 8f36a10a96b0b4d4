"""Closed forms of theorems as a certificate states them: operations on exact numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dpcalc.certificates.balls import precision
from dpcalc.certificates.grammar import BINARY, UNARY, Refused, number
from dpcalc.certificates.statement import Release, written

if TYPE_CHECKING:
    import sympy

    from dpcalc.theorems.statements import Formula

CLOSED_FORM = "certified.mu"
"""The name of a theorem's formula for the μ that it certifies."""

_BITS, _SLACK = 256, 1e-12


def with_closed_form(releases: list[Release], formulas: Iterable[Formula]) -> list[Release]:
    """The releases with μ as a formula of the parameters in place of the number rounded from it.

    Only where the formula certainly gives that number, up to rounding it up; else as they were.
    """
    stated = [formula for formula in formulas if formula.name == CLOSED_FORM]
    if len(releases) != 1 or releases[0]["mechanism"] != "gaussian" or not stated:
        return releases
    try:
        tree = tree_of(stated[0].expression, stated[0].values)
        with precision(_BITS):
            exact, rounded = number(tree), number(releases[0]["mu"])
            same = bool(exact <= rounded and exact >= rounded * (1 - _SLACK))
    except (NotExpressible, Refused):
        return releases
    return [{**releases[0], "mu": tree}] if same else releases


class NotExpressible(Exception):
    """A function that certificates have no operation for."""


def tree_of(expression: sympy.Expr, values: Mapping[str, float]) -> Any:
    """The expression as nested lists, an operation first, with numbers for symbols."""
    import sympy

    def tree(e: sympy.Expr) -> Any:
        if e.is_Symbol:
            return written(values[e.name])
        if e.is_Rational:
            return str(e) if e >= 0 else ["difference", "0", str(-e)]
        if e.is_Add:
            return difference(e.args)
        if e.is_Mul:
            below = [1 / a for a in e.args if a.is_Pow and a.exp.could_extract_minus_sign()]
            above = [a for a in e.args if not (a.is_Pow and a.exp.could_extract_minus_sign())]
            over = joined("product", above) if above else "1"
            return ["quotient", over, joined("product", below)] if below else over
        if e.is_Pow and e.exp.could_extract_minus_sign():
            return ["quotient", "1", tree(1 / e)]
        if e.is_Pow:
            return ["power", tree(e.base), tree(e.exp)]
        named = {sympy.Max: "greatest", sympy.Min: "least", sympy.Abs: "size", sympy.log: "ln"}
        if e.func not in named:
            raise NotExpressible(str(e.func))
        return [named[e.func], *map(tree, e.args)]

    def joined(name: str, args: Iterable[sympy.Expr]) -> Any:
        trees = [tree(a) for a in args]
        return trees[0] if len(trees) == 1 else [name, *trees]

    def difference(args: Iterable[sympy.Expr]) -> Any:
        plus = [a for a in args if not a.could_extract_minus_sign()]
        minus = [-a for a in args if a.could_extract_minus_sign()]
        first = joined("sum", plus) if plus else "0"
        return ["difference", first, *map(tree, minus)] if minus else first

    return tree(expression)


def _called(tree: Any) -> bool:
    """Whether it is shown as a function of something in brackets."""
    return isinstance(tree, list) and tree[0] not in _SIGNS


_SEVERAL = frozenset(" ·/^")
_SIGNS = {"sum": " + ", "difference": " - ", "product": "·", "quotient": "/", "power": "^"}
_NAMES = {"greatest": "max", "least": "min"}


def is_formula(value: list[Any]) -> bool:
    """Whether a list begins with an operation, as formulas do and lists of numbers do not."""
    return isinstance(value[0] if value else None, str) and value[0] in {*BINARY, *UNARY}


def shown(tree: Any) -> str:
    """For people."""
    if not isinstance(tree, list):
        return str(tree)
    name, *operands = tree
    texts = [shown(operand) for operand in operands]
    if name in _SIGNS:
        inner = [
            f"({text})" if _SEVERAL.intersection(text) and not _called(operand) else text
            for operand, text in zip(operands, texts, strict=True)
        ]
        return _SIGNS[name].join(inner)
    return f"{_NAMES.get(name, name)}({', '.join(texts)})"
