"""Options shared by the verbs, and those generated from a theorem's parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from dpcalc import checks
from dpcalc.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from dpcalc.theorems.base import Result, Theorem


class Number(click.ParamType[float]):
    """A real number as people write it: 0.5, 1e-5, 1/3."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; an unreadable one fails with the option's name."""
        from dpcalc.theorems.schedule import parse_number

        if isinstance(value, float | int):
            return float(value)
        try:
            return parse_number(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            label = param.opts[0] if param else "value"
            raise InvalidInput(
                f"{label} needs a number such as 0.5, 1e-5 or 1/3; got {value!r}"
            ) from None


NUMBER = Number()

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def delta_option(*, required: bool = False) -> Callable[[Any], Any]:
    """--delta."""
    return click.option(
        "--delta",
        type=NUMBER,
        required=required,
        help="δ of (ε, δ)-DP, in [0, 1).",
    )


def unwrapped(text: str | None) -> str | None:
    r"""Help whose blocks marked ``\b`` keep their lines; raw docstrings hold it as two characters."""
    return text.replace("\\b\n", "\b\n") if text else text


class StrictCommand(click.Command):
    """A command whose misspelt options are answered with the nearest known one."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = unwrapped(self.help)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = [o for p in self.params for o in (*p.opts, *p.secondary_opts) if o[:2] == "--"]
            raise unknown_name(f"option of {ctx.command_path}", error.option_name, known) from None


class TheoremVerb(click.Group):
    """A verb whose commands are theorems; each gets the options of its parameters."""

    def __init__(
        self,
        *,
        run: Callable[..., int | None],
        extra: Iterable[click.Parameter],
        without_noise: bool = False,
        privacy: bool = True,
        **attributes: Any,
    ) -> None:
        super().__init__(**attributes)
        self._run, self._extra = run, list(extra)
        self._without_noise, self._privacy = without_noise, privacy

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        from dpcalc.theorems.catalogue import keys

        return keys(privacy=self._privacy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            raise unknown_name("theorem", cmd_name, self.list_commands(ctx))
        from dpcalc.theorems.catalogue import result

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
            help=f"{theorem.title}.\n\n{theorem.reference}.\n\n\b\n{theorem.statement}",
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    def _parameters(self, theorem: type[Result]) -> list[click.Parameter]:
        from dpcalc.theorems.parameters import parameters, required

        skipped = getattr(theorem, "noise", None) if self._without_noise else None
        needed = required(theorem)
        found: list[click.Parameter] = []
        for name, parameter in parameters(theorem).items():
            option = "--" + name.replace("_", "-")
            example = theorem.example.get(name)
            text = parameter.help if example is None else f"{parameter.help}; e.g. {example}"
            text += " [required]" if name in needed and name != skipped else ""
            if parameter.kind == "flag":
                found.append(click.Option([option], is_flag=True, help=text))
                continue
            found.append(
                click.Option(
                    [option],
                    type=_TYPES.get(parameter.kind, click.STRING),
                    help=text
                    + (f" ({' | '.join(parameter.choices)})" if parameter.choices else ""),
                    metavar=parameter.kind.upper(),
                )
            )
        found.append(
            click.Option(
                ["--attest"],
                multiple=True,
                help="A promise you make, by its key; see: dpcalc theorems " + theorem.key,
            )
        )
        return found


class _Count(Number):
    name = "count"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = super().convert(value, param, ctx)
        return (
            int(number)
            if number == number and abs(number) < 1e18 and number == int(number)
            else number
        )


_TYPES: Mapping[str, click.ParamType[float]] = {"number": NUMBER, "count": _Count()}


def theorem_from(
    kind: type[Theorem], given: Mapping[str, Any], attest: Iterable[str] = ()
) -> Theorem:
    """An instance from options, those not given left out."""
    return kind.from_parameters({k: v for k, v in given.items() if v is not None}, attest)


def checked_delta(delta: float | None) -> float:
    """δ, 0 if it was not given."""
    return 0.0 if delta is None else checks.delta(delta)
