"""What a run draws in a round: independent numbers of one kind, for several runs and rounds at once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.normals import fill_normal

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

    dtype: ClassVar[type[np.generic]] = np.float64
    """Of the entries."""

    @property
    def size(self) -> int:
        """How many numbers that is."""
        return math.prod(self.shape)

    @abstractmethod
    def fill(self, generator: np.random.Generator, out: NDArray[Any]) -> None:
        """Put fresh draws into ``out``, of shape (..., *shape), whose rows are whole in the memory."""


@dataclass(frozen=True, slots=True)
class StandardNormal(Draw):
    """Gaussian noise with σ = 1."""

    def fill(self, generator: np.random.Generator, out: NDArray[Any]) -> None:
        """Ziggurat normals."""
        fill_normal(generator, out)


@dataclass(frozen=True, slots=True)
class UnitExponentialNorm(Draw):
    """Exponential-norm noise with rate 1 along the last axis."""

    in_one_go: ClassVar[bool] = False

    def fill(self, generator: np.random.Generator, out: NDArray[Any]) -> None:
        """Gamma(d) radius times uniform direction."""
        fill_normal(generator, out)
        radius = generator.standard_gamma(self.shape[-1], out.shape[:-1])
        out *= (radius / np.linalg.norm(out, axis=-1))[..., None]


@dataclass(frozen=True, slots=True)
class UniformIndex(Draw):
    """Independent uniform integers; entry i lies in 0..``high[i]``-1."""

    high: tuple[int, ...]

    at_once: ClassVar[int] = 256

    dtype: ClassVar[type[np.generic]] = np.int64

    def fill(self, generator: np.random.Generator, out: NDArray[Any]) -> None:
        """Lemire's unbiased bounded integers."""
        alike = len(set(self.high)) == 1
        high = self.high[0] if alike else np.array(self.high)
        out[...] = generator.integers(0, high, out.shape)


@dataclass(frozen=True, slots=True)
class RandomPermutation(Draw):
    """A uniform permutation of 0..n-1, for ``shape == (n,)``."""

    dtype: ClassVar[type[np.generic]] = np.int64

    def fill(self, generator: np.random.Generator, out: NDArray[Any]) -> None:
        """Fisher-Yates along the last axis."""
        identity = np.broadcast_to(np.arange(self.shape[0]), out.shape)
        out[...] = generator.permuted(identity, axis=-1)
