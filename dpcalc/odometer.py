"""ε so far, after every round of a system that runs: fast, stopped when spent, with a trail.

    with Odometer(epsilon=8, delta=1e-5, trail="spent.jsonl") as odometer:
        while odometer.allows(step):
            odometer.spend(step)  # first the trail, then the round
            ...

Statement
    What `Odometer.epsilon` says is a certified ε at δ of everything spent: the Rényi divergences of
    the rounds, upper bounds, are added up at orders fixed beforehand and converted at the best one.
    It is larger than what the rounds cost when their losses are convolved, which
    `Odometer.accountant` tells; a round costs a tenth of a millisecond instead of seconds, and up to
    one where a mechanism has parameters not seen before, more if the machine is busy.
    What a round costs must not depend on what earlier rounds released; which mechanism it is may.
Source
    The conversion: Canonne, Kamath and Steinke 2020, proposition 12, as in
    `dpcalc.guarantees.renyi`.
Rounding
    Every sum and product is rounded up by one unit in the last place, more than it may be off.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

import dpcalc
from dpcalc import checks
from dpcalc.accountant import Accountant, Spent
from dpcalc.errors import Infeasible, InvalidInput
from dpcalc.guarantees import Guarantee
from dpcalc.guarantees.many_orders import divergences
from dpcalc.numerals import at_most
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.numerics.precise import context, mpf, round_up
from dpcalc.trail import Trail, open_trail

__all__ = [
    "Odometer",
]

if TYPE_CHECKING:
    import os

Array = NDArray[np.float64]

_ORDERS = 1 + np.geomspace(1e-2, 1e5, 96)
"""α at which divergences are added up."""

_KEPT = 4096
"""Kinds whose divergences are kept."""

_FORMAT = "dpcalc odometer"


class Odometer:
    """What was spent so far, and the budget that ends it.

    Example::

        from dpcalc.odometer import Odometer
        step = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": 1, "rate": 0.01}
        odometer = Odometer(epsilon=2, delta=1e-5)
        while odometer.allows(step) and odometer.rounds < 3:
            odometer.spend(step)
        print(odometer.rounds, odometer.epsilon)

    Attributes:
        budget: ε that may be spent.
        delta: δ of the budget.
    """

    def __init__(
        self, *, epsilon: float, delta: float, trail: str | os.PathLike[str] | None = None
    ) -> None:
        """An odometer at zero, or where its trail ends.

        Args:
            epsilon: ε of the budget, above 0.
            delta: δ of the budget, above 0 and below 1.
            trail: a file of JSON lines (`dpcalc.trail`), one for every time something was spent, from
                which an interrupted system resumes; None for none. It holds no data.

        Raises:
            InvalidInput: for a trail of another budget or version, one that was edited, or one that
                another process holds.
        """
        self.budget = checks.positive("epsilon", epsilon)
        self.delta = checks.proper_delta(delta)
        self._kinds: dict[str, Spent] = {}
        self._related = Accountant(self.budget, self.delta)  # a round that names its neighbours
        self._rounds = 0
        self._spent, self._conversion = np.zeros(len(_ORDERS)), _conversion(self.delta)
        self._known: dict[str, Array] = {}
        self._trail: Trail | None = None
        self._open = contextlib.ExitStack()
        if trail is not None:
            self._go_on(trail)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the trail."""
        self._open.close()
        self._trail = None

    @property
    def epsilon(self) -> float:
        """A certified ε at δ of everything spent so far."""
        return self._epsilon_of(self._spent)

    @property
    def rounds(self) -> int:
        """How many rounds were spent."""
        return self._rounds

    @property
    def accountant(self) -> Accountant:
        """The same rounds as an `Accountant`, whose ε is smaller and takes longer."""
        return Accountant(self.budget, self.delta, tuple(self._kinds.values()))

    def allows(self, release: Mapping[str, Any], count: int = 1) -> bool:
        """Whether this many more rounds of a kind stay within the budget.

        Args:
            release: a table as of a composition file, without ``count``.
            count: rounds of this kind, 0 or above.

        Raises:
            InvalidInput: where `spend` would refuse the release or the count.
        """
        count = checks.count("count", count, minimum=0)
        return self._epsilon_of(self._after(self._read(release), count)) <= self.budget

    def spend(self, release: Mapping[str, Any], count: int = 1) -> float:
        """Account for rounds that are about to run, and write them to the trail first.

        Args:
            release: a table as of a composition file, without ``count``.
            count: rounds of this kind, 1 or above.

        Returns:
            ε so far.

        Raises:
            Infeasible: if that would be more than the budget: nothing is spent, and the rounds must
                not run.
            InvalidInput: for a malformed release, another neighbouring relation than before, or one
                without a finite Rényi divergence.
            OutputFailed: if the trail cannot be written; the rounds must not run.
        """
        count = checks.count("count", count)
        if self._trail is not None and not isinstance(release, Mapping):
            raise InvalidInput(
                "a trail holds tables as of a composition file, such as {'mechanism': 'gaussian', "
                f"'noise_multiplier': 2}}; got {type(release).__name__}; leave out the trail"
            )
        spent = self._read(release)
        after = self._after(spent, count)
        epsilon = self._epsilon_of(after)
        if epsilon > self.budget:
            raise Infeasible(
                f"expected a round within the budget; {count} more would make epsilon={epsilon:.6g} "
                f"of {self.budget:g} at delta={self.delta:g}, after {self.rounds} rounds; stop "
                "here"
            )
        if self._trail is not None:
            self._trail.append(
                {"round": self._rounds + count, "count": count, "release": dict(release),
                 "epsilon": epsilon}
            )  # fmt: skip
        self._add(spent, count, after)
        return epsilon

    def _read(self, release: Mapping[str, Any]) -> Spent:
        """One round, checked, under the neighbouring relation of those before."""
        return self._related.spend(release).releases[-1]

    def _add(self, spent: Spent, count: int, after: Array) -> None:
        before = self._kinds[spent.kind].count if spent.kind in self._kinds else 0
        self._kinds[spent.kind] = replace(spent, count=before + count)
        if spent.relation and not self._related.releases:
            self._related = replace(self._related, releases=(replace(spent, count=0),))
        self._spent, self._rounds = after, self._rounds + count

    def _after(self, spent: Spent, count: int) -> Array:
        """The divergences at all orders after this many more rounds of a kind."""
        return _up(self._spent + _up(count * self._divergences(spent)))

    def _epsilon_of(self, divergences: Array) -> float:
        if not divergences.any():
            return 0.0
        return max(0.0, float(_up(divergences + self._conversion).min()))

    def _divergences(self, spent: Spent) -> Array:
        """Those of one round; computed once for every kind, the last of them kept at hand."""
        if spent.kind not in self._known:
            if len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[spent.kind] = _divergences(spent.guarantee)
        return self._known[spent.kind]

    def _go_on(self, path: str | os.PathLike[str]) -> None:
        self._trail, lines = self._open.enter_context(open_trail(path))
        try:
            self._check_begun(self._trail, lines)
            for line in lines[1:]:
                spent, count = self._read(line["release"]), line["count"]
                self._add(spent, count, self._after(spent, count))
        except BaseException:
            self.close()
            raise

    def _check_begun(self, trail: Trail, lines: list[dict[str, Any]]) -> None:
        """Begin a trail, or refuse one of another budget or version."""
        about = {
            "format": _FORMAT,
            "dpcalc": dpcalc.__version__,
            "epsilon": self.budget,
            "delta": self.delta,
        }
        if not lines:
            trail.append(about)
        elif lines[0] != about:
            raise InvalidInput(
                f"expected a trail of {about}; got {lines[0]} in {str(trail.path)!r}"
            )


def _divergences(guarantee: Guarantee) -> Array:
    found = divergences(guarantee, _ORDERS)
    if not np.isfinite(found).any():
        raise InvalidInput(
            f"expected a round with a finite Rényi divergence; got {guarantee.notion}; account for "
            "it with dpcalc.Accountant"
        )
    return found


@own_arithmetic
def _conversion(delta: float) -> Array:
    """ln((α-1)/α) - (ln δ + ln α)/(α-1), rounded up."""
    ctx, log_delta = context(), context().log(mpf(at_most(delta)))
    orders = [mpf(float(order)) for order in _ORDERS]
    return np.array(
        [round_up(ctx.log((a - 1) / a) - (log_delta + ctx.log(a)) / (a - 1)) for a in orders]
    )


def _up(values: Array) -> Array:
    return np.nextafter(values, math.inf)
