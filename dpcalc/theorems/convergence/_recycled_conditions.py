"""Conditions (i) and (ii) under which MR-ADMM is claimed to converge, and their best constants.

With ``c = Lμ/(2σ_min(D̃))`` condition (i) bounds Lμ from above and (ii) wants μ as large as it can
be, so for every L the best μ is the bound of (i) divided by L, and only L is searched for.
Matrices that are not symmetric are read through their quadratic forms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.numerics.certified_eigenvalues import Array, positive_definite
from dpcalc.numerics.precise import Real
from dpcalc.numerics.search import minimise
from dpcalc.theorems.base import Formula
from dpcalc.theorems.graph import Graph

Row = tuple[float, ...]

_LARGEST = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class PairConditions:
    """(i) and (ii) for two consecutive odd rounds.

    (i) ``identity ≻ Lμ·damping·inverse``; (ii) ``base - (2/L)·square - Lμ/(μ-1)·damping·D_M ≻ 0``.

    Attributes:
        identity: ``I + W⁺(D+A)D̃⁻¹``, symmetrised, as are all others.
        inverse: ``(W⁺(D-A))†D_M``.
        base: ``W⁺(D+A)(I - D̃⁻¹W(D-A))``.
        square: ``W⁺(D+A)D̃⁻¹W⁺(D+A)``.
        high: D_M.
        damping: 1/(2σ_min(D̃)).
    """

    identity: Array
    inverse: Array
    base: Array
    square: Array
    high: Array
    damping: float

    @classmethod
    def of(
        cls, graph: Graph, before: Row, after: Row, proximal_weight: float, smoothness: Row
    ) -> PairConditions:
        """The matrices of a pair."""
        w0, w1 = np.array(before), np.array(after)
        tilde = 2 * w0 * graph.degrees + proximal_weight
        pull = w1[:, None] * graph.signless_laplacian
        scaled = pull / tilde[None, :]
        high = np.diag(np.array(smoothness) ** 2)
        return cls(
            identity=np.eye(graph.nodes) + _symmetric(scaled),
            inverse=_symmetric(np.linalg.pinv(w1[:, None] * graph.laplacian) @ high),
            base=_symmetric(pull - scaled @ (w0[:, None] * graph.laplacian)),
            square=_symmetric(scaled @ pull),
            high=high,
            damping=1 / (2 * float(tilde.min())),
        )

    def largest_product(self) -> float:
        """The supremum of Lμ under (i); 0 if (i) fails for all."""
        values, vectors = np.linalg.eigh(self.identity)
        if values[0] <= 0:
            return 0.0
        half = vectors / np.sqrt(values)
        strongest = float(np.linalg.eigvalsh(half.T @ self.inverse @ half)[-1])
        return math.inf if strongest <= 0 else 1 / (strongest * self.damping)

    def margins(self, coupling: float, split: float) -> tuple[float, float]:
        """Smallest eigenvalues of (i) and of (ii), nearest rounding."""
        first, second = self._matrices(coupling, split)
        return float(np.linalg.eigvalsh(first)[0]), float(np.linalg.eigvalsh(second)[0])

    def hold(self, coupling: float, split: float) -> bool:
        """Whether (i) and (ii) hold in spite of rounding."""
        first, second = self._matrices(coupling, split)
        size = float(np.abs(self.identity).sum() + np.abs(self.base).sum())
        size += 2 / coupling * float(np.abs(self.square).sum())
        slack = 1e-13 * size
        return positive_definite(first, slack) and positive_definite(second, slack)

    def _matrices(self, coupling: float, split: float) -> tuple[Array, Array]:
        first = first_condition(self.identity, self.inverse, self.damping, coupling, split)
        kept = self.base, self.square, self.high, self.damping
        return first, second_condition(*kept, coupling, split)


def first_condition(identity: Any, inverse: Any, damping: Real, coupling: Real, split: Real) -> Any:
    """What (i) wants above 0, of matrices or eigenvalues."""
    return identity - coupling * split * damping * inverse


def second_condition(
    base: Any, square: Any, high: Any, damping: Real, coupling: Real, split: Real
) -> Any:
    """What (ii) wants above 0, of matrices or eigenvalues."""
    return base - 2 / coupling * square - coupling * split * damping / (split - 1) * high


def best_constants(
    pairs: Sequence[PairConditions], coupling: float | None, split: float | None
) -> tuple[float, float, float]:
    """(L, μ, margin) with a large margin; given constants are kept.

    Any constants are a valid choice, so the search may be rough.
    """

    def margin(big: float, mu: float) -> float:
        return min(min(pair.margins(big, mu)) for pair in pairs) if mu > 1 else -math.inf

    room = min(min(pair.largest_product() for pair in pairs), 1e100) * (1 - 1e-9)
    if not room > 0:
        big, mu = coupling or 1.0, split or 2.0
        return big, mu, margin(big, mu)

    def best_split(big: float) -> float:
        return min(room / big, _LARGEST) if split is None else split

    if coupling is None:
        high = math.log(room if split is None else room / split)
        low = min(high - 40, math.log(1e-6))
        exponent, _ = minimise(lambda x: -margin(math.exp(x), best_split(math.exp(x))), low, high)
        coupling = math.exp(exponent)
    if split is None:
        extreme = best_split(coupling)
        # Away from the edge of (i) the smaller of the two margins is larger.
        tried = [1 + (extreme - 1) * share for share in (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, 0.03)]
        split = max(tried, key=lambda mu: margin(coupling, mu))
    return coupling, split, margin(coupling, split)


def _symmetric(matrix: NDArray[Any]) -> Array:
    return (matrix + matrix.T) / 2


def margin_formula(graph: Graph, values: Mapping[str, float]) -> Formula:
    """The smaller margin of (i) and (ii) with constant common penalties on a regular network.

    There all matrices share their eigenvectors: D + A has 2V - l where D - A has l.
    """
    import sympy

    eta, gamma, m, big, mu, v = sympy.symbols("eta gamma M L mu V", nonnegative=True)
    tilde = 2 * eta * v + gamma
    estimates = np.linalg.eigvalsh(graph.laplacian)
    distinct = sorted({round(float(x), 9): float(x) for x in estimates}.values())
    margins, known = [], {**values, "V": float(graph.degrees[0])}
    for k, value in enumerate(distinct):
        level: sympy.Expr = sympy.Symbol(f"l{k}", real=True) if k else sympy.Integer(0)
        pull = eta * (2 * v - level)
        inverse = m**2 / (eta * level) if k else 0
        margins.append(first_condition(1 + pull / tilde, inverse, 1 / (2 * tilde), big, mu))
        base = pull * (1 - eta * level / tilde)
        margins.append(second_condition(base, pull**2 / tilde, m**2, 1 / (2 * tilde), big, mu))
        if k:
            known[str(level)] = value
    return Formula("claimed.margin", sympy.Min(*margins), known)
