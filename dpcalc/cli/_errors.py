"""What went wrong, in one line: what was expected, what was given, what to try."""

from __future__ import annotations

from dataclasses import dataclass

import click

from dpcalc.cli._meant import meant_option
from dpcalc.errors import DpcalcError, OutputFailed, WorkersLost, readable


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as the command line ends with it.

    Attributes:
        kind: name of the class of the error.
        message: what was expected, what was given, what to try.
        status: the exit status.
        defect: whether dpcalc is to blame.
    """

    kind: str
    message: str
    status: int
    defect: bool = False

    @property
    def line(self) -> str:
        """The message in one line."""
        return readable(" ".join(self.message.split()))


def failure_of(error: Exception) -> Failure:
    """The line and the exit status of any error."""
    kind = type(error).__name__
    if isinstance(error, click.ClickException):
        return Failure("UsageError", one_line(error), 2)
    if isinstance(error, DpcalcError):
        status = {OutputFailed: 74, WorkersLost: 75}.get(type(error), 2)
        return Failure(kind, str(error), status)
    if isinstance(error, click.exceptions.Abort):
        return Failure("Interrupted", "interrupted", 130)
    if isinstance(error, MemoryError):
        said = f": {error}" if str(error) else ""
        hint = "try fewer rounds, runs, nodes, columns or records"
        return Failure(kind, f"there is not enough memory{said}; {hint}", 70)
    return Failure(
        "Defect",
        f"a defect of dpcalc, not of your input: {kind}: {error}; please report the command with "
        "its output under DPCALC_DEBUG=1",
        70,
        defect=True,
    )


def one_line(error: click.ClickException) -> str:
    """A usage error of the parser in the project's own words."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "dpcalc"
    tail = f"; see: {path} --help"
    if isinstance(error, click.MissingParameter):
        return f"{path} needs {_wanted(error.param)}; got none{tail}"
    if isinstance(error, click.NoSuchOption):
        if context is not None and context.parent and isinstance(context.command, click.Group):
            meant = meant_option(error.option_name, (), path)
            said = f"; {meant}" if meant else ""
            return f"{path} needs a name before {error.option_name!r}; got none{said}{tail}"
        if context is not None and context.parent is None:
            tail = f"; options of a verb come after it, dpcalc VERB {error.option_name}{tail}"
        return f"expected an option of {path}; got {error.option_name!r}{tail}"
    if isinstance(error, click.BadOptionUsage):
        if "not take a value" in error.message:
            return (
                f"{error.option_name} takes no value; got one; leave out what follows the ={tail}"
            )
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
