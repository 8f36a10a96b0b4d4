"""δ of a listed loss at any real argument, without a difference of sums.

Let l_0 <= l_1 <= ... be the values of a loss L and m_i their probabilities. δ(t) = E[(1 - e^{t-L})_+]
has the derivative -e^t Σ_{l_i > t} m_i e^{-l_i}. So with

    E_k = Σ_{i >= k} m_i e^{l_k - l_i},    δ(l_{k-1}) - δ(l_k) = (1 - e^{l_{k-1} - l_k}) E_k,

δ at the values is a sum of positive terms from the largest one on, at which it is P(L = ∞); between
l_{k-1} and l_k, and below l_0 with k = 0, it is δ(l_k) + (1 - e^{t - l_k}) E_k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.composition.listed_losses import Listed
from dpcalc.accounting.losses import UNIT_ROUNDOFF, Reals

_SPAN = 300.0
"""Exponentials are taken relative to a value this near."""

_OPERATIONS = 2000
"""More than four times the roundings, in units, of a term, and of passing from one span to the next."""


@dataclass(frozen=True, slots=True)
class ListedCurve:
    """δ of a list.

    Attributes:
        losses: the values, increasing, shape (n,).
        masses: bounds of their probabilities.
        infinite: bound of the probability of an infinite one.
        tails: E_k, shape (n + 1,), at last 0.
        deltas: δ at the values, shape (n + 1,), at last that at infinity.
        slack: more than what rounding takes or adds, relative to any value.
    """

    losses: Reals
    masses: Reals
    infinite: float
    tails: Reals
    deltas: Reals
    slack: float

    @classmethod
    def of(cls, listed: Listed, up: int) -> ListedCurve:
        """That of values moved by what they may be off by, up or down."""
        held = listed.masses > 0
        losses = (listed.losses + up * listed.errors)[held]
        order = np.argsort(losses, kind="stable")
        losses, masses = losses[order], listed.masses[held][order]
        tails = _tails(losses, masses)
        falls = -np.expm1(-np.diff(losses)) * tails[1:]
        sums = np.append(np.cumsum(falls[::-1])[::-1], [0.0, 0.0][: 1 + (len(losses) > 0)])
        reach = float(losses[-1] - losses[0]) if len(losses) else 0.0
        slack = (4 * len(losses) + 4 * reach + _OPERATIONS) * UNIT_ROUNDOFF
        return cls(
            losses,
            masses,
            listed.infinite,
            np.append(tails, 0.0),
            listed.infinite + sums,
            slack,
        )

    def at(self, places: Reals) -> Reals:
        """δ at real arguments, right to half the slack."""
        k, rise = self._found(places)
        return np.asarray(self.deltas[k] - np.expm1(rise) * self.tails[k])

    def falls(self, places: Reals) -> Reals:
        """By how much it falls there for a step of one."""
        k, rise = self._found(places)
        return np.asarray(np.exp(rise) * self.tails[k])

    def _found(self, places: Reals) -> tuple[np.ndarray, Reals]:
        k = np.searchsorted(self.losses, places, side="right")
        above = np.append(self.losses, math.inf)[k]
        return k, np.minimum(places - above, 0.0)

    def exceeded(self, probability: float) -> float:
        """A value that is exceeded with about at most this probability."""
        beyond = np.cumsum(self.masses[::-1])
        k = min(int(np.searchsorted(beyond, probability)), len(beyond) - 1)
        return float(self.losses[::-1][k])


def _tails(losses: Reals, masses: Reals) -> Reals:
    """E_k, span after span from the largest value on."""
    tails = np.zeros(len(losses))
    end, carried, last = len(losses), 0.0, 0.0
    while end:
        top = float(losses[end - 1])
        first = int(np.searchsorted(losses[:end], top - _SPAN))
        inside = np.cumsum((masses[first:end] * np.exp(top - losses[first:end]))[::-1])[::-1]
        brought = carried * math.exp(top - last) if carried else 0.0
        tails[first:end] = (inside + brought) * np.exp(losses[first:end] - top)
        end, carried, last = first, float(tails[first]), float(losses[first])
    return tails
