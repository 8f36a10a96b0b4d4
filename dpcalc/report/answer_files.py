"""What a verb answered under --json, read again from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dpcalc.errors import InvalidInput
from dpcalc.files import read_text


def read_answer(path: Path, verb: str, part: str, *, needed: str, tip: str = "") -> dict[str, Any]:
    """The answer of a verb.

    Args:
        path: of the file.
        verb: whose answer it has to be.
        part: what every answer of that verb that will do has.
        needed: how such an answer is made, for the error.
        tip: what to try, for the error.

    Raises:
        InvalidInput: for another file.
    """
    try:
        found = json.loads(read_text(path))
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"expected the JSON of dpcalc {verb}; got {str(path)!r}: {error}"
        ) from error
    if not isinstance(found, dict) or found.get("verb") != verb or part not in found:
        raise InvalidInput(f"expected the answer of {needed}; got {str(path)!r}{tip}")
    return found
