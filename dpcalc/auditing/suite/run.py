"""Carrying out cases, α split evenly over them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from dpcalc.auditing.audit import run_audit
from dpcalc.auditing.claim import Claim
from dpcalc.auditing.design import ANYTIME, AuditDesign
from dpcalc.auditing.experiment import Experiment, Progress
from dpcalc.auditing.result import AuditResult
from dpcalc.auditing.suite.case import Case, ComputedTable, Instance, SupportingTable
from dpcalc.auditing.verdict import ALPHA, DEFAULT_DETECTABLE_RATIO, Outcome, Verdict
from dpcalc.errors import AssumptionViolated, DpcalcError
from dpcalc.execution import handed_out, in_order, is_enough, workers_of
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.store import Store

CaseProgress = Callable[[Case, Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What holds for every case that is carried out.

    Attributes:
        share: probability that the true claim of a case is refuted.
        seed: every case draws from its own stream of it.
        claim: put to the test instead of the cases' own claims.
        runs: counted runs instead of the cases' own number.
        methods: lower bounds that may refute instead of the cases' own; without one that bets no case
            stops early.
        seconds: for each case.
        memory: bytes for the releases that a process holds at once; see `AuditDesign.for_claim`.
        early_stop: stop a case when its e-process refutes the claim.
        detectable_ratio: there is enough power if this many times the claimed value would be noticed.
        controls: also run mechanisms whose answer is known.
    """

    share: float
    seed: int
    claim: Claim | None = None
    runs: int | None = None
    methods: Sequence[str] | None = None
    seconds: float | None = None
    memory: float | None = None
    early_stop: bool = False
    detectable_ratio: float = DEFAULT_DETECTABLE_RATIO
    controls: bool = True


def carry_out(
    cases: Sequence[Case],
    *,
    alpha: float = ALPHA,
    seed: int,
    seconds: float | None = None,
    progress: CaseProgress | None = None,
    begin: Callable[[Case], None] | None = None,
    checkpoint: Store | None = None,
    executor: Executor | None = None,
    **more: object,
) -> list[AuditResult]:
    """Attack the cases one by one.

    Workers get whole cases if there are enough of them, but for the last, whose runs are shared by
    those that have nothing else to do; else the runs of one case after the other. The verdicts are
    the same.

    Args:
        cases: what is attacked.
        alpha: probability that any true claim among them is refuted.
        seed: every case draws from its own stream of it.
        seconds: for all cases together, shared evenly.
        progress: called after every batch; not for cases that workers carry out whole.
        begin: called before anything of a case is done.
        checkpoint: where runs are kept; every case has a section of its own.
        executor: who does the work; this process if left out.
        more: further `Terms`.
    """
    share = alpha / max(len(cases), 1)
    each = None if seconds is None else seconds / len(cases)
    terms = Terms(share=share, seed=seed, seconds=each, **more)  # type: ignore[arg-type] # checked by Terms

    def begun() -> Iterator[Case]:
        for case in cases:
            if begin is not None:
                begin(case)
            yield case

    if is_enough(len(cases), executor) and checkpoint is None and seconds is None:
        return _whole_but_the_last(terms, list(begun()), progress, executor)
    return [
        carried_out(
            terms,
            case,
            progress=None if progress is None else partial(progress, case),
            checkpoint=None if checkpoint is None else checkpoint.section(case.key),
            executor=executor,
        )
        for case in begun()
    ]


def _whole_but_the_last(
    terms: Terms, cases: Sequence[Case], progress: CaseProgress | None, executor: Executor | None
) -> list[AuditResult]:
    """Whole cases from workers, and the last one's runs from those that the others leave idle.

    This process makes the last instance and checks it while each worker still has a case to begin, so
    that its runs are there when the cases are not.
    """
    whole, last = partial(carried_out, terms), cases[-1]
    workers = None if executor is None else workers_of(executor)
    with handed_out(whole, cases[:-1], executor, what="case") as found:
        if not found.come_down_to(None if workers is None else 2 * workers):
            return list(found)  # which raises what one of them raised
        try:
            told = None if progress is None else partial(progress, last)
            ending = carried_out(terms, last, progress=told, executor=executor)
        except AssumptionViolated:  # of runs that cannot be shared, or of the case
            (ending,) = in_order(whole, [last], executor, what="case")
        except DpcalcError:
            list(found)  # what an earlier case raised comes first
            raise
        return [*found, ending]


