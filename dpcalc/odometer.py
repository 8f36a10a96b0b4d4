"""ε so far, after every round of a system that runs: fast, stopped when spent, with a trail.

    with Odometer(epsilon=8, delta=1e-5, trail="spent.jsonl") as odometer:
        while odometer.allows(step):
            odometer.spend(step)  # first the trail, then the round
            ...

Statement
    What `Odometer.epsilon` says is a certified ε at δ of everything spent: the Rényi divergences of
    the rounds, upper bounds, are added up at orders fixed beforehand and converted at the best one.
    It is larger than what the rounds cost when their losses are convolved, which
    `Odometer.accountant` tells; a round costs microseconds instead of seconds.
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
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

import dpcalc
from dpcalc import checks
from dpcalc.accountant import Accountant
from dpcalc.errors import Infeasible, InvalidInput
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
        accountant: the same rounds as an `Accountant`, whose ε is smaller and takes longer.
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
        self.accountant = Accountant(self.budget, self.delta)
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
        return self.accountant.rounds

    def allows(self, release: Mapping[str, Any], count: int = 1) -> bool:
        """Whether this many more rounds of a kind stay within the budget.

        Args:
            release: a table as of a composition file, without ``count``.
            count: rounds of this kind, 0 or above.

        Raises:
            InvalidInput: where `spend` would refuse the release or the count.
        """
        count = checks.count("count", count, minimum=0)
        self.accountant.spend(release, count)  # checks the neighbouring relation
        return self._epsilon_of(self._after(release, count)) <= self.budget

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
        accountant = self.accountant.spend(release, count)
        after = self._after(release, count)
        epsilon = self._epsilon_of(after)
        if epsilon > self.budget:
            raise Infeasible(
                f"expected a round within the budget; {count} more would make epsilon={epsilon:.6g} "
                f"of {self.budget:g} at delta={self.delta:g}, after {self.rounds} rounds; stop "
                "here"
            )
        if self._trail is not None:
            self._trail.append(
                {"round": accountant.rounds, "count": count, "release": dict(release),
                 "epsilon": epsilon}
            )  # fmt: skip
        self._spent, self.accountant = after, accountant
        return epsilon

    def _after(self, release: Mapping[str, Any], count: int) -> Array:
        """The divergences at all orders after this many more rounds of a kind."""
        return _up(self._spent + _up(count * self._divergences(release)))

    def _epsilon_of(self, divergences: Array) -> float:
        if not divergences.any():
            return 0.0
        return max(0.0, float(_up(divergences + self._conversion).min()))

    def _divergences(self, release: Mapping[str, Any]) -> Array:
        """Those of one round; computed once for every kind."""
        (spent,) = Accountant().spend(release).releases
        if spent.kind not in self._known:
            self._known[spent.kind] = _divergences(spent.guarantee)
        return self._known[spent.kind]

    def _go_on(self, path: str | os.PathLike[str]) -> None:
        self._trail, lines = self._open.enter_context(open_trail(path))
        try:
            self._check_begun(self._trail, lines)
            for line in lines[1:]:
                self._spent = self._after(line["release"], line["count"])
                self.accountant = self.accountant.spend(line["release"], line["count"])
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


@own_arithmetic
def _divergences(guarantee: Any) -> Array:
    found = np.array([float(guarantee.renyi(float(order))) for order in _ORDERS])
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
