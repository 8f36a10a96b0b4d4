"""Labels of classes that are different numbers and the same double."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from dpcalc.delimited import is_number
from dpcalc.errors import InvalidInput


def refuse_alike(path: object, labels: Iterable[str]) -> None:
    """Refuse two labels, as they stand in a file, that would become one class.

    Args:
        path: the file.
        labels: numbers; what is none is left out.
    """
    found: dict[float, str] = {}
    for text in sorted(filter(is_number, labels)):
        first = found.setdefault(float(text), text)
        if Decimal(first) != Decimal(text):
            raise InvalidInput(
                f"expected labels of classes that differ as doubles; got {first!r} and {text!r} in "
                f"{str(path)!r}, which are both {float(text)!r}; write a small number for each class, "
                "such as 0 and 1"
            )
