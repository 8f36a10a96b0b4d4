"""Readers: what is read of good input, and the whole sentence that refuses bad input."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from tests.golden.readings import Case, answer, cases

with contextlib.suppress(ModuleNotFoundError):
    import dp_accounting  # noqa: F401  # here, so that no test is charged with its seconds

TOGETHER = 40
"""Cases in one test."""

CALLS: dict[str, list[Case]] = {}
for _case in cases():
    CALLS.setdefault(_case["call"], []).append(_case)

PARTS = {
    f"{call}-{start}": found[start : start + TOGETHER]
    for call, found in CALLS.items()
    for start in range(0, len(found), TOGETHER)
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readings")


@pytest.mark.parametrize("found", PARTS.values(), ids=PARTS)
def test_it_is_read_as_it_was_or_refused_in_the_same_words(
    found: list[Case], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "event" in found[0]["call"]:
        pytest.importorskip("dp_accounting")
    monkeypatch.chdir(folder)
    wrong = [(case, got) for case in found if (got := answer(case)) != case["answer"]]
    assert not wrong, (
        "if that is meant: python -m tests.golden.readings, and look at the difference"
    )
