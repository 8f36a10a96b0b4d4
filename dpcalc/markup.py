"""Values as notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def html_table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values as a table whose names are row headings."""
    body = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{body}</table>"
