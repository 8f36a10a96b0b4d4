"""Special functions of scipy against sixty digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpcalc.accounting.losses import UNIT_ROUNDOFF
from dpcalc.numerics.precise import context, mpf, normal_cdf, scaled_tail
from dpcalc.selftest.measurement import Check, Measurement, spread, worst

_ALLOWED = 1e-14 / UNIT_ROUNDOFF


def _measured(
    name: str,
    where: str,
    points: np.ndarray,
    function: Callable[[Any], Any],
    exact: Callable[[Any, Any], Any],
) -> Measurement:
    ctx, errors = context(), []
    for x, value in zip(points.tolist(), function(points).tolist(), strict=True):
        truth = exact(ctx, mpf(x))
        errors.append(abs(mpf(value) - truth) / abs(truth))
    return Measurement(name=name, range=where, allowed=_ALLOWED, measured=worst(errors))


def _erfcx() -> Measurement:
    from scipy import special

    return _measured(
        "erfcx",
        "[1e-9, 1e5]",
        spread(20, 1e-9, 1e5),
        lambda x: special.erfcx(x),
        lambda ctx, x: 2 * scaled_tail(x * ctx.sqrt(2)),
    )


def _ndtr() -> Measurement:
    from scipy import special

    return _measured(
        "ndtr",
        "[1e-6, 37]",
        spread(21, 1e-6, 37.0),  # the other tail is taken from erfcx
        lambda x: special.ndtr(x),
        lambda _, x: normal_cdf(x),
    )


def _kve() -> Measurement:
    from scipy import special

    return _measured(
        "ratio of kve(1, x) and kve(0, x)",
        "[1e-6, 1e3]",
        spread(22, 1e-6, 1e3)[:12],
        lambda x: special.kve(1, x) / special.kve(0, x),
        lambda ctx, x: ctx.besselk(1, x) / ctx.besselk(0, x),
    )


SPECIAL: tuple[Check, ...] = (_erfcx, _ndtr, _kve)
