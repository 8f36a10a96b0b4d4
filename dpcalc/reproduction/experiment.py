"""What an experiment is, and what comes out of it."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc.files import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from dpcalc.reproduction.setup import ExperimentConfig

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of axes.

    Attributes:
        key: "a", "b", ..., as in the paper where it has the panel.
        title: what is compared.
        x: label.
        y: label.
        log_x: logarithmic axis.
        log_y: logarithmic axis.
        ours: whether the paper has no such panel.
    """

    key: str
    title: str
    x: str
    y: str
    log_x: bool = False
    log_y: bool = False
    ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """A line with a range around it.

    Attributes:
        panel: key of its panel.
        name: as in the legend.
        x: shape (points,).
        y: shape (points,), or (runs, points), of which mean and range are shown.
        noise: "none", "printed", "certified" or "theory" for a curve that is a formula.
        epsilon: certified ε of the whole run; None if that is not what the curve is about.
        delta: its δ.
        noisy_rounds: how often the data were looked at with noise.
    """

    panel: str
    name: str
    x: ArrayLike
    y: ArrayLike
    noise: str = "none"
    epsilon: float | None = None
    delta: float | None = None
    noisy_rounds: int | None = None

    def statistics(self) -> tuple[Array, Array, Array, Array]:
        """X, and mean, least and largest y, where y is finite."""
        x, y = np.asarray(self.x, dtype=np.float64), np.atleast_2d(np.asarray(self.y, dtype=float))
        keep = np.isfinite(y).all(axis=0)
        x, y = x[keep], y[:, keep]
        return x, y.mean(axis=0), y.min(axis=0), y.max(axis=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Named columns and rows of cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an experiment found.

    Attributes:
        curves: of a figure.
        table: of a table.
        notes: what it was computed from.
    """

    curves: Sequence[Curve] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()

    def write_csv(self, path: Path) -> None:
        """Every number that is drawn."""
        text = io.StringIO(newline="")
        out = csv.writer(text, lineterminator="\n")
        if self.table is not None:
            out.writerow(self.table.columns)
            out.writerows(tuple(_short(cell) for cell in row) for row in self.table.rows)
        else:
            out.writerow(_HEADER)
            for curve in self.curves:
                out.writerows(_rows(curve))
        write_text(path, text.getvalue())


_HEADER = (
    "panel",
    "curve",
    "noise",
    "certified_epsilon",
    "delta",
    "noisy_rounds",
    "x",
    "mean",
    "lowest",
    "highest",
)


def _rows(curve: Curve) -> Iterator[tuple[object, ...]]:
    about = (curve.epsilon, curve.delta, curve.noisy_rounds)
    cells = tuple("" if value is None else _short(value) for value in about)
    for numbers in zip(*curve.statistics(), strict=True):
        yield (curve.panel, curve.name, curve.noise, *cells, *(_short(v) for v in numbers))


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A figure or table of a paper.

    Attributes:
        reference: paper and number.
        title: what it shows.
        compute: the outcome for a configuration.
        panels: of a figure; none for a table.
        choices: what the paper leaves open, and what is taken here.
        in_parts: whether workers may share what ``compute`` does, by `ExperimentConfig.each`.
    """

    reference: str
    title: str
    compute: Callable[[ExperimentConfig], Outcome]
    panels: tuple[Panel, ...] = ()
    choices: tuple[str, ...] = field(default=())
    in_parts: bool = False
