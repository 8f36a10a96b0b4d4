"""A folder with a module of mechanisms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.audits.user_mechanisms import MINE


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_mechanism.py").write_text(MINE)
    return tmp_path
