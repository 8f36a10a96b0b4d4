"""Small noiseless networks on which published convergence claims fail.

Quadratic objectives O_i = ½(f - b_i)², one number per node, so that limits are known exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcalc.algorithms.engine.schedules import geometric
from dpcalc.algorithms.m_admm import MADMM
from dpcalc.algorithms.mr_admm import MRADMM
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Squared
from dpcalc.algorithms.problems.networks import complete
from dpcalc.algorithms.problems.records import split
from dpcalc.theorems.catalogue import result

_RIDGE = 1e-9  # the problem asks for one; it moves the limits by less than 1e-9


def mr_admm_limit(_: int) -> list[tuple[float, ...]]:
    """T, mean over nodes of MR-ADMM with penalties (1, 2, 4) on K₃, its limit, the optimum.

    The dual step keeps Σλ_i/η_i = 0, so the limit minimises ΣO_i/η_i, not ΣO_i.
    Source: zhang2019, theorem IV.1, for node-dependent penalties.
    """
    targets, penalties = np.array([0.0, 0.0, 3.0]), np.array([1.0, 2.0, 4.0])
    limit = float((targets / penalties).sum() / (1 / penalties).sum())
    rows: list[tuple[float, ...]] = []
    for rounds in (100, 1000, 4000):
        method = MRADMM(
            _problem(targets),
            rounds=rounds,
            penalty=np.tile(penalties, (rounds // 2, 1)),
            proximal_weight=50.0,
        )
        rows.append((float(rounds), _mean(method), limit, float(targets.mean())))
    return rows


def m_admm_stalls(_: int) -> list[tuple[float, ...]]:
    """T, M-ADMM's distance from the optimum 1 with penalties 0.5·1.2^(t-1), and ∏2η/(1 + 2η).

    Source: zhang2018, theorem 3.1: penalties that do not decrease were to suffice.
    """
    rows: list[tuple[float, ...]] = []
    for rounds in (10, 30, 100):
        penalties = 0.5 * 1.2 ** np.arange(rounds)
        method = MADMM(
            _problem(np.ones(2)),
            rounds=rounds,
            penalty=geometric(0.5, 1.2, rounds),
            dual_step=0.5,
        )
        product = float(np.prod(2 * penalties / (1 + 2 * penalties)))
        rows.append((float(rounds), 1 - _mean(method), product))
    return rows


def printed_rate(_: int) -> list[tuple[float, ...]]:
    """Curvature; δ as (23) prints it, the largest that (21)-(22) allow, and the slowest quadratic's.

    Source: zhang2018, theorem 3.2.
    """
    rows: list[tuple[float, ...]] = []
    for curvature in (0.01, 0.03, 0.1, 0.3, 1.0):
        found = result("m-admm-rate").from_parameters(
            {
                "graph": "complete:3",
                "penalty": 1,
                "dual_step": 0.5,
                "strong_convexity": curvature,
                "smoothness": curvature,
            },
            "all",
        )
        numbers = found.certified().numbers  # type: ignore[attr-defined] # a convergence result
        row = found.penalties()[0]  # type: ignore[attr-defined]
        printed = found.printed(row)[0]  # type: ignore[attr-defined]
        slowest = found.attained().numbers["delta"]  # type: ignore[attr-defined]
        rows.append((curvature, printed, numbers["delta_printed_conditions"], slowest))
    return rows


def _problem(targets: Sequence[float] | np.ndarray[Any, Any]) -> ConsensusProblem:
    nodes = len(targets)
    return ConsensusProblem(
        records=split(np.ones((nodes, 1)), np.asarray(targets), nodes),
        network=complete(nodes),
        loss=Squared(),
        loss_weight=1.0,
        ridge=_RIDGE,
    )


def _mean(method: Any) -> float:
    return float(method.run(0, runs=1)["primal"][0, -1].mean())
