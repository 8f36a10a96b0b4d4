"""Bounds, prescribed noise and shown formulas from the formulas that an author writes, each once."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, ClassVar, Self, TypeVar

from dpcalc import checks
from dpcalc.errors import Infeasible
from dpcalc.guarantees import GDP, RDP, ZCDP, ClaimedCurve
from dpcalc.numerics.precise import context, mpf, round_down, round_up
from dpcalc.numerics.search import smallest_where
from dpcalc.theorems.numbers import Digits, NotAFormula, Numbers, Real, Symbols
from dpcalc.theorems.parameters import default_of, parameters
from dpcalc.theorems.result import Result
from dpcalc.theorems.statements import Bound, Formula, Scope

B = TypeVar("B", bound=Bound | None)

Stated = tuple[Real, str] | tuple[Real, str, Mapping[str, Real]]
"""A number, how it was obtained in one phrase, and what else is worth knowing of it."""

CLAIMS = {
    "claimed_mu": "mu",
    "claimed_rho": "rho",
    "claimed_divergence": "divergence_per_order",
    "claimed_epsilon": "epsilon",
}
"""The forms in which papers state a bound, of which a theorem has one, and what they give."""

_FARTHEST = 1e12
"""A search for noise goes this many times as far as the noise at hand."""


def _under_its_relation(bound: Callable[[Any], B]) -> Callable[[Any], B]:
    @wraps(bound)
    def stated(theorem: Any) -> B:
        found: Any = bound(theorem)
        if found is not None:
            guarantee = found.guarantee.under(theorem.adjacency)
            found = dataclasses.replace(found, guarantee=guarantee)
        return found

    stated.says_relation = True  # type: ignore[attr-defined] # with slots a class is made twice
    return stated


class Formulated(Result):
    """A privacy result whose bounds follow from formulas, or are written as guarantees.

    Class attributes:
        noise: name of the parameter that says how much noise is added.
        adjacency: when two inputs are neighbours; a parameter if the caller chooses.
        claim_is: "printed", or what else became of the paper's formula.
    """

    __slots__ = ()

    noise: ClassVar[str]
    claim_is: ClassVar[str] = "printed"
    adjacency: str

    def __init_subclass__(cls, **settings: Any) -> None:
        """Its bounds say under which neighbouring relation they hold."""
        super().__init_subclass__(**settings)
        for name in ("claimed", "certified", "attained"):
            bound = vars(cls).get(name)
            if bound is not None and not hasattr(bound, "says_relation"):
                setattr(cls, name, _under_its_relation(bound))

    def claimed_mu(self, x: Numbers) -> Real:
        """The printed μ of Gaussian differential privacy; one form of a claim is written."""

    def claimed_rho(self, x: Numbers) -> Real:
        """The printed ρ of zero-concentrated differential privacy."""

    def claimed_divergence(self, x: Numbers) -> Real:
        """The printed Rényi divergence per order, up to `largest_order`."""

    def claimed_epsilon(self, x: Numbers, delta: Real) -> Real:
        """The printed ε at a δ."""

    def prescribed_noise(self, x: Numbers, epsilon: Real, delta: Real) -> Real:
        """The noise that the paper prints for a budget."""

    def certified_mu(self, x: Numbers) -> Stated:
        """What is proved: μ, the phrase that says how, and further numbers by name, if any."""
        raise TypeError(f"{self.key} needs certified_mu(x) or certified()")

    def attained_mu(self, x: Numbers) -> Stated | None:
        """The same for what an instance reaches; None if none is known."""
        return None

    def own_numbers(self, x: Numbers) -> Mapping[str, Real]:
        """The theorem's own quantities, shown with what is claimed and what is certified."""
        return {}

    def largest_order(self) -> float:
        """The largest order at which a printed Rényi divergence is claimed."""
        return math.inf

    def noise_level(self) -> float:
        """The noise parameter, its first value if it is a schedule."""
        from dpcalc.theorems.schedule import Schedule

        value = getattr(self, self.noise)
        return value.first if isinstance(value, Schedule) else float(value)

    @classmethod
    def certified_by_formula(cls) -> bool:
        """Whether the certified bound is a formula."""
        return _writes(cls, "certified_mu")

    @_under_its_relation
    def claimed(self) -> Bound:
        """The printed formula, faithfully, flaws included.

        Raises:
            AssumptionViolated: where the paper's own conditions fail.
        """
        self.require(Scope.CLAIMED)
        form, x = claim_of(type(self)), Digits(self)
        own = {name: round_up(value) for name, value in self.own_numbers(x).items()}
        method = f"{self.claim_is} formula"
        if form == "claimed_epsilon":
            noise = {self.noise: self.noise_level()}
            curve = ClaimedCurve(partial(_epsilon, self), noise | _left_free(self))
            return Bound(curve, noise | own, method)
        value = getattr(self, form)(x)
        numbers = {CLAIMS[form]: round_up(value)} | own
        if form == "claimed_divergence":
            return Bound(_curve(self, value), numbers, method)
        kind = GDP if form == "claimed_mu" else ZCDP
        return Bound(kind(numbers[CLAIMS[form]]), numbers, method)

    @_under_its_relation
    def certified(self) -> Bound:
        """What is proved for the algorithm as it runs; infinite where nothing is."""
        self.require(Scope.CERTIFIED)
        return self.gaussian(self.certified_mu(Digits(self)))

    @_under_its_relation
    def attained(self) -> Bound | None:
        """What a concrete instance within the assumptions really leaks, if one is known.

        No correct bound can be below it: a claim that is, is refuted.
        """
        stated = self.attained_mu(Digits(self))
        return None if stated is None else _bound(stated, round_down)

    def gaussian(self, stated: Stated) -> Bound:
        """The bound that a stated μ is, with the theorem's own quantities."""
        return _bound(stated, round_up, self.own_numbers(Digits(self)))

    def prescribed(self, epsilon: float, delta: float) -> Self:
        """The instance with the noise that the paper prescribes for a budget.

        That is its own formula, or the claim solved for the noise: a claimed μ falls like 1/σ, a
        claimed ρ like 1/σ²; for other claims the noise is searched.

        Raises:
            Infeasible: if the formula gives none.
        """
        checks.positive("epsilon", epsilon)
        checks.proper_delta(delta)
        self.require(Scope.CLAIMED)
        noise = self._printed_noise(epsilon, delta)
        if noise is None:
            return self._claiming(epsilon, delta)
        return self.replace(**{self.noise: round_up(noise)})

    def _printed_noise(self, epsilon: float, delta: float) -> Real | None:
        if _writes(type(self), "prescribed_noise"):
            return self.prescribed_noise(Digits(self), mpf(epsilon), mpf(delta))
        unit = self.replace(**{self.noise: 1.0})
        if _writes(type(self), "claimed_rho"):
            from dpcalc.guarantees.conversion import rho_for

            return context().sqrt(unit.claimed_rho(Digits(unit)) / mpf(rho_for(epsilon, delta)))
        if _writes(type(self), "claimed_mu"):
            from dpcalc.accounting.gaussian import gaussian_mu

            return unit.claimed_mu(Digits(unit)) / mpf(gaussian_mu(epsilon, delta))
        return None

    def _claiming(self, epsilon: float, delta: float) -> Self:
        """The instance with the smallest noise found whose claimed bound gives (ε, δ)."""
        start = self.noise_level()

        def meets(noise: float) -> bool:
            claimed = self.replace(**{self.noise: noise}).claimed()
            return claimed.guarantee.epsilon(delta) <= epsilon

        low, high = start, start
        while not meets(high):
            high *= 2
            if high > _FARTHEST * start:
                raise Infeasible(
                    f"no {self.noise} makes the printed curve give epsilon={epsilon:g}"
                )
        while meets(low) and low > start / _FARTHEST:
            low /= 2
        return self.replace(**{self.noise: smallest_where(meets, low, high)})

    def symbolic(self) -> tuple[Formula, ...]:
        """What the author wrote, with symbols for the parameters; what is no formula is left out."""
        kind, found = type(self), []
        if _writes(kind, "prescribed_noise"):
            budget = ("epsilon", "delta")
            found.append(_shown(self, f"prescribed.{self.noise}", "prescribed_noise", *budget))
        form = next((name for name in CLAIMS if _writes(kind, name)), "claimed_epsilon")
        if form != "claimed_epsilon" and not self.violations_of_claim():
            found.append(_shown(self, f"claimed.{CLAIMS[form]}", form))
        if kind.certified_by_formula():
            found.append(_shown(self, "certified.mu", "certified_mu"))
        return tuple(formula for formula in (*found, *_shown_numbers(self)) if formula is not None)


