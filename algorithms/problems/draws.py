"""What a run draws in a round: independent numbers of one kind, for several runs and rounds at once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.normals import standard_normal

if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Draw(ABC):
    """What one run draws in one round: independent entries of one kind, of this shape."""

    shape: tuple[int, ...]

    at_once: ClassVar[int] = 4096
    """This many numbers one generator draws in one round, about: what is cheap next to making one."""

    in_one_go: ClassVar[bool] = True
    """Whether several rounds filled at once are the same numbers as one filled after the other."""

    @property
    def size(self) -> int:
        """How many numbers that is."""
        return math.prod(self.shape)

    @abstractmethod
    def fill(self, generator: np.random.Generator, leading: tuple[int, ...]) -> NDArray[Any]:
        """Fresh draws of shape ``leading + shape``."""


@dataclass(frozen=True, slots=True)
class StandardNormal(Draw):
    """Gaussian noise with σ = 1."""

    def fill(self, generator: np.random.Generator, leading: tuple[int, ...]) -> NDArray[Any]:
        """Ziggurat normals."""
        return standard_normal(generator, leading + self.shape)


@dataclass(frozen=True, slots=True)
class UnitExponentialNorm(Draw):
    """Exponential-norm noise with rate 1 along the last axis."""

    in_one_go: ClassVar[bool] = False

    def fill(self, generator: np.random.Generator, leading: tuple[int, ...]) -> NDArray[Any]:
        """Gamma(d) radius times uniform direction."""
        noise = standard_normal(generator, leading + self.shape)
        radius = generator.standard_gamma(self.shape[-1], leading + self.shape[:-1])
        noise *= (radius / np.linalg.norm(noise, axis=-1))[..., None]
        return noise


@dataclass(frozen=True, slots=True)
class UniformIndex(Draw):
    """Independent uniform integers; entry i lies in 0..``high[i]``-1."""

    high: tuple[int, ...]

    at_once: ClassVar[int] = 256

    def fill(self, generator: np.random.Generator, leading: tuple[int, ...]) -> NDArray[Any]:
        """Lemire's unbiased bounded integers."""
        alike = len(set(self.high)) == 1
        high = self.high[0] if alike else np.array(self.high)
        return generator.integers(0, high, leading + self.shape)


@dataclass(frozen=True, slots=True)
class RandomPermutation(Draw):
    """A uniform permutation of 0..n-1, for ``shape == (n,)``."""

    def fill(self, generator: np.random.Generator, leading: tuple[int, ...]) -> NDArray[Any]:
        """Fisher-Yates along the last axis."""
        identity = np.broadcast_to(np.arange(self.shape[0]), leading + self.shape)
        return generator.permuted(identity, axis=-1)
