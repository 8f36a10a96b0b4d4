"""An audit on workers: the same verdict, bit for bit, or none at all."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from dpcalc.auditing import Claim, Target, World, audit, controls, mechanism
from dpcalc.auditing.suite.case import ClaimSource, Instance, SupportingTable, case
from dpcalc.auditing.suite.run import carry_out, carry_out_all
from dpcalc.audits.suite.catalogue import audit_of
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.execution import Processes

PURE = Claim.of(epsilon=0.8, adjacency="add-remove")
CURVE = Claim.of(epsilon=1, delta=1e-5, adjacency="add-remove")


def told(verdict: Any) -> str:
    return json.dumps(verdict.record(), sort_keys=True)


def laplace() -> Target:
    """A closure, which plain pickle cannot send."""
    scale = 1.0

    def release(data: float, generator: np.random.Generator, runs: int) -> Any:
        return data + generator.laplace(scale=scale, size=runs)

    return mechanism(release, 1.0, 0.0, adjacency="add-remove", name="own")


class Unreliable(Executor):
    """Backwards, and every third piece is lost the first time."""

    _max_workers = 2

    def __init__(self) -> None:
        self.held: list[tuple[Future[Any], Any, Any]] = []
        self.count = 0

    def submit(self, fn: Any, /, *args: Any, **_: Any) -> Future[Any]:
        self.count += 1
        future: Future[Any] = Future()
        if self.count % 3 == 0:
            future.set_exception(BrokenExecutor("gone"))
            return future
        future.set_result(fn(*args))
        return future


@pytest.fixture(scope="module")
def two() -> Iterator[Processes]:
    with Processes(2) as executor:
        yield executor


DESIGNS: list[tuple[str, Target, Claim, dict[str, Any]]] = [
    ("learnt score", laplace(), PURE, {"runs": 5000}),
    ("exact ratio", controls.gaussian(1.0), CURVE, {"runs": 3500}),
    ("stopped early", controls.gaussian(3.0), CURVE, {"runs": 9000, "early_stop": True}),
    ("one short batch", laplace(), PURE, {"runs": 1003}),
]


@pytest.mark.parametrize(("what", "target", "claim", "design"), DESIGNS, ids=lambda x: str(x)[:12])
def test_the_same_bits_for_every_executor(
    what: str, target: Target, claim: Claim, design: dict[str, Any], two: Processes
) -> None:
    alone = told(audit(target, claim, seed=5, **design))
    assert told(audit(target, claim, seed=5, executor=two, **design)) == alone
    assert told(audit(target, claim, seed=5, executor=Unreliable(), **design)) == alone
    with ThreadPoolExecutor(7) as seven:
        assert told(audit(target, claim, seed=5, executor=seven, **design)) == alone


def test_the_same_bits_for_cases_one_by_one_and_whole(two: Processes) -> None:
    cases = [c for c in audit_of("dp-admm").default_cases() if c.key != "as-printed"][:4]

    def records(chosen: Any, **more: Any) -> list[Any]:
        found = [r.record() for r in carry_out(chosen, seed=2, runs=400, **more)]
        return [json.dumps({k: v for k, v in r.items() if k != "seconds"}) for r in found]

    assert records(cases, executor=two) == records(cases)
    assert records(cases[:1], executor=two) == records(cases[:1])


def test_tables_are_computed_beside_the_cases_with_the_same_bits(two: Processes) -> None:
    found = audit_of("dp-admm")
    cases = [c for c in found.default_cases() if c.key != "as-printed"]

    def record(chosen: Any, **more: Any) -> str:
        results, tables = carry_out_all(
            chosen, found.exhibits, seed=2, runs=60, controls=False, **more
        )
        assert len(tables) == len(found.exhibits) > 0
        records = [{k: v for k, v in r.record().items() if k != "seconds"} for r in results]
        return json.dumps([records, [table.record() for table in tables]])

    whole, few = cases[:4], cases[:2]
    with ThreadPoolExecutor(7) as seven:
        assert record(whole, executor=two) == record(whole, executor=seven) == record(whole)
    assert record(few, executor=two) == record(few) == record(few, executor=two, seconds=100)


def test_a_table_is_there_before_the_cases_are(two: Processes, tmp_path: Path) -> None:
    """A worker that computed it after them would compute it alone."""
    begun, first = tmp_path / "begun", audit_of("dp-admm").case("zero-start")

    def rows(_: int) -> list[list[float]]:
        begun.touch()
        return [[1.0]]

    def instance() -> Any:
        for _ in range(6000):
            if begun.exists():
                return first.instance()
            time.sleep(0.01)
        raise TimeoutError

    table = SupportingTable(key="a", title="A", columns=("x",), rows=rows)
    for count in (1, 4):  # whose runs are shared, and which are handed out whole
        begun.unlink(missing_ok=True)
        waiting = [replace(first, instance=instance)] * count
        results, tables = carry_out_all(
            waiting, [table], seed=1, runs=60, controls=False, executor=two
        )
        assert len(results) == count
        assert tables[0].rows == ((1.0,),)


def test_the_runs_of_the_last_case_are_shared(two: Processes, tmp_path: Path) -> None:
    """The others are carried out whole; so is the last where its runs cannot be shared."""
    own, hidden = os.getpid(), np.random.default_rng(1)

    def release(data: float, _: np.random.Generator, runs: int) -> Any:
        return data + hidden.laplace(size=runs)

    of_its_own = mechanism(release, 1.0, 0.0, adjacency="add-remove")

    def noted(number: int, target: Target) -> Any:
        def instance() -> Instance:
            with (tmp_path / str(number)).open("a") as file:
                file.write("here " if os.getpid() == own else "there ")
            return Instance(target=target, claim=PURE)

        return case(str(number), "", ClaimSource.OWN, instance, (), runs=60)

    for last, expected in ((controls.gaussian(1.0), "here "), (of_its_own, "here there ")):
        cases = [noted(n, last if n == 3 else controls.gaussian(1.0)) for n in range(4)]
        found = carry_out(cases, seed=1, controls=False, executor=two)
        assert [r.key for r in found] == ["0", "1", "2", "3"]
        said = [(tmp_path / str(n)).read_text() for n in range(4)]
        assert said == ["there ", "there ", "there ", expected]
        for n in range(4):
            (tmp_path / str(n)).unlink()


_READY = Event()


def _made(number: int) -> Instance:
    if number == 4:
        _READY.set()
    elif number == 2:
        assert _READY.wait(60)
    return Instance(target=controls.gaussian(1.0), claim=PURE)


def test_the_last_case_is_made_ready_while_the_others_are_carried_out() -> None:
    """Of five, with one worker: the third waits until the fifth is there."""
    _READY.clear()
    cases = [case(str(n), "", ClaimSource.OWN, partial(_made, n), (), runs=60) for n in range(5)]
    with ThreadPoolExecutor(1) as one:
        assert len(carry_out(cases, seed=1, controls=False, executor=one)) == 5


def test_what_the_first_case_raises_is_raised(two: Processes) -> None:
    """Whatever later ones raise, and the last one whose runs are shared."""

    def failing(number: int) -> Any:
        def instance() -> Instance:
            raise InvalidInput(f"case {number}")

        return case(str(number), "", ClaimSource.OWN, instance, (), runs=60)

    sound = audit_of("dp-admm").case("zero-start")
    for cases in (
        [sound, failing(1), sound, failing(3)],
        [sound, failing(1), failing(2), sound],
        [sound, sound, sound, failing(1)],
    ):
        with pytest.raises(InvalidInput, match="case 1"):
            carry_out(cases, seed=1, runs=60, controls=False, executor=two)


def test_the_same_noise_is_looked_at(two: Processes) -> None:
    hollow = controls.gaussian(1.0, scale=1.3)
    large = Claim.of(epsilon=20, delta=1e-5, adjacency="add-remove")
    alone = audit(hollow, large, seed=1, methods=["hockey-stick"])
    assert alone.outcome.value == "PRECONDITION FAILED"
    assert told(audit(hollow, large, seed=1, methods=["hockey-stick"], executor=two)) == told(alone)


def test_randomness_of_its_own_is_refused_with_workers() -> None:
    hidden = np.random.default_rng(1)

    def release(data: float, _: np.random.Generator, runs: int) -> Any:
        return data + hidden.laplace(size=runs)

    target = mechanism(release, 1.0, 0.0, adjacency="add-remove")
    audit(target, PURE, seed=1, runs=200, controls=False)
    with (
        ThreadPoolExecutor(2) as executor,
        pytest.raises(AssumptionViolated, match="takes all randomness from the generator"),
    ):
        audit(target, PURE, seed=1, runs=200, executor=executor)


def test_a_worker_killed_in_mid_audit_changes_nothing(
    two: Processes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own, mark = os.getpid(), tmp_path / "killed"

    def release(data: float, generator: np.random.Generator, runs: int) -> Any:
        noise = generator.laplace(size=runs)
        if os.getpid() != own and noise[0] > 2 and not mark.exists():
            mark.touch()
            os._exit(11)
        return data + noise

    target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="own")
    found = audit(target, PURE, seed=5, runs=9000, executor=two)
    assert mark.exists()
    assert "lost with its worker" in caplog.text
    mark.unlink()
    assert told(audit(target, PURE, seed=5, runs=9000)) == told(found)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("fault", ["raises", "NaN", "too few"])
def test_one_bad_run_in_a_thousand_ends_the_audit_by_name(fault: str, workers: int) -> None:
    def release(data: float, generator: np.random.Generator, runs: int) -> Any:
        noise = generator.laplace(size=runs)
        bad = noise > 6.2  # about one run in a thousand
        if bad.any() and fault == "raises":
            raise ValueError("no convergence")
        if fault == "too few":
            return data + noise[~bad]
        return np.where(bad, np.nan, data + noise)

    target = mechanism(
        release, 1.0, 0.0, adjacency="add-remove", name="rarely bad", score=lambda x: x
    )
    with (
        ThreadPoolExecutor(max(workers, 1)) as threads,
        pytest.raises((ValueError, InvalidInput)) as stopped,
    ):
        audit(target, PURE, seed=1, runs=8000, executor=threads if workers else None)
    notes = " ".join(stopped.value.__notes__)
    assert "batch" in notes
    assert "seed 1; no verdict rests on the other runs" in notes
    assert World.IN.name in notes or World.OUT.name in notes


def test_releases_that_are_no_numbers_are_counted_and_told() -> None:
    def release(data: float, generator: np.random.Generator, runs: int) -> Any:
        noise = generator.laplace(size=runs)
        return np.where(noise > 4, np.nan, data + noise)

    target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="rarely NaN")
    found = audit(target, PURE, seed=1, runs=2000, controls=False)
    told = next(f for f in found.findings if f.check == "nan")
    assert 0 < told.numbers["with_nan"] < told.numbers["runs"] / 20
    assert told.text == (
        f"{told.numbers['with_nan']} of {told.numbers['runs']} pilot runs released NaN; it counts as "
        "an outcome like others"
    )
    sound = audit(laplace(), PURE, seed=1, runs=200, controls=False)
    assert all(f.check != "nan" for f in sound.findings)
