"""MR-ADMM with Gaussian objective perturbation in the odd rounds.

Source: zhang2019, algorithm 3, with the noise of Kifer, Smith and Thakurta 2012.

Odd rounds t = 2k-1: ε_i(t) ~ N(0, σ_i(k)² I),
    f_i(t) = argmin O(f, D_i) + (2λ_i(t-1) + ε_i(t))ᵀf + η_i Σ_j ‖½(f_i(t-1) + f_j(t-1)) - f‖²
Even rounds recycle what was broadcast; the updates are written out in `private_mr_admm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from dpcalc.algorithms.engine.schedules import at, geometric, settle
from dpcalc.algorithms.mr_admm import MRADMM

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcalc.algorithms.engine.network_admm import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaussianMRADMM(MRADMM):
    """Recycled ADMM with private penalties and normal linear noise.

    Attributes:
        penalty: η_i(2k-1), above 0: a number, one per odd round k, or shape (odd rounds, nodes).
        sigma: σ_i(k), standard deviation of the linear noise per coordinate, above 0, in the same
            forms.
        proximal_weight: γ, 0 or above.
    """

    key = "gaussian-mr-admm"
    reference = "zhang2019, algorithm 3, with the noise of Kifer, Smith and Thakurta 2012"
    unit_law: ClassVar[Literal["exponential-norm", "gaussian"]] = "gaussian"

    sigma: ArrayLike

    def __post_init__(self) -> None:
        MRADMM.__post_init__(self)
        settle(self, "sigma", rounds=self.odd_rounds, nodes=self.problem.nodes)

    @classmethod
    def example(cls) -> Self:
        """Four nodes on a ring."""
        return cls._example(sigma=geometric([0.5, 0.4, 0.6, 0.5], 0.9, 2))

    def _gain(self, t: int) -> Array:
        """σ_i: what multiplies unit noise in the linear term."""
        return at(self.sigma, (t + 1) // 2)


ALGORITHM = GaussianMRADMM
