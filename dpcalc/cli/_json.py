"""JSON on standard output: one object a call, an answer or an error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click


@dataclass(slots=True)
class Said:
    """What has been printed already; the object of the outermost context.

    Attributes:
        answer: whether the answer stands on standard output, so that no error may follow it there.
    """

    answer: bool = False


def print_json(record: Mapping[str, Any], *, verb: str | None = None) -> None:
    """Print an answer.

    Args:
        record: what is answered.
        verb: whose answers have this form; the one that is running unless given.
    """
    from dpcalc.report.output import output
    from dpcalc.report.records import to_json

    context = click.get_current_context()
    _, _, rest = context.command_path.partition(" ")
    click.echo(to_json(output(verb or rest.split(" ")[0] or None, record)))
    said = context.find_object(Said)
    if said is not None:
        said.answer = True


def print_error(arguments: list[str], verbs: list[str], kind: str, message: str, code: int) -> None:
    """Print an error of a call that asked for JSON.

    Args:
        arguments: of the call.
        verbs: that there are.
        kind: name of the error's class.
        message: in one line.
        code: the exit status.
    """
    from dpcalc.report.output import failure

    words = [word for word in arguments if not word.startswith("-")]
    verb = words[0] if words and words[0] in verbs else None
    # Nothing of the library is loaded: it may have been interrupted while it was.
    click.echo(json.dumps(failure(verb, kind, message, code), indent=2, ensure_ascii=False))
