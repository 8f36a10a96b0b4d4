"""Messages of nodes in files, one for every run and node, and the transcript they make together.

    for run in range(500):
        with recorded_run("with-the-record", run) as recorder:
            train(recorder)  # which calls recorder.record(round, node, {"model": values})
    gathered("with-the-record", algorithm="mine").save("in.npz")

A recorder is a value that can be sent to other processes; the messages of one node come from one
process at a time. A run counts when its block has ended without an error: a system that was killed
leaves a run that `gathered` refuses, since messages that are missing for that reason say something
about the machine and not about the mechanism.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc import checks
from dpcalc.errors import InvalidInput, OutputFailed
from dpcalc.transcript import Series, Transcript
from dpcalc.vocabulary import Release

if TYPE_CHECKING:
    import os

Values = NDArray[Any]
Message = dict[str, Values]
Run = dict[tuple[int, str], Message]

SENT = "sent"
"""The released array that says how many arrays each message held; 0 where none was sent."""

_ROUND = "round"
_FINISHED = "finished"
_LENGTH = struct.Struct("<Q")
_DAMAGE = (OSError, EOFError, ValueError, KeyError, BadZipFile, struct.error, zlib.error)
_NODE = re.compile(r"[A-Za-z0-9_-]{1,100}")


@dataclass(frozen=True, slots=True)
class MessageRecorder:
    """Appends messages to the files of one run.

    Attributes:
        folder: of the run, with a file for every node.
    """

    folder: Path

    def record(self, round_: int, node: int | str, arrays: Mapping[str, ArrayLike]) -> None:
        """Keep one message.

        Args:
            round_: number of the round, 0 or above.
            node: who sends it: a number, or a name of letters, digits, hyphens and underscores.
            arrays: what it says, by name; numbers of shapes that are the same in every message. All
                that an adversary could read belongs here, metrics and sizes included.

        Raises:
            InvalidInput: for a message that cannot be kept as it is.
            OutputFailed: if it cannot be written.
        """
        checks.count("round", round_, minimum=0)
        if not _NODE.fullmatch(str(node)):
            raise InvalidInput(
                "expected a node's name of at most 100 letters, digits, hyphens and underscores; "
                f"got {node!r}"
            )
        message = {str(name): _numbers(str(name), values) for name, values in arrays.items()}
        if not message:
            raise InvalidInput(f"expected at least one array; got none from node {node}")
        if {_ROUND, SENT} & message.keys():
            raise InvalidInput(f"expected names other than {_ROUND!r} and {SENT!r}")
        packed = io.BytesIO()
        contents: dict[str, Any] = {_ROUND: np.array(round_, dtype=np.int64), **message}
        np.savez(packed, **contents)
        whole = packed.getvalue()
        try:
            with (self.folder / f"node-{node}").open("ab") as file:
                file.write(_LENGTH.pack(len(whole)) + whole)
        except OSError as error:
            raise OutputFailed(f"a message could not be kept: {error}") from error


@contextmanager
def recorded_run(folder: str | os.PathLike[str], run: int) -> Iterator[MessageRecorder]:
    """A recorder for one run, which counts once the block ends without an error.

    Example::

        import tempfile
        import numpy as np
        from dpcalc.recorders import gathered, recorded_run
        with tempfile.TemporaryDirectory() as folder:
            with recorded_run(folder, 0) as recorder:
                recorder.record(0, 0, {"update": np.zeros(4)})
            print(gathered(folder, algorithm="mine").rounds)

    Args:
        folder: of all runs of one kind; made if there is none.
        run: number of the run, 0 or above.

    Returns:
        A context whose value records messages by ``record(round, node, {name: array})``.

    Raises:
        InvalidInput: if the folder holds that run already.
    """
    own = Path(folder) / f"run-{checks.count('run', run, minimum=0)}"
    try:
        own.mkdir(parents=True)
    except FileExistsError:
        raise InvalidInput(
            f"expected a run that is not recorded yet; got run={run}, which {str(own)!r} holds; "
            "delete that folder to record it again"
        ) from None
    except OSError as error:
        raise OutputFailed(f"{str(own)!r} could not be made: {error}") from error
    yield MessageRecorder(own)
    (own / _FINISHED).touch()


def gathered(folder: str | os.PathLike[str], *, algorithm: str) -> Transcript:
    """The transcript of all recorded runs of a folder.

    A message that a node did not send in a round, because it was not asked for one, counts as zeros;
    the array ``sent`` tells it from zeros that were sent.

    Example::

        import tempfile
        import numpy as np
        from dpcalc.recorders import gathered, recorded_run
        with tempfile.TemporaryDirectory() as folder:
            with recorded_run(folder, 0) as recorder:
                recorder.record(0, 0, {"update": np.zeros(4)})
            print(gathered(folder, algorithm="mine").rounds)

    Args:
        folder: as given to `recorded_run`.
        algorithm: what to call what was run.

    Returns:
        The transcript, runs along the first axis of its arrays.

    Raises:
        InvalidInput: if there is no run, one did not finish or is damaged, or messages of one name
            differ in shape.
    """
    paths = sorted(Path(folder).glob("run-*"), key=lambda path: (len(path.name), path.name))
    if not paths:
        raise InvalidInput(f"expected at least one recorded run; got none in {str(folder)!r}")
    for path in paths:
        if not (path / _FINISHED).exists():
            raise InvalidInput(
                f"expected runs that finished; {str(path)!r} did not; delete it, or record it again"
            )
    runs = [_messages_of(path) for path in paths]
    every = [place for run in runs for place in run]
    if not every:
        raise InvalidInput(f"expected at least one message; got none in {str(folder)!r}")
    rounds = sorted({round_ for round_, _ in every})
    nodes = sorted({node for _, node in every}, key=lambda name: (len(name), name))
    return Transcript(
        algorithm=algorithm,
        release=Release.EVERY_MESSAGE,
        rounds=len(rounds),
        released=_released(runs, rounds, nodes),
        experiment=True,
    )


def _released(runs: list[Run], rounds: list[int], nodes: list[str]) -> dict[str, Series]:
    """The messages of all runs as arrays, and how many arrays each message had."""
    shapes = _shapes(runs)
    sent = np.zeros((len(runs), len(rounds), len(nodes)), dtype=np.int64)
    values = {
        name: np.zeros((*sent.shape, *shape), dtype=kind) for name, (shape, kind) in shapes.items()
    }
    for k, run in enumerate(runs):
        for (round_, node), message in run.items():
            place = (k, rounds.index(round_), nodes.index(node))
            sent[place] = len(message)
            for name, numbers in message.items():
                values[name][place] = numbers
    axes = ("runs", "rounds", "nodes")
    released = {
        SENT: Series(values=sent, axes=axes, meaning="arrays in each message; 0: none sent")
    }
    for name, numbers in values.items():
        inner = tuple(f"axis {number}" for number in range(1, numbers.ndim - 2))
        released[name] = Series(values=numbers, axes=(*axes, *inner), meaning=f"{name}, as sent")
    return released


def _numbers(name: str, values: ArrayLike) -> Values:
    found = np.asarray(values)
    if found.dtype.kind not in "biuf":
        raise InvalidInput(
            f"expected numbers in every array of a message; got {name} of dtype={found.dtype!r}; "
            "compressed messages are recorded before they are compressed"
        )
    return found


def _messages_of(run: Path) -> Run:
    """Every message of one run by its round and node; several in one round are one message."""
    found: dict[tuple[int, str], Message] = {}
    for path in sorted(run.glob("node-*")):
        node = path.name.removeprefix("node-")
        for message in _messages_in(path):
            round_ = int(message.pop(_ROUND))
            known = found.setdefault((round_, node), {})
            if twice := sorted(known.keys() & message.keys()):
                raise InvalidInput(
                    f"expected every array once a round; node {node} sent {twice[0]!r} twice in "
                    f"round {round_} of {str(run)!r}; give what is sent apart names of its own"
                )
            known.update(message)
    return found


def _messages_in(path: Path) -> Iterator[Message]:
    try:
        whole = path.read_bytes()
        start = 0
        while start < len(whole):
            (length,) = _LENGTH.unpack_from(whole, start)
            start, stop = start + _LENGTH.size, start + _LENGTH.size + length
            # One that was cut off has no table of contents at its end.
            with np.load(io.BytesIO(whole[start:stop]), allow_pickle=False) as file:
                yield {name: file[name] for name in file.files}
            start = stop
    except _DAMAGE as error:
        raise InvalidInput(f"expected whole messages; {str(path)!r} is damaged: {error}") from error


def _shapes(runs: list[Run]) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Shape and type of the arrays of every name."""
    found: dict[str, tuple[tuple[int, ...], Any]] = {}
    for run in runs:
        for (round_, node), message in run.items():
            for name, numbers in message.items():
                shape, kind = found.setdefault(name, (numbers.shape, numbers.dtype))
                if numbers.shape != shape:
                    raise InvalidInput(
                        f"expected arrays of one shape for each name; {name!r} has {shape} and, "
                        f"in round {round_} of node {node}, {numbers.shape}; pad them, or give them "
                        "names of their own"
                    )
                found[name] = shape, np.promote_types(kind, numbers.dtype)
    return dict(sorted(found.items()))
