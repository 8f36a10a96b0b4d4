"""Recycled ADMM with objective perturbation, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpcalc.training.methods.private_mr_admm import PrivateMRADMM


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateRADMM(PrivateMRADMM):
    """The case of one constant penalty, which the algorithm insists on."""

    key: ClassVar[str] = "private-r-admm"
    title: ClassVar[str] = "Recycled ADMM with objective perturbation"


METHOD = PrivateRADMM
