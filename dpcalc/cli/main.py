"""``dpcalc``: verbs found by file, loaded only when called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import dpcalc
from dpcalc.cli._options import unwrapped
from dpcalc.errors import DpcalcError

_FOLDER = Path(__file__).parent
_NOT_VERBS = {"main"}


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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            from dpcalc.errors import unknown_name

            raise unknown_name("verb", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(dpcalc.__version__, prog_name="dpcalc")
def group() -> None:
    r"""Privacy budgets of private ADMM and dual averaging: claimed next to certified.

    \b
    Start here:
      dpcalc verify                     check the papers' own headline claims
      dpcalc theorems                   the published results and what became of them
      dpcalc epsilon recycled-admm -h   the parameters of one of them

    Every verb takes --json. Exit status: 0 fine, 1 a claim is refuted or a budget exceeded,
    2 bad use.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; errors are one line on standard error and exit status 2."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        result: Any = group.main(args=arguments, prog_name="dpcalc", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as shown:
        click.echo(shown.format_message())
        sys.exit(0)
    except click.ClickException as error:
        _fail(error.format_message())
    except DpcalcError as error:
        _fail(str(error))
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    sys.exit(result if isinstance(result, int) else 0)


def _fail(message: str) -> None:
    click.echo("dpcalc: " + " ".join(message.split()), err=True)
    sys.exit(2)
