"""Single rounds put on nested lattices."""

from __future__ import annotations

import numpy as np

from dpcalc.accounting.composition.lattice.frame import Frame
from dpcalc.accounting.composition.lattice.masses import (
    EXPONENTIAL,
    SLOPES,
    Masses,
    Mode,
    settled,
)
from dpcalc.accounting.composition.lattice.rounds import Bools, Cut
from dpcalc.accounting.composition.lattice.rows import EMPTY, Row, added, require_doubles, trimmed
from dpcalc.accounting.composition.lattice.splitting import Splitting
from dpcalc.accounting.losses import UNIT_ROUNDOFF, Reals
from dpcalc.numerics.products import product


def placed(part: Cut, tails: tuple[float, float], frame: Frame, mode: Mode) -> Masses:
    """One round on the lattices.

    Args:
        part: the round in cells, its losses rounded the way of the mode.
        tails: P-mass outside the windows, which counts as below the floor and as above the top, and
            the probability of an infinite loss.
        frame: the lattices.
        mode: which bound it is for.
    """
    tail, infinite = tails
    weighed = mode.splitting is not None
    masses = part.masses + part.errors if weighed else part.certain(mode.rounding).masses
    masses = masses * (1 + mode.rounding * 24 * UNIT_ROUNDOFF)
    over, under = part.losses > frame.top * frame.step, part.losses < -frame.floor * frame.step
    above = float(masses[over].sum()) + (
        infinite + tail if mode.rounding > 0 else infinite * (1 - 1e-12)
    )
    above_q = float(product(masses[over], np.exp(-part.losses[over])))
    low = float(masses[under].sum()) + tail
    held = ~(over | under)
    losses, masses = part.losses[held], masses[held]
    level = frame.levels(losses)
    step = frame.step * 2.0**-level
    left = np.floor(losses / step)
    share = losses / step - left
    if mode.splitting is not None:
        masses = masses * _weights(losses, share, part.dense[held], frame, mode.splitting)
        # k changes by a factor of at most e^{λ·blur} where a loss was rounded after a split.
        masses *= np.exp(mode.splitting.rate * part.blurs[held])
    require_doubles(masses)
    right = masses * (np.expm1(-share * step) / np.expm1(-step))
    staying = masses * (np.exp(-share * step) * np.expm1((share - 1) * step) / np.expm1(-step))
    rows = [
        trimmed(_gathered(left, (staying, right), level == k, mode), frame.negligible)
        for k in range(frame.finest + 1)
    ]
    raised = EMPTY
    if mode.lifted and low:
        lowest = Row(-frame.floor, np.array([low * mode.outward(len(masses))]))
        if mode.splitting is None:
            rows[0] = added(rows[0], lowest)
        else:
            raised = lowest
    above *= mode.outward(len(masses))
    above_q /= mode.outward(len(masses) + EXPONENTIAL)
    raised = trimmed(raised, frame.negligible)
    return Masses(settled(rows, frame), (above, above_q), (raised, 0.0), np.zeros(len(SLOPES)))


def _gathered(left: Reals, masses: tuple[Reals, Reals], held: Bools, mode: Mode) -> Row:
    """Masses added up by the numbers of their points, and of the points to the right of those."""
    if not held.any():
        return EMPTY
    place = left[held].astype(np.int64)
    first, size = int(place.min()), int(place.max() - place.min()) + 2
    place -= first
    values = np.bincount(place, masses[0][held], minlength=size)
    values += np.bincount(place + 1, masses[1][held], minlength=size)
    most = int(np.bincount(place).max())
    return Row(first, np.asarray(values * mode.outward(2 * most), dtype=np.float64))


def _weights(
    losses: Reals, share: Reals, dense: Bools, frame: Frame, splitting: Splitting
) -> Reals:
    """W of the widest split of any outcome that a mass stands for."""
    wider = frame.levels(losses * (1 + 2 / frame.half))
    levels = np.where(dense, wider, frame.levels(losses)).astype(np.int64)
    worst = np.where(dense, 0.5, share)
    result = np.ones(len(losses))
    for level in np.unique(levels):
        held = levels == level
        result[held] = splitting.weights(frame.step_of(int(level)), worst[held])
    return result
