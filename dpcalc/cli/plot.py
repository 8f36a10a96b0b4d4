"""``dpcalc plot``: curves of results, mechanisms and trainings, and their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._fields import listed_mechanisms, offered_mechanisms, plain_mechanisms
from dpcalc.cli._meant import meant_method
from dpcalc.cli._plot_mechanism import mechanism_command
from dpcalc.cli._plot_runs import runs_command
from dpcalc.cli._plot_utility import utility_command
from dpcalc.cli._plotting import (
    Axis,
    axis_of,
    axis_options,
    delta_options,
    file_options,
    files_of,
    finish,
    one_by_one,
)
from dpcalc.cli._theorem_verb import TheoremVerb, theorem_from
from dpcalc.errors import InvalidInput, missing_delta, unknown_name

if TYPE_CHECKING:
    from dpcalc.pictures.curves import Picture
    from dpcalc.theorems.base import Theorem


def _run(
    theorem: type[Theorem],
    *,
    delta: float | None,
    attacked: Path | None,
    attest: tuple[str, ...],
    **given: Any,
) -> None:
    from dpcalc.report.setting import setting_note

    files = files_of(given, inputs=[attacked])
    over = given["over"].replace("-", "_")
    if over not in ("delta", "epsilon"):
        from dpcalc.report.theorem_curves import variable

        variable(theorem, over)
    axis = axis_of(given)
    instance = theorem_from(theorem, _complete(theorem, given, axis), attest)
    picture = _picture(instance, axis, delta)
    if attacked is not None:
        from dpcalc.report.attacked_points import with_attacks

        picture = with_attacks(picture, instance, delta or 0.0, attacked)
    fixed = None if axis.name == "delta" else delta
    finish(
        picture,
        files,
        title=theorem.title,
        setting=setting_note(instance, varied=axis.name, delta=fixed),
        about={"theorem": theorem.key},
        mark=delta or 0.0 if axis.name == "delta" else 0.0,
    )


def _complete(theorem: type[Theorem], given: dict[str, Any], axis: Axis) -> dict[str, Any]:
    """The options with a value for what is varied, which nobody gives."""
    from dpcalc.theorems.parameters import parameters

    name = theorem.noise if axis.name == "epsilon" else axis.name
    if name not in parameters(theorem):
        return given
    if given.get(name) is not None and parameters(theorem)[name].kind != "schedule":
        option = "--" + name.replace("_", "-")
        raise InvalidInput(f"{option} is what the picture varies; got {given[name]}; leave it out")
    if given.get(name) is None:
        given[name] = 1.0 if axis.name == "epsilon" else axis.high
    return given


def _picture(instance: Theorem, axis: Axis, delta: float | None) -> Picture:
    from dpcalc import checks
    from dpcalc.report.theorem_curves import (
        epsilon_over,
        epsilon_over_delta,
        noise_over_epsilon,
        variable,
    )

    if axis.name == "delta":
        return epsilon_over_delta(instance, one_by_one(axis.places()))
    at = 0.0 if delta is None else checks.delta(delta)
    if at == 0 and instance.certified().guarantee.needs_delta():
        raise missing_delta(instance.key)
    if axis.name == "epsilon":
        return noise_over_epsilon(instance, one_by_one(axis.places()), at)
    whole = variable(type(instance), axis.name)
    return epsilon_over(instance, axis.name, one_by_one(axis.places(whole=whole)), at)


def _axes_of(ctx: click.Context) -> list[str]:
    """What a shell offers for --over."""
    from dpcalc.report.theorem_curves import variables
    from dpcalc.theorems.catalogue import privacy_result

    return ["delta", "epsilon", *variables(privacy_result(ctx.info_name or ""))]


class _Plots(TheoremVerb):
    """Theorems as of the other verbs; utility results, mechanisms and trainings besides."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from dpcalc.theorems.catalogue import keys

        return [*super().list_commands(ctx), *keys(privacy=False), *offered_mechanisms(), "runs"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from dpcalc.claims.named import meant_by, mechanism_key
        from dpcalc.theorems.catalogue import key_of, keys

        if cmd_name == "runs":
            return runs_command()
        if (name := mechanism_key(cmd_name)) in plain_mechanisms():
            return mechanism_command(name)
        if (key := key_of(cmd_name)) in keys(privacy=False):
            return utility_command(key, self._parameters)
        if key not in keys():
            known = self.list_commands(ctx)
            meant = meant_by(cmd_name) or meant_method(cmd_name)
            raise unknown_name("theorem or mechanism", cmd_name, known, meant=meant)
        return super().get_command(ctx, key)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from dpcalc.theorems.catalogue import keys, result

        for heading, privacy in (
            ("Theorems on privacy", True),
            ("Theorems on convergence and utility", False),
        ):
            with formatter.section(heading):
                formatter.write_dl([(key, result(key).title) for key in keys(privacy=privacy)])
        with formatter.section("Mechanisms"):
            formatter.write_text(listed_mechanisms())
        with formatter.section("Trainings"):
            formatter.write_dl([("runs", "Error over the ε that was spent, from dpcalc run.")])


command = _Plots(
    name="plot",
    subcommand_metavar="NAME [OPTIONS]",
    short_help="A picture: ε, noise or utility over δ, a budget or any parameter.",
    more=("--out epsilon.svg",),
    run=_run,
    extra=[
        *axis_options(
            "What is varied: δ; ε of the budget (the noise answers); or a parameter.",
            names=_axes_of,
        ),
        *delta_options(),
        *file_options()[:2],
        click.Option(
            ["--attacked"],
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="The JSON of dpcalc verify CLAIMS --audit --json: what attacks on the same setting "
            "have shown, as points.",
        ),
        *file_options()[2:],
    ],
    help="""Curves of a published result, a mechanism or your trainings, and their numbers.

\b
Example: ε at every δ, claimed, certified, and what an instance attains
  dpcalc plot dp-admm --n-records 32561 --rounds 100 --gradient-bound 1 \\
      --sigma 0.01 --dual-start zero --out epsilon.pdf
Example: ε over the rounds
  dpcalc plot dp-admm --n-records 32561 --gradient-bound 1 --sigma 0.01 \\
      --dual-start zero --over rounds --from 1 --to 1000 --delta 1e-5 \\
      --points 9 --out rounds.svg --csv rounds.csv
Example: the noise over the budget
  dpcalc plot dp-admm --n-records 32561 --rounds 100 --gradient-bound 1 \\
      --dual-start zero --over epsilon --delta 1e-5 --points 9 \\
      --out noise.html
Example: the noise of DP-SGD over the budget
  dpcalc plot dp-sgd --rate 0.1 --rounds 100 --over epsilon --from 1 --to 8 \\
      --points 3 --delta 1e-5 --out sgd.png
Example: the bound of a utility result over the budget
  dpcalc plot dp-admm-utility --n-records 32561 --rounds 1000 \\
      --gradient-bound 1 --dual-start zero --matrix 1 --dimension 10 \\
      --penalty 1 --step-size 0.1 --smoothness 2 --distance 3 \\
      --over epsilon --points 9 --delta 1e-5 --out utility.png
Example: the error of your trainings over the ε that they spend
  dpcalc run dp-admm --epsilon 1 --delta 1e-6 --seed 1 --out run.json
  dpcalc plot runs run.json --out error.png

ε of a picture lies at most 0.1 % above that of dpcalc epsilon, never below the truth.
""",
)
