"""The envelope of every JSON answer, and the schema that describes them all.

An answer is one object: the version of its form, the version of dpcalc, the verb, then what the
verb answers. An error under ``--json`` has the same envelope.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import dpcalc

__all__ = [
    "SCHEMA_VERSION",
    "failure",
    "output",
    "schema",
]

SCHEMA_VERSION = 1
"""Rises when a field changes its meaning or goes; new fields do not raise it."""


def output(verb: str | None, record: Mapping[str, Any]) -> dict[str, Any]:
    """What a verb prints under ``--json``.

    Args:
        verb: as it is typed; None if none was recognised.
        record: the answer.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "dpcalc_version": dpcalc.__version__,
        "verb": verb,
        **record,
    }


def failure(verb: str | None, kind: str, message: str, status: int) -> dict[str, Any]:
    """An error in place of an answer.

    Args:
        verb: as it is typed; None if none was recognised.
        kind: name of the error's class.
        message: what was expected, what was given, what to try.
        status: the exit status.
    """
    return output(verb, {"error": {"kind": kind, "message": message, "exit_status": status}})


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of all answers and errors, shipped with the package."""
    text = resources.files("dpcalc.report").joinpath("output.schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
