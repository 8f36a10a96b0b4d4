"""One self-contained page: verdicts, pictures, and everything needed to compute them again.

No script and no address outside the page; every text from elsewhere is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from dpcalc.auditing.result import AuditResult
from dpcalc.numerals import spelt
from dpcalc.report import output as envelope
from dpcalc.report.audit_plots import lines, pictures
from dpcalc.report.audit_record import record
from dpcalc.report.audit_words import MEANINGS, summary
from dpcalc.report.bounds import native_cells, native_columns
from dpcalc.report.page import page as shell
from dpcalc.report.page import page_table
from dpcalc.report.records import to_json
from dpcalc.report.text import attack_text, bound_text, capitalised
from dpcalc.wording import at_least, confidence, runs_text

_STOPPED = """The claim was refuted before all planned runs were made. Runs that end because of what was
seen void every bound from them but those of bets, which hold whenever one stops and are weaker
for it; tilted runs, where there are any, are others and count.
<code>--no-early-stop</code> makes all runs and gives the tightest bound."""


def page(
    title: str, results: Sequence[AuditResult], tables: Sequence[Any] = (), *, command: str = ""
) -> str:
    """The page as text.

    Args:
        title: what was attacked.
        results: attacked claims.
        tables: exhibits, with title, columns, rows and note.
        command: what repeats the audit exactly.
    """
    seeds = sorted({str(r.verdict.seed) for r in results if r.verdict.seed is not None})
    versions: Mapping[str, str] = results[0].verdict.versions if results else {}
    sections = [_section(result) for result in results] + [_exhibit(table) for table in tables]
    versions_text = escape(", ".join(f"{name} {value}" for name, value in versions.items()))
    alpha = spelt(sum(r.verdict.alpha for r in results), 3)
    numbers = escape(to_json(envelope.output("audit", record(title, results, tables))))
    return shell(
        f"Audit: {title}",
        title,
        f"{datetime.now(UTC):%Y-%m-%d} · chance of a false alarm at most {alpha} over all claims · "
        f"seed {escape(', '.join(seeds) or 'none')}",
        f"""<p class="summary">{escape(summary(results))}</p>
{_summary(results)}
<p class="quiet">An audit refutes a claim, or says how large a violation it would have noticed. It never
shows that a mechanism is private.</p>
{chr(10).join(sections)}
<section><h2>What the words mean</h2>
<dl>{"".join(f"<dt>{escape(word)}</dt><dd>{escape(text)}</dd>" for word, text in MEANINGS)}</dl>
</section>
<section><h2>To compute it again</h2>
<p><code>{escape(command)}</code></p>
<p>{versions_text}</p>
<details><summary>All numbers (JSON)</summary><pre>{numbers}</pre></details>
</section>""",
    )


def _summary(results: Sequence[AuditResult]) -> str:
    rows = [
        (
            f'<a href="#{escape(r.key)}">{escape(r.title)}</a>',
            _verdict(r),
            escape(r.role),
            escape(r.verdict.claim.name),
            f"{spelt(r.verdict.claim.delta)}",
            *native_cells(r, results),
            bound_text(r.verdict.claim.epsilon),
            bound_text(r.certified),
            attack_text(r.epsilon_lower),
        )
        for r in results
    ]
    own = native_columns(results)
    heads = ("case", "verdict", "of", "claim", "δ", *own, "claimed ε", "certified ε", "attack ε ≥")
    return page_table(heads, rows, numeric=range(4, len(heads)), caption="Claims and verdicts")


def _section(result: AuditResult) -> str:
    verdict = result.verdict
    claim = verdict.claim
    about = f"Claim {claim.name}, about {claim.about}. {result.note}"
    figures = "".join(_figure(svg, caption) for caption, svg in pictures(result))
    reason = capitalised(verdict.reason)
    parts = [
        f'<section id="{escape(result.key)}"><h2>{_verdict(result)} {escape(result.title)}</h2>',
        f"<p>{escape(reason)}.</p>",
        f'<p class="quiet">{escape(about)}</p>',
    ]
    if result.experiment is not None and result.experiment.stopped:
        parts.append(f'<p class="quiet">{_STOPPED}</p>')
    if result.unexpected:
        expected = " or ".join(outcome.value for outcome in result.expected)
        parts.append(f'<p class="REFUTED">Unexpected: {expected} was to come out.</p>')
    if verdict.evidence:
        parts.append(_evidence(result))
    if verdict.findings:
        rows = [
            (escape(f.check), escape(f.severity.value), escape(f.text)) for f in verdict.findings
        ]
        parts.append(page_table(("check", "says", "found"), rows, caption="Checks"))
    if figures:
        parts.append(f'<div class="figures">{figures}</div>')
    parts += [_noise_tests(result), _controls(result)]
    parts.append(
        f'<p class="quiet">{runs_text(verdict.runs)}, seed {verdict.seed}, '
        f"α = {spelt(verdict.alpha, 4)}, {result.seconds:.1f} s.</p></section>"
    )
    return "\n".join(part for part in parts if part)


def _evidence(result: AuditResult) -> str:
    rows = []
    for e in result.verdict.evidence:
        seen = "—" if e.detectable is None else f"{e.detectable:.4g} ({escape(e.reference)})"
        rows.append(
            (
                escape(e.method) + ("" if e.gates else " (report only)"),
                escape(e.direction),
                escape(e.quantity.value),
                at_least(e.lower, 5),
                confidence(e.alpha),
                f"{spelt(e.delta)}",
                str(e.runs),
                seen,
                escape(", ".join(f"{name} {_short(value)}" for name, value in e.counted.items())),
            )
        )
    heads = ("method", "direction", "of", "at least", "confidence", "δ", "runs", "would notice")
    numeric = (3, 4, 5, 6)
    return page_table((*heads, "computed from"), rows, numeric=numeric, caption="Lower bounds")


def _noise_tests(result: AuditResult) -> str:
    for finding in result.verdict.findings:
        tests = finding.numbers.get("tests") if finding.check == "noise" else None
        if tests:
            rows = [
                (
                    escape(t["name"]),
                    escape(t["statistic"]),
                    f"{t['value']:.4g}",
                    spelt(t["p_value"], 3),
                )
                for t in tests
            ]
            heads = ("noise test", "statistic", "value", "p-value")
            shown = page_table(heads, rows, numeric=(2, 3), caption="Tests of the drawn noise")
            return f"<details><summary>Noise tests</summary>{shown}</details>"
    return ""


def _controls(result: AuditResult) -> str:
    known = result.verdict.controls
    if not known:
        return ""
    text = "; ".join(f"{name}: {outcome}" for name, outcome in known.items())
    return (
        f'<p class="quiet">The same design on mechanisms whose answer is known: {escape(text)}.</p>'
    )


def _exhibit(table: Any) -> str:
    rows = [tuple(f"{value:.5g}" for value in row) for row in table.rows]
    numbers = page_table(
        table.columns, rows, numeric=range(len(table.columns)), caption=escape(table.title)
    )
    figure = _figure(lines(table.columns, table.rows), table.note)
    return (
        f'<section><h2>{escape(table.title)}</h2><div class="figures">{figure}'
        f"<div>{numbers}</div></div></section>"
    )


def _figure(svg: str, caption: str) -> str:
    named = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
    named = named.replace(">", f"><title>{escape(caption)}</title>", 1)
    return f"<figure>{named}<figcaption>{escape(caption)}</figcaption></figure>"


def _verdict(result: AuditResult) -> str:
    name = result.verdict.outcome.value
    return f'<span class="v {name.split()[0]}">{name}</span>'


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
