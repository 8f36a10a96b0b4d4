"""What went wrong, in one line: what was needed, what was given, what to try."""

from __future__ import annotations

import click


def one_line(error: click.ClickException) -> str:
    """A usage error of the parser in the project's own words."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "dpcalc"
    tail = f"; see: {path} --help"
    if isinstance(error, click.MissingParameter):
        return f"{path} needs {_wanted(error.param)}; got none{tail}"
    if isinstance(error, click.NoSuchOption):
        return f"an option of {path} was needed; got {error.option_name!r}{tail}"
    if isinstance(error, click.BadOptionUsage):
        return f"{error.option_name} needs a value; got none{tail}"
    if isinstance(error, click.UsageError):
        return f"{error.format_message().rstrip('.')}{tail}"
    return error.format_message()


def asks_for_help(error: click.ClickException) -> bool:
    """Whether it is the help of a command without arguments; click before 8.2 prints that itself."""
    kind = getattr(click.exceptions, "NoArgsIsHelpError", None)
    return kind is not None and isinstance(error, kind)


def _wanted(parameter: click.Parameter | None) -> str:
    if parameter is None:
        return "one more argument"
    if isinstance(parameter, click.Option):
        return parameter.opts[0] + (f" {parameter.metavar}" if parameter.metavar else "")
    return f"the argument {parameter.human_readable_name.upper()}"
