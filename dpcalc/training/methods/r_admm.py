"""Recycled ADMM, without privacy, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpcalc.training.methods.mr_admm import MRADMM


@dataclass(frozen=True, kw_only=True, slots=True)
class RADMM(MRADMM):
    """The case of one constant penalty, which the algorithm insists on."""

    key: ClassVar[str] = "r-admm"
    title: ClassVar[str] = "Recycled ADMM, without privacy"


METHOD = RADMM
