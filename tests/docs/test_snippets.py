"""Every Python block and every ``dpcalc`` line of the documents runs and prints what is shown.

TOML blocks that begin with ``# name.toml`` are the files that commands name; ``text`` and ``json``
are output.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpcalc.cli.main import main
from dpcalc.report import claims

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
SLOW = {
    "reproduce",
    "run",
    "audit",
}  # verbs that run algorithms; tested with their own small settings
SMALL = [
    *(ROOT / "docs" / "how-to").glob("*.md"),
    *(ROOT / "docs" / "reference").glob("*.md"),
]
"""Pages whose settings are small enough to run every verb."""
OUTPUT = ("text", "json")
"""Kinds of blocks that show what the commands and the Python of their page print."""
DEMONSTRATION = ["verify"]
"""Its table stands in README as it is printed in 80 columns."""
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    kind: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*found.groups()) for found in _FENCE.finditer(page.read_text())]


def commands(page: Path) -> list[list[str]]:
    text = "\n".join(b.text for b in blocks(page) if b.kind == "console").replace("\\\n", " ")
    lines = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    parts = [part.strip() for line in lines for part in line.split("&&")]
    parts += re.findall(
        r"^\|[^|`]*\| `(dpcalc [^`]+)`", page.read_text(), re.MULTILINE
    )  # of tables
    return [shlex.split(part, comments=True)[1:] for part in parts if part.startswith("dpcalc")]


def is_run(block: Block) -> bool:
    """Whether it is run, or shows what is printed."""
    return block.kind in ("python", "console", *OUTPUT)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the files that the page shows, each as it would be copied.

    The name of a file stands in its first comment; that of CSV, which has none, before the block.
    """
    page: Path = request.getfixturevalue("page")
    for block in blocks(page):
        title = re.match(r"# (\S+\.\w+)\n", block.text)
        if block.kind in ("toml", "python") and title:
            (tmp_path / title[1]).write_text(block.text)
    tables = re.findall(
        r"`(\S+)`:\n\n```csv\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL
    )
    for title, text in tables:
        (tmp_path / title).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    narrow = page.name in ("README.md", "commands.md")
    monkeypatch.setenv("COLUMNS", "80" if narrow else "130")  # as in any terminal
    monkeypatch.setattr(claims, "_DELTAS", claims._DELTAS[3::8])  # pictures of few points
    return tmp_path


def words(text: str) -> set[str]:
    """Lines with single spaces, rules left out."""
    return {" ".join(line.split()) for line in text.splitlines() if line.strip(" ─")}


