"""Carrying out cases, α split evenly over them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dpcalc.auditing import Claim, Outcome, Plan, Progress, Verdict
from dpcalc.auditing.attacked import Attacked
from dpcalc.auditing.audit import attack
from dpcalc.auditing.experiment import Experiment
from dpcalc.auditing.verdict import ENOUGH
from dpcalc.audits.engine.case import Case, Exhibit, Setting, Table
from dpcalc.numerics.arithmetic import own_arithmetic

Report = Callable[[Case, Progress], None]


@own_arithmetic
def carry_out(
    cases: Sequence[Case],
    *,
    alpha: float = 0.05,
    seed: int,
    claim: Claim | None = None,
    runs: int | None = None,
    methods: Sequence[str] | None = None,
    seconds: float | None = None,
    early_stop: bool = False,
    notice: float = ENOUGH,
    controls: bool = True,
    progress: Report | None = None,
    begin: Callable[[Case], None] | None = None,
    checkpoint: Path | None = None,
) -> list[Attacked]:
    """Attack the cases one by one.

    Args:
        cases: what is attacked.
        alpha: probability that any true claim among them is refuted.
        seed: every case draws from its own stream of it.
        claim: put to the test instead of the cases' own claims.
        runs: counted runs instead of the cases' own number.
        methods: lower bounds that may refute instead of the cases' own.
        seconds: for all cases together, shared evenly.
        early_stop: stop a case when its e-process refutes the claim.
        notice: there is enough power if this many times the claimed value would be noticed.
        controls: also run mechanisms whose answer is known.
        progress: called after every batch.
        begin: called before anything of a case is done.
        checkpoint: where interrupted runs are kept; every case has a file of its own beside it.
    """
    found = []
    for case in cases:
        if begin is not None:
            begin(case)
        begun, setting = time.monotonic(), case.setting()
        tested = setting.claim if claim is None else claim
        plan = Plan.made(
            setting.target,
            tested,
            runs=case.runs if runs is None else runs,
            alpha=min(alpha / len(cases), case.alpha),
            methods=methods or (case.methods if claim is None else None),
            tilted=case.tilted,
            early_stop=early_stop,
            batch=case.batch,
            notice=notice,
        )
        verdict, experiment = attack(
            setting.target,
            tested,
            plan,
            seed=seed,
            seconds=None if seconds is None else seconds / len(cases),
            controls=controls,
            progress=None if progress is None else _bound(progress, case),
            checkpoint=None if checkpoint is None else beside(checkpoint, case),
        )
        expected = case.expected if claim is None else ()
        found.append(
            _attacked(case, setting, verdict, experiment, expected, time.monotonic() - begun)
        )
    return found


def _attacked(
    case: Case,
    setting: Setting,
    verdict: Verdict,
    experiment: Experiment | None,
    expected: tuple[Outcome, ...],
    seconds: float,
) -> Attacked:
    return Attacked(
        key=case.key,
        title=case.title,
        role=case.role.value,
        verdict=verdict,
        experiment=experiment,
        certified=_certified(setting, verdict.claim),
        expected=expected,
        note=setting.note,
        seconds=seconds,
    )


@own_arithmetic
def exhibited(exhibit: Exhibit, *, seed: int) -> Table:
    """The exhibit's table."""
    rows = tuple(tuple(float(value) for value in row) for row in exhibit.rows(seed))
    return Table(title=exhibit.title, columns=exhibit.columns, rows=rows, note=exhibit.note)


def _bound(progress: Report, case: Case) -> Callable[[Progress], None]:
    return lambda seen: progress(case, seen)


def beside(path: Path, case: Case) -> Path:
    """The file in which the runs of a case are kept: ``kept.npz`` gives ``kept.CASE.npz``."""
    key = re.sub(r"[^\w.-]+", "-", case.key)
    return path.with_name(f"{path.stem}.{key}.npz")


def _certified(setting: Setting, claim: Claim) -> float | None:
    return setting.certified if claim.delta == setting.claim.delta else None
