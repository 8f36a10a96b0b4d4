"""Where a run stands: enough to go on from with the same bits."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.engine.fingerprint import parts_of
from dpcalc.algorithms.engine.recording import Recorder
from dpcalc.algorithms.problems.noise import Streams
from dpcalc.archive import held_alone, read_arrays, refuse_other_versions, write_arrays
from dpcalc.errors import InvalidInput
from dpcalc.files import is_there

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.vocabulary import Release

Arrays = dict[str, NDArray[Any]]


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

    owner: Algorithm
    round: int
    memory: Arrays
    streams: Streams
    released: Arrays = field(default_factory=dict)
    extra: Arrays = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that `load_state` needs, bit for bit."""
        header, arrays = _packed(self)
        write_arrays(path, header, arrays, secret=True)


def load_state(owner: Algorithm, path: str | os.PathLike[str]) -> State:
    """The saved state of this very algorithm.

    Raises:
        InvalidInput: if the file is no state, or was saved with other parameters or data.
    """
    header, arrays = read_arrays(path)
    return _unpacked(owner, header, arrays, path)


@contextmanager
def checkpointed(
    owner: Algorithm,
    path: str | os.PathLike[str] | None,
    release: Release,
    source: Streams,
    seeded: bool,
    settings: Mapping[str, Any] | None = None,
) -> Iterator[tuple[tuple[State, Recorder] | None, Callable[[State, Recorder], None]]]:
    """What a checkpoint holds, None before the first save, and how to save; held by this process.

    Args:
        owner: the algorithm.
        path: the file; without one nothing is saved.
        release: how much is kept.
        source: the random numbers of a run that begins.
        seeded: whether the caller gave a seed, which must be that of the file.
        settings: what the caller set, to tell how another run of that file differs.
    """
    if path is None:
        yield None, lambda *_: None
        return
    with held_alone(path):
        saved = _load_checkpoint(owner, path, release, source, settings)
        if saved and seeded and saved[0].streams != source:
            raise InvalidInput(
                f"the seed that {str(path)!r} was started with was needed; got another; leave rng out "
                "to go on from the file"
            )
        yield saved, partial(_save_checkpoint, path, release, settings)


def _save_checkpoint(
    path: str | os.PathLike[str],
    release: Release,
    settings: Mapping[str, Any] | None,
    state: State,
    recorder: Recorder,
) -> None:
    """Write a state together with what was recorded so far."""
    header, arrays = _packed(state)
    header["settings"] = dict(settings or {})
    recorded = {f"recorded/{slot}": values for slot, values in recorder.arrays.items()}
    write_arrays(path, header | {"release": str(release)}, arrays | recorded, secret=True)


def _load_checkpoint(
    owner: Algorithm,
    path: str | os.PathLike[str],
    release: Release,
    source: Streams,
    settings: Mapping[str, Any] | None = None,
) -> tuple[State, Recorder] | None:
    """The saved state and recorder of these runs, or None if there is no such file yet."""
    if not is_there(path):
        return None
    header, arrays = read_arrays(path)
    state = _unpacked(owner, header, arrays, path, settings)
    needed = {"release": str(release), "runs": source.runs, "first_run": source.first_run}
    held = {name: header.get(name) for name in needed}
    if held != needed:
        wanted, got = (
            ", ".join(f"{name}={of[name]}" for name in needed if held[name] != needed[name])
            for of in (needed, held)
        )
        raise InvalidInput(
            f"a checkpoint of {wanted} was needed; got {got} in {str(path)!r}; use another file"
        )
    recorder = Recorder(owner.released, release, state.streams.runs, owner.rounds)
    recorder.arrays = {
        name.removeprefix("recorded/"): values
        for name, values in arrays.items()
        if name.startswith("recorded/")
    }
    return state, recorder


def _packed(state: State) -> tuple[dict[str, Any], Arrays]:
    header = {
        "state_of": state.owner.key,
        "fingerprint": state.owner.fingerprint(),
        "parts": parts_of(state.owner),
        "round": state.round,
        "entropy": hex(state.streams.entropy),
        "cryptographic": state.streams.cryptographic,
        "runs": state.streams.runs,
        "first_run": state.streams.first_run,
    }
    arrays = {f"memory/{name}": values for name, values in state.memory.items()}
    arrays |= {f"released/{name}": values for name, values in state.released.items()}
    return header, arrays | {f"extra/{name}": values for name, values in state.extra.items()}


def _difference(
    owner: Algorithm, header: Mapping[str, Any], settings: Mapping[str, Any] | None
) -> str:
    """What a saved state has otherwise: the caller's settings, else parts of the algorithm."""
    held, wanted = header.get("settings") or {}, json.loads(json.dumps(dict(settings or {})))
    names = [n for n in {**held, **wanted} if held and held.get(n) != wanted.get(n)]
    if names:
        return "with " + ", ".join(f"{n}={held.get(n)!r} (not {wanted.get(n)!r})" for n in names)
    before, now = header.get("parts") or {}, parts_of(owner)
    different = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return f"with another {', '.join(different)}" if before and different else "with others"


def _unpacked(
    owner: Algorithm,
    header: dict[str, Any],
    arrays: Arrays,
    path: str | os.PathLike[str],
    settings: Mapping[str, Any] | None = None,
) -> State:
    if header.get("fingerprint") != owner.fingerprint():
        held = header.get("state_of")
        other = f"of {held!r}" if held != owner.key else _difference(owner, header, settings)
        raise InvalidInput(
            f"a state of algorithm={owner.key!r} with the same parameters and data was needed; "
            f"{str(path)!r} holds one {other}; go on with what it was started with, or use another "
            "file"
        )
    refuse_other_versions(header, path)
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
        raise InvalidInput(f"a whole state was needed; got {str(path)!r} ({error})") from error
    if done > owner.rounds:
        raise InvalidInput(
            f"a round up to rounds={owner.rounds} was needed; got round={done} in {str(path)!r}"
        )
    return State(owner=owner, round=done, streams=streams, **parts)
