"""The density of a noised subgradient at one record drawn uniformly: a mixture of Gaussians."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.sparse import squared_norms

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.smooth import SmoothSum

Array = NDArray[np.float64]

_NUMBERS = 2**22  # in a chunk of runs times records


def sampled_density(total: SmoothSum, x: Array, noisy: Array, sigma: float) -> Array:
    """Ln (1/q) Σ_n N(noisy; ĝ_n(x), σ²I) over q records; shape (runs,).

    With ĝ_n = s_n·r_n the squared distance is ‖noisy‖² - 2s_n·r_nᵀnoisy + s_n²‖r_n‖².

    Args:
        total: the records, as a sum over them.
        x: where subgradients are taken; shape (runs, d).
        noisy: what was released; shape (runs, d).
        sigma: σ, above 0.
    """
    from scipy.special import logsumexp

    squares = squared_norms(total.rows)
    result = np.empty(len(x))
    chunk = max(_NUMBERS // total.count, 1)
    for start in range(0, len(x), chunk):
        part = slice(start, start + chunk)
        slope = total.loss.derivative(total.margins(x[part]))
        cross = noisy[part] @ total.rows.T
        exponent = (2 * slope * cross - slope * slope * squares) / (2 * sigma**2)
        result[part] = logsumexp(exponent, axis=1)
    far = np.einsum("rk,rk->r", noisy, noisy) / (2 * sigma**2)
    scale = x.shape[1] * np.log(sigma * np.sqrt(2 * np.pi))
    return np.asarray(result - far - scale - np.log(total.count))
