"""``dpcalc plot runs``: the error of trainings over the ε that they spend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpcalc.cli._options import StrictCommand, completing
from dpcalc.cli._plotting import file_options, files_of, finish


def runs_command() -> click.Command:
    """The command."""
    from dpcalc.report.measured_curves import MEASURES

    return StrictCommand(
        name="runs",
        callback=_run,
        params=[
            click.Argument(["files"], type=click.Path(path_type=Path), nargs=-1, required=True),
            click.Option(
                ["--measure"],
                default=next(iter(MEASURES)),
                show_default=True,
                metavar="|".join(MEASURES),
                shell_complete=completing(lambda: MEASURES),
                help="What stands over ε.",
            ),
            *file_options(),
        ],
        help="""The error of trainings over the ε that they spend, a curve for each method.

FILES are answers of dpcalc run (--out run.json): the same records, the same δ, any methods and
budgets. A point is the mean of a setting's runs, its bar goes from the lowest to the highest. A run
of a method without noise is a level to compare with. A grid in one command is dpcalc sweep.

\b
Example:
  dpcalc run dp-admm --epsilon 1 --delta 1e-6 --runs 5 --seed 1 --out run.json
  dpcalc plot runs run.json --out error.svg --csv error.csv
""",
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _run(files: tuple[Path, ...], measure: str, **given: Any) -> None:
    from dpcalc.errors import unknown_name
    from dpcalc.report.measured_curves import MEASURES, read_runs, runs_note, runs_picture

    measure = measure.replace("-", "_")
    if measure not in MEASURES:
        raise unknown_name("measure", measure, MEASURES)
    targets = files_of(given, inputs=list(files))
    runs = read_runs(files)
    finish(
        runs_picture(runs, measure),
        targets,
        title="Utility of trainings over their privacy budget",
        setting=runs_note(runs),
        about={"runs": [str(path) for path in files]},
    )