def _writes(kind: type[Formulated], name: str) -> bool:
    """Whether the author of a theorem wrote a formula."""
    return getattr(kind, name) is not getattr(Formulated, name)


def claim_of(kind: type[Formulated]) -> str:
    """Which form the printed formula has."""
    found = next((form for form in CLAIMS if _writes(kind, form)), None)
    if found is None:
        raise TypeError(f"{kind.key} needs one of {', '.join(CLAIMS)}, or claimed()")
    return found


def _epsilon(theorem: Formulated, delta: float) -> float:
    return float(theorem.claimed_epsilon(Digits(theorem), mpf(delta)))


def _left_free(theorem: Formulated) -> dict[str, float]:
    """The numbers that the paper leaves free: those with a default."""
    kind = type(theorem)
    return {
        name: getattr(theorem, name)
        for name, parameter in parameters(kind).items()
        if parameter.kind == "number" and default_of(kind, name) is not None
    }


@dataclass(frozen=True, slots=True)
class _Line:
    """A divergence of ``slope`` times the order, up to the largest order it is stated for."""

    slope: Real
    largest: float

    def __call__(self, order: float) -> float:
        return round_up(mpf(order) * self.slope) if order <= self.largest else math.inf


def _curve(theorem: Formulated, slope: Real) -> RDP:
    line = _Line(slope, theorem.largest_order())
    known = 1 < line.largest < math.inf and math.isfinite(line(line.largest))
    points = ((line.largest, line(line.largest)),) if known else ()
    return RDP(line, f"{theorem.claim_is} curve", points)


