"""What all pictures of ``dpcalc plot`` share: the axis, the files, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._json import print_json
from dpcalc.cli._options import NUMBER, AtLeast, Whole, completing_in, delta_option, json_option
from dpcalc.errors import InvalidInput
from dpcalc.extras import need

if TYPE_CHECKING:
    from dpcalc.pictures.curves import Picture

_ENDS = {"delta": (1e-12, 0.1), "epsilon": (0.1, 10.0)}
"""Where an axis runs unless --from and --to say."""

ENDS = tuple[float, float]
_PATH = click.Path(path_type=Path, dir_okay=False)


@dataclass(frozen=True, slots=True)
class Axis:
    """What is varied and where.

    Attributes:
        name: "delta", "epsilon" or the name of a parameter, with underscores.
        low: its first place.
        high: its last place.
        points: how many places.
    """

    name: str
    low: float
    high: float
    points: int

    def places(self, *, whole: bool = False) -> list[float]:
        """The places; whole numbers where only these make sense."""
        from dpcalc.pictures.curves import steps

        return steps(self.low, self.high, self.points, whole=whole)


def axis_of(given: dict[str, Any]) -> Axis:
    """The axis that the options ask for; they are taken out of what is given.

    Raises:
        InvalidInput: for an axis without ends, or ends that make no sense.
    """
    over = str(given.pop("over")).replace("-", "_")
    low, high, points = given.pop("low"), given.pop("high"), given.pop("points")
    if over in _ENDS:
        first, last = _ENDS[over]
        low, high = first if low is None else low, last if high is None else high
    elif low is None or high is None:
        raise InvalidInput(
            f"--over {over.replace('_', '-')} needs --from and --to; got "
            f"{'neither' if low is None and high is None else 'one of them'}"
        )
    if not low < high:
        raise InvalidInput(f"--from needs to be below --to; got {low:g} and {high:g}")
    if over == "delta" and not 0 < low < high < 1:
        raise InvalidInput(f"--from and --to need δ in (0, 1); got {low:g} and {high:g}")
    if over == "epsilon" and low <= 0:
        raise InvalidInput(f"--from needs an ε above 0; got {low:g}")
    return Axis(over, low, high, points)


@dataclass(frozen=True, slots=True)
class Files:
    """Where a picture goes.

    Attributes:
        out: the picture.
        csv: its numbers, None for nowhere.
        width: of the picture, in inches.
        as_json: whether the answer is JSON.
    """

    out: Path
    csv: Path | None
    width: float
    as_json: bool


def one_by_one(places: list[float]) -> Iterable[float]:
    """The places, with a bar on a terminal's standard error: one may take a second."""
    from dpcalc.report.text import with_progress

    return with_progress(places, "points of the picture", few=1)


def files_of(given: dict[str, Any], inputs: list[Path | None] | None = None) -> Files:
    """The files that the options ask for, tried before any work; taken out of what is given."""
    from dpcalc.cli._outputs import check_outputs
    from dpcalc.pictures.saving import check_picture

    files = Files(*(given.pop(name) for name in ("out", "csv", "width", "as_json")))
    need("matplotlib", purpose="plot")
    if files.out.suffix.lower() not in (".html", ".htm"):
        check_picture(files.out, "--out")
    check_outputs([("--out", files.out), ("--csv", files.csv)], inputs=inputs or [])
    return files


def finish(
    picture: Picture,
    files: Files,
    *,
    title: str,
    setting: str,
    about: Mapping[str, Any],
    mark: float = 0.0,
) -> None:
    """Draw, write the numbers, and say what was written.

    Args:
        picture: what to draw.
        files: where to.
        title: above it.
        setting: below it.
        about: what it is of, for JSON: ``theorem``, ``mechanism`` or ``runs``.
        mark: a place of the horizontal axis to mark, 0 for none.
    """
    from dpcalc.cli._outputs import Writing
    from dpcalc.pictures.drawing import draw, table_of

    heads, rows = table_of(picture)
    writing = Writing()
    writing.attempt(
        lambda: draw(picture, files.out, title=title, setting=setting, mark=mark, width=files.width)
    )
    if files.csv is not None:
        path = files.csv
        writing.attempt(lambda: _write_csv(path, heads, rows))
    if files.as_json:
        print_json({**about, **_record(picture), "setting": setting, "out": str(files.out)})
    else:
        end = "" if len(rows) == 1 else "s"
        names = [name.replace("_", " ") for name in (picture.y, picture.x)]
        click.echo(f"{files.out}: {names[0]} over {names[1]}, {len(rows)} place{end}")
        if gaps := picture.gaps():
            click.echo(gaps)
    writing.settle()


def _record(picture: Picture) -> dict[str, Any]:
    return {
        "x": picture.x,
        "y": picture.y,
        "curves": {curve.name: [list(point) for point in curve.points] for curve in picture.curves},
        "ranges": {c.name: [list(ends) for ends in c.ranges] for c in picture.curves if c.ranges},
        "left_out": list(picture.left_out),
    }


def _write_csv(path: Path, heads: list[str], rows: list[list[str]]) -> None:
    import csv
    import io

    from dpcalc.files import write_text

    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([heads, *rows])
    write_text(path, text.getvalue())


def axis_options(
    varied: str,
    default: str | None = "delta",
    *,
    words: str = "delta|epsilon|NAME",
    names: Callable[[click.Context], Iterable[str]] = lambda _: ("delta", "epsilon"),
) -> list[click.Parameter]:
    """--over, --from, --to, --points.

    Args:
        varied: what may be varied, in words.
        default: what is, unless another is asked for; None if it has to be said.
        words: what stands in place of the value.
        names: what a shell offers.
    """
    return [
        click.Option(
            ["--over"],
            default=default,
            required=default is None,
            show_default=default is not None,
            metavar=words,
            shell_complete=completing_in(names),
            help=varied,
        ),
        click.Option(["--from", "low"], type=NUMBER, help="Where the axis begins."),
        click.Option(["--to", "high"], type=NUMBER, help="Where the axis ends."),
        click.Option(
            ["--points"], type=Whole(2), default=40, show_default=True, help="Places on the axis."
        ),
    ]


def file_options() -> list[click.Parameter]:
    """--out, --csv, --width, --json."""
    holder: Any = json_option(lambda: None)
    return [
        click.Option(
            ["--out"],
            type=_PATH,
            required=True,
            help="The picture: .png, .svg, .pdf or .html, which holds the numbers too.",
        ),
        click.Option(["--csv"], type=_PATH, help="The numbers, one column per curve."),
        click.Option(
            ["--width"],
            type=AtLeast(2),
            default=7.0,
            show_default=True,
            metavar="INCHES",
            help="Width of the picture; 3.3 suits a column of a paper. Letters keep their size.",
        ),
        *holder.__click_params__,
    ]


def delta_options() -> list[click.Parameter]:
    """--delta."""
    holder: Any = delta_option()(lambda: None)
    return list(holder.__click_params__)
