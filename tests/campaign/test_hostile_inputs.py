"""Whatever is given, dpcalc answers what was asked or refuses it in one line, within ten seconds.

A short form runs with every test run; `pytest -m campaign tests/campaign/test_hostile_inputs.py`
carries out 20,000. A failure names the kind and number of the input.
"""

from __future__ import annotations

import random
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from dpcalc.accountant import Accountant
from dpcalc.algorithms.dp_admm import DPADMM
from dpcalc.errors import DpcalcError
from tests.campaign.hostile import Hostile, far_ends, inputs
from tests.campaign.hostile_texts import VALUES

SECONDS = 10.0
"""Of processor time, for one input."""

STATUSES = {0, 1, 2, 3, 4}
"""Answers, verdicts and refusals; 70 would be a defect, 74 a file that cannot be written."""


class TooLong(BaseException):
    """An input took more processor time than it may."""


@contextmanager
def limited() -> Iterator[None]:
    """At most `SECONDS` of processor time, where the system can tell."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def problem(given: Hostile) -> str | None:
    """What is wrong with how an input ended; None if nothing is."""
    begun = time.process_time()
    try:
        with limited(), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = given.call()
            original = given.same() if given.same is not None else None
    except TooLong:
        return f"more than {SECONDS} s ({time.process_time() - begun:.0f})"
    except BaseException as error:  # noqa: BLE001  # whatever came out is the finding
        return f"{type(error).__name__}: {error}"
    if told:
        return f"a warning from {told[0].filename}:{told[0].lineno}: {told[0].message}"
    if "Traceback" in found.err:
        return "a traceback"
    if found.status not in STATUSES:
        return f"status {found.status}: {found.err[:200]}"
    if found.refused and not (found.err.startswith("dpcalc: ") and found.err.count("\n") == 1):
        return f"a refusal that is not one line: {found.err[:200]!r}"
    if len(found.err) > 8000:
        return f"{len(found.err)} characters of errors"
    if original is not None and not found.refused and found.parameters() != original.parameters():
        return f"misread: {found.parameters()} where the original has {original.parameters()}"
    return None


def problems(given_inputs: Iterator[Hostile], number: int) -> list[str]:
    """What went wrong with the first of some inputs."""
    return [
        f"{given.name}: {wrong}\n    {str(given.given)[:500]}"
        for given in islice(given_inputs, number)
        if (wrong := problem(given)) is not None
    ]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_check_sees_what_it_looks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect, a traceback, an endless loop and a misreading are told apart from answers."""
    given = next(inputs(tmp_path, 0))

    def fails(*_: Any) -> Any:
        raise RuntimeError("planted")

    def hangs(*_: Any) -> Any:
        while True:
            pass

    wrong = Hostile("planted", fails, ())
    assert "RuntimeError: planted" in str(problem(wrong))
    rewritten = next(g for g in inputs(tmp_path, 0) if g.same is not None)
    status_two = Hostile("refused", rewritten.same, (), same=lambda: given.call())
    assert "misread" in str(problem(status_two))
    monkeypatch.setattr("tests.campaign.test_hostile_inputs.SECONDS", 0.05)
    if hasattr(signal, "setitimer"):
        assert "more than 0.05 s" in str(problem(Hostile("endless", hangs, ())))


def test_a_few_hundred_inputs(tmp_path: Path) -> None:
    assert problems(inputs(tmp_path, 1), 210) == []


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(2, 42))
def test_twenty_thousand_inputs(tmp_path: Path, seed: int) -> None:
    assert problems(inputs(tmp_path, seed), 450) == []


@pytest.mark.parametrize(
    ("seed", "number"),
    [(1, 6), *(pytest.param(seed, 50, marks=pytest.mark.campaign) for seed in range(2, 42))],
)
def test_the_far_ends_of_ranges(tmp_path: Path, seed: int, number: int) -> None:
    assert problems(far_ends(tmp_path, seed), number) == []


# ---- files and objects that Python reads


