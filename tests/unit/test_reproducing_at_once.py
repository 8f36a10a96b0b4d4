"""Figures on workers and from a checkpoint: the same numbers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from dpcalc.cli.reproduce import _digest
from dpcalc.reproduction.computing import computed
from dpcalc.reproduction.experiment import Outcome
from dpcalc.store import open_store

pytest.importorskip("networkx", reason="the extra algorithms is not installed")

KEYS = ("chan2023-table-1", "chan2023-figure-2")
SETTINGS = {"seed": 1}


def written(outcome: Outcome, folder: Path) -> bytes:
    outcome.write_csv(folder / "numbers.csv")
    return (folder / "numbers.csv").read_bytes()


def test_figures_are_the_same_on_workers_and_after_an_interruption(tmp_path: Path) -> None:
    alone = [outcome for outcome, _ in computed(KEYS, SETTINGS)]
    with ThreadPoolExecutor(2) as executor, open_store(tmp_path / "kept", {}) as store:
        first = next(iter(computed(KEYS[:1], SETTINGS, executor=executor, store=store)))
        assert store.names() == [KEYS[0], "plan"]
    with open_store(tmp_path / "kept", {}, resume=True) as store:
        again = list(computed(KEYS, SETTINGS, store=store))
        assert set(KEYS) < set(store.names())
        kept = list(computed(KEYS, SETTINGS, store=store))
    assert again[0][1] == first[1]  # seconds of the first time: it was read
    for mine, *others in zip(alone, (o for o, _ in again), (o for o, _ in kept), strict=True):
        for other in others:
            assert written(other, tmp_path) == written(mine, tmp_path)
            for ours, theirs in zip(mine.curves, other.curves, strict=True):
                assert np.array_equal(np.asarray(ours.y), np.asarray(theirs.y), equal_nan=True)


def test_data_are_told_by_what_they_hold(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "a9a").write_text("+1 1:1\n", encoding="utf-8")
        (folder / "notes.txt").write_text(folder.name, encoding="utf-8")
    assert _digest(first) == _digest(second)
    (second / "a9a").write_text("-1 1:1\n", encoding="utf-8")
    assert _digest(first) != _digest(second)
    assert _digest(first / "a9a") != _digest(second / "a9a")
