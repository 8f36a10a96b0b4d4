"""Every symbolic formula evaluated with fifty digits, against the numbers and their rounding."""

from __future__ import annotations

import mpmath
import pytest
import sympy

from dpcalc.errors import AssumptionViolated
from dpcalc.theorems.catalogue import keys, result

SETTINGS = [(key, {}) for key in keys(privacy=False)] + [
    ("m-admm-rate", {"graph": "ring:5", "penalty": 2, "dual_step": 1.3, "smoothness": 4}),
    ("m-admm-rate", {"graph": "path:4", "split": 1.5}),
    ("m-admm-convergence", {"graph": "star:4", "penalty": "1:1.05"}),
    (
        "m-admm-convergence",
        {"graph": "ring:3", "penalty": 1, "dual_step": [0.5, 0.6, 0.7], "curvature": [1, 2, 0]},
    ),
    ("recycled-admm-convergence", {"penalty": [[1, 2, 4]], "linear": [0, 0, 3], "curvature": 1}),
    ("recycled-admm-convergence", {"graph": "ring:5", "coupling": 2, "split": 2}),
    ("dp-admm-utility", {"matrix": [[1, 0.5, 0], [0, 1, 2]], "dimension": 3}),
    (
        "dp-admm-utility",
        {
            "sigma": None,
            "rounds": None,
            "n_records": 1000,
            "gradient_bound": 1,
            "epsilon": 1,
            "delta": 1e-3,
        },
    ),
    ("dual-averaging-convergence", {"rounds": 17, "prox_growth": 0.3, "prox_distance": 2}),
    ("dual-averaging-convergence", {"rounds": 9, "weight_power": 0, "prox_weight": 20}),
    ("dual-averaging-utility", {"rounds": None}),
    ("gradient-admm-utility", {"step_size": 0.3, "feasibility_weight": 2}),
    ("recycled-admm-sample-complexity", {"failure_probability": 1e-9, "optimization_gap": 0.03}),
    ("private-recycled-admm-sample-complexity", {"regularization_strength": 0.01}),
]


def with_fifty_digits(formula):
    if isinstance(formula.expression, sympy.Product):
        with mpmath.workdps(50):
            q, eta = mpmath.mpf(formula.values["q"]), mpmath.mpf(formula.values["eta"])
            # Π x_t/(1 + x_t), x_t = 2ηq^t, is one over a q-Pochhammer symbol.
            return 1 / mpmath.qp(-1 / (2 * eta), 1 / q)
    values = {k: sympy.Rational(*float(v).as_integer_ratio()) for k, v in formula.values.items()}
    names = {s.name: s for s in formula.expression.free_symbols}
    assert set(names) <= set(values), f"no value for {set(names) - set(values)}"
    exact = formula.expression.subs({names[k]: v for k, v in values.items() if k in names})
    if exact.has(sympy.Sum):
        exact = exact.doit()
    return mpmath.mpf(str(sympy.N(exact, 50)))


@pytest.mark.parametrize(("key", "changes"), SETTINGS)
def test_formulas_give_the_numbers(key, changes):
    kind = result(key)
    given = {k: v for k, v in {**kind.example, **changes}.items() if v is not None}
    if key == "dual-averaging-convergence":
        given["rounds"] = min(given["rounds"], 20)
    instance = kind.from_parameters(given)
    formulas = instance.symbolic()
    assert formulas
    for formula in formulas:
        side, _, number = formula.name.partition(".")
        try:
            found = getattr(instance, side)()
        except AssumptionViolated:
            continue
        value = found.value if number == "value" else found.numbers[number]
        exact = with_fifty_digits(formula)
        with mpmath.workdps(50):
            difference = float((mpmath.mpf(value) - exact) / max(abs(exact), mpmath.mpf("1e-12")))
        assert abs(difference) < 1e-6, formula.name
        if number == "value" and side != "attained":
            assert difference >= 0, f"{formula.name} is below its exact value"
        if formula.name in ("certified.delta", "attained.value"):
            assert difference <= 0, f"{formula.name} is above its exact value"
