"""A report as parts that are the same in HTML and Markdown: paragraphs, lists, tables, files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path

import dpcalc
from dpcalc.errors import InvalidInput
from dpcalc.files import write_text
from dpcalc.report.page import markdown_rows, page, page_table, plain
from dpcalc.vocabulary import Verdict

ENDINGS = (".html", ".md")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under their heads.

    Attributes:
        caption: what it shows.
        heads: of the columns.
        rows: cells, the first of which names the row.
        numeric: columns that are set flush right.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """Words with what they mean."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A text as it stands, such as a file or a command."""

    text: str
    title: str = ""


Part = str | Table | Terms | Verbatim


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands below it.

    Attributes:
        title: the heading.
        parts: in their order; a text is a paragraph.
        verdict: a word in its colour before the heading, "" for none.
    """

    title: str
    parts: tuple[Part, ...]
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A report for a reader who was not there.

    Attributes:
        title: what it is about.
        summary: one sentence for somebody who knows nothing of the subject.
        sections: the rest.
    """

    title: str
    summary: str
    sections: tuple[Section, ...]


def check_ending(path: Path, option: str) -> None:
    """Refuse a file whose ending names no form of a report.

    Raises:
        InvalidInput: naming the option and the file.
    """
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput(
            f"{option} needs a name ending in {' or '.join(ENDINGS)}; got {str(path)!r}; for PDF "
            "print the .html from a browser"
        )


def write_report(path: Path, report: Report) -> None:
    """Write it in the form of the file's ending, with today's date and the version.

    Raises:
        OutputFailed: if it cannot be written.
    """
    form = as_html if path.suffix.lower() == ".html" else as_markdown
    write_text(path, form(report))


def _lead() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d} · dpcalc {dpcalc.__version__}"


def as_html(report: Report) -> str:
    """A page that needs nothing outside itself."""
    body = [f'<p class="summary">{escape(report.summary)}</p>']
    for section in report.sections:
        mark = f"{_coloured(section.verdict)} " if section.verdict else ""
        parts = "\n".join(_html(part) for part in section.parts)
        body.append(f"<section><h2>{mark}{escape(section.title)}</h2>\n{parts}\n</section>")
    return page(report.title, report.title, _lead(), "\n".join(body))


def _coloured(word: str) -> str:
    return f'<span class="v {word.split()[0]}">{escape(word)}</span>'


def _cell(text: str) -> str:
    return _coloured(text) if text in Verdict.__members__ else escape(text)


def _html(part: Part) -> str:
    match part:
        case Table():
            rows = [[_cell(cell) for cell in row] for row in part.rows]
            caption = escape(part.caption)
            return page_table(part.heads, rows, numeric=part.numeric, caption=caption)
        case Terms():
            pairs = (f"<dt>{escape(word)}</dt><dd>{escape(text)}</dd>" for word, text in part.pairs)
            return f"<dl>{''.join(pairs)}</dl>"
        case Verbatim():
            title = f'<p class="quiet">{escape(part.title)}</p>' if part.title else ""
            return f'{title}<pre tabindex="0"><code>{escape(part.text)}</code></pre>'
        case str():
            return f"<p>{escape(part)}</p>"


def as_markdown(report: Report) -> str:
    """The same as Markdown."""
    lines = [f"# {plain(report.title)}", "", _lead(), "", f"**{plain(report.summary)}**"]
    for section in report.sections:
        word = f"{section.verdict}: " if section.verdict else ""
        lines += ["", f"## {word}{plain(section.title)}"]
        for part in section.parts:
            lines += ["", *_markdown(part)]
    return "\n".join(lines) + "\n"


def _markdown(part: Part) -> Sequence[str]:
    match part:
        case Table():
            rows = [[plain(cell) for cell in row] for row in part.rows]
            return [f"*{plain(part.caption)}*", "", *markdown_rows(part.heads, rows)]
        case Terms():
            return [f"- **{plain(word)}**: {plain(text)}" for word, text in part.pairs]
        case Verbatim():
            title = [plain(part.title), ""] if part.title else []
            fence = "`" * max(3, _longest_fence(part.text) + 1)
            return [*title, f"{fence}text", *part.text.rstrip("\n").split("\n"), fence]
        case str():
            return [plain(part)]


def _longest_fence(text: str) -> int:
    """How many backticks the longest run of them has."""
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
