"""Losses of one record, with the constants that privacy proofs need.

Every loss is φ(m) of one number m, convex. For a classification loss m is the margin y·xᵀf, for a
regression loss the residual xᵀf - y. The gradient in f is then φ'(m) times a *row*: y·x or x. So

    |φ'| <= derivative_bound        the gradient of one record is at most derivative_bound·‖x‖
    0 <= φ'' <= curvature      its Hessian is at most curvature·‖x‖²  (infinite where φ has a kink)
    φ'' >= least_curvature     zero for all but the squared loss

and of the papers' assumptions |L'| <= 1 is ``derivative_bound == 1`` and L'' <= c₁ is ``curvature``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcalc import checks

__all__ = [
    "Hinge",
    "Huber",
    "Linear",
    "Logistic",
    "Loss",
    "SmoothedHinge",
    "Squared",
]

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(ABC):
    """A convex function φ of a margin or of a residual."""

    name: ClassVar[str]
    of_margin: ClassVar[bool]

    @property
    @abstractmethod
    def derivative_bound(self) -> float:
        """The least L with |φ'| <= L everywhere; infinite for the squared loss."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The least c with φ'' <= c everywhere; infinite if φ has a kink."""

    @property
    def least_curvature(self) -> float:
        """The largest c with φ'' >= c everywhere."""
        return 0.0

    @property
    def smooth(self) -> bool:
        """Whether the gradient is Lipschitz continuous."""
        return math.isfinite(self.curvature)

    @property
    def quadratic(self) -> bool:
        """Whether φ'' is constant, so that gradients are affine."""
        return self.curvature == self.least_curvature

    @abstractmethod
    def value(self, m: Floats) -> Floats:
        """φ(m), elementwise."""

    @abstractmethod
    def derivative(self, m: Floats) -> Floats:
        """φ'(m), elementwise; at a kink one subgradient, always the same."""

    @abstractmethod
    def second_derivative(self, m: Floats) -> Floats:
        """φ''(m), elementwise; where it jumps, one of the two values."""

    def derivatives(self, m: Floats, weight: float, bend: Floats) -> Floats:
        """φ', which may overwrite ``m``; ``weight``·φ'' goes into ``second_derivative``."""
        np.multiply(self.second_derivative(m), weight, out=bend, casting="same_kind")
        return self.derivative(m)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic(Loss):
    """φ(m) = ln(1 + e^{-m}), the loss of zhang2018, zhang2019 and shang2021."""

    name = "logistic"
    of_margin = True
    derivative_bound = 1.0
    """1, not attained."""
    curvature = 0.25
    """1/4, attained at m = 0."""

    def value(self, m: Floats) -> Floats:
        """Accurate for margins of any size."""
        return np.logaddexp(0, -m)

    def derivative(self, m: Floats) -> Floats:
        """-1/(1 + e^m)."""
        with np.errstate(over="ignore"):
            return -1 / (1 + np.exp(m))

    def second_derivative(self, m: Floats) -> Floats:
        """s(1 - s) with s = |φ'|."""
        slope = self.derivative(m)
        return -slope * (1 + slope)

    def derivatives(self, m: Floats, weight: float, bend: Floats) -> Floats:
        """One exponential serves both."""
        with np.errstate(over="ignore"):
            np.exp(m, out=m)
        m += 1
        np.divide(-1, m, out=m)
        np.copyto(bend, m, casting="same_kind")
        bend += bend * bend
        bend *= -weight
        return m


@dataclass(frozen=True, slots=True, kw_only=True)
class Hinge(Loss):
    """φ(m) = max(0, 1 - m), the loss of liu2022; has a kink at m = 1."""

    name = "hinge"
    of_margin = True
    derivative_bound = 1.0
    curvature = math.inf
    """Infinite: the slope jumps."""

    def value(self, m: Floats) -> Floats:
        """The loss."""
        return np.maximum(1 - m, 0)

    def derivative(self, m: Floats) -> Floats:
        """-1 below 1, 0 from 1 on."""
        return np.where(m < 1, -1, 0).astype(m.dtype)

    def second_derivative(self, m: Floats) -> Floats:
        """Zero off the kink."""
        return np.zeros_like(m)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothedHinge(Loss):
    """The hinge rounded off by a parabola on an interval of length ``width`` below m = 1.

    φ(m) = (1 - m)²/(2w) for 1 - w <= m <= 1, and 1 - m - w/2 below.
    """

    name = "smoothed-hinge"
    of_margin = True
    width: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("width", self.width)

    @property
    def derivative_bound(self) -> float:
        """1."""
        return 1.0

    @property
    def curvature(self) -> float:
        """1/w."""
        return 1 / self.width

    def value(self, m: Floats) -> Floats:
        """The loss."""
        short = np.clip(1 - m, 0, self.width)
        return np.asarray(short * short / (2 * self.width) + np.maximum(1 - m - self.width, 0))

    def derivative(self, m: Floats) -> Floats:
        """From -1 up to 0, linear on the rounded part."""
        return np.asarray(np.clip((m - 1) / self.width, -1, 0))

    def second_derivative(self, m: Floats) -> Floats:
        """1/w on the rounded part, else 0."""
        return ((m > 1 - self.width) & (m < 1)).astype(m.dtype) / self.width


@dataclass(frozen=True, slots=True, kw_only=True)
class Squared(Loss):
    """φ(m) = scale·m²/2; ``scale=2`` is the (aᵀx - b)² of chan2023."""

    name = "squared"
    of_margin = False
    scale: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("scale", self.scale)

    @property
    def derivative_bound(self) -> float:
        """Infinite: without clipping or a bounded domain one record moves gradients at will."""
        return math.inf

    @property
    def curvature(self) -> float:
        """The scale."""
        return self.scale

    @property
    def least_curvature(self) -> float:
        """The scale: the loss is quadratic."""
        return self.scale

    def value(self, m: Floats) -> Floats:
        """The loss."""
        return np.asarray(self.scale / 2 * m * m)

    def derivative(self, m: Floats) -> Floats:
        """Proportional to the residual."""
        return np.asarray(self.scale * m)

    def second_derivative(self, m: Floats) -> Floats:
        """Constant."""
        return np.full_like(m, self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Huber(Loss):
    """φ(m) = m²/2 up to |m| = ``width``, linear from there: a squared loss of bounded slope."""

    name = "huber"
    of_margin = False
    width: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("width", self.width)

    @property
    def derivative_bound(self) -> float:
        """The width."""
        return self.width

    @property
    def curvature(self) -> float:
        """1."""
        return 1.0

    def value(self, m: Floats) -> Floats:
        """The loss."""
        near = np.minimum(np.abs(m), self.width)
        return near * near / 2 + self.width * (np.abs(m) - near)

    def derivative(self, m: Floats) -> Floats:
        """The residual, clipped."""
        return np.asarray(np.clip(m, -self.width, self.width))

    def second_derivative(self, m: Floats) -> Floats:
        """1 on the parabola, else 0."""
        return (np.abs(m) < self.width).astype(m.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear(Loss):
    """φ(m) = -m: the gradient is -y·x wherever it is taken. The sharpest case of many bounds."""

    name = "linear"
    of_margin = True
    derivative_bound = 1.0
    curvature = 0.0

    def value(self, m: Floats) -> Floats:
        """The loss."""
        return -m

    def derivative(self, m: Floats) -> Floats:
        """-1 everywhere."""
        return np.full_like(m, -1)

    def second_derivative(self, m: Floats) -> Floats:
        """0 everywhere."""
        return np.zeros_like(m)
