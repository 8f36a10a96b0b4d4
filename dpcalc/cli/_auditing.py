"""What ``dpcalc audit`` does: carry attacks out, show them and write the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.cli._json import print_json
from dpcalc.cli._kept import kept_work, seed_of
from dpcalc.cli._options import refuse_given
from dpcalc.cli._recorded import RECORDS, recorded, refuse_recorded
from dpcalc.cli._workers import workers_of
from dpcalc.errors import InvalidInput
from dpcalc.extras import need

if TYPE_CHECKING:
    from dpcalc.auditing.result import AuditResult
    from dpcalc.auditing.suite.case import Audit, Case, ComputedTable


def audited(target: str | None, given: dict[str, Any]) -> int:
    """The exit status of an audit, after all is shown and written.

    Args:
        target: a built-in audit or module:object; None for recorded runs and for the list.
        given: the options by name.
    """
    if given["release"] is not None:
        given["release"] = given["release"].replace("-", " ")
    if given["ledger"] is not None:
        from dpcalc.cli._ledger import write_ledger

        return write_ledger(target, given)
    if target is None and not any(given[name] for name in RECORDS):
        refuse_given(given.keys() - {"as_json"}, "a TARGET or recorded runs")
        _list(as_json=given["as_json"])
        return 0
    from dpcalc.auditing.result import exit_status
    from dpcalc.cli._outputs import Writing, check_outputs
    from dpcalc.report.audits import write

    report: Path | None = given["report"]
    if report is not None:
        _check_report(report)
    check_outputs(
        [("--report", report)],
        inputs=[Path(p) for name in ("scores", "transcripts") for p in given[name] or ()],
    )
    writing = Writing()
    title, results, tables = _carried_out(target, given)
    if report is not None:
        page = partial(write, report, title, results, tables, command=_repeats(results))
        report = report if writing.attempt(page) else None
    if given["as_json"]:
        from dpcalc.report.audit_record import record

        print_json(record(title, results, tables))
    else:
        from dpcalc.report.audit_text import show

        show(title, results, tables, report)
    writing.settle()
    return exit_status(results)


def _repeats(results: Sequence[AuditResult]) -> str:
    """This command line, with the seed that was drawn."""
    from dpcalc.cli._outputs import this_command

    seed = next((r.verdict.seed for r in results if r.verdict.repeatable), None)
    drawn = seed is not None and "--seed" not in this_command().split()
    return this_command(*(["--seed", str(seed)] if drawn else []))


def _carried_out(
    target: str | None, given: dict[str, Any]
) -> tuple[str, list[AuditResult], list[ComputedTable]]:
    if target is None:
        return "Recorded runs", [recorded(given)], []
    if not given["theorem"]:
        refuse_given(("delta",), "--theorem")
    refuse_recorded(target, given)
    from dpcalc.auditing.sampling.runner import new_seed
    from dpcalc.auditing.suite.run import carry_out_all
    from dpcalc.cli._attacks import live_progress, send_along

    built_in, cases = _cases(target, given)
    if built_in is None and given["scheduler"] is not None:
        send_along(target)
    claim = _claim(given, cases)
    seed = given["seed"]
    seed = seed_of(given["checkpoint"]) if seed is None else seed
    seed = new_seed() if seed is None else seed
    work = {"work": f"audit {target}", "seed": seed}
    with (
        kept_work(given["checkpoint"], work, resume=given["resume"]) as kept,
        workers_of(given, "dpcalc.auditing.experiment") as executor,
        live_progress(len(cases)) as live,
    ):
        results, tables = carry_out_all(
            cases,
            built_in.exhibits if built_in and not given["names"] and claim is None else (),
            alpha=given["alpha"],
            seed=seed,
            claim=claim,
            runs=given["runs"],
            methods=_methods(given),
            seconds=given["seconds"],
            memory=given["memory"],
            early_stop=given["early_stop"],
            detectable_ratio=given["detectable_ratio"],
            controls=given["controls"],
            progress=live.report,
            begin=live.begin,
            checkpoint=kept,
            executor=executor,
        )
    title = target if built_in is None else f"{built_in.title} ({built_in.reference})"
    return title, results, tables


def _methods(given: dict[str, Any]) -> list[str] | None:
    """The methods that were asked for; None if they are left to the design."""
    if given["methods"] is None:
        return None
    from dpcalc.auditing.design import ANYTIME

    methods = [name.strip() for name in given["methods"].split(",")]
    if given["early_stop"] and not set(ANYTIME) & set(methods):
        refuse_given(("early_stop",), f"{' or '.join(ANYTIME)} among the --methods")
    return methods


def _cases(target: str, given: dict[str, Any]) -> tuple[Audit | None, Sequence[Case]]:
    if ":" in target or target.endswith(".py"):
        from dpcalc.cli._attacks import own_cases

        refuse_given(("names", "bugs"), "a built-in audit")
        return None, own_cases(target)
    from dpcalc.audits.suite.catalogue import audit_of

    found = audit_of(target)
    found.need_libraries()
    if given["names"] or given["text"] or given["theorem"]:
        refuse_given(("bugs",), "all cases of an audit")
    if given["names"]:
        return found, [found.case(name) for name in given["names"]]
    if given["text"] or given["theorem"]:
        return found, [found.certified_case]
    return found, found.cases if given["bugs"] else found.default_cases()


def _claim(given: dict[str, Any], cases: Sequence[Case]) -> Any:
    """The claim of the command line, None for the cases' own."""
    from dpcalc.cli._attacks import claim_of, parsed_claim, theorem_claim

    if given["text"] and given["theorem"]:
        raise InvalidInput("expected one of --claim and --theorem; got both")
    if given["theorem"] is None and (given["settings"] or given["certified"]):
        raise InvalidInput("--set and --certified go with --theorem")
    numbers = parsed_claim(given["text"]) if given["text"] else None
    if numbers is None and given["theorem"] is None:
        if any(not case.expected and case.instance().claim.epsilon == 0 for case in cases):
            raise InvalidInput(
                "expected a claim; the target has none; try --claim eps=1,delta=1e-5"
            )
        refuse_given(("adjacency", "release"), "--claim or --theorem")
        return None
    own = cases[0].instance().claim
    adjacency = given["adjacency"] or own.adjacency.value
    release = given["release"] or own.release.value
    taken = own.release_taken and given["release"] is None
    if numbers is not None:
        return replace(claim_of(numbers, adjacency, release), release_taken=taken)
    names: dict[str, Any] = {"delta": given["delta"], "certified": given["certified"]}
    where: dict[str, Any] = {"adjacency": adjacency, "release": release}
    found = theorem_claim(given["theorem"], given["settings"], **names, **where)
    return replace(found, release_taken=taken)


def _check_report(path: Path) -> None:
    known = (".html", ".json", ".md")
    if path.suffix not in known:
        raise InvalidInput(f"--report needs a name ending in {', '.join(known)}; got {str(path)!r}")
    if path.suffix == ".html":
        need("matplotlib", purpose="a report in HTML")


def _list(*, as_json: bool) -> None:
    from dpcalc.audits.suite.catalogue import audit_of, keys

    rows = [
        {
            "name": key,
            "title": found.title,
            "reference": found.reference,
            "cases": {case.key: case.title for case in found.cases},
        }
        for key in keys()
        for found in (audit_of(key),)
    ]
    if as_json:
        print_json({"audits": rows})
        return
    from dpcalc.report.text import console, escaped, plain_table

    cells = [
        (escaped(r["name"]), escaped(r["title"]), str(len(r["cases"])), escaped(r["reference"]))
        for r in rows
    ]
    console().print(plain_table(("audit", "attacks", "cases", "source"), cells, whole=(0,)))