def printed_by_python(page: Path, folder: Path) -> set[str]:
    """What the Python blocks of a page print, run one after the other."""
    del folder
    names: dict[str, object] = {"__name__": "snippet"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks(page):
            if block.kind == "python":
                exec(compile(block.text, name(page), "exec"), names)  # noqa: S102 - our documents
    return words(printed.getvalue())


@pytest.mark.parametrize("page", [p for p in PAGES if any(map(is_run, blocks(p)))], ids=name)
def test_code_runs_and_prints_what_the_page_shows(
    page: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed: set[str] = set()
    shown = {line for b in blocks(page) if b.kind in OUTPUT for line in words(b.text)}
    for arguments in commands(page):
        if arguments and arguments[0] in SLOW and page not in SMALL:
            continue
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        found = capsys.readouterr()
        if (page.name, arguments) == ("README.md", DEMONSTRATION):
            lines = [line.rstrip() for line in found.out.splitlines()]
            (table,) = [b for b in blocks(page) if b.text.startswith(lines[0])]
            assert table.text.splitlines() == lines, "paste what COLUMNS=80 dpcalc verify prints"
        if stop.value.code in (0, 1):
            assert found.out, arguments
            printed |= words(found.out)
        else:  # a refusal is no mistake of a page that shows it
            refusal = words(found.out or found.err)
            assert refusal <= shown, (arguments, found.err)
            printed |= refusal
    assert shown - printed <= printed_by_python(page, folder)


def test_the_readme_runs_the_demonstration() -> None:
    """Of which the test above compares every blank."""
    assert DEMONSTRATION in commands(ROOT / "README.md")


def test_the_python_of_the_readme_passes_the_type_checker(tmp_path: Path) -> None:
    """The checkout's own configuration and cache, strict; a misspelt name is seen."""
    blocks_of_readme = [b.text for b in blocks(ROOT / "README.md") if b.kind == "python"]
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text("\n".join(blocks_of_readme))
    wrong.write_text(
        "import dpcalc\nfrom dpcalc.theorems import DPADMM\n"
        "dpcalc.calibrat\nDPADMM(n_record=1, rounds=1, gradient_bound=1, sigma=1)\n"
        'dpcalc.mechanisms.gaussian(1.0, "replace-on")\n'
        'DPADMM(n_records=1, rounds=1, gradient_bound=1, sigma=1, dual_start="zro")\n'
        "from dpcalc.theorems import PrivateDualAveraging\n"
        "PrivateDualAveraging(n_records=9, rounds=1, lipschitz=1, sigma=1, "
        'adjacency="add-remov")\n'
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    found = subprocess.run(
        [*command, str(right), str(wrong)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    complaints = found.stdout.splitlines()
    assert not [line for line in complaints if "right.py" in line], found.stdout
    assert any("calibrat" in line for line in complaints), found.stdout + found.stderr
    assert any("n_record" in line for line in complaints), found.stdout + found.stderr
    assert any("Literal['data', 'zero'" in line for line in complaints), found.stdout
    assert any("Literal['add-remove'" in line for line in complaints), found.stdout + found.stderr
    assert any("PrivateDualAveraging" in line for line in complaints), found.stdout + found.stderr


def test_the_capability_table_is_the_catalogue() -> None:
    from dpcalc.theorems.catalogue import keys, privacy_result

    rows = re.findall(
        r"^\| `([\w-]+)` \|[^|]*\| ([^|]*) \| ([^|]*) \| ([\w ]+) \|$",
        (ROOT / "README.md").read_text(),
        re.MULTILINE,
    )
    assert {key for key, *_ in rows} <= set(keys(privacy=True)), "a row of no result"
    assert len(rows) >= 7
    for key, release, neighbours, status in rows:
        result = privacy_result(key)
        assert (release, status) == (" or ".join(result.releases), str(result.status))
        assert str(result.from_parameters(result.example).adjacency) in neighbours


def test_every_verb_has_an_example_with_its_output() -> None:
    """On the page of commands, in a section of its own."""
    from dpcalc.cli.main import group

    text = (ROOT / "docs" / "reference" / "commands.md").read_text()
    sections = dict(re.findall(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(sections) == set(group.list_commands(None))  # type: ignore[arg-type]  # unused
    for verb, section in sections.items():
        shown = {kind for kind, _ in _FENCE.findall(section)}
        assert {"console", "text"} <= shown, verb
        assert f"$ dpcalc {verb}" in section, verb


def test_the_page_of_papers_is_the_catalogue() -> None:
    """Every result is there under its source, with what became of it."""
    from dpcalc.theorems.catalogue import keys, privacy_result, result

    text = (ROOT / "docs" / "papers.md").read_text()
    linked = {
        key: cells.split(" | ")[1].strip()
        for cells in re.findall(r"^\|[^|]*\|( \[[^\n]*) \|$", text, re.MULTILINE)
        for key in re.findall(r"theorems/([\w-]+)\.md", cells.split(" | ")[0])
    }
    assert set(linked) == {result(key).key for key in keys()}
    for key in keys(privacy=True):
        assert linked[key] == str(privacy_result(key).status), key


def test_links_between_documents_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([\w./:-]*[./][\w./:-]*)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{name(page)}: {target}"


def _anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, on the site and where code is hosted."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head).strip().lower() for head in heads]
    return {re.sub(r"[^\w\- ]", "", head).replace(" ", "-") for head in plain}


def test_links_to_headings_lead_there() -> None:
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([\w./-]*)#([^)\s]+)\)", page.read_text()):
            there = page.parent / target if target else page
            if there.suffix == ".md":
                assert anchor in _anchors(there), f"{name(page)}: {target}#{anchor}"


def test_every_theorem_has_its_page_and_every_privacy_result_its_picture() -> None:
    from dpcalc.theorems.catalogue import keys

    for key in keys(privacy=True):
        page = ROOT / "docs" / "theorems" / f"{key}.md"
        assert f"](../figures/theorems/{key}.png)" in page.read_text()

    assert [key for key in keys() if not (ROOT / "docs" / "theorems" / f"{key}.md").exists()] == []


def _formulas_as_code(text: str) -> list[str]:
    """Code that is no code: indented lines outside lists, and spans with characters of formulas."""
    plain = _FENCE.sub("", text)
    indented = re.findall(r"(?<=\n\n)    .*", plain)
    return indented + [span for span in re.findall(r"`([^`\n]+)`", plain) if not span.isascii()]


def test_formulas_of_theorem_pages_are_mathematics() -> None:
    """Set as mathematics by the site and where the code is hosted, not as plain text."""
    for page in (ROOT / "docs" / "theorems").glob("*.md"):
        assert _formulas_as_code(page.read_text()) == [], name(page)


def test_a_formula_as_code_is_seen() -> None:
    assert _formulas_as_code("Given `ε <= 1`, `delta` and\n\n    a_t = b\n") == [
        "    a_t = b",
        "ε <= 1",
    ]
    assert _formulas_as_code("```toml\n# ε\n```\n\n- a list\n  goes $x$ on\n") == []
