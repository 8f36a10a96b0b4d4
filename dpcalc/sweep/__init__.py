"""Grids of settings: one question asked of many, and a tidy table of the answers."""

from __future__ import annotations

from dpcalc.sweep.tables import SweepTable, sweep_table

__all__ = ["SweepTable", "sweep_table"]
