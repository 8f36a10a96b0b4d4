"""The generated regression of chan2023, section 10, and its elastic-net problem.

    n users, p features. User i's vector a_i has normal entries, the first p/5 of them fifty times
    larger; it is centred and scaled to unit variance over its own p entries and multiplied by r/√p,
    so that ‖a_i‖ = r. The hidden vector is 3 on the first p/5 features, 0 elsewhere, and
    b_i = a_i·(hidden vector) + 0.01·N(0, 1). User i's function is (a_iᵀx - b_i)², whose only
    non-zero curvature is 2r²; the regulariser is c₁‖y‖₁ + c₂‖y‖².

The recipe is that of the authors' published notebook.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcalc import checks
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import copies
from dpcalc.algorithms.problems.losses import Squared
from dpcalc.algorithms.problems.records import split
from dpcalc.algorithms.problems.regularisers import ElasticNet

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ElasticNetData:
    """What was generated.

    Attributes:
        problem: minimise (1/n)Σ(a_iᵀx - b_i)² + c₁‖y‖₁ + c₂‖y‖², x = y.
        hidden: the vector behind the responses; shape (p,).
    """

    problem: CompositeProblem
    hidden: NDArray[np.float64]


def elastic_net(
    *,
    radius: float,
    seed: int,
    users: int = 1000,
    features: int = 64,
    l1: float = 0.01,
    l2: float = 0.1,
    noise: float = 0.01,
) -> ElasticNetData:
    """Generate the data and the problem.

    Args:
        radius: r, norm of every user's vector.
        seed: of the generator.
        users: n.
        features: p, 5 or above.
        l1: c₁.
        l2: c₂, the weight of ‖y‖² itself.
        noise: standard deviation of the responses around the hidden vector's.
    """
    checks.positive("radius", radius)
    checks.count("users", users)
    checks.count("features", features, minimum=5)
    checks.non_negative("noise", noise)
    rng = np.random.default_rng(seed)
    large = features // 5
    a = rng.standard_normal((users, features))
    a[:, :large] *= 50
    a -= a.mean(axis=1, keepdims=True)
    a *= radius / np.linalg.norm(a, axis=1, keepdims=True)
    hidden = np.zeros(features)
    hidden[:large] = 3
    b = a @ hidden + noise * rng.standard_normal(users)
    problem = CompositeProblem(
        records=split(a, b, row_bound=radius),
        loss=Squared(scale=2.0),
        regulariser=ElasticNet(l1=l1, l2=2 * l2),
        constraint=copies(features),
    )
    return ElasticNetData(problem=problem, hidden=hidden)
