"""What ``dpcalc compose`` does: the budget of a list of releases, printed, drawn and reported."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpcalc
from dpcalc.cli._certify import Certificates, print_certificate
from dpcalc.cli._json import print_json
from dpcalc.errors import missing_delta
from dpcalc.extras import need

if TYPE_CHECKING:
    from dpcalc.claims.composition import Plan


def composed(
    file: Path,
    *,
    delta: float | None,
    adjacency: str | None,
    notes: str,
    plot: Path | None,
    report: Path | None,
    as_json: bool,
    certify: Path | None,
) -> int:
    """The exit status of a file of releases, after all is printed and written."""
    from dpcalc import checks
    from dpcalc.claims.composition import read_plan
    from dpcalc.cli._outputs import Writing, this_command
    from dpcalc.report.composed import releases_of
    from dpcalc.report.composition_report import composition_report
    from dpcalc.report.document import write_report

    certificates = Certificates(certify)
    _check_outputs(file, plot=plot, certify=certify, report=report)
    writing = Writing()
    plan = read_plan(file, [note for note in notes.split(",") if note], adjacency)
    at = plan.delta if delta is None else checks.delta(delta)
    if at == 0 and plan.total().needs_delta():
        raise missing_delta("this list of releases")
    record = record_of(plan, at)
    if plot is not None and writing.attempt(lambda: _draw(plan, at, plot, file.stem)):
        record["plot"] = str(plot)
    if report is not None:
        found = composition_report(plan, record, command=this_command(), file=file)
        if writing.attempt(lambda: write_report(report, found)):
            record["report"] = str(report)
    if not as_json:
        show(plan, record)  # certificates take longer
    parts = [(release.guarantee, release.count) for release in plan.releases]
    certificates.add(record, record["certified"], parts, plan.relation.name, at)
    status = certificates.write(writing)
    if as_json:
        print_json({**record, "composed": releases_of(plan)})
    else:
        print_certificate(record)
    writing.settle()
    return int(record.get("within_budget") is False) or status


def _check_outputs(
    file: Path, *, plot: Path | None, certify: Path | None, report: Path | None
) -> None:
    """Refuse, before anything is computed, what could not be written at the end."""
    from dpcalc.cli._outputs import check_outputs
    from dpcalc.pictures.saving import check_picture
    from dpcalc.report.document import check_ending

    if plot is not None:
        need("matplotlib", purpose="--plot")
        check_picture(plot, "--plot")
    if report is not None:
        check_ending(report, "--report")
    outputs = [("--plot", plot), ("--certify", certify), ("--report", report)]
    check_outputs(outputs, inputs=[file])


def _draw(plan: Plan, delta: float, plot: Path, title: str) -> None:
    from dpcalc.report.profile import draw_profile
    from dpcalc.wording import spelt_count

    each = (f"{spelt_count(release.count)} × {release.name}" for release in plan.releases[:20])
    names = textwrap.shorten(", ".join(each), 300)
    setting = f"{names}; {plan.relation.sentence()}; dpcalc {dpcalc.__version__}."
    draw_profile(plan.total(), plot, delta=delta, budget=plan.epsilon, title=title, setting=setting)


def record_of(plan: Plan, delta: float) -> dict[str, Any]:
    """The answer for JSON."""
    from dpcalc.guarantees.mixed import MixedReleases
    from dpcalc.numerals import shown_at_least
    from dpcalc.report.enclosures import enclosure
    from dpcalc.report.records import attack_accuracy

    total = plan.total()
    epsilon = total.epsilon(delta)
    found: dict[str, Any] = {"epsilon": shown_at_least(epsilon), "delta": delta}
    found |= enclosure(total, delta)
    if isinstance(total, MixedReleases):
        found["method"] = total.method(delta)
    elif "method" not in found and total.notion in _METHODS:
        found["method"] = _METHODS[total.notion]
    found["attack_accuracy"] = attack_accuracy(total, found["epsilon"], delta)
    own = {k: v for k, v in total.parameters().items() if k not in (*found, "releases")}
    record: dict[str, Any] = {
        "certified": found | own,
        "notion": total.notion,
        **plan.relation.record(),
        "releases": sum(r.count for r in plan.releases),
    }
    if plan.epsilon is not None:
        record["budget"] = {"epsilon": plan.epsilon, "delta": delta}
        record["within_budget"] = epsilon <= plan.epsilon
    return record


def show(plan: Plan, record: dict[str, Any]) -> None:
    """The answer for people."""
    from dpcalc.report.composed import releases_of
    from dpcalc.report.enclosures import enclosure_line
    from dpcalc.report.remarks import remarks
    from dpcalc.report.setting import risk_line
    from dpcalc.report.text import console, escaped, plain_table, upper
    from dpcalc.wording import spelt_count

    out, found = console(), record["certified"]
    rows = [
        (escaped(r.name), spelt_count(r.count), upper(r.guarantee.epsilon(found["delta"])))
        for r in plan.releases[:_MOST_ROWS]
    ]
    delta = upper(found["delta"])
    out.print(plain_table(("release", "count", f"ε of one at δ = {delta}"), rows, whole=(1, 2)))
    if len(plan.releases) > _MOST_ROWS:
        out.print(f"... and {len(plan.releases) - _MOST_ROWS} more")
    out.print(f"[bold]ε = {upper(found['epsilon'])}[/] at δ = {delta}, all together")
    out.print(plan.relation.sentence())
    if "method" in found:
        out.print(f"[dim]{escaped(enclosure_line(found))}[/]")
    if risk := risk_line(found["attack_accuracy"], plan.relation.name):
        out.print(risk)
    if len(plan.counted()) == 1 and plan.releases[0].mechanism:
        (only,) = releases_of(plan)
        for line in remarks(only["fields"], only["count"], found["delta"]):
            out.print(line)
    if "budget" in record:
        verdict = "[green]within[/]" if record["within_budget"] else "[bold red]exceeds[/]"
        out.print(f"{verdict} the budget ε = {record['budget']['epsilon']:g}")


_MOST_ROWS = 20

_METHODS = {
    "zcdp": "sum of Rényi divergences, converted at the best order; an upper bound alone",
    "rdp": "sum of Rényi divergences, converted at the best order; an upper bound alone",
}
"""How totals are found that have no enclosure, by their notion."""
