"""What putting losses on a lattice can add to δ, and how far sums of many rounds fall.

*Splitting.* A loss at a share f of the way between two lattice points goes to both with P- and
Q-mass kept. Given all outcomes the sum moves by D = ΣD_i, independent, with E e^{-D_i} = 1 and
``E D_i² <= v_i = h²e^h f(1-f)``. At distance u = S - ε this adds to δ at most E(D - |u|)₊ for u < 0,
and E(e^{-u-D} - 1)₊ for u > 0, which under e^{-D}P is at most the mean of (-D - u)₊. As
``x₊ <= e^{λx-1}/λ``, both are at most ``e^{-λ|u|}/(eλ)·Π M_i`` with M_i at least E e^{λD_i} and
E e^{-(1+λ)D_i}. Because E e^{-D_i} = 1, ``E e^{λD_i} - 1 = E φ(D_i)`` with
φ(x) = e^{λx} - 1 + λ(e^{-x} - 1), for which φ(0) = φ'(0) = 0 and φ'' <= λ²e^{λh} + λe^h on [-h, h]; the
other moment likewise. By Hoeffding's lemma ``0 = ln E e^{-D_i} <= -E D_i + h²/8``, and both moments are
at most e^{(λ+λ²)h²/8} as well.

*From true sums to split ones.* E D_i <= e^h v_i/2, so by Jensen's inequality
``E e^{-λ|u+D|} >= e^{-λ|u| - λE|D|}``, and ``λE|D| <= λΣE D_i + (1 + λ²Σv_i)/2``. So the mean over true
sums is at most e^{1/2} times that over split ones with the weight
``W_i = M_i e^{λe^h v_i/2 + λ²v_i/2}`` for each outcome. Rare events leave most rounds where they are,
and there W_i is nearly 1.

*Falling.* The weight of rounds that together take a sum down by a floor F or more is at most
``e^{-θF}·Π E[W e^{-θ min(L,0)}]`` for every θ > 0. Weighed, under P, the expectation is at most
E[W - 1] more than with W = 1 for rounds that do not fall; without weights, it holds under Q as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dpcalc.accounting.composition.lattice import SNAP, Frame, Masses
from dpcalc.accounting.laws import AtomicLaw, Reals
from dpcalc.numerics.products import product

_NARROW = 0.8
"""λ times the typical distance that splitting moves a sum, near the best."""

_SLOPES = np.geomspace(0.01, 100.0, 60)


@dataclass(frozen=True, slots=True)
class Splitting:
    """How splitting moves sums.

    Attributes:
        step: h.
        rate: λ.
        height: e^{1/2}/(eλ).
        sums: how many partial sums there are at most.
    """

    step: float
    rate: float
    height: float
    sums: int

    @classmethod
    def of(cls, laws: Sequence[tuple[AtomicLaw, int]], step: float) -> Self:
        """With λ for the distance that the rounds' own losses are moved."""
        moved = sum(n * float(product(law.masses, _between(law.losses, step))) for law, n in laws)
        rate = _NARROW / (step * max(0.5, math.sqrt(moved)))
        sums = sum(2 * n.bit_length() + 1 for _, n in laws)
        return cls(step, rate, math.exp(-0.5) / rate * (1 + 1e-12), sums)

    def weights(self, law: AtomicLaw) -> Reals:
        """W for every loss of a law, no smaller than for any outcome next to it."""
        h, rate = self.step * (1 + 4 * SNAP), self.rate
        variance = h * h * math.exp(h) * _between(law.losses, self.step)
        rising = rate * rate * math.exp(rate * h) + rate * math.exp(h)
        falling = (1 + rate) ** 2 * math.exp((1 + rate) * h) - (1 + rate) * math.exp(-h)
        moment = 1 + max(rising, falling) * variance / 2
        most = math.exp((rate + rate * rate) * h * h / 8)  # by Hoeffding's lemma
        moment = np.where(variance > 0, np.minimum(moment, most), 1.0)
        exponent = (rate * math.exp(h) + rate * rate) * variance / 2
        return np.asarray(moment * np.exp(exponent) * (1 + 1e-12), dtype=np.float64)


def fall(laws: Sequence[tuple[Masses, int]], frame: Frame) -> float:
    """Bound of the weight, under P and Q, that negative losses add up to the floor or more.

    Args:
        laws: weighted masses of single rounds and how many of each there are.
        frame: the lattice.
    """
    total = np.zeros(len(_SLOPES))
    with np.errstate(over="ignore"):
        for masses, count in laws:
            drop = frame.step * np.arange(-masses.first, 0, -1)
            q = masses.values[: len(drop)] * np.exp(drop)
            heavier = max(math.fsum(masses.values.tolist()) + masses.above[0] - 1, 0.0)
            growth = product(np.expm1(np.multiply.outer(_SLOPES, drop)), q)
            total += count * np.log1p(growth + heavier)
    exponent = total - _SLOPES * (frame.step * frame.floor)
    return math.exp(min(float(np.nanmin(exponent)), 0.0)) * (1 + 1e-9)


def _between(losses: Reals, step: float) -> Reals:
    """The largest f(1-f) of outcomes in the cells on either side of a loss.

    A cell reaches from one loss of the law to the next, and none is astride a lattice point.
    """
    order = np.argsort(losses, kind="stable")
    position = losses[order] / step
    nearest = np.rint(position)
    position = np.where(np.abs(position - nearest) < SNAP, nearest, position)
    number = np.floor(position)
    share = position - number
    own = share * (1 - share)
    right = position[1:] - number[:-1]
    across = (share[:-1] <= 0.5) & (right >= 0.5)
    cell = np.where(right <= 1, np.where(across, 0.25, np.maximum(own[:-1], own[1:])), 0.0)
    widest = own.copy()
    widest[:-1] = np.maximum(widest[:-1], cell)
    widest[1:] = np.maximum(widest[1:], cell)
    result = np.empty_like(widest)
    result[order] = widest
    return result
