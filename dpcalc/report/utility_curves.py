"""Curves of a convergence or utility result: its bound over a parameter, or over the budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcalc.calibration import smallest_noise
from dpcalc.errors import DpcalcError
from dpcalc.pictures.curves import Picture, asked
from dpcalc.report.theorem_curves import KINDS, if_it_applies, variable

if TYPE_CHECKING:
    from dpcalc.theorems.base import Theorem
    from dpcalc.theorems.convergence._base import ConvergenceResult


@dataclass(frozen=True, slots=True)
class Accounted:
    """Which privacy result accounts for the noise of a utility result.

    Attributes:
        theorem: its key.
        names: its parameters that the utility result has under another name, and that name.
        budget: the utility result's own parameters for the noise of a budget.
    """

    theorem: str
    names: Mapping[str, str]
    budget: tuple[str, ...] = ()


ACCOUNTED = {
    "dp-admm-utility": Accounted("dp-admm", {}, budget=("n_records", "epsilon", "delta", "split")),
    "dual-averaging-convergence": Accounted(
        "private-dual-averaging", {"lipschitz": "subgradient_bound"}
    ),
}
"""Utility results of algorithms whose budget is known: the same noise in both."""


def utility_over(result: ConvergenceResult, name: str, values: Iterable[float]) -> Picture:
    """The bound for every value of a parameter.

    Raises:
        InvalidInput: if the parameter is no number, with those that are.
    """
    variable(type(result), name, "")
    curves, reasons = asked(
        values, KINDS, lambda value: _utilities(result.replace(**{name: value})), zero=True
    )
    return Picture(name, "bound", curves, y_label=result.quantity, left_out=reasons)


def utility_over_epsilon(
    result: ConvergenceResult, theorem: Theorem, epsilons: Iterable[float], delta: float
) -> Picture:
    """What is left of utility at a budget.

    Claimed is the printed bound with the noise that the paper prescribes for the budget; certified and
    attained go with the smallest noise that is certified to meet it.

    Args:
        result: the utility result; its noise is replaced.
        theorem: the privacy result of the same algorithm.
        epsilons: the budgets.
        delta: of all of them.
    """
    start = theorem

    def at(epsilon: float) -> Mapping[str, float | None]:
        nonlocal start
        start = smallest_noise(start, epsilon, delta)
        found = _utilities(result.replace(**{theorem.noise: start.noise_level()}))
        return found | {"claimed": _claimed(result, theorem, epsilon, delta)}

    curves, reasons = asked(epsilons, KINDS, at, zero=True)
    return Picture("epsilon", "bound", curves, y_label=result.quantity, left_out=reasons)


def _claimed(
    result: ConvergenceResult, theorem: Theorem, epsilon: float, delta: float
) -> float | None:
    """The printed bound with the printed noise, None where either formula gives nothing."""
    try:
        noise = theorem.prescribed(epsilon, delta).noise_level()
        return result.replace(**{theorem.noise: noise}).claimed().value
    except DpcalcError:
        return None


def _utilities(result: ConvergenceResult) -> dict[str, float | None]:
    bounds = {kind: if_it_applies(getattr(result, kind)) for kind in KINDS}
    return {kind: None if bound is None else bound.value for kind, bound in bounds.items()}
