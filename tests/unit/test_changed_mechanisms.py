"""A mechanism that changed between two halves of an audit is named as what may be wrong."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpcalc.auditing.stages.counted import _check_repeated
from dpcalc.errors import InvalidInput
from dpcalc.store import open_store


def test_an_edited_mechanism_is_named_before_its_randomness(tmp_path: Path) -> None:
    target: Any = SimpleNamespace(name="mine:target")
    before: Any = SimpleNamespace(score=np.array([1.0, 2.0]))
    after: Any = SimpleNamespace(score=np.array([1.0, 2.5]))
    with open_store(tmp_path / "kept.sqlite", {"work": "audit"}) as store:
        _check_repeated(before, target, store)
        _check_repeated(before, target, store)
        with pytest.raises(InvalidInput, match="if its mechanism or data were changed since"):
            _check_repeated(after, target, store)
