"""What an algorithm released, round by round, and apart from it what was measured on the way.

A transcript is all that an algorithm and an audit share. Its released arrays are what an adversary
sees; its diagnostics (objective, consensus gap, gradient norm) come from the data and are not part
of any privacy statement. Every array says what it is and names its axes, the first of which is
always ``runs``: independent repetitions, never looped over.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc.archive import read_arrays, write_arrays
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.vocabulary import Release

__all__ = [
    "FORMAT",
    "Series",
    "Transcript",
    "Values",
    "joined",
    "read_only",
]

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

FORMAT = 2
"""Version of the file layout written by `Transcript.save`."""

RUNS, ROUNDS = "runs", "rounds"

Values = NDArray[Any]


def read_only(values: Values) -> Values:
    """``values`` as an array nobody can write to; copied if somebody still could."""
    array = np.asarray(values)
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """One named array.

    Attributes:
        values: the numbers, read-only; shape as ``axes``.
        axes: the name of every axis, ``runs`` first, e.g. (runs, rounds, nodes, features).
        meaning: what the numbers are, with the equation they come from.
    """

    values: Values
    axes: tuple[str, ...]
    meaning: str

    def __post_init__(self) -> None:
        values = read_only(self.values)
        if values.ndim != len(self.axes) or self.axes[:1] != (RUNS,):
            raise InvalidInput(
                "expected one name per axis, runs first; "
                f"got axes={self.axes!r} for an array of shape={values.shape!r}"
            )
        if values.dtype.kind not in "biuf":
            raise InvalidInput(f"expected numbers; got an array of dtype={values.dtype!r}")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "axes", tuple(self.axes))

    def __eq__(self, other: object) -> bool:
        """The same bits, axes and meaning."""
        if not isinstance(other, Series):
            return NotImplemented
        return (
            self.axes == other.axes
            and self.meaning == other.meaning
            and self.values.dtype == other.values.dtype
            and self.values.shape == other.values.shape
            and self.values.tobytes() == other.values.tobytes()
        )

    __hash__ = None  # type: ignore[assignment]  # arrays are compared, not hashed

    def runs(self, chosen: slice) -> Self:
        """The same series for some of the runs."""
        return replace(self, values=self.values[chosen])

    def last_round(self) -> Self:
        """The entry of the last round; the series itself if it has no rounds."""
        if ROUNDS not in self.axes:
            return self
        axis = self.axes.index(ROUNDS)
        return replace(
            self,
            values=np.take(self.values, -1, axis=axis),
            axes=self.axes[:axis] + self.axes[axis + 1 :],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The released arrays of a batch of runs.

    Attributes:
        algorithm: key of the algorithm, e.g. ``private-mr-admm``.
        release: how much of the run is in ``released``.
        rounds: how many rounds were carried out.
        released: name to array: what an adversary sees.
        diagnostics: name to array: measured on the data, not released.
        experiment: whether all randomness came from a seed or a generator that somebody gave, so
            that it can be repeated: no private release. False for a cryptographic generator.
    """

    algorithm: str
    release: Release
    rounds: int
    released: Mapping[str, Series]
    diagnostics: Mapping[str, Series] = field(default_factory=dict)
    experiment: bool = True

    def __post_init__(self) -> None:
        if not self.released:
            raise InvalidInput("expected at least one released array; got released={}")
        lengths = {len(s.values) for s in (*self.released.values(), *self.diagnostics.values())}
        if len(lengths) != 1:
            raise InvalidInput(f"expected one number of runs; got arrays of {sorted(lengths)}")
        shared = sorted(self.released.keys() & self.diagnostics.keys())
        if shared:
            raise InvalidInput(
                f"a name is either released or a diagnostic; got {shared} in both; rename one"
            )
        object.__setattr__(self, "release", Release(self.release))
        object.__setattr__(self, "released", MappingProxyType(dict(self.released)))
        object.__setattr__(self, "diagnostics", MappingProxyType(dict(self.diagnostics)))

    @property
    def runs(self) -> int:
        """How many independent runs the batch holds."""
        return len(next(iter(self.released.values())).values)

    def __getitem__(self, name: str) -> Values:
        """The released array of that name."""
        if name not in self.released:
            raise unknown_name("released array", name, self.released)
        return self.released[name].values

    def diagnostic(self, name: str) -> Values:
        """The diagnostic array of that name."""
        if name not in self.diagnostics:
            raise unknown_name("diagnostic", name, self.diagnostics)
        return self.diagnostics[name].values

    def select(self, chosen: slice) -> Self:
        """The transcript of some of the runs."""
        return replace(
            self,
            released={name: s.runs(chosen) for name, s in self.released.items()},
            diagnostics={name: s.runs(chosen) for name, s in self.diagnostics.items()},
        )

    def describe(self) -> str:
        """One line per released array: its name, axes, shape and meaning."""
        return "\n".join(
            f"{name} ({', '.join(s.axes)}) = {s.values.shape}: {s.meaning}"
            for name, s in self.released.items()
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one ``.npz`` file, bit for bit, replacing it in one step.

        Raises:
            OutputFailed: if it cannot be written; what was there before is there still.
        """
        write_arrays(path, *self.packed())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote.

        Raises:
            InvalidInput: if the file is missing, or is not a transcript of this layout.
        """
        header, arrays = read_arrays(path)
        if header.get("format") != FORMAT or "released" not in header:
            raise InvalidInput(
                f"expected a transcript of layout {FORMAT}; got path={str(path)!r}; "
                "write it with Transcript.save"
            )
        try:
            return cls.unpacked(header, arrays)
        except (LookupError, TypeError, AttributeError) as error:
            raise InvalidInput(f"expected a whole transcript; got path={str(path)!r}") from error

    def packed(self) -> tuple[dict[str, Any], dict[str, Values]]:
        """Everything as a header, ready for JSON, and named arrays."""
        header = {
            "format": FORMAT,
            "algorithm": self.algorithm,
            "release": str(self.release),
            "rounds": self.rounds,
            "experiment": self.experiment,
            "released": _captions(self.released),
            "diagnostics": _captions(self.diagnostics),
        }
        arrays = {f"released/{name}": s.values for name, s in self.released.items()}
        arrays |= {f"diagnostics/{name}": s.values for name, s in self.diagnostics.items()}
        return header, arrays

    @classmethod
    def unpacked(cls, header: Mapping[str, Any], arrays: Mapping[str, Values]) -> Self:
        """What `packed` took apart."""
        return cls(
            algorithm=header["algorithm"],
            release=Release(header["release"]),
            rounds=header["rounds"],
            experiment=header["experiment"] is not False,
            released=_series(header, arrays, "released"),
            diagnostics=_series(header, arrays, "diagnostics"),
        )


def joined(parts: Sequence[Transcript]) -> Transcript:
    """The transcript of all runs, one part after the other.

    Args:
        parts: one or more, of the same algorithm, release and rounds.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    kinds = {(p.algorithm, p.release, p.rounds, p.experiment) for p in parts}
    if len(kinds) != 1:
        raise InvalidInput(f"expected transcripts of one kind; got {sorted(map(str, kinds))}")
    return replace(
        first,
        released=_one_after_the_other([part.released for part in parts]),
        diagnostics=_one_after_the_other([part.diagnostics for part in parts]),
    )


def _one_after_the_other(parts: Sequence[Mapping[str, Series]]) -> dict[str, Series]:
    return {
        name: replace(found, values=np.concatenate([part[name].values for part in parts]))
        for name, found in parts[0].items()
    }


def _captions(series: Mapping[str, Series]) -> dict[str, dict[str, Any]]:
    return {name: {"axes": s.axes, "meaning": s.meaning} for name, s in series.items()}


def _series(
    header: Mapping[str, Any], arrays: Mapping[str, Values], kind: str
) -> dict[str, Series]:
    return {
        name: Series(
            values=arrays[f"{kind}/{name}"],
            axes=tuple(caption["axes"]),
            meaning=caption["meaning"],
        )
        for name, caption in header[kind].items()
    }
