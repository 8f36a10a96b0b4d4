"""Verbs with a subcommand for every published result, whose options are its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._meant import meant_mechanism, meant_method
from dpcalc.cli._options import (
    NUMBER,
    Number,
    StrictCommand,
    choice_text,
    completing,
    completing_in,
    sentence,
)
from dpcalc.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from dpcalc.theorems.base import Result, Theorem
    from dpcalc.theorems.parameters import Parameter


class TheoremVerb(click.Group):
    """A verb whose commands are theorems; each gets the options of its parameters."""

    _named = "theorem"

    def __init__(
        self,
        *,
        run: Callable[..., int | None],
        extra: Iterable[click.Parameter],
        without_noise: bool = False,
        privacy: bool = True,
        more: Sequence[str] = (),
        **attributes: Any,
    ) -> None:
        attributes.setdefault("subcommand_metavar", "THEOREM [OPTIONS]")
        super().__init__(**attributes)
        self._run, self._extra = run, list(extra)
        self._without_noise, self._privacy = without_noise, privacy
        self._more = list(more)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        from dpcalc.theorems.catalogue import keys

        return keys(privacy=self._privacy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from dpcalc.theorems.catalogue import key_of, keys, result

        cmd_name = key_of(cmd_name, privacy=self._privacy)
        if cmd_name in keys(privacy=not self._privacy):
            kind, verb = ("privacy", "rate") if self._privacy else ("convergence", "epsilon")
            raise InvalidInput(
                f"expected a {kind} result; {cmd_name} is not one; try: dpcalc {verb} {cmd_name}"
            )
        if cmd_name not in self.list_commands(ctx):
            known = self.list_commands(ctx)
            meant = meant_mechanism(cmd_name, self.name or "")
            if self._privacy:
                meant = meant or meant_method(cmd_name)
            raise unknown_name(self._named, cmd_name, known, meant=meant)

        return self._command(result(cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from dpcalc.theorems.catalogue import result

        rows = [(key, result(key).title) for key in self.list_commands(ctx)]
        with formatter.section("Theorems"):
            formatter.write_dl(rows)

    def _command(self, theorem: type[Result]) -> click.Command:
        def callback(**given: Any) -> int | None:
            return self._run(theorem, **given)

        return StrictCommand(
            name=theorem.key,
            callback=callback,
            params=[*self._parameters(theorem), *self._extra],
            help=f"{theorem.title}.\n\n{theorem.reference}.\n\n{in_lines(theorem.statement)}\n\n"
            f"{self._example(theorem)}",
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    def _example(self, theorem: type[Result]) -> str:
        """A command that runs, in lines of 76 columns."""
        skipped = getattr(theorem, "noise", None) if self._without_noise else None
        return example_of(f"dpcalc {self.name} {theorem.key}", theorem, skipped, self._more)

    def _parameters(self, theorem: type[Result]) -> list[click.Parameter]:
        from dpcalc.theorems.parameters import default_of, parameters, required

        skipped = getattr(theorem, "noise", None) if self._without_noise else None
        needed = required(theorem)
        found: list[click.Parameter] = []
        for name, parameter in parameters(theorem).items():
            option = "--" + name.replace("_", "-")
            example = theorem.example.get(name)
            if parameter.kind == "flag":
                found.append(click.Option([option], is_flag=True, help=sentence(parameter.help)))
                continue
            metavar, listed = choice_text(parameter.choices, KINDS[parameter.kind])
            text = parameter.help + listed
            if not parameter.choices and example is not None:
                text += f"; e.g. {example}"
            text = sentence(text)
            if name in needed:
                text += "" if name == skipped else "  [required]"
            elif (default := default_of(theorem, name)) is not None:
                text += f"  [default: {_word(default)}]"
            found.append(
                click.Option(
                    [option],
                    type=_TYPES.get(parameter.kind, click.STRING),
                    help=text,
                    metavar=metavar,
                    shell_complete=completing(partial(_values, parameter)),
                )
            )
        found.append(
            click.Option(
                ["--attest"],
                multiple=True,
                metavar="KEY[,KEY...]|all",
                shell_complete=completing_in(_promises_of(theorem), several=True),
                help="Promises you make, by their keys; may be repeated. dpcalc theorems "
                f"{theorem.key} lists them.",
            )
        )
        return found


_SHAPES = ("ring:5", "complete:3", "star:6", "path:4")


def _values(parameter: Parameter) -> tuple[str, ...]:
    """What a shell offers for a parameter."""
    return _SHAPES if parameter.kind == "graph" else parameter.choices


def _promises_of(theorem: type[Result]) -> Callable[[click.Context], list[str]]:
    return lambda _: [*(a.key for a in theorem.assumptions if a.promised), "all"]


def example_of(
    command: str, theorem: type[Result], skipped: str | None, more: Sequence[str]
) -> str:
    """A command with a theorem's example, in lines of 76 columns.

    Args:
        command: how it begins.
        theorem: the one whose example is taken.
        skipped: a parameter that is left out.
        more: further words.
    """
    import shlex
    import textwrap

    words = [command]
    for name, value in theorem.example.items():
        option = "--" + name.replace("_", "-")
        if name != skipped and value is not False:
            words.append(option if value is True else f"{option} {shlex.quote(str(value))}")
    lines: list[str] = []
    for word in [*words, *more]:
        if lines and len(lines[-1]) + len(word) < 68:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\b\nExample:\n" + textwrap.indent(" \\\n    ".join(lines), "  ")


def in_lines(statement: str) -> str:
    """A statement as a paragraph of its own; formulas break at blanks only."""
    import textwrap

    wrapped = textwrap.wrap(statement, 76, break_long_words=False, break_on_hyphens=False)
    return "\b\n" + "\n".join(wrapped)


class _Count(Number):
    name = "count"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        from dpcalc.numerals import ratio

        number = super().convert(value, param, ctx)
        top, bottom = ratio(number) if math.isfinite(number) else (1, 2)
        return number if top % bottom else top // bottom


KINDS = {
    "number": "NUMBER",
    "count": "INTEGER",
    "choice": "CHOICE",
    "schedule": "SCHEDULE",
    "graph": "GRAPH",
    "matrix": "MATRIX",
}
"""What stands in place of a value in the help."""


def _word(default: Any) -> str:
    """A default as it would be typed."""
    return f"{default:g}" if isinstance(default, float) else str(default).replace(" ", "-")


_TYPES: Mapping[str, Number] = {"number": NUMBER, "count": _Count()}


def theorem_from(
    kind: type[Theorem], given: Mapping[str, Any], attest: Iterable[str] = ()
) -> Theorem:
    """An instance from options, those not given left out."""
    known = {name: value for name, value in given.items() if value is not None}
    return kind.from_parameters(known, attest, as_options=True)
