"""``dpcalc audit --ledger``: every built-in audit on one dated page."""

from __future__ import annotations

from typing import Any

import click

from dpcalc.cli._kept import kept_work, seed_of
from dpcalc.cli._workers import workers_of


def write_ledger(target: str | None, given: dict[str, Any]) -> int:
    """The dated page; exit status 1 if a case comes out otherwise than it must."""
    from rich.console import Console

    from dpcalc.auditing.sampling.runner import new_seed
    from dpcalc.audits.suite.leak_counts import leak_counts
    from dpcalc.audits.suite.ledger import entries
    from dpcalc.cli._outputs import Writing, check_outputs
    from dpcalc.files import write_text
    from dpcalc.report.ledger import page

    check_outputs([("--ledger", given["ledger"])])
    seed = given["seed"]
    seed = seed_of(given["checkpoint"]) if seed is None else seed
    seed = new_seed() if seed is None else seed
    names = () if target is None else (target,)
    work = {"work": " ".join(("audit --ledger", *names)), "seed": seed, "alpha": given["alpha"]}
    with (
        kept_work(given["checkpoint"], work, resume=given["resume"]) as kept,
        workers_of(given) as executor,
        Console(stderr=True).status("audits") as status,
    ):
        how: dict[str, Any] = {"say": status.update, "executor": executor}
        counts, runs = (kept and kept.section(part) for part in ("planted leaks", "audits"))
        alpha = given["alpha"]
        found = entries(seed=seed, alpha=alpha, names=names, store=runs, **how)
        leaks = [] if names else leak_counts(store=counts, **how)
    text, writing = page(found, seed=seed, alpha=alpha, leaks=leaks), Writing()
    if not writing.attempt(lambda: write_text(given["ledger"], text)):
        click.echo(text)
    wrong = [(e.key, r) for e in found for r in (*e.results, *e.bugs) if r.unexpected]
    for key, result in wrong:
        click.echo(f"unexpected: {key} {result.key}: {result.verdict.outcome.value}", err=True)
    writing.settle()
    return int(bool(wrong))
