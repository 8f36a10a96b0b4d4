"""``dpcalc audit`` without a target: a verdict on scores or counts that were recorded elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._options import StrictCommand, Whole, refuse_given
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from dpcalc.auditing import Claim, Verdict
    from dpcalc.auditing.result import AuditResult
    from dpcalc.transcript import Transcript


class RecordedCommand(StrictCommand):
    """A command whose ``--scores`` takes two files or one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--scores" in args:
            second = args.index("--scores") + 2
            if args[second - 1 : second] and (args[second : second + 1] or ["--"])[0][:2] == "--":
                args = [*args[:second], "", *args[second:]]
        return super().parse_args(ctx, args)


def recorded_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options about what was recorded elsewhere."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option(
        "--scores",
        nargs=2,
        metavar="IN.csv OUT.csv | RUNS.csv",
        help="One score per run, recorded elsewhere: of runs with and without the record, or one "
        "file with a column that says which.",
    ),
    click.option("--column", help="Heading of their column, or its number where there is none."),
    click.option(
        "--member", help="Heading in RUNS.csv: 1 with the record, 0 without.  [default: member]"
    ),
    click.option(
        "--fair-coins",
        is_flag=True,
        help="Every run (or canary) had its own independent fair coin: stronger bounds.",
    ),
    click.option(
        "--one-run",
        nargs=2,
        type=Whole(0),
        metavar="K_IN K_OUT",
        help="--scores are those of the canaries of one run: guess IN for the K_IN highest and OUT "
        "for the K_OUT lowest, numbers fixed before.",
    ),
    click.option(
        "--transcripts",
        nargs=2,
        metavar="IN.npz OUT.npz",
        help="What runs with and without the record released, as dpcalc run --out writes it: a score "
        "is learnt on some of them.",
    ),
    click.option(
        "--counts",
        nargs=4,
        type=Whole(0),
        metavar="TP FN FP TN",
        help="Answers of a rule that was fixed before the runs.",
    ),
)
RECORDS = ("scores", "transcripts", "counts")
"""Options, one of which says what was recorded."""

_GO_WITH_SCORES = {
    "column": "--column",
    "member": "--member",
    "fair_coins": "--fair-coins",
    "one_run": "--one-run",
}


_FOR_TARGETS = (
    *("names", "bugs", "theorem", "settings", "certified", "delta", "runs", "seconds", "memory"),
    *("early_stop", "controls", "checkpoint", "resume", "workers", "scheduler", "timeout"),
)
"""Parameters that say how runs are made, or about whose theorem."""


def refuse_recorded(target: str, given: dict[str, Any]) -> None:
    """Raise `InvalidInput` for options about recorded runs beside a target."""
    if any(given[name] for name in (*RECORDS, *_GO_WITH_SCORES)):
        raise InvalidInput(
            f"--scores, --transcripts and --counts need no TARGET; got TARGET={target!r}"
        )


def _check_together(given: dict[str, Any]) -> None:
    """Raise `InvalidInput` for options that say nothing about these recorded runs."""
    if sum(bool(given[name]) for name in RECORDS) > 1:
        raise InvalidInput("expected one of --scores, --transcripts and --counts; got several")
    if not given["text"] or given["adjacency"] is None:
        raise InvalidInput(
            "expected --claim and --adjacency with recorded runs; "
            "try --claim eps=1,delta=1e-5 --adjacency add-remove"
        )
    for name, option in _GO_WITH_SCORES.items():
        if given[name] and not given["scores"] and not (name == "fair_coins" and given["counts"]):
            raise InvalidInput(f"{option} goes with --scores")
    refuse_given(_FOR_TARGETS, "a TARGET")
    if given["counts"]:
        refuse_given(("seed",), "what is drawn at random; counts leave nothing to draw")
    if given["methods"] is not None:
        raise InvalidInput("--methods goes with a TARGET; recorded runs settle their own method")


def recorded(given: dict[str, Any]) -> AuditResult:
    """A verdict on scores or counts.

    Args:
        given: the options of the command.
    """
    from dpcalc.auditing import Counts
    from dpcalc.auditing.recorded import audit_counts, audit_scores
    from dpcalc.auditing.result import AuditResult
    from dpcalc.cli._attacks import claim_of, parsed_claim

    _check_together(given)
    kinds = _transcripts(given)
    usual = "every message" if kinds is None else kinds[0].release.value
    claim = claim_of(parsed_claim(given["text"]), given["adjacency"], given["release"] or usual)
    claim = replace(claim, release_taken=given["release"] is None and kinds is None)
    terms: dict[str, Any] = {"alpha": given["alpha"], "detectable_ratio": given["detectable_ratio"]}
    if kinds is not None:
        from dpcalc.auditing.transcripts import audit_transcripts

        verdict = audit_transcripts(claim, *kinds, seed=given["seed"], **terms)
        title = "transcripts of runs with and without the record"
    elif given["counts"]:
        coins = given["fair_coins"]
        verdict = audit_counts(claim, Counts.of(*given["counts"]), fair_coins=coins, **terms)
        title = "counts of right and wrong answers"
    elif given["one_run"]:
        verdict = _canaries(claim, given, terms)
        title = "scores of the canaries of one run"
    else:
        first, second = _scores(given)
        coins = given["fair_coins"]
        verdict = audit_scores(claim, first, second, fair_coins=coins, seed=given["seed"], **terms)
        title = "scores of runs with and without the record"
    return AuditResult(key="recorded", title=title, role="own", verdict=verdict)


def _transcripts(given: dict[str, Any]) -> tuple[Transcript, Transcript] | None:
    """What runs with and without the record released; None if that is not what was recorded."""
    if not given["transcripts"]:
        return None
    from dpcalc.transcript import Transcript

    first, second = given["transcripts"]
    if first == second:
        raise InvalidInput(f"expected two files; got {first!r} twice")
    return Transcript.load(first), Transcript.load(second)


def _canaries(claim: Claim, given: dict[str, Any], terms: dict[str, Any]) -> Verdict:
    """The verdict on one run; canaries with equal scores stand in random order."""
    import numpy as np

    from dpcalc.auditing.recorded import audit_canaries

    included, excluded = _scores(given)
    flags = np.repeat([True, False], [len(included), len(excluded)])
    return audit_canaries(
        claim,
        flags,
        np.concatenate([included, excluded]),
        guess_in=given["one_run"][0],
        guess_out=given["one_run"][1],
        fair_coins=given["fair_coins"],
        seed=given["seed"],
        **terms,
    )


def _scores(given: dict[str, Any]) -> tuple[Any, Any]:
    """Scores of runs with and without the record."""
    from dpcalc.auditing.scores import (
        MEMBER,
        read_labelled_scores,
        read_scores,
        refuse_two_with_members,
    )

    first, second = given["scores"]
    if not second:
        return read_labelled_scores(first, column=given["column"], member=given["member"] or MEMBER)
    if given["member"] is not None:
        raise InvalidInput("--member goes with one file of --scores; got two")
    if first == second:
        raise InvalidInput(f"expected two files; got {first!r} twice; give it once with --member")
    refuse_two_with_members(first, second)
    return read_scores(first, column=given["column"]), read_scores(second, column=given["column"])
