"""What may come of the search for evidence other than evidence."""

from __future__ import annotations


class NotCertified(Exception):
    """No evidence was found; the number may still be right.

    Attributes:
        instead: a larger ε for which there is evidence, or "".
    """

    def __init__(self, reason: str, instead: str = "") -> None:
        super().__init__(reason)
        self.instead = instead


class Contradicted(Exception):
    """The number is certainly wrong."""
