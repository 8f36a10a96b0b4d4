"""``dpcalc reproduce``: the papers' figures and tables, next to certified and fair ones."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._json import print_json
from dpcalc.cli._kept import checkpoint_options, kept_work
from dpcalc.cli._memory import Size
from dpcalc.cli._options import StrictCommand, Whole, completing
from dpcalc.cli._workers import workers_of, workers_options
from dpcalc.errors import InvalidInput
from dpcalc.extras import need

if TYPE_CHECKING:
    from dpcalc.store import Store


def _names() -> list[str]:
    from dpcalc.reproduction.catalogue import names

    return list(names())


@click.command(
    cls=StrictCommand,
    short_help="Recompute a figure or table of a paper.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("name", required=False, shell_complete=completing(_names))
@click.option(
    "--quick/--full",
    default=True,
    help="Enough runs to see (default), or as many as the paper.",
)
@click.option(
    "--data",
    type=click.Path(exists=True, path_type=Path),
    help="Folder with adult.data, adult.test, a9a, a9a.t, ... (plain, .xz, .gz, .bz2 or .zst), or one "
    "file; generated data unless given.",
)
@click.option(
    "--fetch",
    is_flag=True,
    help="Take data sets that --data does not have from OpenML through scikit-learn, which caches "
    "them.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="Folder for NAME.csv and the picture.",
)
@click.option(
    "--format",
    "formats",
    type=click.Choice(["png", "svg"]),
    metavar="png|svg",
    multiple=True,
    default=("png",),
    show_default=True,
    help="Format of the picture; may be repeated.",
)
@click.option("--seed", type=Whole(0), default=1, show_default=True, help="Seed of the noise.")
@click.option(
    "--memory",
    type=Size(),
    help="What runs may take in each process beside their records, such as 2GB: smaller groups, "
    "which decide last digits.  [default: all runs of a curve at once]",
)
@workers_options
@checkpoint_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    name: str | None,
    *,
    quick: bool,
    data: Path | None,
    fetch: bool,
    out: Path,
    formats: tuple[str, ...],
    seed: int,
    memory: float | None,
    checkpoint: Path | None,
    resume: bool,
    as_json: bool,
    **who: Any,
) -> None:
    r"""Recompute a figure or table of a paper; without NAME, list them all.

    NAME is one of the list, a paper (zhang2019) for all of its figures, or all.

    \b
    Examples:
      dpcalc reproduce
      dpcalc reproduce zhang2019-figure-5 --data ~/data --out figures
      dpcalc reproduce all --full --workers 2 --checkpoint figures.sqlite

    Solid curves have the paper's noise, dashed ones certified noise; panels marked [ours] compare
    at equal certified budget. Workers take the parts of one figure after the other.
    """
    from dpcalc.cli._outputs import check_outputs
    from dpcalc.reproduction.catalogue import chosen

    if name is None:
        _list(as_json=as_json)
        return
    wanted = chosen(name)
    need("networkx", "sklearn", "matplotlib", purpose="reproducing a figure")
    _make(out)
    check_outputs(
        ("--out", out / f"{key}.{suffix}") for key in wanted for suffix in ("csv", *formats)
    )
    settings = {"full": not quick, "data": data, "fetch": fetch, "seed": seed, "memory": memory}
    plan = {"work": f"reproduce {name}", "full": not quick, "seed": seed, "fetch": fetch}
    plan["memory"] = memory
    plan["digest_of_the_data"] = None if data is None else _digest(data)
    with (
        kept_work(checkpoint, plan, resume=resume) as store,
        workers_of(who, "dpcalc.reproduction.catalogue") as executor,
    ):
        records = _all(wanted, settings, out, formats, executor, store)
    if as_json:
        print_json({"experiments": records})
    else:
        for record in records:
            click.echo(f"{record['reference']}: {', '.join(record['files'])}")
            for choice in record["choices"]:
                click.echo(f"  left open: {choice}")


_PUBLISHED = ("adult", "a9a", "a8a", "ijcnn1")
"""How the names of the data files begin."""


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"expected a writable folder; got out={str(folder)!r} ({error.strerror or error})"
        ) from error


def _digest(data: Path) -> str:
    """What tells published data from all others, wherever they lie."""
    import hashlib

    files = sorted(data.iterdir()) if data.is_dir() else [data]
    digest = hashlib.sha256()
    for file in files:
        if file.is_file() and (file == data or file.name.startswith(_PUBLISHED)):
            digest.update(f"{file.name} {file.stat().st_size} ".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:32]


def _list(*, as_json: bool) -> None:
    from dpcalc.reproduction.catalogue import experiment, names

    rows = [
        {"name": key, "reference": found.reference, "title": found.title}
        for key in names()
        for found in (experiment(key),)
    ]
    if as_json:
        print_json({"experiments": rows})
        return
    from dpcalc.report.text import console, escaped, plain_table

    cells = [(escaped(row["name"]), escaped(row["title"])) for row in rows]
    console().print(plain_table(("name", "what it shows"), cells))


def _all(
    keys: Sequence[str],
    settings: dict[str, Any],
    out: Path,
    formats: tuple[str, ...],
    executor: Executor | None,
    store: Store | None,
) -> list[dict[str, Any]]:
    """Computes, writes and draws the figures as they come; tells of them in the order of their keys."""
    from rich.console import Console

    from dpcalc.reproduction.catalogue import experiment
    from dpcalc.reproduction.computing import Computed, computed, longest_first
    from dpcalc.reproduction.drawing import draw

    records: dict[str, dict[str, Any]] = {}

    def finished(key: str, computed: Computed) -> None:
        outcome, seconds = computed
        found = experiment(key)
        pictures = [out / f"{key}.{suffix}" for suffix in formats]
        outcome.write_csv(out / f"{key}.csv")
        draw(found, outcome, pictures)
        status.update(f"{len(records) + 1} of {len(keys)} done")
        records[key] = {
            "name": key,
            "reference": found.reference,
            "title": found.title,
            "files": [str(path) for path in (out / f"{key}.csv", *pictures)],
            "notes": list(outcome.notes),
            "choices": list(found.choices),
            "seconds": round(seconds, 1),
        }

    with Console(stderr=True).status(keys[0]) as status:
        if executor is None:
            settings = settings | {"progress": status.update}
        order = keys if executor is None else longest_first(keys)
        for _ in computed(order, settings, executor=executor, store=store, finished=finished):
            pass
    return [records[key] for key in keys]
