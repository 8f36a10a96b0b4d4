"""Counted runs in a file, from which an interrupted audit goes on.

A file belongs to one target, seed, batch size and planned number of runs. The number stays: a test
that is looked at and then given more runs raises false alarms more often than α.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc.archive import read_arrays, refuse_other_versions, write_arrays
from dpcalc.auditing.observations import Observations
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    import os


def saved_seed(checkpoint: str | os.PathLike[str]) -> int | None:
    """The seed of the runs in a checkpoint; None if there is no such file.

    Raises:
        InvalidInput: if the file holds something else.
    """
    path = Path(checkpoint)
    if not path.exists():
        return None
    seed = read_arrays(path)[0].get("seed")
    if not isinstance(seed, int):
        raise InvalidInput(f"a file of kept runs was needed; got {str(path)!r}; name another file")
    return seed


def mark_judged(checkpoint: str | os.PathLike[str]) -> None:
    """Note in a checkpoint that its runs are judged as they are: further ones are never made."""
    if Path(checkpoint).exists():
        header, arrays = read_arrays(checkpoint)
        write_arrays(checkpoint, header | {"judged": True}, arrays)


_NAMES = {"target": "target", "seed": "seed", "size": "batch size"}


@dataclass(frozen=True, slots=True)
class KeptRuns:
    """Batches in a file, with what they belong to.

    Attributes:
        path: the file.
        target: what was attacked.
        seed: of the experiment.
        size: runs per batch.
        planned: counted runs in all.
    """

    path: Path
    target: str
    seed: int
    size: int
    planned: int

    def load(self) -> tuple[list[Observations], bool]:
        """The batches, and whether they were judged as they are."""
        if not self.path.exists():
            return [], False
        header, arrays = read_arrays(self.path)
        refuse_other_versions(header, self.path)
        different = [
            f"{_NAMES[name]} {header.get(name)} instead of {wanted}"
            for name, wanted in self._header().items()
            if header.get(name) != wanted
        ]
        if different:
            raise InvalidInput(
                f"runs of this audit were needed; {str(self.path)!r} holds others: "
                f"{', '.join(different)}; repeat the audit that made them, or name another file"
            )
        if header.get("planned") != self.planned:
            raise InvalidInput(
                f"the planned number of runs was needed, {header.get('planned')}, which "
                f"{str(self.path)!r} was begun with; got {self.planned}: who looks and then adds runs "
                "tests more than once, and raises false alarms more often than alpha; keep the number, "
                "or begin anew with another file and another seed"
            )
        edges = np.cumsum([0, *header["runs"]])
        whole = Observations(
            is_in=arrays["is_in"],
            score=arrays["score"],
            fair_coins=True,
            exact=bool(header["exact"]),
        )
        parts = [whole.between(a, b) for a, b in pairwise(edges)]
        return parts, header.get("judged") is True

    def store(self, done: list[Observations]) -> None:
        """Write all batches done so far."""
        header = self._header() | {
            "planned": self.planned,
            "runs": [o.runs for o in done],
            "exact": done[0].exact,
        }
        arrays = {
            "is_in": np.concatenate([o.is_in for o in done]),
            "score": np.concatenate([o.score for o in done]),
        }
        write_arrays(self.path, header, arrays)

    def _header(self) -> dict[str, Any]:
        return {"target": self.target, "seed": self.seed, "size": self.size}
