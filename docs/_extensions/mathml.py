"""Formulas as MathML, which browsers lay out themselves: no script, no network, no pictures."""

from __future__ import annotations

import re
from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

_DELIMITERS = {r"\{": "{", r"\}": "}", r"\lceil": "⌈", r"\rceil": "⌉"}
"""Large ones, which the converter leaves as they are written."""
_BAR = re.compile(r"<mo((?: [a-z]+=\"[^\"]*\")*>(?:\||‖|&#x0007C;|&#x02016;)</mo>)")
"""A norm's bar, which browsers would take for an operator with space around it."""

_WIDE = 60
"""Characters of a formula that may be wider than a telephone."""


def _converted(node: nodes.Element, display: str) -> str:
    """The formula; a command that is not understood is a warning, and so an error of the site."""
    text = re.sub(r"\\arg\b", r"\\operatorname{arg}", node.astext())
    found: str = latex2mathml.converter.convert(text, display=display)
    for command, character in _DELIMITERS.items():
        found = found.replace(f">{command}</mo>", f">{character}</mo>")
    found = _BAR.sub(r'<mo lspace="0" rspace="0"\1', found)
    if left := re.findall(r">(\\[^<]*)<", found):
        logging.getLogger(__name__).warning("not understood: %s", ", ".join(left), location=node)
    return found


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    formula = _converted(node, "inline")
    wide = len(node.astext()) > _WIDE
    writer.body.append(f'<span class="math-wide">{formula}</span>' if wide else formula)
    raise nodes.SkipNode


def _block(writer: HTML5Translator, node: nodes.math_block) -> None:
    formula = _converted(node, "block")
    writer.body.append(f'<div class="math-block" tabindex="0">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config["html_math_renderer"] = "mathml"
    app.add_css_file("mathml.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
