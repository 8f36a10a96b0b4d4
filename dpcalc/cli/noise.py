"""``dpcalc noise``: the noise a paper prescribes next to the smallest certified noise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._certify import Certificates, certify_option, print_certificate
from dpcalc.cli._json import print_json
from dpcalc.cli._options import NUMBER, delta_option, json_option
from dpcalc.cli._theorem_verb import TheoremVerb, theorem_from
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from dpcalc.claims.relations import Relation
    from dpcalc.theorems.base import Theorem


def _run(
    theorem: type[Theorem],
    *,
    epsilon: float,
    delta: float | None,
    as_json: bool,
    attest: tuple[str, ...],
    certify: Path | None,
    **given: Any,
) -> int:
    from dpcalc import checks
    from dpcalc.answers.least_noise import least_noise
    from dpcalc.claims.relations import relation_of
    from dpcalc.cli._outputs import Writing, check_outputs
    from dpcalc.theorems.parameters import parameters

    checks.positive("epsilon", epsilon)
    certificates, writing = Certificates(certify), Writing()
    check_outputs([("--certify", certify)])
    level = given.get(theorem.noise)
    if level is not None and parameters(theorem)[theorem.noise].kind != "schedule":
        option = "--" + theorem.noise.replace("_", "-")
        raise InvalidInput(f"{option} is what this verb finds; got {level:g}; leave it out")
    if level is None:
        given[theorem.noise] = 1.0
    start = theorem_from(theorem, given, attest)
    relation = relation_of(start, stated=given.get("adjacency") is not None)
    found = least_noise(start, epsilon, delta, relation)
    record = found.record()
    guarantee, spent = found.theorem.certified().guarantee, record["certified"]["epsilon"]
    certificates.add_guarantee(record, spent, guarantee, relation.name, found.delta, found.theorem)
    status = certificates.write(writing)
    if as_json:
        print_json(record)
    else:
        _print(start, record, relation)
        print_certificate(record)
    writing.settle()
    return status


def _print(theorem: Theorem, record: dict[str, Any], relation: Relation) -> None:
    from dpcalc.report.setting import setting_lines
    from dpcalc.report.text import (
        console,
        escaped,
        lower,
        plain_table,
        print_assumptions,
        same_text,
        upper,
    )
    from dpcalc.theorems.schedule import Schedule

    out = console()
    budget, claimed, certified = record["budget"], record["claimed"], record["certified"]
    name = theorem.noise.replace("_", " ")
    shape = getattr(theorem, theorem.noise)
    varies = isinstance(shape, Schedule) and not shape.constant
    safe = lower if theorem.noise_is_a_rate else upper  # towards more noise
    out.print(f"[bold]{theorem.title}[/]  ({escaped(theorem.reference)})")
    for line in setting_lines(record, relation):
        out.print(escaped(line))
    out.print(f"budget: ε = {upper(budget['epsilon'])}, δ = {upper(budget['delta'])}")
    rows = [
        (
            "prescribed by the paper",
            "—" if claimed[theorem.noise] is None else safe(claimed[theorem.noise], 8),
            upper(claimed.get("certified_epsilon")),
        ),
        (
            "smallest certified noise",
            f"[bold]{safe(certified[theorem.noise], 8)}[/]",
            upper(certified["epsilon"]),
        ),
    ]
    heading = f"{name}, first value" if varies else name
    out.print(plain_table(("", heading, "certified ε"), rows, whole=(1, 2)))
    if varies:
        out.print(f"The other values follow the shape of the schedule {shape}.")
    if claimed[theorem.noise] is None:
        out.print(f"The paper prescribes none: {escaped(claimed['reason'])}")
    else:
        paper, smallest = claimed[theorem.noise], certified[theorem.noise]
        ratio = "about" if same_text(paper, smallest) else f"{paper / smallest:.4g} times"
        out.print(f"The paper's {name} is {ratio} that of the smallest certified noise.")
        if theorem.noise_is_a_rate:
            out.print(f"A smaller {name} is more noise.")
    print_assumptions(out, record["assumptions"])


_delta: Any = delta_option()(lambda: None)
_json: Any = json_option(lambda: None)

command = TheoremVerb(
    name="noise",
    short_help="The smallest noise of a paper's algorithm for a budget.",
    more=("--epsilon 1", "--delta 1e-5"),
    run=_run,
    without_noise=True,
    extra=[
        click.Option(["--epsilon"], type=NUMBER, required=True, help="ε of the budget."),
        *_delta.__click_params__,
        certify_option(),
        *_json.__click_params__,
    ],
    help="""The noise for a budget: what the paper prescribes next to the smallest certified.

\b
Example:
  dpcalc noise dp-admm --n-records 32561 --rounds 100 --gradient-bound 1 \\
      --dual-start zero --epsilon 1 --delta 1e-3

A certificate of the answer: --certify out.json, then dpcalc check out.json.
Where the noise parameter may be a schedule, START:FACTOR or @file gives the shape that is kept.
""",
)
