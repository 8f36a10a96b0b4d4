"""Turns of phrase that gave way to plain English do not come back, in code, messages or documents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RETIRED = {
    r"(?<!what )w(as|ere) needed; ": "expected ...; got ...",
    r"keeps its relative accuracy also": "stays accurate even",
    r"in the range of numbers": "fits in a double",
    r"where nothing else can be had": "otherwise",
    r"if they can be had directly": "or None if there is no closed form",
    r"\bis worth while\b": "conditional on",
    r"What one release is worth|what running it is worth": "the guarantee",
    r"filled in from public": "set from public information",
    r"what is trained on and what is held out": "training and test records",
    r"plain dictionaries": "dictionaries",
    r"What experiments stand on": "configuration of an experiment",
    r"outcomes that are no news": "expected outcomes",
    r"or chance was\b": "or this is a chance event",
    r"only its own speaks|wait for a yes": "say what remains valid, and when",
    r"where chance decides": "if it is chosen at random",
    r"\bof one's own\b": "your own",
    r"what runs is something else": "the one that runs is faulty",
    r"command goes on\b": "command resumes",
    r"what became of them": "their status",
    r"is none on ε": "gives a bound on ε only for ...",
    r"Unlike guarantees": "guarantees of different kinds",
    r"(record.s|all) own uses\b": "composition over all uses",
    r"an own (iteration|step)": "an iteration of the user",
    r"gives something away": "is loose, is not tight",
    r"was not at hand": "was not available",
    r"(?<![\w'])One's own\b": "your own",
    r"\bgone on from\b|\bgo on from\b": "resumed from",
    r"what became of (it|the printed)\b": "its status",
    r"say nothing of\b": "say nothing about",
}
"""Pattern, and what says the same plainly."""


def _texts() -> dict[str, str]:
    """Code and documents, white space and the signs of comments folded."""
    places = [ROOT / name for name in ("dpcalc", "algorithms", "audits", "docs")]
    paths = [
        p
        for place in places
        for end in ("py", "md", "txt", "toml")
        for p in place.rglob(f"*.{end}")
    ]
    paths += [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
    return {
        str(p.relative_to(ROOT)): re.sub(r"\s+(?:#+\s+)?", " ", p.read_text("utf-8")) for p in paths
    }


def _found(texts: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (name, match[0])
        for name, text in texts.items()
        for pattern in RETIRED
        for match in re.finditer(pattern, text)
    ]


def test_no_retired_phrase_comes_back() -> None:
    texts = _texts()
    assert len(texts) > 700
    assert _found(texts) == []


@pytest.mark.parametrize(
    "text", ['raise InvalidInput("a number was needed; got x")', "the same\n    # command goes on"]
)
def test_a_retired_phrase_is_seen(text: str) -> None:
    assert _found({"x": re.sub(r"\s+(?:#+\s+)?", " ", text)})
