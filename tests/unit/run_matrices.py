"""Sectors of gradient ADMM."""

from __future__ import annotations

from dpcalc.accounting.iteration.sectors import Sectors


def sectors(
    wide: bool = False, kept: float = 0.0, least: float = 0.0, most: float = 1.0
) -> Sectors:
    return Sectors(0.6, 1.0, least, most, kept, wide)
