"""``dpcalc epsilon MECHANISM``: the certified ε of a number of rounds, without a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpcalc.cli._certify import Certificates, certify_option, print_certificate
from dpcalc.cli._fields import EXAMPLES, each_option, field_options, missing_options, table_of
from dpcalc.cli._json import print_json
from dpcalc.cli._options import (
    NUMBER,
    StrictCommand,
    adjacency_option,
    delta_option,
    json_option,
)
from dpcalc.errors import InvalidInput, missing_delta


def epsilon_command(name: str) -> click.Command:
    """The command of one mechanism, with the options of its fields."""
    from dpcalc.claims.named import mechanism

    fields = mechanism(name).fields
    holders: list[Any] = [adjacency_option(lambda: None), delta_option()(lambda: None)]
    shared = [option for holder in holders for option in holder.__click_params__]
    printed: Any = json_option(lambda: None)
    return StrictCommand(
        name=name,
        callback=lambda **given: _run(name, **given),
        params=[
            *field_options(fields),
            *([each_option()] if "epsilon" in fields else []),
            click.Option(
                ["--rounds"], type=NUMBER, help="How often it is used; once unless given."
            ),
            *shared,
            certify_option(),
            *printed.__click_params__,
        ],
        help=f"""The certified ε of {name}, for one use or many.

Several mechanisms together, tables of rounds and reports: dpcalc compose FILE, whose form --json
has.

\b
Example:
  dpcalc epsilon {name} \\
      {EXAMPLES[name]} \\
      --delta 1e-5
""",
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _run(
    name: str,
    *,
    delta: float | None,
    adjacency: str | None,
    rounds: float | None,
    as_json: bool,
    certify: Path | None,
    **given: Any,
) -> int:
    from dpcalc import checks
    from dpcalc.claims.composition import plan_of
    from dpcalc.cli._composing import record_of, show
    from dpcalc.cli._outputs import Writing, check_outputs
    from dpcalc.report.composed import releases_of

    if missing := missing_options(name, given):
        raise InvalidInput(
            f"{name} also needs {', '.join(missing)}; try: dpcalc epsilon {name} "
            f"{EXAMPLES[name]} --delta 1e-5"
        )
    certificates, writing = Certificates(certify), Writing()
    check_outputs([("--certify", certify)])
    count = checks.count("rounds", 1 if rounds is None else rounds)
    release = {**table_of(name, given), "count": count}
    try:
        plan = plan_of({"release": [release], "delta": delta or 0.0}, Path(name), (), adjacency)
    except InvalidInput as error:  # there is no other release
        raise InvalidInput(str(error).removeprefix("release 1: ")) from error
    if plan.delta == 0 and plan.total().needs_delta():
        raise missing_delta(name)
    record = record_of(plan, plan.delta)
    if not as_json:
        show(plan, record)  # certificates take longer
    parts = [(one.guarantee, one.count) for one in plan.releases]
    certificates.add(record, record["certified"], parts, plan.relation.name, plan.delta)
    status = certificates.write(writing)
    if as_json:
        print_json({**record, "composed": releases_of(plan)}, verb="compose")
    else:
        print_certificate(record)
    writing.settle()
    return status
