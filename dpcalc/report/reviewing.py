"""What reports for a reviewer share: values of parameters, and how to repeat everything."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dpcalc
from dpcalc.claims.relations import Basis, Relation
from dpcalc.numerals import unpadded
from dpcalc.report.document import Part, Section, Verbatim
from dpcalc.vocabulary import Adjacency

_LONGEST = 20_000
"""Characters of a file that a report repeats."""


def shown_values(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Parameters as rows of text."""
    return tuple((name.replace("_", " "), _shown(value)) for name, value in values.items())


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 2**53
        return str(int(value)) if whole else unpadded(repr(float(value)))
    if isinstance(value, Mapping):
        return " ".join(f"{key}:{_shown(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return str(value)


def neighbours(relation: Relation) -> str:
    """The neighbouring relation in a sentence, and who said it."""
    if not relation.name:
        return "Neighbours: those of the numbers given; no relation was said."
    said = {
        Basis.STATED: "",
        Basis.DEFAULT: "; nobody said so, it is the default",
        Basis.ONLY: "; the only relation here",
        Basis.NONE: "",
    }[relation.basis]
    return f"Neighbours ({relation.name}) differ in {Adjacency(relation.name).difference}{said}."


def repeat(command: str, *files: Path) -> Section:
    """The command that repeats a report, and the files it read, each with its checksum."""
    parts: list[Part] = [Verbatim(command)]
    for file in files:
        try:
            content = file.read_bytes()
        except OSError:
            continue
        text = content.decode("utf-8", errors="replace")
        cut = "" if len(text) <= _LONGEST else ", its beginning"
        title = f"{file.name}, SHA-256 {hashlib.sha256(content).hexdigest()}{cut}:"
        parts.append(Verbatim(text[:_LONGEST], title))
    parts.append(f"Computed by dpcalc {dpcalc.__version__}; certified numbers are upper bounds.")
    return Section("To repeat it", tuple(parts))
