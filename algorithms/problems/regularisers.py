"""Public regularisers h, each with the one map that every algorithm here needs.

``argmin(v, weight, ridge)`` is the minimiser of ⟨v, x⟩ + weight·h(x) + (ridge/2)‖x‖², in closed
form. The proximal map and the y-step of ADMM are this map with v = -ridge·(point); the primal step
of dual averaging is it with weight A(t) and ridge γ(t).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.errors import AssumptionViolated, InvalidInput

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Regulariser(ABC):
    """A closed convex function of the last axis of an array."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def strong_convexity(self) -> float:
        """The largest μ for which h - (μ/2)‖·‖² is convex."""

    @property
    @abstractmethod
    def quadratic(self) -> bool:
        """Whether `argmin` is affine in v."""

    @abstractmethod
    def value(self, x: Array) -> Array:
        """h(x); the last axis disappears. Infinite outside the domain."""

    @abstractmethod
    def _minimiser(self, v: Array, weight: float, ridge: Array | float) -> Array:
        """`argmin` for ridge + weight·μ > 0."""

    def argmin(self, v: Array, *, weight: float = 1.0, ridge: Array | float = 0.0) -> Array:
        """The minimiser of ⟨v, x⟩ + weight·h(x) + ½Σ ridge_k·x_k².

        Args:
            v: shape (..., d).
            weight: 0 or above.
            ridge: 0 or above; a number, or one for every coordinate.

        Raises:
            AssumptionViolated: if the minimiser is not unique.
        """
        least = ridge if isinstance(ridge, float) else np.min(ridge)
        if not least + weight * self.strong_convexity > 0:
            raise AssumptionViolated(
                "a unique minimiser needs ridge > 0 or a strongly convex regulariser; got "
                f"ridge={ridge!r}, strong_convexity={self.strong_convexity!r}; add an l2 term"
            )
        return self._minimiser(v, weight, ridge)

    def prox(self, x: Array, step: Array | float) -> Array:
        """The proximal map: the minimiser of h(z) + ½Σ (z_k - x_k)²/step_k."""
        return self.argmin(-x / step, ridge=1 / np.asarray(step, dtype=np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticNet(Regulariser):
    """h(x) = l1·‖x‖₁ + (l2/2)·‖x‖₂²; its parts are `lasso`, `ridge` and `no_regulariser`.

    chan2023 writes c₁‖x‖₁ + c₂‖x‖²: that is l1 = c₁, l2 = 2c₂.
    """

    name = "elastic-net"
    l1: float = 0.0
    l2: float = 0.0

    def __post_init__(self) -> None:
        checks.non_negative("l1", self.l1)
        checks.non_negative("l2", self.l2)

    @property
    def strong_convexity(self) -> float:
        """The l2 weight."""
        return self.l2

    @property
    def quadratic(self) -> bool:
        """True without an l1 term."""
        return self.l1 == 0

    def value(self, x: Array) -> Array:
        """h(x)."""
        absolute, square = np.einsum("...k->...", np.abs(x)), np.einsum("...k,...k->...", x, x)
        return np.asarray(self.l1 * absolute + self.l2 / 2 * square)

    def _minimiser(self, v: Array, weight: float, ridge: Array | float) -> Array:
        if self.l1 > 0:
            v = v - np.clip(v, -weight * self.l1, weight * self.l1)  # soft threshold
        return np.asarray(v / -(weight * self.l2 + ridge))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLasso(Regulariser):
    """h(x) = Σ over groups of weight·‖x_group‖₂, for consecutive groups of equal size."""

    name = "group-lasso"
    weight: float
    group: int

    def __post_init__(self) -> None:
        checks.positive("weight", self.weight)
        checks.count("group", self.group)

    @property
    def strong_convexity(self) -> float:
        """0."""
        return 0.0

    @property
    def quadratic(self) -> bool:
        """False."""
        return False

    def value(self, x: Array) -> Array:
        """h(x)."""
        return np.asarray(self.weight * np.linalg.norm(self._grouped(x), axis=-1).sum(axis=-1))

    def _minimiser(self, v: Array, weight: float, ridge: Array | float) -> Array:
        if np.ndim(ridge):
            raise InvalidInput("the group lasso needs one ridge for all coordinates; got several")
        grouped = self._grouped(v)
        norm = np.linalg.norm(grouped, axis=-1, keepdims=True)
        kept = np.maximum(1 - weight * self.weight / np.where(norm > 0, norm, math.inf), 0)
        kept = np.where(norm > 0, kept, 0)
        return np.asarray((-kept * grouped / ridge).reshape(v.shape))

    def _grouped(self, x: Array) -> Array:
        if x.shape[-1] % self.group:
            raise InvalidInput(
                f"group needs to divide the number of coordinates; got group={self.group} for "
                f"{x.shape[-1]}"
            )
        return x.reshape(*x.shape[:-1], -1, self.group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ball(Regulariser):
    """h(x) = (l2/2)·‖x‖² on the ball of this radius, infinite outside: a bounded domain."""

    name = "ball"
    radius: float
    l2: float = 0.0

    def __post_init__(self) -> None:
        checks.positive("radius", self.radius)
        checks.non_negative("l2", self.l2)

    @property
    def strong_convexity(self) -> float:
        """The l2 weight."""
        return self.l2

    @property
    def quadratic(self) -> bool:
        """False: the projection is not affine."""
        return False

    def value(self, x: Array) -> Array:
        """h(x)."""
        norm = np.linalg.norm(x, axis=-1)
        inside = norm <= self.radius * (1 + 1e-12)
        return np.where(inside, self.l2 / 2 * norm**2, math.inf)

    def _minimiser(self, v: Array, weight: float, ridge: Array | float) -> Array:
        if np.ndim(ridge):
            raise InvalidInput("the ball needs one ridge for all coordinates; got several")
        x = -v / (weight * self.l2 + ridge)
        norm = np.linalg.norm(x, axis=-1, keepdims=True)
        return np.asarray(x / np.maximum(norm / self.radius, 1))


def lasso(weight: float) -> ElasticNet:
    """weight·‖x‖₁."""
    return ElasticNet(l1=weight)


def ridge(weight: float) -> ElasticNet:
    """(weight/2)·‖x‖²."""
    return ElasticNet(l2=weight)


def no_regulariser() -> ElasticNet:
    """0."""
    return ElasticNet()
