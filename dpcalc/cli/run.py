"""``dpcalc run``: train on data for a budget; utility next to what was spent."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._data import data_options, split_data
from dpcalc.cli._json import print_json
from dpcalc.cli._kept import checkpoint_options, seed_of
from dpcalc.cli._options import (
    NUMBER,
    StrictCommand,
    Whole,
    choice_text,
    completing,
    sentence,
)
from dpcalc.cli._outputs import Writing, check_outputs
from dpcalc.cli._theorem_verb import KINDS
from dpcalc.cli._training import carried_out, refuse_idle, repetition_of
from dpcalc.cli._workers import workers_options
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.extras import need
from dpcalc.files import is_there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.training.method import Method

_WHOLE = Whole()


def _run(kind: type[Method], **given: Any) -> None:
    from dpcalc.training.diagnosis import diagnosis
    from dpcalc.training.method import Budget
    from dpcalc.training.outcome import check_suffix, record, write
    from dpcalc.training.prepared_run import prepare

    common = {name: given.pop(name) for name in _COMMON}
    if kind.distributed:
        need("networkx", purpose=f"{kind.key} on a network")
    targets = [Path(path) for path in common["out"]]
    for target in targets:
        check_suffix(target)
    refuse_idle(common, {target.suffix for target in targets})
    _check_files(targets, common)
    epsilon, delta = common["epsilon"], common["delta"]
    if kind.theorem_key is not None and epsilon is None:
        raise InvalidInput(f"{kind.key} needs a budget; try --epsilon 1 --delta 1e-6")
    if epsilon is None and delta is not None:
        raise InvalidInput("--delta goes with --epsilon; got --delta alone")
    if common["seed"] is None:
        common["seed"] = seed_of(common["checkpoint"])
    said = {k: v for k, v in given.items() if v is not None}
    method = kind.from_parameters(said)
    split = split_data(common, method)
    network = _network_of(kind, common["nodes"], common["graph"], common["seed"] or 0)
    nodes = 1 if network is None else network.nodes
    ready = prepare(
        method,
        split.records(nodes),
        network=network,
        budget=None if epsilon is None else Budget(epsilon, 0.0 if delta is None else delta),
        said=said,
        units=split.table.units,
    )
    full_release = any(target.suffix == ".npz" for target in targets)
    repetition = repetition_of(common, ready.algorithm.rounds, full_release=full_release)
    transcript = carried_out(ready, split, common, repetition)
    found = record(ready, transcript, split) | {
        "nodes": nodes,
        "graph": (common["graph"] or "ring") if kind.distributed else None,
        "seed": common["seed"],
        "runs_at_once": repetition.at_once,
    }
    found["diagnosis"] = diagnosis(ready, split, found["utility"])
    writing = Writing()
    written = [t for t in targets if writing.attempt(partial(write, t, found, transcript))]
    if common["as_json"]:
        print_json(found)
    else:
        from dpcalc.report.runs import show

        show(kind.title, found, written)
    writing.settle()


def _check_files(targets: Sequence[Path], common: dict[str, Any]) -> None:
    """Try every file that will be written, before there is anything to lose."""
    outputs = [("--out", target) for target in targets]
    if common["checkpoint"] is not None:
        outputs.append(("--checkpoint", Path(common["checkpoint"])))
    data = Path(common["data"])
    check_outputs(outputs, inputs=[data] if is_there(data) else [])


def _network_of(
    kind: type[Method], nodes: int | None, graph: str | None, seed: int
) -> Network | None:
    """The network of a distributed method, None for one that keeps all records in one place."""
    if not kind.distributed:
        if nodes not in (None, 1) or graph is not None:
            raise InvalidInput(
                f"{kind.key} keeps all records in one place; got nodes={nodes}, graph={graph}; "
                "leave out --nodes and --graph"
            )
        return None
    from dpcalc.training.graph import network

    return network(graph or "ring", nodes, seed)


def _budget_options() -> list[click.Option]:
    option: Callable[..., click.Option] = click.Option
    return [
        option(["--epsilon"], type=NUMBER, help="ε of the budget of one run."),
        option(["--delta"], type=NUMBER, help="δ of the budget, in [0, 1).  [default: 0]"),
        option(
            ["--nodes"],
            type=_WHOLE,
            help="Nodes, if --graph does not say.  [default: 5]",
        ),
        option(
            ["--apart"],
            is_flag=True,
            help="Every node in a process of its own, which sees its own records alone and sends "
            "messages to its neighbours; the same bits.",
        ),
        option(
            ["--graph"],
            shell_complete=completing(
                lambda: ("ring", "complete", "star", "path", "erdos-renyi:5:0.5")
            ),
            help="ring:5, complete:5, star:5, path:5, erdos-renyi:5:0.5, or @file with an edge `i j` a "
            "line.  [default: ring]",
        ),
        option(
            ["--seed"],
            type=Whole(0),
            help="For experiments: the same numbers again. Leave it out for a real run, whose noise "
            "is seeded by the operating system.",
        ),
        option(["--runs"], type=Whole(1), default=1, show_default=True, help="Independent runs."),
        option(
            ["--runs-at-once"],
            type=Whole(1),
            help="Runs of a group, which workers take whole and which go through linear algebra "
            "together, so another number may change a last digit.  [default: 16]",
        ),
    ]


def _output_options() -> list[click.Option]:
    option: Callable[..., click.Option] = click.Option
    return [
        option(
            ["--out"],
            multiple=True,
            help="Write to this .json (everything), .csv (every measured round) or .npz (what was "
            "released, and nothing else); may be repeated.",
        ),
        option(
            ["--measure-every"],
            type=Whole(0),
            help="Rounds between two looks at objective and consensus, for --out FILE.csv; 0 for none; "
            "about 100 looks in all unless given.",
        ),
        option(["--json", "as_json"], is_flag=True, help="Print JSON."),
    ]


def _work_options() -> list[click.Parameter]:
    holder = click.Command(None)
    workers_options(checkpoint_options(holder))
    for option in holder.params:
        if isinstance(option, click.Option) and option.name == "checkpoint":
            option.help = f"{option.help} It holds the key of the noise: as secret as the data."
    return holder.params[::-1]


def _common_options() -> list[click.Parameter]:
    return [*data_options(), *_budget_options(), *_output_options(), *_work_options()]


_COMMON = tuple(str(option.name) for option in _common_options())


def _parameter_options(kind: type[Method]) -> Iterator[click.Option]:
    from dpcalc.theorems.parameters import parameters

    defaults = kind.from_parameters({}).inputs()
    for name, parameter in parameters(kind).items():
        given = defaults[name]
        metavar, listed = choice_text(parameter.choices, KINDS[parameter.kind])
        text = sentence(parameter.help + listed)
        if given is not None:
            text += (
                f"  [default: {given:g}]" if isinstance(given, float) else f"  [default: {given}]"
            )
        yield click.Option(
            ["--" + name.replace("_", "-")],
            type={"number": NUMBER, "count": _WHOLE}.get(parameter.kind, click.STRING),
            help=text,
            metavar=metavar,
            shell_complete=completing(partial(tuple, parameter.choices)),
        )


def _example(kind: type[Method]) -> str:
    """A command that runs."""
    if kind.theorem_key is None:
        return f"dpcalc run {kind.key}"
    data = " --data builtin-regression" if kind.key.startswith("gradient-admm") else ""
    return f"dpcalc run {kind.key} --epsilon 1 --delta 1e-6{data} --out run.json"


def _covered_by(name: str) -> str:
    """What to say of a theorem where an algorithm was needed: those that it covers."""
    from dpcalc.claims.named import mechanism_key, mechanism_names
    from dpcalc.theorems.catalogue import key_of, keys
    from dpcalc.training.catalogue import method, methods

    if mechanism_key(name) in mechanism_names():
        return (
            "run trains by ADMM, dual averaging and noisy gradients; list them: dpcalc run --help"
        )
    key = key_of(name)
    found = [name for name in methods() if method(name).theorem_key == key]
    if found:
        return f"it is a theorem; algorithms that it covers: {', '.join(found)}"
    return "it is a theorem without an algorithm here" if key in keys() else ""


class _Methods(click.Group):
    """Commands are methods; each gets the options of its parameters."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        from dpcalc.training.catalogue import methods

        return list(methods())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from dpcalc.training.catalogue import UNCOVERED, method

        cmd_name = cmd_name.lower()
        if cmd_name not in (*self.list_commands(ctx), *UNCOVERED):
            known = self.list_commands(ctx)
            raise unknown_name("algorithm", cmd_name, known, meant=_covered_by(cmd_name))
        kind = method(cmd_name)

        def callback(**given: Any) -> None:
            _run(kind, **given)

        covered = f"Certified by: {kind.theorem_key}." if kind.theorem_key else "Adds no noise."
        return StrictCommand(
            name=kind.key,
            callback=callback,
            params=[*_common_options(), *_parameter_options(kind)],
            help=f"{kind.title}.\n\n{covered}\n\n\b\nExample:\n  {_example(kind)}",
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from dpcalc.training.catalogue import UNCOVERED, method

        with formatter.section("Algorithms"):
            formatter.write_dl([(key, method(key).title) for key in self.list_commands(ctx)])
        with formatter.section("Not covered by any result, so not for a budget"):
            formatter.write_dl([(key, f"{known}.") for key, (known, _) in UNCOVERED.items()])


command = _Methods(
    name="run",
    subcommand_metavar="ALGORITHM [OPTIONS]",
    short_help="Train on data within a privacy budget.",
    help="""Train on data for a privacy budget; ends with utility next to what was spent.

\b
Examples:
  dpcalc run private-r-admm --epsilon 1 --delta 1e-6 --nodes 5 --graph ring
  dpcalc run dp-admm --epsilon 1 --delta 1e-6 --out run.json

On your own records: --data mine.csv with their public ranges, see dpcalc
schema. The noise is calibrated through the theorem's certified bound. Utility looks at the data without
noise: it is yours to read, not to publish.
""",
    context_settings={"help_option_names": ["-h", "--help"]},
)
