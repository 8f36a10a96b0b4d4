"""The one shape of every algorithm: run it, step it, ask it for densities and data accesses.

    algorithm.run(rng, runs=R)            -> Transcript of R independent runs
    algorithm.start, algorithm.step       -> the same, round by round, from a State that can be saved
    algorithm.log_density(transcript)     -> exact log-density of what was released, under these or
                                             under other records
    algorithm.data_accesses()                  -> every look at the data, with its sensitivity and noise

An algorithm holds a problem and public parameters, and never a privacy budget.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.engine.recording import ArrayDescription, Recorder, checked_release
from dpcalc.algorithms.engine.state import Pace, State, checkpointed
from dpcalc.algorithms.problems.noise import streams
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.vocabulary import Release

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from dpcalc.algorithms.engine.access import DataAccess
    from dpcalc.algorithms.engine.implied import ImpliedNoise
    from dpcalc.algorithms.problems.draws import Draw
    from dpcalc.algorithms.problems.noise import Seed, Streams
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.store import Store
    from dpcalc.transcript import Transcript
    from dpcalc.vocabulary import Adjacency

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Algorithm(ABC):
    """A reference algorithm with its problem and parameters.

    Class attributes:
        key: file name with dashes.
        reference: paper, number of the algorithm or of its equations.
        full_release: what the adversary sees of a whole run.
        released: captions of the released arrays.

    Attributes:
        rounds: how many rounds a run has, 1 or above.
    """

    key: ClassVar[str]
    reference: ClassVar[str]
    full_release: ClassVar[Release] = Release.EVERY_ITERATE
    released: ClassVar[Mapping[str, ArrayDescription]]

    rounds: int

    # ---- what every algorithm answers

    @classmethod
    @abstractmethod
    def example(cls) -> Self:
        """A small instance on generated data, for tests and documentation."""

    @abstractmethod
    def with_records(self, records: Records) -> Self:
        """The same algorithm and parameters on other data."""

    @abstractmethod
    def data_accesses(self, adjacency: Adjacency | None = None) -> tuple[DataAccess, ...]:
        """Every look at the data, in the order in which it happens.

        Args:
            adjacency: between which data sets sensitivities are taken; the algorithm's own choice
                if left out.

        Raises:
            InvalidInput: if no sensitivity is known for that adjacency.
        """

    @abstractmethod
    def implied_noise(self, transcript: Transcript, records: Records | None = None) -> ImpliedNoise:
        """The noise that must have been drawn if the data are these.

        Args:
            transcript: a full release of this algorithm.
            records: other data; the algorithm's own if left out.

        Raises:
            AssumptionViolated: if the release is not an invertible function of the noise.
        """

    def normalised_distance(self, state: State, records: Records) -> Array:
        """By how much more unit noise the next release implies under other records.

        Where noise is added to a noiseless value, this is known before the noise is drawn: a step
        with ``nudge = -a·normalised_distance`` moves the release's centre from these data (a = 0) to
        the others (a = 1), which is what importance sampling needs.

        Args:
            state: after the round before.
            records: the other data.

        Returns:
            Shape (runs, nodes, d).

        Raises:
            AssumptionViolated: if the gap depends on the noise itself.
        """
        raise self._no_density("the gap between two data sets depends on the noise itself")

    def log_density_terms(self, transcript: Transcript, records: Records | None = None) -> Array:
        """`log_density` split by noisy round and node; shape (runs, noisy rounds, nodes)."""
        return self.implied_noise(transcript, records).log_density_terms()

    def log_density(self, transcript: Transcript, records: Records | None = None) -> Array:
        """Exact log-density of the released arrays; shape (runs,).

        Minus infinity where the release is impossible under these data.

        Args:
            transcript: a full release of this algorithm.
            records: the data under which it is evaluated; the algorithm's own if left out.
        """
        return self.implied_noise(transcript, records).log_density()

    # ---- what every algorithm does

    @abstractmethod
    def _draws(self, t: int) -> Mapping[str, Draw]:
        """Unit noise and random choices of one run in round ``t``, by name.

        A draw keeps its place in the order and its kind in all rounds that have it.
        """

    @abstractmethod
    def _start(self, streams: Streams) -> tuple[Arrays, Arrays]:
        """Memory before round 1, and what is released before it."""

    @abstractmethod
    def _advance(self, t: int, memory: Arrays, unit: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        """Round ``t``: the new memory, what the round released, and by-products for diagnostics."""

    @abstractmethod
    def _measure(self, memory: Arrays) -> Arrays:
        """Diagnostics that cost a pass over the data, one number per run."""

    # ---- running

    def start(self, rng: Seed = None, *, runs: int = 1, first_run: int = 0) -> State:
        """The state before the first round.

        Args:
            rng: a seed or generator; None takes one from the operating system.
            runs: independent runs in the batch.
            first_run: number of the first, so that a batch can be carried out in parts.
        """
        return self._begin(streams(rng, runs=runs, first_run=first_run))

    def _begin(self, source: Streams) -> State:
        memory, released = self._start(source)
        return State(owner=self, round=0, memory=memory, streams=source, released=released)

    def step(self, state: State, *, nudge: Array | None = None) -> State:
        """The state after one more round; its ``released`` is what that round released.

        Args:
            state: after the round before.
            nudge: added to the round's unit noise, to sample from a shifted law; (runs, nodes, d).
        """
        t = state.round + 1
        if t > self.rounds:
            raise InvalidInput(f"expected a round up to rounds={self.rounds}; got round={t}")
        unit = self._units(state.streams, t)
        if nudge is not None:
            if "noise" not in unit:
                raise InvalidInput(f"expected a noisy round for a nudge; round {t} has no noise")
            unit["noise"] = unit["noise"] + np.asarray(nudge).reshape(unit["noise"].shape)
        memory, released, extra = self._advance(t, state.memory, unit)
        return State(
            owner=self,
            round=t,
            memory=memory,
            streams=state.streams,
            released=released,
            extra=extra,
        )

    def _units(self, source: Streams, t: int) -> Arrays:
        """What is drawn in round ``t``."""
        return {
            name: source.draw(kind, purpose, t)
            for purpose, (name, kind) in enumerate(self._draws(t).items())
        }

    def steps(self, state: State, *, every: int = 1) -> Iterator[State]:
        """The states after further rounds: those that ``every`` divides (none if 0), the last, others.

        Others are left out where several rounds are carried out at once.
        """
        while state.round < self.rounds:
            pause = (state.round // every + 1) * every if every else self.rounds
            state = self._leap(state, min(pause, self.rounds))
            yield state

    def _leap(self, state: State, until: int) -> State:
        """The state after one more round, or after several, up to ``until``, with the same bits."""
        return self.step(state)

    def run(
        self,
        rng: Seed = None,
        *,
        runs: int = 1,
        first_run: int = 0,
        release: Release | None = None,
        diagnostics: bool | int = False,
        progress: Callable[[int, int], None] | None = None,
        checkpoint: str | os.PathLike[str] | Store | None = None,
        checkpoint_every: int = 10,
        checkpoint_seconds: float = 0.0,
    ) -> Transcript:
        """Carry out a batch of independent runs.

        Args:
            rng: a seed or generator, for an experiment; None for a private release, with a key from
                the operating system and a cryptographic generator.
            runs: runs in the batch.
            first_run: number of the batch's first run: runs 0-99 and runs 100-199 of one seed are
                together the batch of 200.
            release: how much to keep; the full release if left out.
            diagnostics: also measure objective and consensus after every round, or at intervals
                of this many rounds and after the last; this looks at the data once more and is not
                part of the release.
            progress: called with (rounds done, rounds) after every round, or several done at once.
            checkpoint: a file, or a section of an open `dpcalc.store.Store`, from which an
                interrupted run resumes, and to which it is saved, held by one process at a time. It
                holds the seed, so it is as secret as the data.
            checkpoint_every: rounds between two saves; see `Pace`.
            checkpoint_seconds: time between two saves, at least.
        """
        measure_every = checks.count("diagnostics", int(diagnostics), minimum=0)
        release = checked_release(release, self.full_release)
        source = streams(rng, runs=runs, first_run=first_run)
        pace = Pace(rounds=checkpoint_every, seconds=checkpoint_seconds)
        save_every = 0 if checkpoint is None else pace.every
        opened = checkpointed(self, checkpoint, release, source, rng is not None, pace)
        with opened as (saved, save):
            state, recorder = saved or self._recorded_start(source, release)
            for after in self._recorded_steps(state, recorder, measure_every, save_every):
                state = after
                save(state, recorder)
                if progress:
                    progress(state.round, self.rounds)
        experiment = not state.streams.cryptographic
        return recorder.transcript(self.key, state.round, experiment=experiment)

    def _recorded_steps(
        self, state: State, recorder: Recorder, measure_every: int, save_every: int
    ) -> Iterator[State]:
        """The states after further rounds, each recorded, and measured at intervals."""
        every = math.gcd(measure_every, save_every) if recorder.last_only else 1
        for after in self.steps(state, every=every):
            recorder.add(after.round, after.released, after.extra)
            last = after.round == self.rounds
            if measure_every and (after.round % measure_every == 0 or last):
                recorder.measure(after.round, self._measure(after.memory))
            yield after

    def _recorded_start(self, source: Streams, release: Release) -> tuple[State, Recorder]:
        state = self._begin(source)
        recorder = Recorder(self.released, release, source.runs, self.rounds)
        recorder.begin(state.released)
        return state, recorder

    # ---- helpers for subclasses

    def _checked(self, transcript: Transcript) -> None:
        """Refuse a transcript that this algorithm could not have released in full."""
        if transcript.algorithm != self.key or transcript.release != self.full_release:
            raise InvalidInput(
                f"expected a transcript of algorithm={self.key!r}, release={self.full_release!s}"
                f"; got algorithm={transcript.algorithm!r}, release={transcript.release!s}"
            )
        if transcript.rounds != self.rounds:
            raise InvalidInput(
                f"expected a transcript of rounds={self.rounds}; got rounds={transcript.rounds}"
            )

    def _no_density(self, reason: str) -> AssumptionViolated:
        return AssumptionViolated(f"algorithm {self.key!r} has no such density: {reason}")
