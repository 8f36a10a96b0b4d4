"""Figures as SVG text that goes into a page."""

from __future__ import annotations

import io
import re
from typing import Any

_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_SHORTER = (
    (r' id="[A-Za-z0-9]+_\d+"', ""),  # of groups; nothing refers to them
    (r"font-family: [^;\"]+", "font-family: sans-serif"),
    (r' transform="rotate\(-0 [^"]*"', ""),
    (r'(<use [^>]*) style="[^"]*"', r"\1"),  # said where the mark is defined
    (r"\s*\n\s*", " "),
)


def svg_text(figure: Any) -> str:
    """SVG without prologue, the same for the same numbers; its text is text."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "dpcalc", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA, transparent=True)
    text = buffer.getvalue()
    for pattern, short in _SHORTER:
        text = re.sub(pattern, short, text)
    text = re.sub(r"<[^>]+>", _to_a_hundredth, text)  # in tags: what is written stays as it is
    return text[text.index("<svg") :]


def _to_a_hundredth(tag: re.Match[str]) -> str:
    """A tag with places cut to a hundredth of a point."""
    return re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0])
