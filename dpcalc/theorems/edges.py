"""Lists of edges in files, read in one way by all verbs."""

from __future__ import annotations

from pathlib import Path

from dpcalc.errors import InvalidInput, shortened
from dpcalc.files import read_text

HINT = "try one edge a line, such as 1 2"


def read_edges(name: str, path: Path) -> list[tuple[int, int]]:
    """Edges between nodes 0..n-1 from a file with two node names a line, in its order.

    Names are whole numbers from 0 or from 1 up without a gap, or other words; in the order of the
    numbers, or of the words, they become 0..n-1. Blank lines and lines that begin with # are passed
    over; a comma may stand between two names.

    Raises:
        InvalidInput: for unreadable files and lines, numbers with a gap (a node without an edge, or
            one that is missing), numbers next to words, and two spellings of one number.
    """
    rows = _rows(name, path)
    names = {word for _, row in rows for word in row}
    ordered = sorted(names)
    if any(_whole(word) for word in names):
        ordered = _numbered(name, path, names)
    if len(ordered) < 2:
        raise InvalidInput(
            f"{name} needs an edge between two different nodes in {str(path)!r}; got {len(ordered)} "
            f"node; {HINT}"
        )
    place = {word: k for k, word in enumerate(ordered)}
    return [(place[a], place[b]) for _, (a, b) in rows]


def _rows(name: str, path: Path) -> list[tuple[int, tuple[str, str]]]:
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(
            f"{name} needs a readable edge list; cannot read {str(path)!r} ({reason}); {HINT}"
        ) from error
    found: list[tuple[int, tuple[str, str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        words = [word.strip('"') for word in line.replace(",", " ").split()]
        if len(words) != 2:
            raise InvalidInput(
                f"{name} needs two node names a line; got {shortened(line)!r} in line {number} of "
                f"{str(path)!r}; {HINT}"
            )
        found.append((number, (words[0], words[1])))
    if not found:
        raise InvalidInput(f"{name} needs two node names a line; {str(path)!r} has none; {HINT}")
    return found


def _whole(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 20


def _numbered(name: str, path: Path, names: set[str]) -> list[str]:
    """Names that are numbers, in order."""
    other = next((word for word in sorted(names) if not _whole(word)), None)
    if other is not None:
        raise InvalidInput(
            f"{name} needs nodes that are all whole numbers, or none of them; got "
            f"{shortened(other)!r} next to numbers in {str(path)!r}"
        )
    ordered = sorted(names, key=int)
    numbers = [int(word) for word in ordered]
    if len(set(numbers)) < len(numbers):
        raise InvalidInput(
            f"{name} needs one spelling of each node's number; {str(path)!r} has one with zeros in "
            "front and without"
        )
    first = numbers[0]
    if first > 1 or numbers[-1] - first >= len(numbers):
        known = set(numbers)
        missing = next(k for k in range(min(first, 1), numbers[-1]) if k not in known)
        raise InvalidInput(
            f"{name} needs nodes numbered from 0 or from 1 without a gap; node {missing} has no edge "
            f"in {str(path)!r}, which goes up to {numbers[-1]}; add its edges, number the nodes "
            "again, or name them"
        )
    return ordered
