"""--memory: what the releases of runs may take in a process."""

from __future__ import annotations

import re
from typing import Any

import click

from dpcalc.cli._types import FloatType
from dpcalc.errors import InvalidInput

_UNITS = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)


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
        found = _SIZE.fullmatch(str(value).strip())
        unit = None if found is None else _UNITS.get(found[2].lower())
        if found is None or unit is None or not float(found[1]) > 0:
            label = param.opts[0] if param else "value"
            raise InvalidInput(f"{label} needs a size with its unit, such as 2GB; got {value!r}")
        return float(found[1]) * unit


memory_option = click.option(
    "--memory",
    type=Size(),
    help="What the releases of runs may take in each process, such as 2GB: smaller batches, and a "
    "smaller pilot where a score is learnt.  [default: batches of 1000]",
)
