"""Attacked claims as JSON, Markdown or one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpcalc.auditing.result import AuditResult
from dpcalc.files import write_text
from dpcalc.report import output as envelope
from dpcalc.report.audit_html import page
from dpcalc.report.audit_markdown import markdown
from dpcalc.report.audit_record import record
from dpcalc.report.records import to_json

__all__ = [
    "write",
]


def write(
    path: Path,
    title: str,
    results: Sequence[AuditResult],
    tables: Sequence[Any] = (),
    *,
    command: str = "",
) -> None:
    """Write a report in the format of the file's ending: .html, .md or .json.

    Args:
        path: the file.
        title: what was attacked.
        results: attacked claims.
        tables: exhibits.
        command: what repeats the audit exactly.
    """
    if path.suffix == ".html":
        text = page(title, results, tables, command=command)
    elif path.suffix == ".md":
        text = markdown(title, results, tables, command=command)
    else:
        text = to_json(envelope.output("audit", record(title, results, tables))) + "\n"
    write_text(path, text)
