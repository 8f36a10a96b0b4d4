"""Rows of masses on nested lattices, and what they hold."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from dpcalc.accounting.composition.lattice.frame import Frame
from dpcalc.accounting.composition.lattice.rows import (
    Row,
)

Law = dict[float, float]
FRAME = Frame(step=0.1, top=40, floor=20, finest=2, half=8)


def row(first: int, *values: float) -> Row:
    return Row(first, np.array(values))


def q_mass(law: Law) -> float:
    return math.fsum(p * math.exp(-loss) for loss, p in law.items())


def law_of(rows: tuple[Row, ...] | list[Row], frame: Frame) -> Law:
    found: Law = defaultdict(float)
    for level, each in enumerate(rows):
        for point, value in zip(each.points.tolist(), each.values.tolist(), strict=True):
            if value:
                found[math.ldexp(frame.step, -level) * point] += value
    return found
