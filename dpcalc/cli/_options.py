"""Options shared by the verbs, and those generated from a theorem's parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from dpcalc.cli._meant import meant_option
from dpcalc.cli._types import FloatType, IntType
from dpcalc.errors import InvalidInput, unknown_name


class Number(FloatType):
    """A real number as people write it: 0.5, 1e-5, 1/3."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; an unreadable one fails with the option's name."""
        from dpcalc.numerals import number

        if isinstance(value, float | int):
            return float(value)
        try:
            return number(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            label = param.opts[0] if param else "value"
            raise InvalidInput(
                f"{label} needs a number such as 0.5, 1e-5 or 1/3; got {value!r}{_reason(value)}"
            ) from None


class Whole(IntType):
    """A whole number in any spelling of a number: 10000, 1e4, 10_000.

    Args:
        minimum: the smallest that is taken.
    """

    name = "integer"

    def __init__(self, minimum: int | None = None) -> None:
        self.minimum = minimum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; another one fails with the option's name and its neighbours."""
        from dpcalc.numerals import whole

        label = param.opts[0] if param else "value"
        number = value if isinstance(value, int) else whole(label, str(value))
        if self.minimum is not None and number < self.minimum:
            raise InvalidInput(
                f"{label} needs a whole number, {self.minimum} or above; got {number}"
            )
        return number


class AtLeast(Number):
    """A number of at least a minimum, or above it."""

    def __init__(self, minimum: float, *, above: bool = False) -> None:
        self.minimum, self.above = minimum, above

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; one that is too small fails with the option's name."""
        number = super().convert(value, param, ctx)
        if not (number > self.minimum if self.above else number >= self.minimum):
            label = param.opts[0] if param else "value"
            needed = f"above {self.minimum:g}" if self.above else f"of {self.minimum:g} or more"
            raise InvalidInput(f"{label} needs a number {needed}; got {value}")
        return number


def _reason(text: str) -> str:
    """Why a text that looks like a number is none."""
    from dpcalc.numerals import hint_of, number

    try:
        number(text)
    except (ZeroDivisionError, OverflowError):
        return ", a division by 0"
    except ValueError as error:
        for reason in ("underflows to 0", "is beyond the largest double"):
            if reason in str(error):
                return f", which {reason}"
    return hint_of(text)


NUMBER = Number()


def completing(values: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """What a shell offers for an argument or an option: the values that begin as what was typed.

    Args:
        values: all of them; asked for when a shell asks.
    """
    return completing_in(lambda _: values())


def completing_in(
    values: Callable[[click.Context], Iterable[str]], *, several: bool = False
) -> Callable[..., list[str]]:
    """The same where the values depend on what was typed before.

    Args:
        values: all of them; the context has what was typed.
        several: whether values are separated by commas; the last one is completed.
    """

    def offered(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        del param
        before, comma, last = incomplete.rpartition(",") if several else ("", "", incomplete)
        return [before + comma + value for value in values(ctx) if value.startswith(last)]

    return offered


report_option = click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html|.md",
    help="Write a report for a reviewer: what was asked, what it rests on, the answer in words, the "
    "command that repeats it.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def delta_option(*, required: bool = False) -> Callable[[Any], Any]:
    """--delta."""
    return click.option(
        "--delta",
        type=NUMBER,
        required=required,
        help="δ of (ε, δ)-DP, in [0, 1); asked for where 0 gives no ε."
        + ("" if required else "  [default: 0]"),
    )


adjacency_option = click.option(
    "--adjacency",
    type=click.STRING,
    metavar="add-remove|replace-one",
    shell_complete=completing(lambda: ("add-remove", "replace-one")),
    help="Whether neighbours differ by a record more or less (the default where both make sense), or "
    "by one exchanged for another; the answer says which was taken.",
)


def one_of(kind: str, choices: tuple[str, ...]) -> Callable[..., str | None]:
    """A callback that takes one of several words, with blanks for dashes too.

    Args:
        kind: what they are, for the error.
        choices: as they are shown.
    """

    def checked(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        del ctx, param
        if value is None:
            return None
        word = value.strip().lower().replace(" ", "-").replace("_", "-")
        if word not in choices:
            raise unknown_name(kind, value, choices)
        return word

    return checked


CHOICE_WIDTH = 40
"""Characters up to which the words of a choice stand in place of a value."""


def sentence(text: str) -> str:
    """The help of a parameter as that of an option: a capital and a full stop."""
    first = text[:1].upper() if text[:1].isascii() and text[1:2].islower() else text[:1]
    return first + text[1:] + ("" if text.endswith(".") else ".")


def choice_text(choices: tuple[str, ...], kind: str) -> tuple[str, str]:
    """What stands in place of a value, and what of the choices the help still has to say."""
    joined = "|".join(choices)
    if choices and len(joined) <= CHOICE_WIDTH:
        return joined, ""
    return kind, f" ({' | '.join(choices)})" if choices else ""


def unwrapped(text: str | None) -> str | None:
    r"""Help whose blocks marked ``\b`` keep their lines; raw docstrings hold it as two characters."""
    return text.replace("\\b\n", "\b\n") if text else text


class StrictCommand(click.Command):
    """A command that answers misspelt options with the nearest one and refuses repeated ones."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = unwrapped(self.help)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for parameter in self.params:
            if isinstance(parameter, click.Option) and not (parameter.multiple or parameter.count):
                _refuse_repeated(parameter, args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = [o for p in self.params for o in (*p.opts, *p.secondary_opts) if o[:2] == "--"]
            path = ctx.command_path
            meant = meant_option(error.option_name, known, path)
            raise unknown_name(f"option of {path}", error.option_name, known, meant=meant) from None


def _refuse_repeated(option: click.Option, args: list[str]) -> None:
    """Refuse an option that is given twice, where the parser would take the last."""
    end = args.index("--") if "--" in args else len(args)
    times = sum(a in option.opts or a.partition("=")[0] in option.opts for a in args[:end])
    if times > 1:
        raise InvalidInput(
            f"{option.opts[0]} is needed once; got {times} of them; leave out all but one"
        )


def refuse_given(names: Iterable[str], goes_with: str) -> None:
    """Refuse options of the command that is running which would change nothing.

    Args:
        names: of its parameters; those that were left out are not looked at.
        goes_with: what they need, or are about.

    Raises:
        InvalidInput: for the first that was given.
    """
    context = click.get_current_context()
    stated = click.core.ParameterSource.COMMANDLINE
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in names and context.get_parameter_source(name) is stated:
            raise InvalidInput(f"{parameter.opts[0]} goes with {goes_with}; leave it out")
