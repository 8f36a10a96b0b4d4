"""An append-only file of JSON lines, each sealed together with all before it.

Statement
    A line that `Trail.append` has returned from is there after the process was killed at any moment,
    and after a power cut where the disk keeps what it says that it wrote. A line that was being
    written is left out when the trail is opened again. Every line has the SHA-256 of itself and of
    the line before: an edited, lost or exchanged line is found. A trail cut at the end of a line is
    not, and the hashes are no signature.
    One process at a time holds a trail.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from dpcalc.errors import InvalidInput, OutputFailed, shortened
from dpcalc.files import held_alone, refuse_pipe

__all__ = [
    "Trail",
    "open_trail",
]

_SEAL = "sha256"


@dataclass(slots=True)
class Trail:
    """An open trail.

    Attributes:
        path: the file.
        file: open for appending.
        last: seal of the last line, "" before the first.
        size: bytes of all lines; what an append that failed left behind lies beyond them.
    """

    path: Path
    file: BinaryIO
    last: str
    size: int

    def append(self, content: Mapping[str, Any]) -> None:
        """Add a line and wait until the disk has it.

        Args:
            content: plain finite numbers, texts, lists and tables.

        Raises:
            OutputFailed: if it cannot be written; the trail is as it was, and may be appended to
                again.
        """
        text, seal = _line(content, self.last)
        try:
            self.file.truncate(self.size)
            left = text
            while left:  # a full disk takes a part
                left = left[self.file.write(left) :]
            os.fsync(self.file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):  # else it is cut off next time
                self.file.truncate(self.size)
            raise OutputFailed(f"{str(self.path)!r} could not be written: {error}") from error
        self.last, self.size = seal, self.size + len(text)


@contextlib.contextmanager
def open_trail(path: str | os.PathLike[str]) -> Iterator[tuple[Trail, list[dict[str, Any]]]]:
    """A trail to append to, made if there is none, and the contents of its lines up to now.

    Raises:
        InvalidInput: if another process holds it, it is no regular file, or a line is not as it was
            written.
    """
    refuse_pipe(path)
    if Path(path).exists() and not Path(path).is_file():  # a device may have no end
        raise InvalidInput(f"trail needs a regular file; got {str(path)!r}; name another file")
    with held_alone(path, "trail"), Path(path).open("ab+", buffering=0) as file:
        file.seek(0)
        whole = file.read()
        kept = whole[: whole.rfind(b"\n") + 1]
        contents, last = _opened(kept, str(path))
        file.truncate(len(kept))
        yield Trail(Path(path), file, last, len(kept)), contents


def _opened(whole: bytes, name: str) -> tuple[list[dict[str, Any]], str]:
    contents: list[dict[str, Any]] = []
    last = ""
    for number, line in enumerate(whole.splitlines(keepends=True), start=1):
        try:
            content = json.loads(line)
            del content[_SEAL]
            written, seal = _line(content, last)
        except (ValueError, TypeError, LookupError):
            written, seal = b"", last
        if written != line:
            raise InvalidInput(
                f"expected a trail as it was written; line {number} of {name!r} is not: "
                f"{shortened(line.decode(errors='replace'))!r}; resume from an unchanged copy"
            )
        contents.append(content)
        last = seal
    return contents, last


def _line(content: Mapping[str, Any], before: str) -> tuple[bytes, str]:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    seal = hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()
    whole = json.dumps({**content, _SEAL: seal}, ensure_ascii=False, allow_nan=False)
    return f"{whole}\n".encode(), seal
