"""Text files packed as a whole, .xz, .gz, .bz2 and .zst: read as what they were packed from.

A file that is cut or damaged is an error wherever that is found out, never a shorter text.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from dpcalc.extras import need

SUFFIXES = (".xz", ".gz", ".bz2", ".zst")
"""How names of packed files end; the case does not matter."""

KINDS = "plain, .xz, .gz, .bz2 or .zst"
"""What a text file may be, for errors."""

FIRST_BYTES = {
    b"\x1f\x8b": ("gzip", ".gz"),
    b"\xfd7zXZ\0": ("xz", ".xz"),
    **{b"BZh%d1AY&" % level: ("bzip2", ".bz2") for level in range(1, 10)},
    b"\x28\xb5\x2f\xfd": ("Zstandard", ".zst"),
}
"""How packed files begin: by what they are packed, and the suffix by which they are unpacked."""

_AT_ONCE = 2**10
"""Bytes unpacked together: of Zstandard at most 32 MB of content, four bytes a block of 128 kB."""


def is_packed(file: Path) -> bool:
    """Whether a file's name says that it is packed."""
    return file.suffix.lower() in SUFFIXES


def existing(folder: Path, name: str) -> Path | None:
    """The file of this name in a folder, plain or packed; None if there is none."""
    found = (folder / (name + suffix) for suffix in ("", *SUFFIXES))
    return next((file for file in found if file.exists()), None)


def opened(file: Path) -> IO[bytes]:
    """The bytes of a file, unpacked as its name says.

    Raises:
        MissingExtra: for .zst, if nothing that reads it is installed.
        OSError: if it cannot be opened; later also EOFError and lzma.LZMAError, if it is damaged.
    """
    import bz2
    import gzip
    import lzma

    match file.suffix.lower():
        case ".xz":
            return lzma.open(file, "rb")
        case ".bz2":
            return bz2.open(file, "rb")
        case ".gz":
            return gzip.open(file, "rb")  # type: ignore[return-value]  # reads bytes as well
        case ".zst":
            make, damaged = _zstandard(file)
            return io.BufferedReader(_Frames(file.open("rb"), make, damaged))
    return file.open("rb")


def _zstandard(file: Path) -> tuple[Callable[[], Any], type[Exception]]:
    """What makes a decompressor of one frame, and its error: Python's own from 3.14 on."""
    try:
        own: Any = importlib.import_module("compression.zstd")
    except ImportError:
        need("zstandard", purpose=f"reading {str(file)!r}")
    else:
        return own.ZstdDecompressor, own.ZstdError
    import zstandard

    return lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError


class _Frames(io.RawIOBase):
    """The content of Zstandard frames, one after the other, to their very end."""

    def __init__(self, raw: IO[bytes], make: Callable[[], Any], damaged: type[Exception]) -> None:
        self._raw, self._make, self._damaged = raw, make, damaged
        self._frame: Any = None
        self._packed, self._content = b"", b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._content:
            self._packed = self._packed or self._raw.read(_AT_ONCE)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("it ends within a Zstandard frame")
                return 0
            self._unpack()
        part = self._content[: len(buffer)]
        buffer[: len(part)], self._content = part, self._content[len(part) :]
        return len(part)

    def _unpack(self) -> None:
        """What was read as content; the rest, if a frame ends there, is the next one's."""
        self._frame = self._frame or self._make()
        try:
            self._content = self._frame.decompress(self._packed)
        except self._damaged as error:
            raise OSError(f"{error}".removeprefix("zstd decompress error: ")) from error
        self._packed = b""
        if self._frame.eof:
            self._packed, self._frame = self._frame.unused_data, None

    def close(self) -> None:
        self._raw.close()
        super().close()
