"""Noise laws, and random streams that give every run the same numbers in every batch.

Laws
    Gaussian          density ∝ exp(-‖ε‖²/(2σ²))
    ExponentialNorm   density ∝ exp(-α‖ε‖₂): norm ~ Gamma(d, scale 1/α), direction uniform
    NoNoise           nothing is added: what depends on data is exposed
Streams
    The unit noise of (seed, run, round) is a function of these three alone. It does not depend on
    how many runs share a batch or where a run was interrupted, so a batch of R runs is R single
    runs and a resumed run has the same bits. One generator serves a group of runs for a block of
    rounds; no loop visits single runs.
Real runs
    Without a seed the operating system's cryptographic source provides a key of 256 bits. Every
    generator is AES-128 in counter mode (randomgen's ``AESCounter``, checked against the standard),
    under a key of its own that keyed BLAKE2b derives from that key and (purpose, block, group):
    whoever sees some of the noise learns nothing about the rest. They belong to the process that
    began them: a copy in another one would repeat the noise, and is refused.
Experiments
    An integer, a numpy generator or a ``SeedSequence`` makes an experiment repeatable, with SFC64,
    which is fast and not cryptographic: no private release. Whoever knows a seed knows the noise.
Limits
    numpy's samplers work on doubles; attacks on the low bits of floating-point noise (Mironov 2012)
    are outside this model.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.problems.generators import cryptographic, repeatable
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from typing import Any

    from dpcalc.algorithms.problems.draws import Draw

Array = NDArray[np.float64]

_ROUNDS = 64  # rounds that a generator serves
_AHEAD = 2**17  # numbers drawn at once, at most, if that is more than one round
_EACH = 2**15  # numbers of a generator next to which reading and writing its state is cheap
_MOST = 2**19  # numbers drawn at once, at most, so that several generators draw so many


class NoiseLaw(ABC):
    """The law of one noise vector."""

    @abstractmethod
    def log_density(self, residual: Array) -> Array:
        """Log-density at ``residual`` of shape (..., d); shape (...)."""


@dataclass(frozen=True, slots=True)
class Gaussian(NoiseLaw):
    """N(0, σ²I); ``sigma`` is the standard deviation of every coordinate."""

    sigma: float

    def log_density(self, residual: Array) -> Array:
        """-‖ε‖²/(2σ²) - (d/2)·ln(2πσ²)."""
        return gaussian_log_density(residual, self.sigma)


@dataclass(frozen=True, slots=True)
class ExponentialNorm(NoiseLaw):
    """Density ∝ exp(-``rate``·‖ε‖₂)."""

    rate: float

    def log_density(self, residual: Array) -> Array:
        """-α‖ε‖ + d·ln α - ln(S_{d-1}·Γ(d)), S_{d-1} = 2π^{d/2}/Γ(d/2) the unit sphere's area."""
        return exponential_log_density(residual, self.rate)


@dataclass(frozen=True, slots=True)
class NoNoise(NoiseLaw):
    """Nothing is added."""

    def log_density(self, residual: Array) -> Array:
        """Zero where the residual is zero, minus infinity elsewhere: a point mass."""
        return np.where(np.linalg.norm(residual, axis=-1) == 0, 0.0, -math.inf)


def gaussian_log_density(residual: Array, sigma: Array | float) -> Array:
    """`Gaussian.log_density` with one σ per leading index."""
    d = residual.shape[-1]
    square = np.einsum("...k,...k->...", residual, residual)
    return np.asarray(-square / (2 * np.square(sigma)) - d * (np.log(sigma) + _LOG_ROOT_2_PI))


def exponential_log_density(residual: Array, rate: Array | float) -> Array:
    """`ExponentialNorm.log_density` with one rate per leading index."""
    d = residual.shape[-1]
    log_area = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
    norm = np.linalg.norm(residual, axis=-1)
    return np.asarray(d * np.log(rate) - rate * norm - log_area - math.lgamma(d))


_LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True)
class Streams:
    """The random numbers of runs ``first_run``, ..., ``first_run + runs - 1`` of one seed.

    Attributes:
        entropy: the seed; secret whenever the data are.
        runs: runs in the batch.
        first_run: number of the batch's first run.
        cryptographic: whether this is a real run; else it is an experiment that can be repeated.
    """

    entropy: int
    runs: int
    first_run: int = 0
    cryptographic: bool = False
    _process: int = field(default_factory=os.getpid, init=False, repr=False, compare=False)
    _open: dict[int, _Block] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # generators of the current block of every purpose: a cache, not a state

    def __reduce__(self) -> tuple[Any, ...]:
        """As its seed; the key of a real run stays in its process, or in a checkpoint."""
        if self.cryptographic:
            raise InvalidInput(
                "expected an experiment to be copied or sent; the key of a real run is as secret "
                "as the data, and a copy would repeat its noise; begin the run where it is carried out"
            )
        return type(self), (self.entropy, self.runs, self.first_run)

    def draw(self, kind: Draw, purpose: int, round_: int) -> NDArray[Any]:
        """The numbers of one round; shape (runs, *kind.shape).

        Args:
            kind: what to draw; the same for every round.
            purpose: separates the independent draws that one algorithm makes in a round.
            round_: 0 or above; going through the rounds in order is fastest.
        """
        found: NDArray[Any] = self.several(kind, purpose, round_, 1)[0]
        return found

    def several(self, kind: Draw, purpose: int, round_: int, most: int) -> NDArray[Any]:
        """The numbers of a round and of those after it, as far as they are drawn at once.

        Args:
            kind: see `draw`.
            purpose: see `draw`.
            round_: the first.
            most: rounds, 1 or above.

        Returns:
            Shape (rounds, runs, *kind.shape), with 1 to ``most`` rounds.
        """
        block, position = self._at(kind, purpose, round_)
        skipped = self.first_run % block.group
        return block.drawn(position, most)[:, skipped : skipped + self.runs]

    def handed_over(
        self, kind: Draw, purpose: int, round_: int, rounds: int
    ) -> list[np.random.Generator] | None:
        """Generators at the beginning of a round, for whoever draws its numbers and what follows.

        Each is to draw, of every one of these rounds, the numbers of `runs_together` runs.

        Args:
            kind: see `draw`.
            purpose: see `draw`.
            round_: the first.
            rounds: how many; they count as drawn.

        Returns:
            One for each group of runs; None if it has drawn the numbers of that round already, or
            another serves the last.
        """
        block, position = self._at(kind, purpose, round_)
        return block.handed_over(position, rounds)

    def _at(self, kind: Draw, purpose: int, round_: int) -> tuple[_Block, int]:
        """The generators that serve a round, and its place among their rounds."""
        if self.cryptographic and self._process != os.getpid():
            raise InvalidInput(
                "expected the noise of a real run in the process that began it; got it in a copy of "
                "that process, where it would be drawn twice; begin the run in this process"
            )
        number, position = divmod(round_, _ROUNDS)
        block = self._open.get(purpose)
        if block is None or block.number != number or block.position > position:
            block = _Block(kind, number, self._generators(kind, purpose, number))
            self._open[purpose] = block
        return block, position

    def _generators(self, kind: Draw, purpose: int, block: int) -> list[np.random.Generator]:
        group = runs_together(kind)
        groups = range(self.first_run // group, (self.first_run + self.runs - 1) // group + 1)
        made = cryptographic if self.cryptographic else repeatable
        return [made(self.entropy, (purpose, block, number)) for number in groups]


class _Block:
    """Generators of consecutive groups of runs, each at the same round of a block of rounds."""

    def __init__(self, kind: Draw, number: int, generators: list[np.random.Generator]) -> None:
        self.number, self.position, self.group = number, 0, runs_together(kind)
        self._kind, self._generators, self._end = kind, generators, 0
        self._at_once = _rounds_ahead(kind, len(generators))

    def drawn(self, position: int, most: int) -> NDArray[Any]:
        """The numbers of rounds after those drawn before; shape (rounds, runs of all groups, ...)."""
        while self._end <= position:
            rounds = min(self._at_once, _ROUNDS - self._end)
            shape = (rounds, self.group * len(self._generators), *self._kind.shape)
            self._ahead = np.empty(shape, self._kind.dtype)
            for number, each in enumerate(self._generators):
                runs = slice(number * self.group, (number + 1) * self.group)
                self._kind.fill(each, self._ahead[:, runs])
            self._end += rounds
        found: NDArray[Any] = self._ahead[position - self._end :][:most]
        self.position = position + len(found)
        return found

    def handed_over(self, position: int, rounds: int) -> list[np.random.Generator] | None:
        """See `Streams.handed_over`."""
        if self._end != position or position + rounds > _ROUNDS:
            return None
        self._end = self.position = position + rounds
        return self._generators


def numbers_ahead(kind: Draw, runs: int) -> int:
    """How many numbers a batch of so many runs draws at once, at most, whichever run is its first."""
    group = runs_together(kind)
    counts = {(runs - 1 + skipped) // group + 1 for skipped in (0, group - 1)}
    numbers = (_rounds_ahead(kind, count) * count * group * kind.size for count in counts)
    return max(numbers)


def _rounds_ahead(kind: Draw, generators: int) -> int:
    """How many rounds are drawn at once."""
    if not kind.in_one_go:
        return 1
    own = kind.size * runs_together(kind)
    size = own * generators
    return min(max(_AHEAD // size, min(_EACH // own, _MOST // size), 1), _ROUNDS)


def runs_together(kind: Draw) -> int:
    """How many consecutive runs share a generator: a property of the draw, not of the batch."""
    return max(kind.at_once // kind.size, 1)


Seed = int | np.random.Generator | np.random.SeedSequence | None


def streams(rng: Seed, *, runs: int = 1, first_run: int = 0) -> Streams:
    """The random streams of a batch.

    Args:
        rng: None for a real run: 256 bits from the operating system, and a cryptographic generator.
            A non-negative integer or a ``SeedSequence`` repeats the same numbers; a generator is
            asked for a fresh seed, so two calls with one generator differ and two generators in the
            same state agree.
        runs: independent runs in the batch, 1 or more.
        first_run: number of the first one, to carry out a large batch in parts.
    """
    checks.count("runs", runs)
    checks.count("first_run", first_run, minimum=0)
    return Streams(_entropy(rng), int(runs), int(first_run), cryptographic=rng is None)


def _entropy(rng: object) -> int:
    if rng is None:
        import secrets

        return secrets.randbits(256)
    if isinstance(rng, np.random.Generator):
        return int.from_bytes(rng.bytes(32), "little")
    if isinstance(rng, np.random.SeedSequence):
        return int.from_bytes(rng.generate_state(8).tobytes(), "little")
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    raise InvalidInput(
        "rng needs a non-negative integer, a numpy Generator, a SeedSequence or None; "
        f"got rng={rng!r}; leave it out for a real run"
    )