def only_refused(call: Callable[[], object]) -> object:
    """What a call returns; None if dpcalc refused."""
    with limited():
        try:
            return call()
        except DpcalcError:
            return None


def accountants_once_damaged(seed: int, number: int) -> Counter[str]:
    """Damaged saved accountants: how many were read as before, and how many refused."""
    spent = Accountant(epsilon=8.0, delta=1e-6).spend({"pure": 0.25}, 3)
    text, rng = spent.to_json(), random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(number):
        place = rng.randrange(len(text))
        piece = rng.choice(("", rng.choice(text), rng.choice(VALUES), text[place : place + 20]))
        changed = text[:place] + piece + text[place + rng.randrange(3) :]
        read = only_refused(lambda changed=changed: Accountant.from_json(changed))
        assert read is None or read == spent, changed
        found["refused" if read is None else "read as before"] += 1
    return found


def checkpoints_once_damaged(path: Path, seed: int, number: int) -> Counter[str]:
    """Damaged checkpoints: going on from one gives the same release, or is refused."""
    algorithm, rng = DPADMM.example(), random.Random(seed)
    whole = algorithm.run(3, checkpoint=path)
    content = path.read_bytes()
    found: Counter[str] = Counter()
    for _ in range(number):
        changed, place = bytearray(content), rng.randrange(len(content))
        match rng.randrange(4):
            case 0:
                del changed[place:]
            case 1:
                changed[place] ^= 1 << rng.randrange(8)
            case 2:
                changed[place:place] = rng.randbytes(rng.randrange(1, 40))
            case _:
                changed[place : place + 16] = bytes(16)
        path.write_bytes(changed)
        read = only_refused(lambda: algorithm.run(checkpoint=path))
        if read is not None:
            for name, series in whole.released.items():
                assert np.array_equal(read[name], series.values), place
        found["refused" if read is None else "read as before"] += 1
    return found


@pytest.mark.parametrize("number", [100, pytest.param(1500, marks=pytest.mark.campaign)])
def test_damaged_accountants(number: int) -> None:
    assert accountants_once_damaged(1, number)["refused"] > number / 2


@pytest.mark.parametrize("number", [40, pytest.param(500, marks=pytest.mark.campaign)])
def test_damaged_checkpoints(tmp_path: Path, number: int) -> None:
    assert checkpoints_once_damaged(tmp_path / "at.npz", 1, number)["refused"] > number / 2


def test_events_with_hostile_fields() -> None:
    dp_event = pytest.importorskip("dp_accounting").dp_event
    from dpcalc.interop.dp_accounting import guarantee_of

    numbers = (*VALUES, 0, -1, 0.5, 1.9, 1e308, 10**400, True, None, [], {}, float("nan"), 1 + 0j)
    gaussian = dp_event.GaussianDpEvent(1.0)
    makers: tuple[Callable[[Any], Any], ...] = (
        dp_event.GaussianDpEvent,
        dp_event.LaplaceDpEvent,
        lambda x: dp_event.EpsilonDeltaDpEvent(x, 1e-9),
        lambda x: dp_event.EpsilonDeltaDpEvent(1.0, x),
        lambda x: dp_event.SelfComposedDpEvent(gaussian, x),
        lambda x: dp_event.SelfComposedDpEvent(x, 2),
        lambda x: dp_event.PoissonSampledDpEvent(x, gaussian),
        lambda x: dp_event.SampledWithoutReplacementDpEvent(1000, x, gaussian),
        lambda x: dp_event.SampledWithoutReplacementDpEvent(x, 10, gaussian),
        lambda x: dp_event.ComposedDpEvent([gaussian, x]),
        lambda x: dp_event.ComposedDpEvent(x),
    )
    made = 0
    for maker in makers:
        for value in numbers:
            try:
                event = maker(value)
            except Exception:  # noqa: BLE001, S112  # dp-accounting refuses it itself
                continue
            made += 1
            for adjacency in ("add-remove", "replace-one"):
                only_refused(lambda e=event, a=adjacency: guarantee_of(e, a))
    assert made > 50, "few events were made, so little was tried"
