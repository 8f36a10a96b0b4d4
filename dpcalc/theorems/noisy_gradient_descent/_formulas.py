"""The bounds on noisy gradient descent in either number system."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from dpcalc.accounting.iteration import NoisyContraction, Participation, convex_minorant
from dpcalc.accounting.iteration.descent import sample_profile
from dpcalc.accounting.iteration.sampled_batches import NoiseSplit
from dpcalc.theorems.base import Formula
from dpcalc.theorems.formulas import shown
from dpcalc.theorems.numbers import Numbers, Real, Symbols

if TYPE_CHECKING:
    from dpcalc.theorems.noisy_gradient_descent._sampled import SampledDescent


@dataclass(frozen=True, slots=True)
class Start:
    """How far apart two runs are before the counted steps.

    Attributes:
        value: with sixty digits.
        shown: in the number system of a formula.
    """

    value: Real = 0
    shown: Real = 0


def geometric(x: Real, count: int) -> Real:
    """1 + x + ... + x^(count - 1)."""
    return count if x == 1 else (1 - x**count) / (1 - x)


def last_iterate_mu(
    x: Numbers,
    numbers: NoisyContraction,
    formula: NoisyContraction,
    participation: Participation,
    start: Start | None = None,
) -> Real:
    """μ of the last iterate along the vertices that the numbers choose.

    Args:
        x: the number system.
        numbers: contraction, jump and noise with sixty digits.
        formula: the same in the number system.
        participation: when the record is used.
        start: how far apart the runs begin; together unless given.
    """
    apart = start or Start()
    vertices = convex_minorant(numbers.points(participation, apart.value))
    parts = (formula.contraction, formula.step_sensitivity, formula.noise)
    points = sample_profile(*parts, apart.shown, participation, geometric)
    total: Real = 0
    for k, j in pairwise(vertices):
        width, height = points[j][0] - points[k][0], points[j][1] - points[k][1]
        if height != 0:
            total += x.inf if width == 0 else height**2 / width
    return x.sqrt(total)


def split_formulas(
    theorem: SampledDescent,
    which: str,
    split: NoiseSplit,
    *,
    bounded: bool,
    contracting: bool = True,
) -> list[Formula]:
    """μ of the shift, of a step and of a closing step.

    Args:
        theorem: batches drawn at random.
        which: "claimed" or "certified".
        split: the numbers' choice of steps and share.
        bounded: whether the diameter is the smaller bound on the distance before the counted steps.
        contracting: whether the bound uses that a step contracts.
    """
    x = Symbols(theorem)
    c, use = theorem.factor(x) if contracting else 1, theorem.own_mu(x)
    theta = x.named("theta", split.share)
    found = {}
    if split.steps > split.closing:
        found["step_mu"] = use
    if split.closing:
        found["closing_mu"] = use / x.sqrt(1 - theta)
    before = theorem.steps - split.steps
    if split.share and (bounded or before):
        apart = x.diameter / (x.step_size * x.sigma) if bounded else use * geometric(c, before)
        weight = x.sqrt(theta * geometric(c**2, split.closing))
        found["shift_mu"] = apart * c**split.steps / weight
    return [shown(f"{which}.{name}", expression, x) for name, expression in found.items()]
