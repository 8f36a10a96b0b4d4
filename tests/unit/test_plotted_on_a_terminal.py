"""A terminal sees the points of a picture counted; a pipe sees nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

QUESTIONS = (
    "gaussian --noise-multiplier 4 --over delta",
    "gaussian --over epsilon --delta 1e-5",
    "dp-admm --n-records 100 --rounds 2 --gradient-bound 1 --sigma 1 --dual-start zero",
)


@pytest.mark.parametrize("words", QUESTIONS)
@pytest.mark.parametrize("terminal", [False, True])
def test_points_are_counted_on_a_terminal(
    run: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    *,
    terminal: bool,
) -> None:
    monkeypatch.setenv("FORCE_COLOR" if terminal else "NO_COLOR", "1")
    out = tmp_path / "picture.svg"
    status, _, err = run("plot", *words.split(), "--points", 2, "--out", out)
    assert status == 0
    assert ("points of the picture" in err) == terminal
