"""Sweeps from Python: a grid in, a tidy table with a picture out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.errors import InvalidInput
from dpcalc.sweep.grid import Sweep, read_sweep, sweep_of
from dpcalc.sweep.table import columns_of, write_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN = 20
"""Rows of a notebook; the table has them all."""


@dataclass(frozen=True, slots=True, repr=False)
class SweepTable:
    """The answers of a sweep, a row for every setting.

    Attributes:
        sweep: what was asked.
        rows: values of the axes and answers by name; ``refused`` says why there is none.
    """

    sweep: Sweep
    rows: Sequence[Mapping[str, Any]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        axes = ", ".join(f"{name} ({len(values)})" for name, values in self.sweep.axes.items())
        return f"SweepTable({self.sweep.name}: {len(self)} rows; axes: {axes or 'none'})"

    def _repr_html_(self) -> str:
        names = columns_of(self.rows)
        heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_cell(row.get(n)))}</td>" for n in names) + "</tr>"
            for row in self.rows[:_SHOWN]
        )
        more = "" if len(self) <= _SHOWN else f"<p>{len(self) - _SHOWN} more rows</p>"
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}"

    def column(self, name: str) -> tuple[Any, ...]:
        """One column, None where a row has no such answer.

        Args:
            name: an axis, or an answer.

        Raises:
            InvalidInput: for an unknown one, with those there are.
        """
        known = columns_of(self.rows)
        if name not in known:
            raise InvalidInput(f"expected a column of the table ({', '.join(known)}); got {name!r}")
        return tuple(row.get(name) for row in self.rows)

    def write(self, path: str | Path) -> None:
        """Write all rows to a .csv, or .parquet with the extra ``scale``.

        Args:
            path: the file; the ending decides the form.
        """
        from dpcalc.sweep.table import check_table

        check_table(Path(path))
        write_table(Path(path), self.rows)

    def plot(self) -> Axes:
        """The answer over the longest axis of numbers; of trainings their error over certified ε.

        Returns:
            The axes, of a figure of their own.

        Raises:
            InvalidInput: without an axis of numbers, or if every setting was refused.
            MissingExtra: without matplotlib.
        """
        from dpcalc.pictures.drawing import figure_of
        from dpcalc.sweep.picture import sweep_note, sweep_picture

        note = sweep_note(self.sweep, self.rows)
        picture = sweep_picture(self.sweep, self.rows)
        return figure_of(picture, title=self.sweep.name, setting=note).axes[0]


def sweep_table(
    grid: Mapping[str, Any] | str | Path, *, executor: Executor | None = None
) -> SweepTable:
    """One question about every setting of a grid.

    Example::

        from dpcalc.sweep import sweep_table
        table = sweep_table({
            "mechanism": "gaussian", "delta": 1e-6,
            "parameters": {"rounds": [1, 10], "noise_multiplier": [2.0, 4.0]},
        })
        print(table.column("certified"))

    Args:
        grid: a file as ``dpcalc sweep`` reads it, or its fields.
        executor: who does the work; this process if left out.

    Returns:
        The table; ``column(name)`` is one of its columns, ``rows`` has all.

    Raises:
        InvalidInput: for a grid that asks nothing that can be answered; audits are left to
            ``dpcalc sweep``.
    """
    from dpcalc.sweep.carry_out import rows_of

    sweep = sweep_of(grid) if isinstance(grid, Mapping) else read_sweep(Path(grid))
    if sweep.kind == "audit":
        raise InvalidInput(
            "theorems, mechanisms and trainings are swept here; try: dpcalc sweep FILE"
        )
    if sweep.kind == "run":
        from dpcalc.sweep.trained import trained

        return SweepTable(
            sweep, rows_of(sweep, answer=trained, shared=lambda _: None, executor=executor)
        )
    return SweepTable(sweep, rows_of(sweep, executor=executor))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
