"""What a published result is made of: assumptions, findings, bounds and formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpcalc.markup import html_table
from dpcalc.vocabulary import Bearing

if TYPE_CHECKING:
    import sympy
    from matplotlib.axes import Axes

    from dpcalc.guarantees.base import Guarantee


class Scope(StrEnum):
    """Which of a theorem's two bounds needs an assumption."""

    CLAIMED = "claimed"
    CERTIFIED = "certified"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that must hold before a bound means anything.

    Attributes:
        key: a short name, used to attest it.
        text: what must hold, in one sentence.
        scope: which bound needs it.
        violated: for an assumption the parameters can decide: the reason it fails, or None. An
            assumption without this is a promise that only the caller can make.
    """

    key: str
    text: str
    scope: Scope = Scope.BOTH
    violated: Callable[[Any], str | None] | None = None

    @property
    def promised(self) -> bool:
        """Whether only the caller can vouch for it."""
        return self.violated is None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a careful reading found.

    Attributes:
        text: what is so, in one or two sentences.
        bearing: what it says of the printed statement or its proof where it applies.
        applies: whether it concerns an instance; all of them by default.
    """

    text: str
    bearing: Bearing
    applies: Callable[[Any], bool] = field(default=lambda _: True)


@dataclass(frozen=True, slots=True)
class Bound:
    """A guarantee with the theorem's own numbers and how it was obtained.

    Attributes:
        guarantee: answers ε(δ) and all else.
        numbers: the theorem's own quantities under their names in the glossary.
        method: one phrase.
    """

    guarantee: Guarantee
    numbers: Mapping[str, float]
    method: str

    def epsilon(self, delta: float) -> float:
        """ε of the guarantee.

        Args:
            delta: in [0, 1).

        Returns:
            0 or above; infinite if no ε follows.
        """
        return self.guarantee.epsilon(delta)

    def delta(self, epsilon: float) -> float:
        """δ of the guarantee.

        Args:
            epsilon: 0 or above; may be infinite.

        Returns:
            In [0, 1].
        """
        return self.guarantee.delta(epsilon)

    def plot(self, deltas: Sequence[float] | None = None) -> Axes:
        """ε over δ, as of the guarantee.

        Args:
            deltas: shape (n,), each in (0, 1); 23 from 1e-12 to 0.1 if left out.

        Returns:
            The axes, of a figure of their own.
        """
        return self.guarantee.plot(deltas)

    def _repr_html_(self) -> str:
        rows = [("method", self.method), *((k, f"{v:.10g}") for k, v in self.numbers.items())]
        return html_table([("notion", self.guarantee.notion), *rows])


@dataclass(frozen=True, slots=True)
class Formula:
    """A printed formula in the symbols of the parameters.

    Attributes:
        name: which number it gives, such as ``claimed.beta``.
        expression: the formula.
        values: the symbols' values for the instance, exact where they are exact.
        shown: a form that is easier to read than the expression, if there is one.
    """

    name: str
    expression: sympy.Expr
    values: Mapping[str, float]
    shown: str = ""
