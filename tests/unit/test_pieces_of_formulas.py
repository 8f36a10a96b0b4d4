"""Sectors, shown terms and symbols of results, piece by piece."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from mpmath import mp, mpf

from dpcalc.numerals import number
from dpcalc.theorems.numbers import Symbols
from tests.unit.pieces_of_results import LOGISTIC, result_of


@pytest.mark.parametrize("noise_in", ["state", "gradient"])
def test_the_sectors_of_an_iteration(noise_in: str) -> None:
    """Noise on the gradient is damped by 1 + ηβs² with the step, so that it costs the square more."""
    made = result_of("admm-iteration", weak_convexity=0.25, **_noise(noise_in))
    found = made.sectors(0.75, wide=True)
    pull = 0.5 * 1 * 0.75**2
    assert float(found.pull) == pull
    assert float(found.cost) == ((1 + pull) ** 2 if noise_in == "gradient" else 1)
    assert (float(found.least), float(found.most)) == (0.0, 1.125)
    assert (float(found.kept), found.wide) == (0.0, True)
    assert not made.sectors(0.75, wide=False).wide


def _noise(noise_in: str) -> dict[str, str]:
    return {"noise_in": "gradient"} if noise_in == "gradient" else {}


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("weight", "rate"), [(1, 3.0), (9000, 0.1)])
def test_a_shown_term_is_the_largest_over_the_slope(
    adjacency: str, weight: float, rate: float
) -> None:
    """a(1 + s) + ln(1 + κs(1 - s)) at its largest over s in [0, 1], on a fine grid."""
    made = result_of(
        "penalty-perturbation",
        **{**LOGISTIC, "noise_rate": rate},
        loss_weight=weight,
        adjacency=adjacency,
    )
    formula = next(f for f in made.symbolic() if f.name == "certified.beta")
    names = {str(symbol) for symbol in formula.expression.free_symbols}
    values = {**formula.values, "eta": 1.0, "alpha": rate}
    given = {sympy.Symbol(n, positive=True): values[n] for n in names if n in values}
    found = float(formula.expression.subs({s: given[s] for s in formula.expression.free_symbols}))
    c, b, v, n = (values[k] for k in ("C", "B", "V", "N"))
    kappa, a = c / (b * (values["rho"] / n + 2 * v)), rate / (2 * v) * c / b
    s = np.linspace(0, 1, 100_001)
    term = float((a * (1 + s) + np.log1p(kappa * s * (1 - s))).max())
    spared = a if adjacency == "add-remove" else 0
    assert found == pytest.approx(term - spared, rel=1e-8)


def test_formulas_stand_for_the_node_that_is_worst_for_each() -> None:
    """The printed sum is largest at the first node, the certified one at the second."""
    made = result_of(
        "penalty-perturbation", n_nodes=4, n_records=[[2000, 1000, 1000, 2000]],
        degree=[[1, 2, 2, 1]], penalty=0.5, noise_rate=0.1, loss_weight=10, regularization=10,
        rounds=2, dimension=None,
    )  # fmt: skip
    worst = [bound.numbers["worst_node"] for bound in (made.claimed(), made.certified())]
    assert worst == [1, 2]
    values = {f.name: f.values for f in made.symbolic()}
    shared = {"C": 10.0, "c_1": 0.25, "rho": 10.0, "N": 4.0}
    assert values["claimed.beta"] == {**shared, "B": 2000.0, "V": 1.0}
    assert values["certified.beta"] == {**shared, "B": 1000.0, "V": 2.0}


def test_symbols_stand_for_doubles_rounded_up() -> None:
    symbols = Symbols(result_of("noisy-gd"))
    with mp.workdps(50):
        symbols.named("third", mpf(1) / 3)
    symbols.named("count", 3)
    symbols.named("double", 0.1)
    written = number("0.1")
    symbols.named("written", written)
    assert symbols.named("nothing", 0) == sympy.Integer(0)
    assert set(symbols.values) == {"third", "count", "double", "written"}
    assert symbols.values["third"] == math.nextafter(1 / 3, 1)  # of 1/3 the nearest is below
    assert [type(v) for v in symbols.values.values()] == [float, float, float, type(written)]
    assert symbols.values["count"] == 3.0
    assert (symbols.values["double"], symbols.values["written"]) == (0.1, written)
