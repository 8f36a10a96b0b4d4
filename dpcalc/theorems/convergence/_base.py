"""What every convergence or utility result shares: its value, its claim and what is proved."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dpcalc.errors import InvalidInput, NumericalFailure
from dpcalc.numerics.precise import mpf
from dpcalc.theorems.base import Result
from dpcalc.theorems.parameters import parameters
from dpcalc.theorems.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Rate:
    """An upper bound of what a result is about, with the result's own numbers.

    Attributes:
        value: the bound; smaller is stronger, infinite says that nothing is proved.
        numbers: the result's own quantities under their names in the glossary.
        method: one phrase.
    """

    value: float
    numbers: Mapping[str, float]
    method: str

    def __post_init__(self) -> None:
        """Refuse a number that is none."""
        for name, number in {"value": self.value, **self.numbers}.items():
            if math.isnan(number):
                raise NumericalFailure(f"{name} of a rate is not a number; no rate is returned")


class ConvergenceResult(Result):
    """A published result without privacy content.

    Class attributes beside those of `Result`:
        quantity: what the value of its rates bounds.
    """

    __slots__ = ()

    quantity: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse sizes whose squares and products leave the range of the doubles."""
        Result.__post_init__(self)
        for name in parameters(type(self)):
            value = getattr(self, name)
            for number in value.values if isinstance(value, Schedule) else (value,):
                if isinstance(number, int | float) and not in_range(number):
                    raise InvalidInput(
                        f"{name} needs a size from 1e-50 to 1e50; got {name}={number:g}; "
                        "try other units"
                    )

    @abstractmethod
    def claimed(self) -> Rate:
        """The printed formula, faithfully, flaws included.

        Raises:
            AssumptionViolated: where the paper's own conditions fail.
        """

    @abstractmethod
    def certified(self) -> Rate:
        """What is proved for the algorithm as it runs; infinite where nothing is."""

    def attained(self) -> Rate | None:
        """What a concrete problem within the assumptions really reaches, if one is known.

        No correct bound can be below it: a claim that is, is refuted.
        """
        return None

    def inputs(self) -> dict[str, Any]:
        """The parameters by name; schedules, graphs and matrices as text."""
        plain = (bool, int, float, str, type(None))
        found = Result.inputs(self)
        return {k: v if isinstance(v, plain) else str(v) for k, v in found.items()}


def in_range(number: float) -> bool:
    return number in (0, math.inf) or 1e-50 <= abs(number) <= 1e50


def no_bound(method: str, numbers: Mapping[str, float] | None = None) -> Rate:
    """The rate that proves nothing."""
    return Rate(math.inf, numbers or {}, method)


def by_node(name: str, given: Schedule, nodes: int) -> tuple[float, ...]:
    """One value per node of a quantity that does not change over rounds.

    Raises:
        InvalidInput: for a START:FACTOR rule, or a table of another width.
    """
    if given.factor != 1.0:
        raise InvalidInput(
            f"{name} needs one number, or one per node; got {name}={given}; "
            "it does not change over rounds"
        )
    if given.table:
        return given.nodes(name, nodes)
    return (given.start,) * nodes


def finite(name: str, value: float) -> float:
    """``value`` if it is a finite number, of either sign."""
    if not math.isfinite(value):
        raise InvalidInput(f"{name} needs a finite number; got {name}={value!r}")
    return value


def summed(values: tuple[float, ...]) -> Any:
    """The sum with sixty digits."""
    return sum((mpf(x) for x in values), mpf(0))
