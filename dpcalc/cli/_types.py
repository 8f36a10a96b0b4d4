"""Base classes of click's parameter types: generic from click 8.4 on only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    FloatType = click.ParamType[float]
    IntType = click.ParamType[int]
else:
    FloatType = IntType = click.ParamType
