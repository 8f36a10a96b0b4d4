"""``dpcalc``: verbs found by file, loaded only when called."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

import dpcalc
from dpcalc.cli._errors import Failure, asks_for_help, failure_of
from dpcalc.cli._json import Said, print_error
from dpcalc.cli._options import unwrapped
from dpcalc.errors import DpcalcError
from dpcalc.report.streams import Closed, make_safe, printable

_FOLDER = Path(__file__).parent
_NOT_VERBS = {"main"}


class _ReaderLeft(Exception):
    """Whoever read standard output has closed it."""


class _OutputFailed(Exception):
    """Standard output cannot be written."""


@contextlib.contextmanager
def _telling_output_apart() -> Iterator[None]:
    """Failures of standard output, before the parser makes an exit status of them."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise _ReaderLeft from None
    except OSError as error:
        if error.filename is not None or isinstance(error, DpcalcError):
            raise
        raise _OutputFailed(f"the output could not be written: {error.strerror}") from error


class _Verbs(click.Group):
    """The verbs: every module of this folder that is not private."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = unwrapped(self.help)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        names = (path.stem for path in _FOLDER.glob("*.py") if not path.stem.startswith("_"))
        return sorted(name.replace("_", "-") for name in names if name not in _NOT_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"dpcalc.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        with _telling_output_apart():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        with _telling_output_apart():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            from dpcalc.cli._meant import meant_verb
            from dpcalc.errors import unknown_name

            known = self.list_commands(ctx)
            raise unknown_name("verb", args[0], known, meant=meant_verb(args[0], known))
        return super().resolve_command(ctx, args)


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(dpcalc.__version__, prog_name="dpcalc")
def group() -> None:
    r"""Privacy budgets of DP-SGD, private ADMM and dual averaging: claimed and certified.

    \b
    Start here:
      dpcalc verify                     check the papers' own headline claims
      dpcalc theorems                   the published results and their status
      dpcalc epsilon dp-admm -h         the parameters of one of them
      dpcalc calibrate -h               the noise for DP-SGD and other mechanisms

    Every verb takes --json; then an error is JSON too, on standard output.

    \b
    Exit status
      0    fine
      1    a claim is refuted (verify, audit), one is unsupported (verify --strict),
           a budget is exceeded (compose), a certificate is refused (check)
      2    bad use
      3, 4 audit: too weak to say more; a precondition failed; --certify: 3, not certified
      70   a defect of dpcalc (DPCALC_DEBUG=1 shows where)
      74   the output or a file could not be written; 75 workers went away or
           hung; 130 interrupted; 141 reader left
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; errors are one line on standard error.

    Exit status: 0 fine, 1 a claim is refuted or a budget exceeded, 2 bad use, 70 a defect of dpcalc,
    74 the output or a file could not be written, 75 workers went away or hung, 130 interrupted, 141
    the reader closed the pipe.
    """
    # Read when numpy is first imported: threads cost more than they bring for products this small.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:
        sys.stdout = Closed()
    for stream in (sys.stdout, sys.stderr):
        make_safe(stream)
    sys.exit(_status(arguments))


def _status(arguments: list[str]) -> int:
    said = Said()
    try:
        result: Any = group.main(
            args=arguments, prog_name="dpcalc", standalone_mode=False, obj=said
        )
    except _ReaderLeft:
        return _without_output(141)
    except _OutputFailed as error:
        return _without_output(_tell(Failure("OutputFailed", str(error), 74)))
    except Exception as error:  # all of them become one line and a status
        if isinstance(error, click.ClickException) and asks_for_help(error):
            click.echo(error.format_message())
            return 0
        failed = failure_of(error)
        if failed.defect and os.environ.get("DPCALC_DEBUG"):
            raise
        if "--json" in arguments and not said.answer:
            _tell_json(arguments, failed)
        return _tell(failed)
    return result if isinstance(result, int) else 0


def _tell(failed: Failure) -> int:
    with contextlib.suppress(OSError):
        click.echo("dpcalc: " + printable(failed.line), err=True)
    return failed.status


def _tell_json(arguments: list[str], failed: Failure) -> None:
    """The error as JSON on standard output, where the answer would stand."""
    verbs = group.list_commands(click.Context(group))
    with contextlib.suppress(OSError):
        print_error(arguments, verbs, failed.kind, failed.line, failed.status)
        sys.stdout.flush()


def _without_output(status: int) -> int:
    """The status, with standard output closed for good so that nothing is flushed at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status
