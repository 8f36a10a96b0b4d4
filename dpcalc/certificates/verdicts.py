"""What may come of the search for evidence other than evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class NotCertified(Exception):
    """No evidence was found; the number may still be right.

    Attributes:
        instead: a larger ε for which there is evidence, or "".
        how: the evidence.
    """

    def __init__(
        self, reason: str, instead: str = "", how: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(reason)
        self.instead = instead
        self.how = {name: value for name, value in (how or {}).items() if name != "enclosure"}


class Contradicted(Exception):
    """The number is certainly wrong."""
