"""The state of a run: enough to resume it with the same bits."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.engine.fingerprint import parts_of
from dpcalc.algorithms.engine.recording import ArrayDescription, Recorder
from dpcalc.algorithms.problems.noise import Streams
from dpcalc.errors import InvalidInput, OutputFailed
from dpcalc.store import Store, open_store

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from dpcalc.vocabulary import Release

Arrays = dict[str, NDArray[Any]]


class Owner(Protocol):
    """What a state asks of the algorithm it belongs to."""

    key: ClassVar[str]
    released: ClassVar[Mapping[str, ArrayDescription]]

    @property
    def rounds(self) -> int:
        """How many rounds a run has."""


SAVED = "state"
"""Name of the piece of a store that a state is kept in."""

_OPTION = "checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """A batch of runs between two rounds.

    It holds what nodes keep to themselves and the seed of all noise: a saved state is as secret as
    the data.

    Attributes:
        owner: the algorithm.
        round: rounds done.
        memory: what the next round needs, by name; first axis runs.
        streams: the random numbers, past and future.
        released: what the latest round released.
        extra: the latest round's by-products, e.g. gradient norms.
    """

    owner: Owner
    round: int
    memory: Arrays
    streams: Streams
    released: Arrays = field(default_factory=dict)
    extra: Arrays = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that `load_state` needs, bit for bit, to a `dpcalc.store`."""
        with open_store(path, _plan(self.owner), option=_OPTION, secret=True) as store:
            store.write(SAVED, *_packed(self))


def load_state(owner: Owner, path: str | os.PathLike[str]) -> State:
    """The saved state of this very algorithm.

    Raises:
        InvalidInput: if the file is no state, or was saved with other parameters or data.
    """
    with open_store(path, _plan(owner), option=_OPTION, resume=True, secret=True) as store:
        found = store.read(SAVED)
        if found is None:
            raise _not_whole(store.path, "there is no state in it")
        return _unpacked(owner, *found, store.path)


@contextmanager
def checkpointed(
    owner: Owner,
    checkpoint: str | os.PathLike[str] | Store | None,
    release: Release,
    source: Streams,
    seeded: bool,
    pace: Pace,
) -> Iterator[tuple[tuple[State, Recorder] | None, Callable[[State, Recorder], None]]]:
    """What a checkpoint holds, None before the first save, and what to call after every round.

    It is held by this process. What ends the block early, an interruption or an error, is followed
    by a save of the last round.

    Args:
        owner: the algorithm.
        checkpoint: a file, or a section of an open store; without one nothing is saved.
        release: how much is kept.
        source: the random numbers of a run that begins.
        seeded: whether the caller gave a seed, which must be that of the file.
        pace: how often a round is saved.
    """
    if checkpoint is None:
        yield None, lambda *_: None
        return
    runs = {"release": str(release), "runs": source.runs, "first_run": source.first_run}
    plan = _plan(owner) | runs
    if not isinstance(checkpoint, Store):
        with (
            open_store(checkpoint, plan, option=_OPTION, secret=True) as store,
            checkpointed(owner, store, release, source, seeded, pace) as opened,
        ):
            yield opened
        return
    checkpoint.begin(plan)
    saved = _load(owner, checkpoint, release)
    if saved and seeded and saved[0].streams != source:
        raise InvalidInput(
            f"expected the seed that {str(checkpoint.path)!r} was started with; got another; leave "
            "rng out to resume from the file"
        )
    saving = _Saving(checkpoint, pace)
    try:
        yield saved, saving
    except BaseException:
        with suppress(OutputFailed):  # the disk may be what ended it
            saving.catch_up()
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a run is saved; its end is in any case.

    Attributes:
        rounds: between two saves, 1 or above.
        seconds: between two saves, at least. A save waits for the disk; a round hardly takes time.
    """

    rounds: int
    seconds: float = 0.0

    def __post_init__(self) -> None:
        checks.count("checkpoint_every", self.rounds)
        checks.non_negative("checkpoint_seconds", self.seconds)

    @property
    def every(self) -> int:
        """No round that this divides may be passed over; 0 if time alone says when to save."""
        return 0 if self.rounds == 1 and self.seconds > 0 else self.rounds


class _Saving:
    """Saves some rounds of those that it is told of, and the last one when asked to."""

    def __init__(self, store: Store, pace: Pace) -> None:
        self._store, self._pace, self._last = store, pace, time.monotonic()
        self._unsaved: tuple[State, Recorder] | None = None

    def __call__(self, state: State, recorder: Recorder) -> None:
        self._unsaved = state, recorder
        due = state.round % self._pace.rounds == 0
        if state.round == state.owner.rounds or (
            due and time.monotonic() - self._last >= self._pace.seconds
        ):
            self.catch_up()

    def catch_up(self) -> None:
        """Save the last round, unless it is."""
        if self._unsaved is not None:
            _save(self._store, *self._unsaved)
            self._unsaved, self._last = None, time.monotonic()


def _plan(owner: Owner) -> dict[str, Any]:
    """What decides the bits of a run beside its seed: the algorithm, its parameters and its data."""
    return {"algorithm": owner.key} | parts_of(owner)


def _save(store: Store, state: State, recorder: Recorder) -> None:
    """Write a state together with what was recorded so far, in the place of the last one."""
    header, arrays = _packed(state)
    recorded = {f"recorded/{slot}": values for slot, values in recorder.arrays.items()}
    store.write(SAVED, header, arrays | recorded)


def _load(owner: Owner, store: Store, release: Release) -> tuple[State, Recorder] | None:
    """The saved state and recorder of these runs, or None if there is none yet."""
    found = store.read(SAVED)
    if found is None:
        return None
    header, arrays = found
    state = _unpacked(owner, header, arrays, store.path)
    recorder = Recorder(owner.released, release, state.streams.runs, owner.rounds)
    recorder.arrays = {
        name.removeprefix("recorded/"): values
        for name, values in arrays.items()
        if name.startswith("recorded/")
    }
    return state, recorder


def _packed(state: State) -> tuple[dict[str, Any], Arrays]:
    header = {
        "round": state.round,
        "entropy": hex(state.streams.entropy),
        "cryptographic": state.streams.cryptographic,
        "runs": state.streams.runs,
        "first_run": state.streams.first_run,
    }
    arrays = {f"memory/{name}": values for name, values in state.memory.items()}
    arrays |= {f"released/{name}": values for name, values in state.released.items()}
    return header, arrays | {f"extra/{name}": values for name, values in state.extra.items()}


def _unpacked(owner: Owner, header: Mapping[str, Any], arrays: Arrays, path: Path) -> State:
    parts: dict[str, Arrays] = {"memory": {}, "released": {}, "extra": {}}
    for slot, values in arrays.items():
        part, _, name = slot.partition("/")
        if part in parts:
            parts[part][name] = np.asarray(values)
    try:
        done = checks.count("round", header["round"], minimum=0)
        streams = Streams(
            int(header["entropy"], 16),
            checks.count("runs", header["runs"]),
            checks.count("first_run", header["first_run"], minimum=0),
            cryptographic=header["cryptographic"] is True,
        )
    except (LookupError, TypeError, ValueError) as error:
        raise _not_whole(path, str(error)) from error
    if done > owner.rounds:
        raise InvalidInput(
            f"expected a round up to rounds={owner.rounds}; got round={done} in {str(path)!r}"
        )
    return State(owner=owner, round=done, streams=streams, **parts)


def _not_whole(path: Path, reason: str) -> InvalidInput:
    return InvalidInput(f"expected a whole state; got {str(path)!r} ({reason})")
