"""Configuration of an experiment: data, seed, number of runs; and how a run is traced."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.engine.fingerprint import parts_of
from dpcalc.errors import InvalidInput
from dpcalc.execution import in_order
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.packed import existing
from dpcalc.reproduction.memory import Sizes, most_at_once
from dpcalc.training import data as source
from dpcalc.training.data import Split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.engine.state import State
    from dpcalc.algorithms.problems.data.dataset import Dataset
    from dpcalc.store import Store

Array = NDArray[np.float64]
Item = TypeVar("Item")
Answer = TypeVar("Answer")

ROW_BOUNDS = {"adult": 1.0, "a9a": 14**0.5, "a8a": 14**0.5, "ijcnn1": 2.0}
"""Norms to which rows are shortened: a9a and a8a have 14 attributes, each 0 or 1."""

FEATURES = {"a9a": 123, "a8a": 123, "ijcnn1": 22}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentConfig:
    """Settings that all experiments share.

    Attributes:
        full: as many runs and rounds as the paper, instead of enough to see.
        data: folder with adult.data, a9a, ...; a single file; or None for generated data.
        fetch: where there is no file, take the data set from OpenML through scikit-learn, which
            keeps it in its cache.
        seed: of the noise; experiments are repeatable.
        memory: bytes for what the runs of a curve take at once, beside their records; without a
            bound they are one group. Groups decide last bits.
        progress: called with a line for every curve that is finished.
        kept: where finished curves are kept, and read again; nowhere if left out.
        executor: who computes parts of a figure; this process if left out.
    """

    full: bool = False
    data: Path | None = None
    fetch: bool = False
    seed: int = 1
    memory: float | None = None
    progress: Callable[[str], None] = field(default=lambda _: None)
    kept: Store | None = None
    executor: Executor | None = None

    def __reduce__(self) -> tuple[Callable[..., ExperimentConfig], tuple[object, ...]]:
        """What decides the numbers; the rest stays in its process."""
        return _sent, (self.full, self.data, self.fetch, self.seed, self.memory)

    def each(self, function: Callable[[Item], Answer], items: Iterable[Item]) -> list[Answer]:
        """The function's answers, in the order of the items, from workers where there are some.

        Args:
            function: pure; it travels once to each worker, with the data that it refers to.
            items: small.
        """
        computed = own_arithmetic(function)
        return list(in_order(computed, items, self.executor, what="part of a figure"))

    def pick(self, quick: int, full: int) -> int:
        """A number of runs, rounds or points that depends on the setting."""
        return full if self.full else quick

    def has_data(self, name: str) -> bool:
        """Whether the paper's own data set is there."""
        return self.fetch or self._path(name) is not None

    def split(self, name: str, *, train: int | None = None) -> Split:
        """A data set of the paper, or what stands in for it.

        Args:
            name: adult, a9a, a8a or ijcnn1.
            train: records to train on; the rest is held out. For data sets that come with a test
                file, the files decide.
        """
        path = self._path(name)
        if path is None and self.fetch:
            return _cut(
                source.load(name), ROW_BOUNDS[name], train if name == "adult" else None, share=0.1
            )
        if path is None:
            if self.data is not None and self.data.is_file():
                return _cut(source.load(str(self.data), row_bound=1.0), 1.0, None, share=0.1)
            return _cut(source.load("builtin"), 1.0, None, share=0.1)
        if name == "adult":
            whole = _cut(source.load(str(path)), 1.0, train, share=0.1)
            return replace(whole, source=f"UCI Adult, {_count(whole)} records")
        return self._with_test_file(name, path)

    def _path(self, name: str) -> Path | None:
        if self.data is None or not self.data.is_dir():
            return None
        if name == "adult":
            return self.data if existing(self.data, "adult.data") else None
        return existing(self.data, name)

    def _with_test_file(self, name: str, path: Path) -> Split:
        bound, width = ROW_BOUNDS[name], FEATURES[name]
        first = source.load(str(path), features=width)
        train = source.split(first, held_out=0, row_bound=bound)
        held_out = existing(path.parent, f"{name}.t")
        if held_out is None:
            return replace(_cut(first, bound, None, share=0.2), source=name)
        test = source.split(source.load(str(held_out), features=width), held_out=0, row_bound=bound)
        return replace(train, test=test.train, source=f"{name}, {name}.t")