@own_arithmetic
def carried_out(
    terms: Terms,
    case: Case,
    *,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Store | None = None,
    executor: Executor | None = None,
) -> AuditResult:
    """One case under attack.

    Args:
        terms: what holds for every case.
        case: what is attacked.
        progress: called after every batch.
        checkpoint: where the runs of this case are kept.
        executor: who makes the runs; this process if left out.
    """
    begun, instance = time.monotonic(), case.instance()
    tested = instance.claim if terms.claim is None else terms.claim
    methods, early_stop = _methods(terms, case)
    design = AuditDesign.for_claim(
        instance.target,
        tested,
        runs=case.runs if terms.runs is None else terms.runs,
        alpha=min(terms.share, case.alpha),
        methods=methods,
        tilted=case.tilted,
        early_stop=early_stop,
        batch=case.batch,
        memory=terms.memory,
        detectable_ratio=terms.detectable_ratio,
    )
    verdict, experiment = run_audit(
        instance.target,
        tested,
        design,
        seed=terms.seed,
        seconds=terms.seconds,
        controls=terms.controls,
        progress=progress,
        checkpoint=checkpoint,
        executor=executor,
    )
    expected = case.expected if terms.claim is None else ()
    return _result(case, instance, verdict, experiment, expected, time.monotonic() - begun)


def _methods(terms: Terms, case: Case) -> tuple[Sequence[str] | None, bool]:
    """Which methods may refute, and whether one of them may end the runs.

    Bets join a case's own methods for an early stop, but no method that was not asked for decides
    where some were.
    """
    if terms.methods is not None:
        return terms.methods, terms.early_stop and bool(set(ANYTIME) & set(terms.methods))
    own = case.methods if terms.claim is None else None
    if own is not None and terms.early_stop and not set(ANYTIME) & set(own):
        own = (*own, "e-process")
    return own, terms.early_stop


def _result(
    case: Case,
    instance: Instance,
    verdict: Verdict,
    experiment: Experiment | None,
    expected: tuple[Outcome, ...],
    seconds: float,
) -> AuditResult:
    return AuditResult(
        key=case.key,
        title=case.title,
        role=case.role.value,
        verdict=verdict,
        experiment=experiment,
        certified=_certified(instance, verdict.claim),
        expected=expected,
        note=instance.note,
        seconds=seconds,
    )


def carry_out_all(
    cases: Sequence[Case],
    exhibits: Sequence[SupportingTable],
    *,
    seed: int,
    seconds: float | None = None,
    executor: Executor | None = None,
    **more: Any,
) -> tuple[list[AuditResult], list[ComputedTable]]:
    """Attack the cases, and compute the tables of exhibits: beside them where there are workers.

    Tables are handed out before the cases, so that none is left for a single worker at the end; after
    them if time is limited, since it is the cases'.

    Args:
        cases: what is attacked.
        exhibits: whose tables are computed.
        seed: of all of them.
        seconds: for all cases together.
        executor: who does the work; this process if left out.
        more: further options of `carry_out`.
    """
    table = partial(compute_table, seed=seed)
    first = exhibits if seconds is None else ()
    with handed_out(table, first, executor, what="table") as tables:
        results = carry_out(cases, seed=seed, seconds=seconds, executor=executor, **more)
        if seconds is None:
            return results, list(tables)
    return results, list(in_order(table, exhibits, executor, what="table"))


@own_arithmetic
def compute_table(exhibit: SupportingTable, *, seed: int) -> ComputedTable:
    """The exhibit's table."""
    rows = tuple(tuple(float(value) for value in row) for row in exhibit.rows(seed))
    return ComputedTable(title=exhibit.title, columns=exhibit.columns, rows=rows, note=exhibit.note)


def _certified(instance: Instance, claim: Claim) -> float | None:
    return instance.certified if claim.delta == instance.claim.delta else None
