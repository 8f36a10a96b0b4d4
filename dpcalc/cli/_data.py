"""What `run` reads, and how its columns are scaled: options, and what they make of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from dpcalc.cli._memory import Size
from dpcalc.cli._options import NUMBER, Whole
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcalc.training.data import Split
    from dpcalc.training.method import Method


def split_data(common: dict[str, Any], method: Method) -> Split:
    """The data, scaled by what is public about them, and split.

    Files that hold rows are removed when the command is over.
    """
    from dpcalc.training import data as source
    from dpcalc.training.method import get_loss
    from dpcalc.training.out_of_core import stored_split
    from dpcalc.training.schema import Schema, read_schema, schema_of_options

    schema = schema_of_options(common["scale"], common["categories"]) or Schema({}, {})
    if common["schema"] is not None:
        schema = read_schema(Path(common["schema"])).joined(schema)
    reading = {name: common[name] for name in ("label", "positive", "row_bound")}
    dealing = {"held_out": common["held_out"], "on_large": common["rows"]}
    dealing |= {"row_bound": common["row_bound"], "seed": common["seed"] or 0}
    if common["memory"] is not None:
        _check_memory(common, type(method))
        how = {**reading, **dealing, "intercept": common["intercept"]}
        split = stored_split(common["data"], memory=common["memory"], schema=schema, **how)
        return click.get_current_context().with_resource(split)
    table = source.load(
        common["data"], schema=schema, features=common["features"], sparse=True, **reading
    )
    intercept = common["intercept"]
    constant = table.row_bound is not None if intercept is None else intercept
    signed = get_loss(getattr(method, "loss", "logistic")).of_margin
    return source.split(table, intercept=constant, in_place=True, signed=signed, **dealing)


def _check_memory(common: dict[str, Any], kind: type[Method]) -> None:
    """Refuse --memory where records cannot stay in a file."""
    from dpcalc.training.catalogue import method, methods

    if not kind.in_blocks:
        able = ", ".join(name for name in methods() if method(name).in_blocks)
        raise InvalidInput(
            f"--memory needs a method that goes through records in blocks, {able}; {kind.key} "
            "does not; leave out --memory"
        )
    for option in ("apart", "scheduler", "features"):
        if common[option]:
            raise InvalidInput(
                f"--memory keeps records in a file of this machine and process; got --{option} too; "
                "leave one out"
            )


def _data_sets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell offers for --data: names, and files."""
    del ctx, param
    names = ("builtin", "builtin-regression", "adult", "a9a", "a8a", "ijcnn1")
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return [*found, CompletionItem(incomplete, type="file")]


def data_options() -> list[click.Option]:
    """Options that say what the data are."""
    return [*_reading_options(), *_row_options()]


def _reading_options() -> list[click.Option]:
    """Where the records are, and what their columns mean."""
    option: Callable[..., click.Option] = click.Option
    return [
        option(
            ["--data"],
            default="builtin",
            shell_complete=_data_sets,
            show_default=True,
            help="builtin, builtin-regression; adult, a9a, a8a, ijcnn1 (fetched by scikit-learn); "
            "or a path: CSV with a header, Parquet, Arrow, .npy, LIBSVM, a folder with adult.data; "
            "text also as .xz, .gz, .bz2, .zst.",
        ),
        option(["--label"], help="Label column of a CSV file; the last one unless given."),
        option(
            ["--positive"], help="Label of a CSV or LIBSVM file that becomes +1, all others -1."
        ),
        option(
            ["--categories"],
            multiple=True,
            metavar="COLUMN=A|B|*",
            help="Values that a column of a CSV file may have, where they are not numbers; each "
            "becomes a column of zeros and ones, and so do all others with *. May be repeated.",
        ),
        option(
            ["--scale"],
            multiple=True,
            metavar="COLUMN=LOW:HIGH",
            help="The public range of a numeric column: values are clipped to it and mapped onto "
            "[-1, 1]. *=LOW:HIGH for all others. May be repeated.",
        ),
        option(
            ["--schema"],
            type=click.Path(dir_okay=False),
            help="Ranges and categories in a TOML file: age = [18, 90]; dpcalc schema writes one to "
            "fill in.",
        ),
        option(
            ["--intercept/--no-intercept"],
            default=None,
            help="Whether a constant feature is added; it is where columns have ranges, unless said.",
        ),
    ]


def _row_options() -> list[click.Option]:
    """What becomes of the rows that were read."""
    option: Callable[..., click.Option] = click.Option
    return [
        option(["--features"], type=Whole(), help="How many features a LIBSVM file has."),
        option(
            ["--rows"],
            type=click.Choice(["rescale", "refuse"]),
            default="rescale",
            show_default=True,
            help="What becomes of rows longer than the row bound.",
        ),
        option(
            ["--row-bound"],
            type=NUMBER,
            help="A public number; rows are shortened to it and divided by it. Unless given, what "
            "follows from the ranges of the columns, else 1.",
        ),
        option(
            ["--memory"],
            type=Size(),
            help="What records may take, such as 2GB: those of a .npy, Parquet or Arrow file stay on "
            "the disk and are read in blocks, by methods that can. A part of what decides the bits.",
        ),
        option(
            ["--held-out"],
            type=NUMBER,
            default=0.2,
            show_default=True,
            help="Share of records kept for the test error.",
        ),
    ]