def _sent(
    full: bool, data: Path | None, fetch: bool, seed: int, memory: float | None
) -> ExperimentConfig:
    return ExperimentConfig(full=full, data=data, fetch=fetch, seed=seed, memory=memory)


def _count(whole: Split) -> int:
    return len(whole.train[1]) + len(whole.test[1])


def _cut(data: Dataset, bound: float, train: int | None, share: float) -> Split:
    if train is not None:
        if train >= len(data.labels):
            raise InvalidInput(f"expected more than {train} records; got {len(data.labels)}")
        share = 1 - train / len(data.labels)
    return source.split(data, held_out=share, row_bound=bound)


def trace(
    config: ExperimentConfig,
    algorithm: Algorithm,
    measures: Mapping[str, Callable[[State], Array]],
    *,
    runs: int = 1,
    every: int = 1,
    held_out: int = 0,
) -> tuple[NDArray[np.int64], dict[str, Array]]:
    """Measures along runs, read where the experiment keeps finished ones.

    Args:
        config: of the experiment: the seed of the noise, and where curves are kept.
        algorithm: without release: nothing is kept but the measures.
        measures: name to a function of the state that gives one number per run. In one experiment
            two measures of an algorithm have two names.
        runs: in the batch.
        every: rounds between two measurements; the last round is always measured.
        held_out: records, beside the algorithm's, that measures look at.

    Returns:
        Rounds, and for every name an array of shape (runs, measurements).

    Raises:
        InvalidInput: if one run takes more than the experiment's memory.
    """
    at_once = runs
    if config.memory is not None:
        measured = len(measures) * (algorithm.rounds // every + 1)
        sizes = Sizes.of(algorithm, config.seed, held_out=held_out, measured=measured)
        at_once = most_at_once(algorithm.key, sizes, runs=runs, memory=config.memory)
    groups = [(first, min(at_once, runs - first)) for first in range(0, runs, at_once)]
    if config.kept is None:
        return _measured(config.seed, algorithm, measures, groups, every)
    key = _key(algorithm, [*measures, runs, every, *([at_once] if at_once < runs else [])])
    kept = config.kept.read(key)
    if kept is not None:
        _, arrays = kept
        return np.asarray(arrays["rounds"]), {
            name: np.asarray(arrays[f"of {name}"]) for name in measures
        }
    rounds, found = _measured(config.seed, algorithm, measures, groups, every)
    arrays = {"rounds": rounds, **{f"of {name}": values for name, values in found.items()}}
    config.kept.write(key, {"algorithm": algorithm.key}, arrays)
    return rounds, found


def _key(algorithm: Algorithm, settings: list[object]) -> str:
    """The name of a curve: a digest of the algorithm, its data, and how it is measured."""
    text = json.dumps([parts_of(algorithm), *settings], sort_keys=True)
    return f"{algorithm.key} {hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _measured(
    seed: int,
    algorithm: Algorithm,
    measures: Mapping[str, Callable[[State], Array]],
    groups: Sequence[tuple[int, int]],
    every: int,
) -> tuple[NDArray[np.int64], dict[str, Array]]:
    """What `trace` measures, of groups of runs, each given by its first run and their number."""
    parts = [_of_group(seed, algorithm, measures, group, every) for group in groups]
    return parts[0][0], {
        name: np.concatenate([found[name] for _, found in parts]) for name in measures
    }


def _of_group(
    seed: int,
    algorithm: Algorithm,
    measures: Mapping[str, Callable[[State], Array]],
    group: tuple[int, int],
    every: int,
) -> tuple[NDArray[np.int64], dict[str, Array]]:
    first, runs = group
    rounds: list[int] = []
    found: dict[str, list[Array]] = {name: [] for name in measures}
    start = algorithm.start(seed, runs=runs, first_run=first)
    for state in algorithm.steps(start, every=every):
        if state.round % every == 0 or state.round == algorithm.rounds:
            rounds.append(state.round)
            for name, measure in measures.items():
                found[name].append(measure(state))
    return np.array(rounds), {name: np.stack(values, axis=1) for name, values in found.items()}
