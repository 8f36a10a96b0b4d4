"""What every published result tells of itself, as text: what a user reads before the first number.

``python -m tests.golden.descriptions`` writes it again, to descriptions/KEY.txt, from the declarations as
they stand: read what differs before it is committed.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpcalc.report.records import description
from dpcalc.theorems.base import Result, Theorem
from dpcalc.theorems.catalogue import keys, result
from dpcalc.theorems.parameters import parameters

FOLDER = Path(__file__).with_name("descriptions")


def told(kind: type[Result]) -> str:
    """Title, statement, findings, promises and parameters of a result, and where it applies."""
    return "\n".join([*_stated(kind), *_parameters(kind), *_relations(kind)]) + "\n"


def recorded(key: str) -> str:
    """The same as it was written down."""
    return (FOLDER / f"{key}.txt").read_text("utf-8")


def _stated(kind: type[Result]) -> Iterator[str]:
    record = description(kind)
    for name in ("key", "family", "title", "reference", "statement", "status"):
        if name in record:
            yield f"{name}: {record[name]}"
    for name in ("noise", "noise_is_a_rate", "quantity", "claim_is"):
        if isinstance(value := getattr(kind, name, None), str | bool):
            yield f"{name}: {value}"
    for release in record.get("releases", ()):
        yield f"release: {release}"
    for found in record["findings"]:
        yield f"finding ({found['bearing']}): {found['text']}"
    for assumed in record["assumptions"]:
        yield f"{assumed['kind']} {assumed['key']} ({assumed['scope']}): {assumed['text']}"
    for formula in record["formulas"]:
        yield f"formula: {formula['name']}"


def _parameters(kind: type[Result]) -> Iterator[str]:
    known = parameters(kind)
    for each in description(kind)["parameters"]:
        words = [each["kind"], *each.get("choices", ())]
        words += [f"symbol {symbol}"] if (symbol := known[each["name"]].symbol) else []
        words += ["required"] if each["required"] else []
        words += [f"default {each['default']!s}"] if "default" in each else []
        yield f"{each['option']}: {each['help']} ({', '.join(words)})"
    yield f"signature: {', '.join(inspect.signature(kind).parameters)}"
    yield f"example: {kind.from_parameters(kind.example)!r}"


def _relations(kind: type[Result]) -> Iterator[str]:
    """Under which relation the bounds of the example are stated."""
    instance: Any = kind.from_parameters(kind.example)
    if isinstance(instance, Theorem):
        for name in ("claimed", "certified"):
            yield f"{name} relation: {getattr(instance, name)().guarantee.adjacency}"


def main() -> None:
    """Write the files again."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    for key in keys():
        (FOLDER / f"{key}.txt").write_text(told(result(key)), "utf-8")


if __name__ == "__main__":
    main()
