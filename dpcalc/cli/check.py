"""``dpcalc check``: re-verify certificates in ball arithmetic."""

from __future__ import annotations

from pathlib import Path

import click

from dpcalc.cli._json import print_json
from dpcalc.cli._options import AtLeast, StrictCommand, json_option
from dpcalc.extras import need


@click.command(
    "check", cls=StrictCommand, short_help="Is a certificate true? Verified from scratch."
)
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option(
    "--effort",
    type=AtLeast(0, above=True),
    metavar="SECONDS",
    help="How much the certificates of the file may ask for together, estimated before anything is "
    "computed: about seconds of processor time on a laptop.  [default: 300]",
)
@json_option
def command(file: Path, *, effort: float | None, as_json: bool) -> int:
    r"""Verify certificates that --certify wrote, from scratch and without trusting the file.

    \b
    Example:
      dpcalc compose plan.toml --certify out.json
      dpcalc check out.json

    A certificate says of independent releases, in exact numbers, that δ(ε) <= δ at the ε that was
    reported, and δ(ε) > δ for every ε below the lower end; if that is of the rounds' dominating
    pairs alone, it is printed so. Everything is computed again in ball arithmetic, where each number
    carries a bound on its error. The program that does it is short and depends on python-flint
    alone: dpcalc/certificates/checker.py and what it imports.

    What a file asks for is estimated first, from what is written in it; no clock is looked at.

    \b
    Exit status:
      0    everything that the file states is verified
      1    something is not: the file is false, or was edited
      2    the file cannot be read, or asks for more than --effort
    """
    need("flint", purpose="dpcalc check")
    from dpcalc.certificates.effort import EFFORT
    from dpcalc.certificates.reading import verified

    found = verified(file, EFFORT if effort is None else effort)
    if as_json:
        print_json({"certificates": [each.record() for each in found]})
    else:
        for each in found:
            click.echo(each.text())
    return int(any(each.refused for each in found))
