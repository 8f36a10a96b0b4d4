"""What every report shares: the page, its style, tables, and text that Markdown shows as it is.

A page has no script and no address outside itself; every text from elsewhere is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from string import Template

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<header>
<h1>$head</h1>
<p class="quiet">$lead</p>
</header>
<main>
$body
</main>
</body>
</html>
""")

_STYLE = """
:root{--ink:#1c2430;--quiet:#5d6b7a;--line:#dde3ea;--ground:#fff;--soft:#f6f8fa;
--red:#b3261e;--green:#1e6b34;--amber:#8a5a00;--violet:#5b3a91}
@media (prefers-color-scheme:dark){:root{--ink:#e6ebf0;--quiet:#9fb0c0;--line:#33404d;--ground:#12181f;
--soft:#1a222b;--red:#ff8a80;--green:#7bd88f;--amber:#f0c060;--violet:#c3a6f7}
figure svg{background:#fff;border-radius:6px}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
header,main{max-width:68rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:1.5rem}h1{font-size:1.6rem;margin:0}h2{font-size:1.2rem;margin:2.2rem 0 .4rem}
.quiet,figcaption{color:var(--quiet);font-size:.88rem}
.wide{overflow-x:auto}.wide+.wide{margin-top:1rem}tbody th{min-width:8.5rem}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.35rem .7rem;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;color:var(--quiet)}tbody th{font-weight:400;color:var(--ink)}
caption{text-align:left;color:var(--quiet);font-size:.8rem;padding:.2rem .7rem}
td.n{white-space:nowrap}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.v{font-weight:700;white-space:nowrap}
.REFUTED{color:var(--red)}.NOT{color:var(--green)}.UNDERPOWERED{color:var(--amber)}
.PRECONDITION,.UNSUPPORTED{color:var(--violet)}
.HOLDS,.WITHIN{color:var(--green)}.LOOSE{color:var(--amber)}.BUDGET{color:var(--red)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:1rem;margin:1rem 0}
figure{margin:0;border:1px solid var(--line);border-radius:8px;padding:.6rem}
figure svg{width:100%;height:auto;display:block}figcaption{margin-top:.3rem}
pre{background:var(--soft);padding:.8rem;overflow:auto;max-height:32rem;font-size:.78rem}
.summary{font-size:1.1rem;margin:1rem 0}dt{font-weight:600}
code{overflow-wrap:anywhere}pre code{overflow-wrap:normal}
a{color:inherit}section{border-top:1px solid var(--line);margin-top:1.5rem}
@media print{:root{--ink:#000;--quiet:#444;--line:#ccc;--ground:#fff;--soft:#fff}
section{break-inside:avoid}pre{max-height:none;white-space:pre-wrap}}
"""


def page(title: str, head: str, lead: str, body: str) -> str:
    """A whole page.

    Args:
        title: in the browser's tab; not yet escaped.
        head: the first heading; not yet escaped.
        lead: the quiet line below it, as HTML.
        body: the rest, as HTML.
    """
    return _PAGE.substitute(
        title=escape(title), head=escape(head), lead=lead, body=body, style=_STYLE
    )


def page_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[int] = (),
    *,
    caption: str,
) -> str:
    """A table of cells that are already escaped; the first of a row names it."""

    def cells(values: Sequence[str], scopes: Sequence[str]) -> str:
        found = []
        for k, (value, scope) in enumerate(zip(values, scopes, strict=True)):
            tag = f'th scope="{scope}"' if scope else "td"
            mark = ' class="n"' if k in numeric else ""
            found.append(f"<{tag}{mark}>{value}</{tag[:2]}>")
        return "".join(found)

    below = ["row", *[""] * (len(heads) - 1)]
    body = "".join(f"<tr>{cells(row, below)}</tr>" for row in rows)
    head = cells([escape(h) for h in heads], ["col"] * len(heads))
    return (
        f'<div class="wide"><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def plain(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no line breaks, no control characters."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", shown)


def markdown_rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table; cells are escaped already."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(cells) + " |" for cells in rows]
