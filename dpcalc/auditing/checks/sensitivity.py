"""Replay both inputs on one history: is any look at the data further apart than the proof says?

A single history with a distance above the claimed sensitivity contradicts the proof's premise. The
neighbours and the histories are those of the target; a search over them is the audit's business.
"""

from __future__ import annotations

import numpy as np

from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.sampling.runner import Stage, generator
from dpcalc.auditing.targets.target import Target
from dpcalc.errors import InvalidInput

HISTORIES = 64
"""Histories that are replayed."""

_ROUNDING = 1e-9


def check(target: Target, *, seed: int, histories: int = HISTORIES) -> Finding | None:
    """The largest distance over the claimed sensitivity; None if the target cannot replay."""
    if target.shift is None:
        return None
    shift = target.shift(generator(seed, Stage.CHECKS, 1), histories)
    distance = np.asarray(shift.distance, dtype=np.float64)
    if distance.ndim != 2:
        raise InvalidInput(
            f"expected distances of shape (runs, looks) from target {target.name!r}; got "
            f"{distance.shape!r}"
        )
    claimed = np.broadcast_to(np.asarray(shift.claimed, dtype=np.float64), distance.shape[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(distance > 0, distance / claimed, 0.0)
    run, look = np.unravel_index(int(ratio.argmax()), ratio.shape)
    worst = float(ratio[run, look])
    where = shift.label[look] if shift.label else f"look {look + 1}"
    broken = worst > 1 + _ROUNDING
    text = (
        f"two neighbouring inputs are {distance[run, look]:.6g} apart at {where}, the proof allows "
        f"{claimed[look]:.6g}"
        if broken
        else f"on {len(distance)} histories the inputs were at most {worst:.4g} of the claimed "
        "sensitivity apart"
    )
    return Finding(
        check="sensitivity",
        severity=Severity.PREMISE if broken else Severity.HOLDS,
        text=text,
        numbers={
            "largest_ratio": worst,
            "distance": float(distance[run, look]),
            "claimed": float(claimed[look]),
            "look": int(look),
            "histories": len(distance),
        },
    )
