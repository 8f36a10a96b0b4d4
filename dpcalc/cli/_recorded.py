"""``dpcalc audit`` without a target: a verdict on scores or counts that were recorded elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcalc.cli._options import StrictCommand
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    import click

    from dpcalc.auditing.attacked import Attacked


class RecordedCommand(StrictCommand):
    """A command whose ``--scores`` takes two files or one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--scores" in args:
            second = args.index("--scores") + 2
            if args[second - 1 : second] and (args[second : second + 1] or ["--"])[0][:2] == "--":
                args = [*args[:second], "", *args[second:]]
        return super().parse_args(ctx, args)


def recorded(given: dict[str, Any]) -> Attacked:
    """A verdict on scores or counts.

    Args:
        given: the options of the command.
    """
    from dpcalc.auditing import Counts
    from dpcalc.auditing.attacked import Attacked
    from dpcalc.auditing.recorded import judge_counts, judge_scores
    from dpcalc.cli._attacks import claim_of, parsed_claim

    if not given["text"] or given["adjacency"] is None:
        raise InvalidInput(
            "--claim and --adjacency were needed with recorded runs; "
            "try --claim eps=1,delta=1e-5 --adjacency add-remove"
        )
    for option in ("column", "member"):
        if given[option] is not None and not given["scores"]:
            raise InvalidInput(f"--{option} goes with --scores")
    claim = claim_of(
        parsed_claim(given["text"]), given["adjacency"], given["release"] or "every message"
    )
    terms = {"alpha": given["alpha"], "notice": given["notice"]}
    if given["counts"] and given["scores"]:
        raise InvalidInput("--scores or --counts was needed; got both")
    if given["counts"]:
        verdict = judge_counts(claim, Counts.of(*given["counts"]), **terms)
        title = "counts of right and wrong answers"
    else:
        verdict = judge_scores(claim, *_scores(given), **terms)
        title = "scores of runs with and without the record"
    return Attacked(key="recorded", title=title, role="own", verdict=verdict)


def _scores(given: dict[str, Any]) -> tuple[Any, Any]:
    """Scores of runs with and without the record."""
    from dpcalc.auditing.scores import MEMBER, read_labelled_scores, read_scores

    first, second = given["scores"]
    if not second:
        return read_labelled_scores(first, column=given["column"], member=given["member"] or MEMBER)
    if given["member"] is not None:
        raise InvalidInput("--member goes with one file of --scores; got two")
    if first == second:
        raise InvalidInput(
            f"two files were needed; got {first!r} twice; give it once with --member"
        )
    return read_scores(first, column=given["column"]), read_scores(second, column=given["column"])
