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
            return _framed(file, lzma.LZMADecompressor, lzma.LZMAError, "an xz stream")
        case ".bz2":
            return _framed(file, bz2.BZ2Decompressor, OSError, "a bzip2 stream")
        case ".gz":
            return gzip.open(file, "rb")  # type: ignore[return-value]  # reads bytes as well
        case ".zst":
            return _framed(file, *_zstandard(file), "a Zstandard frame")
    return file.open("rb")


def _framed(
    file: Path, make: Callable[[], Any], damaged: type[Exception], frame: str
) -> io.BufferedReader:
    return io.BufferedReader(_Frames(file.open("rb"), make, damaged, frame))


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
    """The content of frames, one after the other, to their very end.

    Readers of Python's own take what follows the first frame of .xz and .bz2 for nothing, if it is
    damaged. Bytes 0 after one are padding, which .xz allows.
    """

    def __init__(
        self, raw: IO[bytes], make: Callable[[], Any], damaged: type[Exception], called: str
    ) -> None:
        self._raw, self._make, self._damaged, self._called = raw, make, damaged, called
        self._frame: Any = None
        self._began = False
        self._packed, self._content = b"", memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._content:
            self._packed = self._packed or self._raw.read(_AT_ONCE)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError(f"it ends within {self._called}")
                return 0
            self._unpack()
        part = self._content[: len(buffer)]
        buffer[: len(part)], self._content = part, self._content[len(part) :]
        return len(part)

    def _unpack(self) -> None:
        """What was read as content; the rest, if a frame ends there, is the next one's."""
        if self._frame is None and self._began:
            self._packed = self._packed.lstrip(b"\0")
            if not self._packed:
                return
        self._frame, self._began = self._frame or self._make(), True
        try:
            self._content = memoryview(self._frame.decompress(self._packed))
        except self._damaged as error:
            raise OSError(f"{error}".removeprefix("zstd decompress error: ")) from error
        self._packed = b""
        if self._frame.eof:
            self._packed, self._frame = self._frame.unused_data, None

    def close(self) -> None:
        self._raw.close()
        super().close()
