"""``dpcalc selftest``: what the enclosures assume, measured on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._json import print_json
from dpcalc.cli._options import StrictCommand, json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcalc.selftest import Measurement


@click.command("selftest", cls=StrictCommand, short_help="Is this machine's arithmetic as assumed?")
@json_option
def command(*, as_json: bool) -> int:
    r"""Measure on this machine what certified numbers assume of its arithmetic.

    An upper bound is never below the truth as long as elementary functions, sums, transforms and
    special functions are as accurate as assumed (docs/soundness.md). Processors and versions of
    numpy, scipy and OpenBLAS differ in them: each is compared with sixty digits at seeded points of
    the range that is used, and a few answers with the truth, in some seconds.

    \b
    Example:
      dpcalc selftest --json

    Exit status: 0 every assumption holds, 1 one does not: do not rely on numbers of this machine.
    """
    from dpcalc.selftest import measurements

    found = measurements()
    wrong = [m for m in found if not m.holds]
    if as_json:
        record = {"holds": not wrong, "machine": _machine(), "unit": "2^-53"}
        print_json(record | {"assumptions": [m.record() for m in found]})
    else:
        _print(found, wrong)
    return int(bool(wrong))


def _print(found: Sequence[Measurement], wrong: Sequence[Measurement]) -> None:
    from dpcalc.report.layout import print_table
    from dpcalc.report.text import console, escaped, upper

    rows = [
        (
            escaped(m.name),
            escaped(m.range),
            upper(m.allowed, 3),
            upper(m.measured, 2) if m.measured == m.measured else "no number",
            "[green]OK[/]" if m.holds else "[bold red]FAILS[/]",
        )
        for m in found
    ]
    out = console()
    columns = ("assumption", "range", "allowed", "measured", "")
    print_table(out, columns, rows, prose="assumption")
    machine = _machine()
    out.print(f"[dim]errors in unit roundoffs, 2^-53 = 1.1e-16; {escaped(machine)}[/]")
    if not wrong:
        out.print("[green]Every assumption holds on this machine.[/]")
        return
    names = ", ".join(m.name for m in wrong)
    out.print(
        f"[bold red]Not as assumed: {escaped(names)}.[/] Do not rely on numbers of this machine; "
        "try other versions of numpy and scipy, or OPENBLAS_CORETYPE=Haswell."
    )


def _machine() -> str:
    """Versions and processor, for a report."""
    import platform

    import mpmath
    import numpy as np
    import scipy

    versions: dict[str, Any] = {
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "mpmath": mpmath.__version__,
    }
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{listed}, {platform.system()} {platform.machine()}"
