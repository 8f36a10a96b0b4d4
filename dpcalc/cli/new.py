"""``dpcalc new``: files to begin with, which run as they are."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from string import Template

import click

from dpcalc.cli._json import print_json
from dpcalc.cli._options import StrictCommand, completing, json_option
from dpcalc.errors import InvalidInput

KINDS = ("claim", "plan", "audit", "theorem")


@click.command(
    "new", cls=StrictCommand, short_help="Write a claims file, a plan, an audit, a theorem."
)
@click.argument("kind", metavar="|".join(KINDS), shell_complete=completing(lambda: KINDS))
@click.argument("name")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Where to write; the current folder unless given, for a theorem a checkout of dpcalc.",
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

    A theorem goes into a checkout: a published result, its audit, its page and its tests.

    A theorem runs too (`dpcalc epsilon my-admm`, `dpcalc audit my-admm`), with the formulas of a
    plain Gaussian mechanism; the tests that are written with it fail until the paper's numbers, an
    instance and a picture are there. Nothing that exists is overwritten.
    """
    from dpcalc.errors import unknown_name
    from dpcalc.files import write_text

    if kind not in KINDS:
        raise unknown_name("kind of file", kind, KINDS)
    if family is not None and kind != "theorem":
        raise InvalidInput(f"--family is of a theorem; got it with {kind}; leave it out")
    key = _key(name)
    words = {
        "name": key,
        "key": key,
        "module": key.replace("-", "_"),
        "title": key.replace("-", " ").capitalize(),
        "class_name": "".join(part.capitalize() for part in key.split("-")),
    }
    planned = _files(kind, words, family or key.replace("-", "_"), folder)
    _refuse_what_is_there(folder, planned, kind)
    files = []
    for place, template in planned.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, _filled(template, words))
        files.append(str(path))
    following = _next(kind, words, folder)
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


def _files(kind: str, words: dict[str, str], family: str, folder: Path) -> dict[str, str]:
    """Where each file goes, and its template."""
    name, module = words["name"], words["module"]
    if kind == "claim":
        return {f"{name}.toml": "claim.toml", f"{name}.csv": "claim.csv"}
    if kind == "plan":
        return {f"{name}.toml": "plan.toml"}
    if kind == "audit":
        return {f"{module}.py": "audit.py.txt"}
    if not re.fullmatch(r"[a-z][a-z0-9_]*", family):
        raise InvalidInput(f"--family needs the name of a folder; got {family!r}; try iteration")
    package = f"dpcalc/theorems/{family}"
    new = {} if (folder / package).exists() else {f"{package}/__init__.py": "package.py.txt"}
    return new | {
        f"{package}/{module}.py": "theorem.py.txt",
        f"audits/{module}.py": "theorem_audit.py.txt",
        f"docs/theorems/{name}.md": "theorem.md",
        f"tests/unit/test_{module}.py": "test_theorem.py.txt",
    }


def _refuse_what_is_there(folder: Path, planned: dict[str, str], kind: str) -> None:
    if kind == "theorem" and not (folder / "dpcalc" / "theorems" / "catalogue.py").exists():
        raise InvalidInput(
            f"expected a checkout of dpcalc, as a theorem is a file of it; got folder="
            f"{str(folder)!r}; try --folder CHECKOUT"
        )
    for place in planned:
        if (folder / place).exists():
            raise InvalidInput(f"expected a new file; {str(folder / place)!r} exists; name another")


def _filled(template: str, words: dict[str, str]) -> str:
    text = resources.files("dpcalc.cli").joinpath("templates", template).read_text("utf-8")
    return Template(text).substitute(words)


def _next(kind: str, words: dict[str, str], folder: Path) -> list[str]:
    file = folder / f"{words['name']}.toml"
    key, module = words["key"], words["module"]
    tests = f"python -m pytest tests/contracts tests/audits tests/unit/test_{module}.py"
    return {
        "claim": [f"dpcalc verify {file}"],
        "plan": [f"dpcalc compose {file}"],
        "audit": [f"dpcalc audit {module}:target --claim eps=1 --runs 20000 --seed 1"],
        "theorem": [
            f"dpcalc epsilon {key} --sensitivity 1 --rounds 10 --sigma 8 --delta 1e-5",
            "python -m dpcalc.theorems.stub",
            f"dpcalc audit {key} --bugs",
            f"{tests} -k '{key} or {module}'",
            "read docs/adding-a-paper.md: recorded answers, and a row in docs/papers.md",
        ],
    }[kind]
