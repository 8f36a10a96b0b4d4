"""Elementary functions of numpy, and the engine's own logarithm, against sixty digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcalc.accounting.losses import ELEMENTARY_ERROR, UNIT_ROUNDOFF
from dpcalc.accounting.losses.distribution import LOG1P_ERROR, log1p
from dpcalc.numerics.precise import Real, context, mpf
from dpcalc.selftest.measurement import Check, Measurement, spread, worst

_ULPS = ELEMENTARY_ERROR / UNIT_ROUNDOFF


@dataclass(frozen=True, slots=True)
class _Function:
    """A real function of numpy.

    Attributes:
        name: in numpy, and in mpmath unless ``exact`` is given.
        least: smallest modulus of the arguments.
        most: largest one.
        both: whether arguments of both signs are used.
        exact: (context, x) -> the exact value.
    """

    name: str
    least: float
    most: float
    both: bool = True
    exact: Callable[[Any, Real], Real] | None = None

    def __call__(self) -> Measurement:
        ctx = context()
        points = spread(1, self.least, self.most, both=self.both)
        if self.name == "log1p":
            points = points[points > -1]
        found = getattr(np, self.name)(points)
        exact = self.exact or (lambda ctx, x: getattr(ctx, self.name)(x))
        errors = []
        for x, value in zip(points.tolist(), found.tolist(), strict=True):
            truth = exact(ctx, mpf(x))
            errors.append(abs(mpf(value) - truth) / abs(truth))
        signs = "±" if self.both else ""
        return Measurement(
            name=self.name,
            range=f"{signs}[{_short(self.least)}, {_short(self.most)}]",
            allowed=_ULPS,
            measured=worst(errors),
        )


def _short(number: float) -> str:
    return f"{number:g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def _arctan2() -> Measurement:
    ctx, y, x = context(), spread(2, 1e-12, 10.0, both=True), spread(3, 1e-3, 10.0, both=True)
    errors = []
    for a, b, value in zip(y.tolist(), x.tolist(), np.arctan2(y, x).tolist(), strict=True):
        truth = ctx.atan2(mpf(a), mpf(b))
        errors.append(abs(mpf(value) - truth) / abs(truth))
    return Measurement(name="arctan2", range="±[1e-12, 10]", allowed=_ULPS, measured=worst(errors))


def _complex(
    function: Callable[[Any], Any], exact: Callable[[Any, Any], Any], points: np.ndarray
) -> float:
    """The largest error of a complex function relative to its modulus, in unit roundoffs."""
    ctx, errors = context(), []
    for z, value in zip(points.tolist(), function(points).tolist(), strict=True):
        truth = exact(ctx, ctx.mpc(z))
        size = abs(truth) * max(1, abs(1 + ctx.mpc(z))) if function is log1p else abs(truth)
        errors.append(abs(ctx.mpc(value) - truth) / size)
    return worst(errors)


def _complex_log1p() -> Measurement:
    points = spread(4, 1e-12, 2.0, both=True) + 1j * spread(5, 1e-12, 2.0, both=True)
    return Measurement(
        name="complex log1p (the engine's own)",
        range="|x|, |y| in [1e-12, 2]",
        allowed=LOG1P_ERROR / UNIT_ROUNDOFF,
        measured=_complex(log1p, lambda ctx, z: ctx.log1p(z), points),
    )


def _complex_expm1() -> Measurement:
    points = -spread(6, 1e-12, 50.0) + 1j * spread(7, 1e-12, 1e4, both=True)
    return Measurement(
        name="complex expm1",
        range="x in [-50, 0], |y| <= 1e4",
        allowed=4 * _ULPS,
        measured=_complex(lambda z: np.expm1(z), lambda ctx, z: ctx.expm1(z), points),
    )


def _complex_exp() -> Measurement:
    points = -spread(8, 1e-6, 200.0) + 1j * spread(9, 1e-12, 1e6, both=True)
    return Measurement(
        name="complex exp",
        range="x in [-200, 0], |y| <= 1e6",
        allowed=4 * _ULPS,
        measured=_complex(lambda z: np.exp(z), lambda ctx, z: ctx.exp(z), points),
    )


ELEMENTARY: tuple[Check, ...] = (
    _Function("exp", 1e-6, 700.0),
    _Function("expm1", 1e-18, 690.0),
    _Function("log", 1e-300, 1e300, both=False),
    _Function("log1p", 1e-18, 1e6),
    _Function("sin", 1e-12, 1e6),
    _Function("cos", 1e-12, 1e6),
    _Function("sinh", 1e-12, 300.0),
    _Function("cosh", 1e-12, 300.0),
    _Function("tanh", 1e-12, 300.0),
    _Function("sqrt", 1e-300, 1e300, both=False),
    _arctan2,
    _complex_exp,
    _complex_expm1,
    _complex_log1p,
)
