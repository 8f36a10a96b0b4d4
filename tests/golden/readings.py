"""What every reader makes of texts, values and files: the value, or the sentence of the refusal.

The cases stand in ``readings/*.jsonl``, one a line: what is called, with what, and the answer. After a
change that is meant, or for a new case (a line without an answer), ``python -m tests.golden.readings``
writes the answers again; the difference is what a person looks at before it is kept. Answers are what
was read, not what was computed from it: golden numbers stand elsewhere, each with its oracle.
"""

from __future__ import annotations

import contextlib
import json
import os
import pkgutil
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpcalc.errors import DpcalcError
from dpcalc.guarantees import Guarantee
from dpcalc.numerals import Written
from dpcalc.theorems.base import Theorem
from tests.golden import file_readers, readers, result_readers

_READERS = (readers, file_readers, result_readers)

FOLDER = Path(__file__).with_name("readings")

Case = dict[str, Any]

_OTHERS = re.compile(r"(is not valid TOML: |NumPy array; got '[^']*' ).*")
"""What follows is said by other libraries, in the words of their version."""


def cases() -> list[Case]:
    """Every case, file by file."""
    return [case for path in sorted(FOLDER.glob("*.jsonl")) for case in _of(path)]


def _of(path: Path) -> list[Case]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def answer(case: Case) -> str:
    """What the code makes of a case, in the folder that is current; its files are written there.

    The text of a file is UTF-8, or, if its name begins with ``bytes``, one character a byte.
    """
    for name, text in case.get("files", {}).items():
        Path(name).write_bytes(text.encode("latin-1" if name.startswith("bytes") else "utf-8"))
    name = case["call"]
    own = next((getattr(m, name) for m in _READERS if hasattr(m, name)), None)
    call = own or pkgutil.resolve_name(f"dpcalc.{name}")
    try:
        return shown(call(*case.get("given", ()), **case.get("named", {})))
    except (DpcalcError, ValueError, ArithmeticError) as error:
        sentence = _OTHERS.sub(r"\1...", str(error))
        return f"{type(error).__name__}: {sentence}"


def shown(value: Any) -> str:
    """A value by its fields; numbers to the last digit."""
    if isinstance(value, Written):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, np.ndarray):
        return shown(value.tolist())
    if isinstance(value, Theorem):
        return f"{value.key}{shown(value.inputs())}"
    if is_dataclass(value) and not isinstance(value, type | Guarantee):
        return f"{type(value).__name__}{shown({f.name: getattr(value, f.name) for f in fields(value)})}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {shown(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list | tuple | Iterator):
        return "[" + ", ".join(map(shown, value)) + "]"
    return str(value) if isinstance(value, os.PathLike) else repr(value)


def main() -> None:
    """Write every answer again."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for path in sorted(FOLDER.glob("*.jsonl")):
            found = [{**case, "answer": answer(case)} for case in _of(path)]
            lines = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in found)
            path.write_text(lines, "utf-8")


if __name__ == "__main__":
    main()
