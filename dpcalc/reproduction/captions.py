"""Words on a picture, in lines that its canvas has room for."""

from __future__ import annotations

import textwrap
from typing import Any

from dpcalc.pictures.ends import width_of

_MARGIN = 0.04
"""Share of the room left empty: other resolutions and formats round the widths of letters."""

_TITLE_SIZE = 9.0
_SETTING_SIZE = 6.5
_LINE = 1.2 / 72
"""Inches from line to line, per point of the letters' size."""


def caption(figure: Any, *, title: str, setting: str) -> None:
    """Write a title above and the setting below; the figure grows by every line after the first.

    Args:
        figure: of matplotlib, with constrained layout, which keeps both apart from the panels.
        title: above.
        setting: below.
    """
    width, height = figure.get_size_inches()
    above = lines_of(figure, title, size=_TITLE_SIZE, width=width)
    below = lines_of(figure, setting, size=_SETTING_SIZE, width=width)
    figure.suptitle("\n".join(above), fontsize=_TITLE_SIZE)
    figure.supxlabel("\n".join(below), fontsize=_SETTING_SIZE, color="0.3")
    more = (len(above) - 1) * _TITLE_SIZE + (len(below) - 1) * _SETTING_SIZE
    figure.set_size_inches(width, height + _LINE * more)


def lines_of(figure: Any, text: str, *, size: float, width: float) -> list[str]:
    """A text in lines that are as wide as they are drawn at most.

    Args:
        figure: whose letters are measured.
        text: words; those that are wider than a line are broken, a number stays with its name.
        size: of the letters, in points.
        width: in inches.
    """
    text = text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    room, letters = width * (1 - _MARGIN), max(1, len(text))
    while True:
        lines = textwrap.wrap(text, letters) or [""]
        widest = max(width_of(figure, line, size) for line in lines)
        if widest <= room or letters == 1:
            return lines
        letters = max(1, min(letters - 1, int(letters * room / widest)))
