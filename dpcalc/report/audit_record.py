"""Attacked claims as a dictionary, from which JSON is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpcalc.auditing.result import AuditResult, exit_status


def record(
    title: str, results: Sequence[AuditResult], tables: Sequence[Any] = ()
) -> dict[str, Any]:
    """Everything, ready for JSON."""
    return {
        "title": title,
        "exit_status": exit_status(results),
        "results": [result.record() for result in results],
        "tables": [table.record() for table in tables],
    }
