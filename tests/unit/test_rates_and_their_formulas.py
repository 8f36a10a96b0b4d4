"""The formulas that a convergence result shows give the numbers that it answers."""

from __future__ import annotations

import math

import pytest
import sympy

from dpcalc.theorems.catalogue import keys, result
from tests.golden.settings import changed

KEYS = keys(privacy=False)
LONG = ("m-admm-convergence", "dual-averaging-convergence")


@pytest.mark.parametrize("key", KEYS)
def test_a_shown_formula_gives_the_number_that_is_answered(key: str) -> None:
    """To nine digits: some numbers are ends of searches in doubles. Sums and products are not expanded."""
    made = result(key).from_parameters(changed(key, {}))
    compared = 0
    for formula in made.symbolic():
        which, _, name = formula.name.partition(".")
        bound = getattr(made, which)()
        answered = bound.value if name == "value" else bound.numbers[name]
        if formula.expression.has(sympy.Product, sympy.Sum) or not math.isfinite(answered):
            continue
        given = {s: formula.values[str(s)] for s in formula.expression.free_symbols}
        found = formula.expression.subs(given).doit()
        assert float(found) == pytest.approx(answered, rel=1e-9), formula.name
        compared += 1
    assert compared == len(made.symbolic()) or key in LONG
