"""--memory: what the releases of runs may take in a process."""

from __future__ import annotations

from typing import Any

import click

from dpcalc.cli._types import FloatType
from dpcalc.numerals import size


class Size(FloatType):
    """An amount of memory with its unit: 500MB, 2GB, 1.5GiB."""

    name = "size"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Bytes."""
        del ctx
        if isinstance(value, float):
            return value
        return size(param.opts[0] if param else "value", value)


memory_option = click.option(
    "--memory",
    type=Size(),
    help="What the releases of runs may take in each process, such as 2GB: smaller batches, and a "
    "smaller pilot where a score is learnt.  [default: batches of 1000]",
)
