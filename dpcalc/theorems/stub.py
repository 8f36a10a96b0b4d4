"""The list of results for type checkers: ``python -m dpcalc.theorems.stub`` writes it again."""

from __future__ import annotations

from pathlib import Path

from dpcalc.theorems.catalogue import results

PATH = Path(__file__).with_name("__init__.pyi")


def text() -> str:
    """One import a result, by module."""
    lines = sorted(
        f"from {found.__module__} import {found.__name__} as {found.__name__}"
        for found in results()
    )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
