"""Privacy guarantees: frozen values that answer ε(δ), δ(ε), trade-off and risk, and compose."""

from __future__ import annotations

from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.claimed import ClaimedCurve
from dpcalc.guarantees.composition import Composition, compose
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.groups import GroupProfile, group
from dpcalc.guarantees.profile import PrivacyProfile
from dpcalc.guarantees.pure import ApproxDP, PureDP
from dpcalc.guarantees.renyi import RDP, ZCDP, RenyiGuarantee
from dpcalc.guarantees.worst import WorstOf

__all__ = [
    "GDP",
    "RDP",
    "ZCDP",
    "ApproxDP",
    "ClaimedCurve",
    "Composition",
    "GroupProfile",
    "Guarantee",
    "PrivacyProfile",
    "PureDP",
    "RenyiGuarantee",
    "WorstOf",
    "compose",
    "group",
]
