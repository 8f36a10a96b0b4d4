"""Where a run stands: enough to go on from with the same bits."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.engine.fingerprint import parts_of
from dpcalc.algorithms.engine.recording import Recorder
from dpcalc.algorithms.problems.noise import Streams
from dpcalc.errors import InvalidInput
from dpcalc.transcript import read_arrays, write_arrays

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

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


def save_checkpoint(
    path: str | os.PathLike[str],
    state: State,
    recorder: Recorder,
    release: Release,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Write a state together with what was recorded so far."""
    header, arrays = _packed(state)
    header["settings"] = dict(settings or {})
    recorded = {f"recorded/{slot}": values for slot, values in recorder.arrays.items()}
    write_arrays(path, header | {"release": str(release)}, arrays | recorded, secret=True)


def load_checkpoint(
    owner: Algorithm,
    path: str | os.PathLike[str],
    release: Release,
    source: Streams,
    settings: Mapping[str, Any] | None = None,
) -> tuple[State, Recorder] | None:
    """The saved state and recorder of these runs, or None if there is no such file yet."""
    if not Path(path).exists():
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
    parts: dict[str, Arrays] = {"memory": {}, "released": {}, "extra": {}}
    for slot, values in arrays.items():
        part, name = slot.split("/", 1)
        if part in parts:
            parts[part][name] = np.asarray(values)
    return State(
        owner=owner,
        round=cast("int", header["round"]),
        streams=Streams(int(header["entropy"], 16), header["runs"], header["first_run"]),
        **parts,
    )
