"""Figures on workers and from a checkpoint: the same numbers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Barrier, Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.cli.reproduce import _digest
from dpcalc.reproduction import computing, setup
from dpcalc.reproduction.computing import computed, longest_first
from dpcalc.reproduction.experiment import Curve, Outcome
from dpcalc.reproduction.setup import ExperimentConfig
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


def test_a_single_figure_keeps_all_workers_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two parts that wait for each other, on two workers; the store stays in this process."""
    met: list[float] = []

    def compute(config: ExperimentConfig) -> Outcome:
        y = config.each(partial(_meeting, config, met), (1.0, 2.0))
        return Outcome(curves=[Curve(panel="a", name="both", x=(1, 2), y=y)])

    found = SimpleNamespace(compute=compute, in_parts=True)
    monkeypatch.setattr(computing, "experiment", lambda _: found)
    _MEETING.reset()
    with ThreadPoolExecutor(2) as executor, open_store(tmp_path / "kept", {}) as store:
        ((outcome, _),) = computed(KEYS[:1], SETTINGS, executor=executor, store=store)
        assert KEYS[0] in store.names()
    assert list(np.asarray(outcome.curves[0].y)) == [1.0, 2.0]
    assert not met  # what travels is a copy


_MEETING = Barrier(2, timeout=60)


def _meeting(config: ExperimentConfig, met: list[float], number: float) -> float:
    assert config.kept is None
    assert config.executor is None
    met.append(number)
    _MEETING.wait()
    return number


def test_a_figure_is_told_of_as_soon_as_it_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ends only when all others were told of and kept: none waits for its turn."""
    told: list[str] = []
    keys = ("long", "a", "b", "c")

    def finished(key: str, _: Any) -> None:
        told.append(key)
        assert key in store.names()
        if len(told) == len(keys) - 1:
            _TOLD.set()

    _TOLD.clear()
    monkeypatch.setattr(computing, "_compute", _answered)
    monkeypatch.setattr(computing, "experiment", lambda _: SimpleNamespace(in_parts=False))
    with ThreadPoolExecutor(2) as executor, open_store(tmp_path / "kept", {}) as store:
        made = list(computed(keys, SETTINGS, executor=executor, store=store, finished=finished))
        assert told[-1] == "long"
        again = list(computed(keys, SETTINGS, executor=executor, store=store, finished=finished))
    assert [seconds for _, seconds in made] == [seconds for _, seconds in again] == [4.0, 1, 1, 1]
    assert told[len(keys) :] == list(keys)  # what was kept is told of as well


_TOLD = Event()


def _answered(settings: Any, store: Any, executor: Any, key: str) -> Any:
    del settings, store, executor
    assert key != "long" or _TOLD.wait(60)
    return Outcome(curves=[]), float(len(key))


def test_the_figure_with_most_panels_is_begun_first() -> None:
    """Eleven, five, three, three, one; equals stay in the order of the paper."""
    figures = [f"zhang2019-figure-{k}" for k in (1, 2, 3, 4, 5)]
    assert longest_first(figures) == [f"zhang2019-figure-{k}" for k in (5, 4, 1, 3, 2)]


def test_an_interrupted_figure_keeps_the_curves_that_were_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three curves of an experiment; the second time only those are run that are missing."""
    key, measured, noises = KEYS[0], setup._measured, []

    def compute(config: ExperimentConfig) -> Outcome:
        curves = []
        for sigma in (1.0, 2.0, 3.0):
            algorithm: Any = replace(load("dp-admm").example(), sigma=sigma)
            x, found = setup.trace(config, algorithm, {"x": lambda s: s.memory["x"].sum(axis=1)})
            curves.append(Curve(panel="a", name=str(sigma), x=x, y=found["x"], noise="ours"))
        return Outcome(curves=curves)

    def interrupted(*given: Any) -> Any:
        noises.append(float(np.max(given[1].sigma)))
        if len(noises) == 6:
            raise KeyboardInterrupt
        return measured(*given)

    monkeypatch.setattr(computing, "experiment", lambda _: SimpleNamespace(compute=compute))
    monkeypatch.setattr(setup, "_measured", interrupted)
    ((alone, _),) = computed([key], SETTINGS)
    with pytest.raises(KeyboardInterrupt), open_store(tmp_path / "kept", {}) as store:
        list(computed([key], SETTINGS, store=store))
    with open_store(tmp_path / "kept", {}, resume=True) as store:
        assert store.finished() == 2
        ((again, _),) = computed([key], SETTINGS, store=store)
    assert noises == [1, 2, 3, 1, 2, 3, 3]
    assert written(again, tmp_path) == written(alone, tmp_path)


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
