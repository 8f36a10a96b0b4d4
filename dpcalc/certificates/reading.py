"""Files of certificates, verified one by one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcalc.certificates.checker import check, made_for, unique
from dpcalc.certificates.effort import EFFORT
from dpcalc.certificates.effort import effort as effort_of
from dpcalc.certificates.formulas import is_formula, shown
from dpcalc.certificates.grammar import Refused
from dpcalc.errors import InvalidInput
from dpcalc.files import read_text

MOST = 1_000
"""Certificates in a file."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What became of one certificate.

    Attributes:
        releases: what it is about, a phrase a release.
        adjacency: its neighbouring relation.
        proved: a statement for each end; empty if it was refused.
        refused: why, or "".
        claim: the claim that it names: its file, its number there, its name; None if none.
    """

    releases: tuple[str, ...]
    adjacency: str
    proved: tuple[str, ...]
    refused: str
    claim: dict[str, Any] | None = None

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "verdict": "REFUSED" if self.refused else "VERIFIED",
            "releases": list(self.releases),
            "adjacency": self.adjacency or None,
            "proved": list(self.proved),
            "refused": self.refused or None,
            "claim": self.claim,
        }

    def text(self) -> str:
        """For people."""
        if self.refused:
            which = f", {made_for({'claim': self.claim})}" if self.claim else ""
            return f"REFUSED{which}: {self.refused}"
        relation = f" under {self.adjacency}" if self.adjacency else ""
        lines = [*(f"  {release}" for release in self.releases), *self.proved]
        if self.claim:
            named = made_for({"claim": self.claim})
            lines.append(f"{named}; that this claim is about these releases is not verified")
        return "\n".join([f"VERIFIED{relation}, for all of these together:", *lines])


def verified(path: Path, effort: float = EFFORT) -> list[Verified]:
    """Every certificate of a file, checked again.

    Args:
        path: the file.
        effort: how long all of them may take to check by their own account, in seconds more or less.

    Raises:
        InvalidInput: if the file holds no certificates, more than ``MOST``, or if they take more
            effort together.
    """
    each = _certificates(path)
    asked = sum(map(effort_of, each))
    if not asked <= effort:
        raise InvalidInput(
            f"expected certificates that take an effort of at most {_seconds(effort)}, about the "
            f"seconds of processor time; got {str(path)!r} of about {_seconds(asked)}; allow it with "
            "--effort, or split the file"
        )
    return [_verified(certificate, effort) for certificate in each]


def _certificates(path: Path) -> list[Any]:
    try:
        content = json.loads(read_text(path), object_pairs_hook=unique)
    except OSError as error:
        raise InvalidInput(
            f"expected a readable certificate; got {str(path)!r} ({error.strerror or error})"
        ) from error
    except (Refused, ValueError, RecursionError) as error:
        raise InvalidInput(f"expected a certificate; got {str(path)!r}: {error}") from error
    each = content if isinstance(content, list) else [content]
    if not each:
        raise InvalidInput(f"expected a certificate; got {str(path)!r} without any")
    if len(each) > MOST:
        raise InvalidInput(
            f"expected at most {MOST:,} certificates in a file; got {str(path)!r} with {len(each):,}; "
            "split it"
        )
    return each


def _verified(certificate: Any, effort: float) -> Verified:
    try:
        proved = tuple(check(certificate, effort))
    except (Refused, ValueError, ArithmeticError, RecursionError) as reason:
        return Verified((), "", (), str(reason) or type(reason).__name__, _claim(certificate))
    described = tuple(_described(release) for release in certificate["releases"])
    return Verified(described, certificate["adjacency"], proved, "", _claim(certificate))


def _claim(certificate: Any) -> dict[str, Any] | None:
    """The claim that it names, where that can be read."""
    try:
        return certificate["claim"] if made_for(certificate) else None
    except (Refused, ValueError, TypeError):
        return None


def _described(release: dict[str, Any]) -> str:
    fields = (f"{k} {_shown(v)}" for k, v in release.items() if k not in ("mechanism", "count"))
    return f"{release['count']:,} × {release['mechanism']}, {', '.join(fields)}"


def _shown(value: Any) -> str:
    """A number as it stands, a double in hexadecimal also by its shortest decimal; tables if short."""
    if isinstance(value, list) and not is_formula(value):
        rows = "; ".join(map(_row, value[:_ROWS]))
        return rows if len(value) <= _ROWS else f"{rows}; and {len(value) - _ROWS:,} more"
    if isinstance(value, list):
        return shown(value)
    text = ("no", "yes")[value] if isinstance(value, bool) else str(value)
    return f"{text} (about {float.fromhex(text):.6g})" if text.startswith("0x") else text


def _row(row: Any) -> str:
    """Numbers or formulas side by side, or one alone."""
    several = isinstance(row, list) and not is_formula(row)
    return " ".join(map(_shown, row)) if several else _shown(row)


_ROWS = 4


def _seconds(effort: float) -> str:
    """In whole seconds, where there are enough of them to say it so."""
    return f"{effort:,.0f}" if effort >= 10 else f"{effort:.2g}"
