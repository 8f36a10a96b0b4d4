"""``dpcalc schema``: what `run` has to know about the columns of a table, to fill in."""

from __future__ import annotations

from pathlib import Path

import click

from dpcalc.cli._json import print_json
from dpcalc.cli._options import StrictCommand, json_option
from dpcalc.cli._outputs import Writing, check_outputs
from dpcalc.errors import InvalidInput


@click.command(
    cls=StrictCommand,
    short_help="Write a schema of a CSV file's columns, to fill in.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--label", help="The label column; the last one unless given.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@json_option
def command(file: Path, label: str | None, out: Path | None, as_json: bool) -> None:
    r"""Names and kinds of the columns of a CSV file, to fill in with what is public about them.

    \b
    Example, with ranges and categories to be filled in between the two:
      dpcalc schema patients.csv --out patients.toml
      dpcalc run dp-acc-admm --data patients.csv --schema patients.toml \
          --positive yes --epsilon 1 --delta 1e-6

    No value of the file is printed: a range that is read off the records is a look at them that no
    budget covers. A schema that was filled in is never overwritten.
    """
    from dpcalc.files import write_text
    from dpcalc.training.template import template_of

    check_outputs([("--out", out)], inputs=[file])
    found = template_of(file, label)
    writing = Writing()
    if out is not None and _holds_more(out, found.to_toml()):
        raise InvalidInput(
            f"expected a new file; {str(out)!r} exists and may be filled in; name another"
        )
    if out is not None and writing.attempt(lambda: write_text(out, found.to_toml())):
        click.echo(f"written: {out}", err=as_json)
    if as_json:
        print_json({"columns": dict(found.kinds), "label": found.label})
    elif out is None:
        click.echo(found.to_toml(), nl=False)
    writing.settle()


def _holds_more(path: Path, text: str) -> bool:
    """Whether a file has anything in it that is not the text."""
    return path.is_file() and path.read_bytes() not in (b"", text.encode())
