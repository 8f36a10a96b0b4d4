"""Users with linear functions and a common ridge: every law of gradient ADMM is Gaussian and known."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcalc.algorithms.gradient_admm import GradientADMM
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import copies
from dpcalc.algorithms.problems.losses import Linear
from dpcalc.algorithms.problems.records import Records, split
from dpcalc.algorithms.problems.regularisers import ridge
from dpcalc.audits.instances.neighbours import replacements, worst
from dpcalc.audits.instances.random_stopping import GAP
from dpcalc.theorems.catalogue import privacy_result


def theorem(key: str = "admm-iteration", **changes: Any) -> Any:
    """Amplification for the setting attacked here."""
    kind = privacy_result(key)
    given: dict[str, Any] = {
        "sensitivity": GAP,
        "step_size": 0.5,
        "penalty": 1.0,
        "sigma": 1.0,
        "smoothness": 1.0,
        "operator_norm": 1.0,
        "min_singular_value": 1.0,
        "square": True,
    }
    promises = [a.key for a in kind.assumptions if a.promised]
    return kind.from_parameters(given | changes, promises)


def algorithm(rounds: int, kind: Any = GradientADMM, **changes: Any) -> Any:
    """As many users as rounds, f_i = ±x_1 + ½‖x‖², only the first with a linear part."""
    rows = np.zeros((rounds, 2))
    rows[0, 0] = 1.0
    problem = CompositeProblem(
        records=split(rows, np.ones(rounds)),
        loss=Linear(),
        regulariser=ridge(0.2),
        constraint=copies(2),
        ridge=1.0,
    )
    given = {"penalty": 1.0, "step_size": 0.5, "sigma": 1.0, "gradient_gap": GAP} | changes
    return kind(problem, rounds=rounds, **given)


def neighbour(attacked: Any) -> Records:
    """The worst other function of the first user."""
    return worst(attacked, replacements(attacked.problem.records))[0]
