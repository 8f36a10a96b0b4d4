"""``dpcalc new``: files to begin with, which run as they are."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from string import Template

import click

from dpcalc.cli._json import print_json
from dpcalc.cli._options import StrictCommand, completing, json_option
from dpcalc.cli._scaffolds import SCAFFOLDS
from dpcalc.errors import InvalidInput

KINDS = tuple(SCAFFOLDS)


@click.command(
    "new", cls=StrictCommand, short_help="Write a file to begin with: a claim, a plan, a theorem."
)
@click.argument("kind", metavar="|".join(KINDS), shell_complete=completing(lambda: KINDS))
@click.argument("name")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Where to write: the current folder unless given, and a checkout for parts of dpcalc.",
)
@click.option(
    "--family",
    help="Folder of dpcalc/theorems that a theorem belongs to; one of its own unless given.",
)
@json_option
def command(kind: str, name: str, folder: Path, family: str | None, as_json: bool) -> None:
    r"""Write files that run as they are, to be filled in with what is yours.

    \b
    Examples:
      dpcalc new claim ours && dpcalc verify ours.toml
      dpcalc new plan rounds && dpcalc compose rounds.toml
      dpcalc new audit mine && dpcalc audit mine:target --claim eps=1
      dpcalc new theorem my-admm

    Kinds for everybody: a claim (a claims file with a table of rounds), a plan (releases to compose
    under a budget) and an audit (an attack on a function of your own).

    Kinds for a checkout of dpcalc, parts of one paper: a theorem (with its audit, its page and its
    tests), an algorithm, a method (which trains with both), a figure, and a result on convergence.
    Each runs at once, with simple formulas in place of the paper's; the tests that are written with
    it fail until the paper's numbers are there. Nothing that exists is overwritten.
    """
    from dpcalc.errors import unknown_name
    from dpcalc.files import write_text

    if kind not in SCAFFOLDS:
        raise unknown_name("kind of file", kind, KINDS)
    if family is not None and kind != "theorem":
        raise InvalidInput(f"--family is of a theorem; got it with {kind}; leave it out")
    words = _words(kind, _key(name), family, folder)
    planned = _planned(kind, words, folder)
    files = []
    for path, template in planned.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, _filled(template, words))
        files.append(str(path))
    following = [Template(line).substitute(words) for line in SCAFFOLDS[kind].following]
    if as_json:
        print_json({"kind": kind, "files": files, "next": following})
        return
    for file in files:
        click.echo(f"written: {file}")
    for line in following:
        click.echo(f"next: {line}")


def _key(name: str) -> str:
    """The name with dashes, as keys are spelt.

    Raises:
        InvalidInput: for one that no file, module and key can have.
    """
    key = name.lower().replace("_", "-")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", key):
        raise InvalidInput(
            f"expected a name of letters, digits and dashes that begins with a letter; got "
            f"{name!r}; try my-name"
        )
    return key


def _words(kind: str, key: str, family: str | None, folder: Path) -> dict[str, str]:
    """What stands in templates and names of files for the name that was given."""
    module = key.replace("-", "_")
    paper, _, number = key.partition("-")
    if kind == "figure" and not (re.search(r"\d{4}$", paper) and number and "table" not in number):
        raise InvalidInput(
            f"a figure needs the name of its paper and its number; got {key!r}; "
            "try smith2026-figure-1"
        )
    if family is not None and not re.fullmatch(r"[a-z][a-z0-9_]*", family):
        raise InvalidInput(f"--family needs the name of a folder; got {family!r}; try iteration")
    return {
        "name": key,
        "key": key,
        "module": module,
        "family": family or module,
        "title": key.replace("-", " ").capitalize(),
        "reference": f"{paper}, {number.replace('-', ' ')}",
        "class_name": "".join(part.capitalize() for part in key.split("-")),
        "folder": "" if folder == Path() else f"{folder.as_posix()}/",
    }


def _planned(kind: str, words: dict[str, str], folder: Path) -> dict[Path, str]:
    """Where each file goes, and its template.

    Raises:
        InvalidInput: if the folder is no checkout where one is needed, or a file is there already.
    """
    scaffold = SCAFFOLDS[kind]
    if scaffold.checkout and not (folder / "dpcalc" / "theorems" / "catalogue.py").exists():
        raise InvalidInput(
            f"expected a checkout of dpcalc, as this is a part of it: {kind}; got folder="
            f"{str(folder)!r}; try --folder CHECKOUT"
        )
    planned = {
        folder / Template(place).substitute(words): template
        for place, template in scaffold.files.items()
    }
    for path in list(planned):
        if path.name == "__init__.py" and path.parent.exists():
            del planned[path]
        elif path.exists():
            raise InvalidInput(f"expected a new file; {str(path)!r} exists; name another")
    return planned


def _filled(template: str, words: dict[str, str]) -> str:
    text = resources.files("dpcalc.cli").joinpath("templates", template).read_text("utf-8")
    return Template(text).substitute(words)
