"""Fifty different rounds by fewer cells where a wide enclosure is asked for: a bound still, and near."""

from __future__ import annotations

from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.theorems.objective_perturbation import _rounds

_GROWING = {
    "n_records": 9045,
    "n_nodes": 5,
    "degree": 2,
    "loss_weight": 1750,
    "regularization": 1,
    "rounds": 50,
    "penalty": "0.5:1.02",
    "dimension": 105,
    "noise_rate": 1.5,
}


def test_laws_of_few_cells_bound_what_those_of_many_do() -> None:
    theorem = privacy_result("penalty-perturbation").from_parameters(_GROWING, ["all"])
    with with_relative_width(1e-3):
        narrow = theorem.certified().guarantee.bracket(1e-6)  # type: ignore[attr-defined]
    with with_relative_width(_rounds._WIDE):
        coarse = theorem.certified().guarantee
    with with_relative_width(1e-3):
        wide = coarse.bracket(1e-6)  # type: ignore[attr-defined]
    assert narrow.lower <= wide.upper <= narrow.upper * (1 + 1e-3)
    assert narrow.lower * (1 - 1e-12) < wide.lower < narrow.lower * (1 + 1e-3)
    assert wide.upper != narrow.upper
