"""Privacy accounting for private ADMM, dual averaging and noisy gradient descent.

    import dpcalc

    dpcalc.epsilon("dp-admm", delta=1e-5, n_records=32561, rounds=100, gradient_bound=1,
                   sigma=0.01, dual_start="zero")               # claimed next to certified
    dpcalc.noise("dp-admm", epsilon=1, delta=1e-5, n_records=32561, rounds=100,
                 gradient_bound=1, dual_start="zero")           # the smallest noise for a budget
    dpcalc.calibrate("poisson-subsampled-gaussian", epsilon=2, delta=1e-5, rate=0.01,
                     rounds=10_000)                             # the same for a mechanism
    dpcalc.compose((dpcalc.PureDP(0.1), 100), dpcalc.GDP(0.5)).epsilon(1e-6)

Names are loaded when they are first used; importing the package loads nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "GDP",
    "RDP",
    "ZCDP",
    "Accountant",
    "ApproxDP",
    "Budget",
    "Claim",
    "Guarantee",
    "Noise",
    "PrivacyProfile",
    "PureDP",
    "audit",
    "calibrate",
    "compose",
    "epsilon",
    "errors",
    "group",
    "mechanisms",
    "noise",
    "theorem",
    "theorems",
]

if TYPE_CHECKING:
    from dpcalc import errors as errors
    from dpcalc import theorems as theorems
    from dpcalc.accountant import Accountant as Accountant
    from dpcalc.answers import Budget as Budget
    from dpcalc.answers import Noise as Noise
    from dpcalc.answers import calibrate as calibrate
    from dpcalc.answers import epsilon as epsilon
    from dpcalc.answers import noise as noise
    from dpcalc.auditing import Claim as Claim
    from dpcalc.auditing.audit import audit as audit
    from dpcalc.guarantees import GDP as GDP
    from dpcalc.guarantees import RDP as RDP
    from dpcalc.guarantees import ZCDP as ZCDP
    from dpcalc.guarantees import ApproxDP as ApproxDP
    from dpcalc.guarantees import Guarantee as Guarantee
    from dpcalc.guarantees import PrivacyProfile as PrivacyProfile
    from dpcalc.guarantees import PureDP as PureDP
    from dpcalc.guarantees import compose as compose
    from dpcalc.guarantees import group as group
    from dpcalc.guarantees import mechanisms as mechanisms
    from dpcalc.theorems.catalogue import privacy_result as theorem
else:
    # Hidden from type checkers, for which it would make every misspelt name an Any.
    _HOMES = {
        "dpcalc.accountant": ("Accountant",),
        "dpcalc.answers": ("Budget", "Noise", "calibrate", "epsilon", "noise"),
        "dpcalc.auditing": ("Claim", "audit"),
        "dpcalc.guarantees": (
            "GDP",
            "RDP",
            "ZCDP",
            "ApproxDP",
            "Guarantee",
            "PrivacyProfile",
            "PureDP",
            "compose",
            "group",
        ),
    }
    _HOME = {name: home for home, names in _HOMES.items() for name in names}
    _MODULES = {
        "errors": "dpcalc.errors",
        "mechanisms": "dpcalc.guarantees.mechanisms",
        "theorems": "dpcalc.theorems",
    }

    def __getattr__(name):
        if name in _MODULES:
            return import_module(_MODULES[name])
        if name == "theorem":
            return import_module("dpcalc.theorems.catalogue").privacy_result
        if name in _HOME:
            return getattr(import_module(_HOME[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
