"""What kind of file training data come in, by its name, and what may be said of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dpcalc.errors import InvalidInput, MissingExtra, shortened
from dpcalc.packed import existing, is_packed, opened


def is_table(path: Path) -> bool:
    """Whether a file's name says that its columns have names: delimited text, or one of `BINARY`."""
    return is_binary(path) or any(suffix.lower() in (".csv", ".tsv") for suffix in path.suffixes)


NAME_IT = ", or, if this is CSV, give the file a name that ends in .csv"
"""What else to try with a file whose name does not say that it is a table."""

ARRAY = ".npy"
COLUMNAR = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
BINARY = (ARRAY, *COLUMNAR)
"""How names of files end that hold numbers, and so may be read in blocks."""


def is_binary(path: Path) -> bool:
    """Whether a file's name says that it holds a table of numbers: .npy, Parquet or Arrow."""
    return path.suffix.lower() in BINARY


def is_array(path: Path) -> bool:
    """Whether a file's name says that it is a NumPy array."""
    return path.suffix.lower() == ARRAY


def is_adult(path: Path) -> bool:
    """Whether this is one of the files of UCI Adult, or a folder with them."""
    from dpcalc.algorithms.problems.data import adult

    return path.is_dir() or path.name.startswith(adult.FILES)


def refuse_misnamed(path: Path) -> None:
    """Refuse a file of numbers under the name of another kind, and a folder of Parquet files.

    Raises:
        InvalidInput: with the name that it needs, or how to make one file of the folder.
    """
    import lzma

    if path.is_dir():
        parts = next(path.rglob("*.parquet"), None)
        if parts is not None and existing(path, "adult.data") is None:
            raise InvalidInput(
                f"expected one file; got the folder {str(path)!r} of Parquet files; write them as one: "
                "pyarrow.parquet.write_table(pyarrow.parquet.read_table(FOLDER), 'all.parquet')"
            )
    if not path.is_file():
        return
    try:
        with opened(path) as file:
            head = file.peek(_HEAD)[:_HEAD]  # type: ignore[attr-defined]  # all readers have it
    except (OSError, EOFError, lzma.LZMAError, MissingExtra):  # what reads it says so
        return
    for start, (what, suffixes) in _BEGINNINGS.items():
        if head.startswith(start) and path.suffix.lower() not in suffixes:
            unpack = "unpack it, and " if is_packed(path) else ""
            raise InvalidInput(
                f"expected a name that says what is in the file; {str(path)!r} has {what}; {unpack}"
                f"give it a name that ends in {suffixes[0]}"
            )


_HEAD = 8  # bytes by which a file is told

_BEGINNINGS = {
    b"PAR1": ("a Parquet table", COLUMNAR[:2]),
    b"ARROW1": ("an Arrow table", COLUMNAR[2:]),
    b"\x93NUMPY": ("a NumPy array", (ARRAY,)),
}
"""How files of numbers begin: what they are, and how their names end."""


_SAID_OF = {
    "label": "a CSV or Parquet file",
    "positive": "a CSV, Parquet or LIBSVM file",
    "features": "a LIBSVM file",
}


def refuse_unused(name: str, file: bool, given: Mapping[str, object]) -> None:
    """Refuse what says something about another kind of file.

    Args:
        name: of the data, as given.
        file: whether it is a file or folder, not a data set by name.
        given: options about CSV and LIBSVM files by name, None where nothing was said.

    Raises:
        InvalidInput: for an option that would not be used.
    """
    path = Path(name)
    used: set[str] = set()
    if file and is_table(path):
        used = {"label", "positive"}
    elif file and not is_adult(path):
        used = {"features", "positive"}
    for option, value in given.items():
        if value is not None and option not in used:
            kind = _SAID_OF[option]
            named = option != "features" and file and not is_adult(path)
            raise InvalidInput(
                f"{option} is said of {kind}; got {option}={value!r} with data={shortened(name)!r}; "
                f"leave out --{option}{NAME_IT if named else ''}"
            )
