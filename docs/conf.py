"""How the site is built: ``sphinx-build -W docs build/site`` with the extra ``docs`` installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

from dpcalc import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "dpcalc"
author = "The dpcalc developers"
copyright = "The dpcalc developers, Apache-2.0"  # noqa: A001 - the name that Sphinx reads
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
    "json_fields",
    "mathml",
]
exclude_patterns = ["_extensions"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
napoleon_google_docstring = True
napoleon_use_rtype = False
napoleon_custom_sections = [("Class attributes", "params_style")]

_CONSOLE = re.compile(r'<div class="highlight-console.*?</pre>', re.DOTALL)
_DOWNLOAD = re.compile(r' download="" (href="[^"]*\.svg")')
_INLINE = re.compile(r'<span class="pre">(--[a-z][\w-]*)</span>')
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def setup(app: Sphinx) -> None:
    """Pages of the checkout's root are pages of the site; options of commands are not broken.

    A picture's own lines, to which it leads, are shown instead of saved.
    """

    def inside(app: Sphinx, page: str, text: list[str]) -> None:
        del app, page
        for name in ("SECURITY", "CONTRIBUTING", "CHANGELOG"):
            text[0] = text[0].replace(f"(../{name}.md", f"(/project/{name.lower()}.md")

    def unbroken(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
        del app, page, template, tree
        body = _CONSOLE.sub(
            lambda block: _OPTION.sub(r'<span class="option">\g<0></span>', block[0]),
            context.get("body", ""),
        )
        body = _INLINE.sub(r'<span class="pre option">\1</span>', body)
        context["body"] = _DOWNLOAD.sub(r" \1", body)

    app.connect("source-read", inside)
    app.connect("html-page-context", unbroken)
    app.add_lexer("csv", TextLexer)


html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["commands.css"]
html_title = f"dpcalc {release}"
html_copy_source = False
html_show_sphinx = False
copybutton_prompt_text = "$ "
