"""Distributed dual averaging, without noise.

Source: Duchi, Agarwal and Wainwright 2011, as stated in liu2022, equations (2)-(3): a(t) = 1, so
that A(t) = t, and z_i(1) = 0.

    x_i(t)   = argmin_x ⟨z_i(t), x⟩ + t·h(x) + γ(t)d(x),  d = ½‖x‖²                          (2)
    z_i(t+1) = Σ_j w_ij (z_j(t) + ĝ_j(t)),  ĝ_j(t) a subgradient at a uniform record of node j (3)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from dpcalc.algorithms.engine.averaging import NetworkAveraging
from dpcalc.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DualAveraging(NetworkAveraging):
    """Conventional dual averaging.

    Attributes:
        problem: the averaging problem.
        proximal: γ(t), 0 or above, not decreasing; √t growth is the classical choice.
        sampling: "one", "cyclic" or "full".
        batch_size: of cyclic batches.
    """

    key = "dual-averaging"
    reference = "liu2022, equations (2)-(3), after Duchi et al. 2011"

    def __post_init__(self) -> None:
        NetworkAveraging.__post_init__(self)
        if self.sigma > 0 or np.any(np.asarray(self.weights, dtype=np.float64) != 1):
            raise InvalidInput(
                "dual-averaging has sigma=0 and weights=1; got "
                f"sigma={self.sigma!r}, weights={self.weights!r}; use private-dual-averaging"
            )

    @classmethod
    def example(cls) -> Self:
        """Hinge loss on a ring of three nodes."""
        from dpcalc.algorithms.problems.builtin import averaging_example

        return cls(averaging_example(), rounds=4, proximal=2 + np.sqrt(np.arange(1.0, 5.0)))


ALGORITHM = DualAveraging
