"""Exact Gaussian laws of affine recursions, read off the code that runs them.

If a step maps (state s, unit normal noise ε) to Ms + Nε + v, applying it to zero and to all unit
vectors, as one batch, gives M, N and v. Then mean and covariance follow

    m ← Mm + v,   S ← MSMᵀ + NNᵀ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.errors import AssumptionViolated

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]
Step = Callable[[int, Arrays, Array], Arrays]
"""Round, state with a leading axis, noise of shape (batch, k), to the new state."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AffineLaw:
    """A Gaussian law of several vectors, stacked.

    Attributes:
        mean: shape (k,).
        covariance: shape (k, k); singular where parts are determined by others.
        parts: name to the slice of the stacked vector.
    """

    mean: Array
    covariance: Array
    parts: dict[str, slice]

    def marginal(self, *names: str) -> AffineLaw:
        """The law of some of the parts, in this order."""
        index = np.concatenate([np.arange(len(self.mean))[self.parts[name]] for name in names])
        lengths = [len(range(len(self.mean))[self.parts[name]]) for name in names]
        return AffineLaw(
            mean=self.mean[index],
            covariance=self.covariance[np.ix_(index, index)],
            parts=_slices(dict(zip(names, lengths, strict=True))),
        )


def affine_law(
    step: Step, start: Arrays, *, rounds: int, noise: int, start_covariance: Array | None = None
) -> AffineLaw:
    """The law of the state after ``rounds`` steps from a fixed or Gaussian start.

    Args:
        step: the recursion.
        start: mean of the state before round 1, name to vector.
        rounds: how many steps.
        noise: dimension of the noise of one step.
        start_covariance: of the stacked start; zero if left out.

    Raises:
        AssumptionViolated: if a step turns out not to be affine.
    """
    parts = _slices({name: len(vector) for name, vector in start.items()})
    mean = np.concatenate([start[name] for name in parts])
    size = len(mean)
    covariance = np.zeros((size, size)) if start_covariance is None else start_covariance
    for t in range(1, rounds + 1):
        v, M, N = _coefficients(step, t, parts, mean, noise)
        mean, covariance = v, M @ covariance @ M.T + N @ N.T
    return AffineLaw(mean=mean, covariance=(covariance + covariance.T) / 2, parts=parts)


def _coefficients(
    step: Step, t: int, parts: dict[str, slice], at: Array, noise: int
) -> tuple[Array, Array, Array]:
    """The step's value at ``at`` and its two matrices.

    Probing around the current mean keeps rounding errors relative to the state's own size. The last
    probe moves everything at once and must land where the matrices say.
    """
    size, scale = len(at), 1 + np.abs(at).max(initial=0)
    probes = np.zeros((size + noise + 2, size + noise))
    probes[1:-1] = scale * np.eye(size + noise)
    probes[-1] = scale * np.cos(np.arange(size + noise))
    states = {name: at[part] + probes[:, :size][:, part] for name, part in parts.items()}
    after = step(t, states, probes[:, size:])
    image = np.concatenate([after[name] for name in parts], axis=1)
    moved = image[1:] - image[0]
    matrix = moved[:-1].T / scale
    expected = matrix @ probes[-1]
    if not np.allclose(moved[-1], expected, rtol=1e-7, atol=1e-7 * (scale + np.abs(moved).max())):
        raise AssumptionViolated(
            f"expected an affine step; round {t} is none; use quadratic losses and regularisers"
        )
    return image[0], matrix[:, :size], matrix[:, size:]


def _slices(lengths: dict[str, int]) -> dict[str, slice]:
    """Consecutive slices of these lengths."""
    ends = np.cumsum([0, *lengths.values()])
    return {
        name: slice(int(a), int(b)) for name, a, b in zip(lengths, ends[:-1], ends[1:], strict=True)
    }
