"""Collects what the rounds of a run release into the arrays of a transcript."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpcalc.errors import InvalidInput
from dpcalc.transcript import ROUNDS, RUNS, Series, Transcript
from dpcalc.vocabulary import Release

if TYPE_CHECKING:
    from collections.abc import Mapping

Arrays = dict[str, NDArray[Any]]

MEANINGS = {
    "gradient_norm": "Euclidean norm of the gradient at the exact minimiser",
    "average_loss": "(1/N) sum over nodes of the mean loss at the node's own iterate",
    "objective": "objective of the whole problem",
    "consensus_gap": "largest distance of a node's iterate from the mean iterate",
    "feasibility_gap": "Euclidean norm of Ax + By - c",
    "order": "user whose function the round used, counted from 0",
    "stopping_round": "round after which the run stopped",
}
"""What the diagnostics mean."""

_DIAGNOSTIC_AXES = {"gradient_norm": ("nodes",)}


def checked_release(release: Release | None, full: Release) -> Release:
    """How much of a run is kept: the full release if left out, or the last iterate."""
    release = Release(release or full)
    if release not in (full, Release.LAST_ITERATE):
        raise InvalidInput(
            f"release needs {full!s} or {Release.LAST_ITERATE!s}; got release={release!s}"
        )
    return release


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayDescription:
    """What a released array is.

    Attributes:
        meaning: in words, with its equation.
        axes: names of the axes after runs and rounds.
        each_round: False for what is released once.
        at_the_end: what becomes of it in a last-iterate release: its last round is "kept", or it
            is no part of the release and becomes a "diagnostic" or is "dropped".
    """

    meaning: str
    axes: tuple[str, ...]
    each_round: bool = True
    at_the_end: Literal["kept", "diagnostic", "dropped"] = "kept"


@dataclass(slots=True)
class Recorder:
    """Arrays filled round by round; of a last-iterate release only the last round is kept."""

    captions: Mapping[str, ArrayDescription]
    release: Release
    runs: int
    rounds: int
    arrays: Arrays = field(default_factory=dict)

    @property
    def last_only(self) -> bool:
        """Whether earlier rounds are forgotten."""
        return self.release == Release.LAST_ITERATE

    def begin(self, released: Arrays) -> None:
        """What was released before round 1."""
        for name, values in released.items():
            if self._wanted(name):
                self.arrays[f"released/{name}"] = np.array(values)

    def add(self, t: int, released: Arrays, extra: Arrays) -> None:
        """What round ``t`` released, and its by-products."""
        for name, values in released.items():
            if not self._wanted(name):
                continue
            if self._every_round(name):
                self._put(f"released/{name}", t, values)
            else:
                self.arrays[f"released/{name}"] = values
        self.measure(t, extra)

    def _wanted(self, name: str) -> bool:
        return not (self.last_only and self.captions[name].at_the_end == "dropped")

    def _every_round(self, name: str) -> bool:
        caption = self.captions[name]
        return caption.each_round and not (self.last_only and caption.at_the_end == "kept")

    def measure(self, t: int, values: Arrays) -> None:
        """Diagnostics of round ``t``."""
        for name, value in values.items():
            self._put(f"diagnostics/{name}", t, value)

    def _put(self, slot: str, t: int, values: NDArray[Any]) -> None:
        if slot not in self.arrays:
            blank = np.nan if values.dtype.kind == "f" else -1
            shape = (self.runs, self.rounds, *values.shape[1:])
            self.arrays[slot] = np.full(shape, blank, dtype=values.dtype)
        self.arrays[slot][:, t - 1] = values

    def transcript(self, key: str, rounds: int, *, experiment: bool = True) -> Transcript:
        """The finished transcript; the recorder must not be used afterwards."""
        released: dict[str, Series] = {}
        diagnostics: dict[str, Series] = {}
        for slot, values in self.arrays.items():
            kind, name = slot.split("/")
            if kind != "diagnostics" and not self._every_round(name):
                values = values.copy()  # still part of the last round's state
            values.flags.writeable = False
            if kind == "diagnostics":
                axes = (RUNS, ROUNDS, *_DIAGNOSTIC_AXES.get(name, ()))
                diagnostics[name] = Series(values=values, axes=axes, meaning=MEANINGS[name])
                continue
            caption = self.captions[name]
            axes = (RUNS, *((ROUNDS,) if self._every_round(name) else ()), *caption.axes)
            series = Series(values=values, axes=axes, meaning=caption.meaning)
            aside = self.last_only and caption.at_the_end == "diagnostic"
            (diagnostics if aside else released)[name] = series
        return Transcript(
            algorithm=key,
            release=self.release,
            rounds=rounds,
            experiment=experiment,
            released=released,
            diagnostics=diagnostics,
        )
