"""What a method keeps beside rows that were split in place, as NumPy counts it."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpcalc.accounting.iteration import Kernels
from dpcalc.algorithms.problems.data.dataset import Dataset
from dpcalc.calibration import smallest_noise
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.numerics.precise import Real, round_up
from dpcalc.theorems.iteration.admm_iteration_all_users import ADMMIterationAllUsers, of_unit_noise
from dpcalc.theorems.parameters import parameters
from dpcalc.training.catalogue import method, methods
from dpcalc.training.data import Split, split
from dpcalc.training.diagnosis import diagnosis
from dpcalc.training.graph import network
from dpcalc.training.method import Budget
from dpcalc.training.metrics import utility
from dpcalc.training.prepared_run import PreparedRun, prepare

COUNT, WIDTH = 20_000, 100
IN_TURN = ("gradient-admm", "gradient-admm-noisy-oracle")
"""They take a step for every record, and keep what tells whose turn it was."""


def _split(*, signed: bool, held_out: float = 0.2, count: int = COUNT) -> Split:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(count, WIDTH)) / 9
    labels = np.where(rows[:, 0] + rng.normal(size=count) / 20 > 0, 1.0, -1.0)
    table = Dataset(features=rows, labels=labels, names=("a",) * WIDTH, source="")
    return split(
        table, row_bound=1, held_out=held_out, intercept=True, in_place=True, signed=signed
    )


def _prepared(key: str, data: Split, epsilon: float = 1.0) -> PreparedRun:
    kind = method(key)
    given: dict[str, Any] = {"rounds": 2} if "rounds" in parameters(kind) else {}
    on = network("ring:4", None) if kind.distributed else None
    budget = None if kind.theorem_key is None else Budget(epsilon, 1e-5)
    records = data.records(1 if on is None else on.nodes)
    return prepare(kind.from_parameters(given), records, network=on, budget=budget)


@pytest.mark.few(5)
@pytest.mark.parametrize("key", [name for name in methods() if name not in IN_TURN])
def test_a_run_keeps_at_most_its_rows_in_another_form(key: str) -> None:
    """Rows times labels are those of the split, and another form is one in single precision."""

    def work() -> None:
        data = _split(signed=True)
        ready = _prepared(key, data)
        utility(ready, ready.run(0), data)

    work()  # what is imported and compiled once, and laws of the noise
    tracemalloc.start()
    try:
        work()
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used < 1.9 * 8 * COUNT * (WIDTH + 1)


@pytest.mark.parametrize("key", IN_TURN)
def test_a_search_for_the_noise_keeps_a_number_for_every_turn(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks for what is left of a turn once, however many levels of noise it tries."""
    records = _split(signed=True, count=1000).records(1)
    made = method(key).from_parameters({})
    start = made.theorem(records, None)
    assert isinstance(start, ADMMIterationAllUsers)
    asked: list[int] = []

    def counted(theorem: ADMMIterationAllUsers, left: int, kernels: Kernels) -> Real:
        asked.append(left)
        return found(theorem, left, kernels)

    found = ADMMIterationAllUsers.mu_with_left
    monkeypatch.setattr(ADMMIterationAllUsers, "mu_with_left", counted)
    of_unit_noise.cache_clear()
    noise = smallest_noise(start, 1.2, 1e-5)
    assert sorted(asked) == list(range(1, 801))
    assert of_unit_noise.held < 400 * len(asked)
    mixture, kernels = noise.certified().guarantee, noise.kernels()
    assert isinstance(mixture, GaussianMixture)
    plain = (round_up(found(noise, left, kernels)) for left in range(1, 801))
    assert set(mixture.mus) == set(plain)


@pytest.mark.parametrize("held_out", [0.2, 0])
@pytest.mark.parametrize("key", ["dp-admm", "private-r-admm"])
def test_rows_times_labels_have_the_bits_of_rows_and_labels(key: str, held_out: float) -> None:
    """In what is released, in what is measured and in why nothing was learnt."""
    found = []
    for signed in (False, True):
        data = _split(signed=signed, held_out=held_out, count=400)
        assert data.signed is signed
        ready = _prepared(key, data, epsilon=0.01)
        transcript = ready.run(0)
        measured = utility(ready, transcript, data)
        poor = dict(measured, test_error=[1.0]) if held_out else dict(measured, train_error=[1.0])
        weights = ready.method.weights(transcript).tolist()
        found.append((weights, measured, diagnosis(ready, data, poor)))
    assert found[0][2] is not None
    assert str(found[0]) == str(found[1])


def test_numbers_to_predict_have_no_signs() -> None:
    table = Dataset(features=np.eye(4), labels=np.arange(4.0), names=("a",) * 4, source="")
    assert not split(table, in_place=True, signed=True).signed
    assert not split(replace(table, labels=np.array([1.0, -1, 1, -1])), signed=True).signed
