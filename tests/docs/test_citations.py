"""Every paper is cited once, in docs/papers.md, by identifiers that can be ones; nothing is fetched."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from dpcalc.theorems.catalogue import results

ROOT = Path(__file__).parents[2]
PAPERS = (ROOT / "docs" / "papers.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^### (\w+)\n\n(.+)$", PAPERS.partition("## Sources")[2], re.MULTILINE))

LINK = re.compile(r"\[([^\]]+)\]\((https://[^)]+)\)")
ARXIV = re.compile(r"arXiv:(\d\d)(\d\d)\.\d{4,5}")
DOI = re.compile(r"doi:(10\.\d{4,9}/[\w./()-]*[\w)])")
PUBLISHERS = {
    "PMLR": re.compile(r"https://proceedings\.mlr\.press/v\d+/[a-z0-9]+\.html"),
    "IEEE Xplore": re.compile(r"https://ieeexplore\.ieee\.org/abstract/document/\d+"),
}


def _wrong(text: str, url: str) -> str | None:
    """Why a link is no identifier of a paper, or is not the one that it says."""
    if found := ARXIV.fullmatch(text):
        if not 1 <= int(found[2]) <= 12 or int(found[1]) < 7:
            return f"{text}: no such month"
        return None if url == f"https://arxiv.org/abs/{text[6:]}" else f"{text}: {url}"
    if found := DOI.fullmatch(text):
        return None if url == f"https://doi.org/{found[1]}" else f"{text}: {url}"
    for name, pattern in PUBLISHERS.items():
        if text.startswith(name):
            number = text.split()[-1]
            right = pattern.fullmatch(url) and re.search(rf"\bv?{number}(?!\d)", url)
            return None if right else f"{text}: {url}"
    return f"{text}: neither arXiv, DOI nor a publisher"


def test_every_paper_is_in_the_list() -> None:
    """Under the key of its first author and year; and the list has no other."""
    papers = {re.split(r"(?<=\d{4}), ", result.reference)[0] for result in results()}
    keys = {re.match(r"\w+", paper)[0].lower() + paper[-4:] for paper in papers}  # type: ignore[index]
    assert keys == set(SECTIONS)


@pytest.mark.parametrize("key", SECTIONS)
def test_a_citation_has_what_finds_the_paper(key: str) -> None:
    citation = SECTIONS[key]
    assert re.match(r"([A-Z][\w.-]*\.? )+", citation), "authors"
    assert re.search(r" \*[A-Z][^*]+\.\* ", citation), "title"
    assert key[:-4] in citation.lower()
    links = LINK.findall(citation)
    assert links, "no identifier"
    assert [wrong for link in links if (wrong := _wrong(*link))] == []
    for year, _ in ARXIV.findall(citation):
        assert abs(2000 + int(year) - int(key[-4:])) <= 1, "another paper's preprint"


def test_identifiers_stand_once_and_nowhere_else() -> None:
    """So that no two papers share one, and a correction is made in one place."""
    urls = Counter(url for citation in SECTIONS.values() for _, url in LINK.findall(citation))
    assert set(urls.values()) == {1}
    known = "|".join(map(re.escape, ("arxiv.org/", "doi.org/", "proceedings.mlr.press/")))
    pages = [ROOT / "README.md", ROOT / "CITATION.cff", *sorted((ROOT / "docs").rglob("*.md"))]
    elsewhere = [str(page) for page in pages if re.search(known, page.read_text("utf-8"))]
    assert elsewhere == [str(ROOT / "docs" / "papers.md")]


def test_links_to_papers_lead_to_one() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    linked = {
        (page.name, key)
        for page in pages
        for key in re.findall(r"papers\.md#(\w+)\)", page.read_text("utf-8"))
    }
    assert len(linked) > 10
    assert {pair for pair in linked if pair[1] not in {*SECTIONS, "sources"}} == set()


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("arXiv:1806.02246", "https://arxiv.org/abs/1806.02264"),
        ("arXiv:1813.02246", "https://arxiv.org/abs/1813.02246"),
        ("arXiv:18.02246", "https://arxiv.org/abs/18.02246"),
        ("doi:10.1109/TIFS.2019.2947867", "https://doi.org/10.1109/TIFS.2019.294786"),
        ("doi:TIFS.2019", "https://doi.org/TIFS.2019"),
        ("PMLR 80", "https://proceedings.mlr.press/v8/zhang18f.html"),
        ("here", "https://example.org"),
    ],
)
def test_a_wrong_identifier_is_seen(text: str, url: str) -> None:
    assert _wrong(text, url)
