"""Guarantees for data sets that differ in several records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.profile import ProfileGuarantee
from dpcalc.guarantees.tradeoff import Ends, curve_below
from dpcalc.numerics.precise import context, mpf, round_down, round_up
from dpcalc.numerics.search import minimise

_TRIES = 3


def group(guarantee: Guarantee, size: int) -> Guarantee:
    """The guarantee for data sets that differ in ``size`` records.

    The bound by the trade-off curve, f∘...∘f: in closed form where there is one, else in its (ε, δ)
    form: k steps of (ε, δ) make (kε, δ(1 + e^ε + ... + e^{(k-1)ε})).

    Example::

        import dpcalc
        print(dpcalc.group(dpcalc.GDP(0.5), 3))

    Args:
        guarantee: for one record.
        size: how many records differ, 1 or above.

    Returns:
        The guarantee for groups; never below the truth, not always the smallest.

    Raises:
        InvalidInput: for another size, or what is no guarantee.

    Source: Dong, Roth and Su 2022, group privacy of trade-off curves.
    """
    if not isinstance(guarantee, Guarantee):
        raise InvalidInput(f"expected a guarantee; got {guarantee!r}; try group(GDP(0.5), 3)")
    size = checks.count("size", size)
    if size == 1:
        return guarantee
    found = guarantee.closed_group(size)
    if found is None:
        found = GroupProfile(base=guarantee, size=size)
    return found.under(guarantee.adjacency)


@dataclass(frozen=True, slots=True)
class _Reach:
    """About how far ε matters to a group, without a search."""

    group: GroupProfile

    def epsilon(self, delta: float) -> float:
        """k·e for an e at which δ_k is about δ; no bound."""
        base, size, share = self.group.base, self.group.size, 0.0
        for _ in range(_TRIES):
            share = base.epsilon(delta / size * math.exp(-min((size - 1) * share, 600.0)))
        return size * share

    def delta(self, epsilon: float) -> float:
        """At ε/k."""
        return self.group.deltas([epsilon])[0]


@dataclass(frozen=True, slots=True)
class GroupProfile(ProfileGuarantee):
    """The guarantee for data sets that differ in several records.

    k steps along neighbouring data sets, each (e, δ(e))-indistinguishable, give
    ``δ_k(ε) <= δ(e)·(1 + e^e + ... + e^{(k-1)e})`` for every e <= ε/k. The best e is searched; an
    imperfect search costs tightness only.

    Args:
        base: the guarantee for one record.
        size: k, 2 or above.
    """

    base: Guarantee
    size: int

    def delta(self, epsilon: float) -> float:
        """The bound above at the best e, at most 1."""
        checks.non_negative_or_infinite("epsilon", epsilon)
        if epsilon == math.inf:
            return 0.0
        most = round_down(mpf(epsilon) / self.size)

        def logarithm(share: float) -> float:
            each = self.base.delta(share)
            return math.log(each) + (self.size - 1) * share if each > 0 else -math.inf

        best = minimise(logarithm, 0.0, most)[0] if most > 0 else 0.0
        return min(1.0, self._steps(best), self._steps(most))

    def deltas(self, epsilons: Sequence[float]) -> tuple[float, ...]:
        """The bound above at e = ε/k, all in one go."""
        shares = [round_down(mpf(epsilon) / self.size) for epsilon in epsilons]
        known = zip(shares, self.base.deltas(shares), strict=True)
        return tuple(min(1.0, self._together(*each)) for each in known)

    def tradeoff(self, false_positive_rate: float) -> float:
        """A lower bound of any attack's false-negative rate at a false-positive rate."""
        return self.tradeoffs([false_positive_rate])[0]

    def tradeoffs(self, false_positive_rates: Sequence[float]) -> tuple[float, ...]:
        """The same at several rates, from the bounds of δ at some dozens of ε."""

        def ends(epsilons: Sequence[float]) -> list[Ends]:
            return [(0.0, delta) for delta in self.deltas(epsilons)]

        return curve_below(_Reach(self), ends, false_positive_rates)

    def _steps(self, share: float) -> float:
        return self._together(share, self.base.delta(share))

    def _together(self, share: float, delta: float) -> float:
        each = mpf(delta)
        if each == 0:
            return 0.0
        if share == math.inf:
            return 1.0
        ctx, e = context(), mpf(share)
        total = ctx.expm1(e * self.size) / ctx.expm1(e) if share > 0 else mpf(self.size)
        return round_up(each * total)

    def parameters(self) -> Mapping[str, float]:
        """The base's numbers and the size."""
        return {**self.base.parameters(), "group size": float(self.size)}