def _bound(
    stated: Stated, rounded: Callable[[Real], float], own: Mapping[str, Real] | None = None
) -> Bound:
    value, method, *more = stated
    named = {"mu": value} | {k: v for each in more for k, v in each.items()} | dict(own or {})
    numbers = {k: v if isinstance(v, int) else rounded(v) for k, v in named.items()}
    return Bound(GDP(numbers["mu"]), numbers, method)


def _shown(theorem: Formulated, name: str, formula: str, *free: str) -> Formula | None:
    x = Symbols(theorem)
    try:
        stated = getattr(theorem, formula)(x, *(x.symbol(each) for each in free))
    except NotAFormula:
        return None
    return shown(name, stated[0] if isinstance(stated, tuple) else stated, x)


def _shown_numbers(theorem: Formulated) -> list[Formula]:
    """The theorem's own quantities as formulas."""
    x = Symbols(theorem)
    try:
        own = theorem.own_numbers(x)
    except NotAFormula:
        return []
    return [shown(f"certified.{name}", expression, x) for name, expression in own.items()]


def shown(name: str, expression: Any, x: Symbols) -> Formula:
    """A formula with what its symbols stand for."""
    used = {str(symbol) for symbol in expression.free_symbols}
    return Formula(name, expression, {k: v for k, v in x.values.items() if k in used})
