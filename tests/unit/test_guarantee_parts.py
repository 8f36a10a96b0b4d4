"""Guarantees part by part: where their searches look, and what they answer at the ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from mpmath import mp, mpf

from dpcalc.accounting.enclosure import Bracket, relative_width
from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ClaimedCurve,
    Guarantee,
    PrivacyProfile,
    PureDP,
    compose,
)
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.best_count import BestCount
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.groups import group
from dpcalc.guarantees.mechanisms import laplace
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.guarantees.objective_perturbation import perturbed_update
from dpcalc.guarantees.selection import RandomSelection
from dpcalc.guarantees.through_renyi import ApproximateRDP, _FiniteLossRDP
from dpcalc.guarantees.worst import WorstOf
from dpcalc.pictures import answers

pytestmark = pytest.mark.usefixtures("fifty_digits")


def parabola(least: float, factor: float = 1.0) -> Callable[[int], float]:
    """A parabola in the logarithm of the number, 0 at ``least``."""
    return lambda count: factor * math.log(count / least) ** 2


def counts(start: int = 10, least: int = 1, most: int = 10**6) -> BestCount:
    return BestCount(lambda count: PureDP(float(count)), start, least, most)


@pytest.mark.parametrize("middle", [90, 137, 150, 4000, 3])
def test_the_vertex_of_a_parabola_is_found_at_once(middle: int) -> None:
    found = counts()
    for factor in (1.4, 1.1):
        assert found._vertex(parabola(137), middle, factor) == 137
        assert found._vertex(parabola(137.0, 1e-3), middle, factor) == 137
    # Of a parabola through three numbers the vertex need not be near the middle one.
    assert counts()._vertex(parabola(100), 100, 1.4) == 100


def test_the_steps_of_a_search_over_numbers() -> None:
    found = counts(least=4, most=50)
    assert [found._below(n, 1.4) for n in (50, 14, 6, 5, 4)] == [35, 10, 4, 4, 4]
    assert [found._above(n, 1.4) for n in (4, 10, 35, 36, 49, 50)] == [6, 14, 49, 50, 50, 50]
    # Close factors still step by one.
    assert (found._below(20, 1.004), found._above(20, 1.004)) == (19, 21)


def test_where_no_parabola_has_a_vertex_the_least_of_the_three_is_taken() -> None:
    found = counts(least=4, most=50)
    assert found._vertex(lambda n: float(n), 20, 1.4) == 4
    assert found._vertex(lambda n: -float(n), 20, 1.4) == 50
    assert found._vertex(lambda _: 1.0, 20, 1.4) == 20
    assert found._vertex(lambda n: 0.0 if n == 20 else math.inf, 20, 1.4) == 20
    assert found._vertex(lambda n: -math.inf if n == 20 else 1.0, 20, 1.4) == 20


def test_the_best_number_is_found_among_few_and_among_many() -> None:
    def stepped(least: float) -> Callable[[int], Guarantee]:
        return lambda count: PureDP(math.exp(parabola(least)(count)))

    few = BestCount(stepped(41), 45, 38, 49)
    assert few.best(lambda bound: bound.epsilon(0.0)) == 41
    assert few.epsilon(0.0) == 1.0
    for end in (38, 49):
        ends = BestCount(lambda n, end=end: PureDP(1.0 + abs(n - end)), 45, 38, 49)
        assert ends.epsilon(0.0) == 1.0
    # Twelve numbers are all tried, also where answers rise and fall more than once.
    valleys = BestCount(lambda n: PureDP({38: 1.0, 45: 2.0}.get(n, 3.0)), 45, 38, 49)
    assert valleys.epsilon(0.0) == 1.0
    many = BestCount(stepped(300), 10, 1, 1000)
    assert many.best(lambda bound: bound.epsilon(0.0)) == 300
    assert many.epsilon(0.0) == 1.0
    # A start at which nothing follows: the search begins at the largest number instead.
    ending = BestCount(lambda n: PureDP(math.inf if n < 500 else float(n)), 10, 1, 1000)
    assert ending.epsilon(0.0) < 510.0
    asked: list[float] = []

    def counted(count: int) -> PureDP:
        asked.append(relative_width())
        return PureDP(math.exp(parabola(6555)(count)))

    # Long steps and wide enclosures from ten million down, few narrow ones at the end.
    assert BestCount(counted, 1, 1, 10**7).best(lambda bound: bound.epsilon(0.0)) == 6555
    assert len(asked) < 25
    assert sum(width < 1e-2 for width in asked) < 12
    rising = BestCount(lambda count: PureDP(float(count)), 30, 20, 1000)
    assert rising.epsilon(0.0) == 20.0
    # Nothing at all is the least there can be.
    nothing = BestCount(lambda count: PureDP(0.0 if count == 40 else 1.0), 45, 38, 49)
    assert nothing.best(lambda bound: bound.epsilon(0.0)) == 40


def test_of_few_numbers_only_what_may_be_the_best_is_enclosed_narrowly() -> None:
    asked: list[tuple[float, float]] = []

    class Watched(PureDP):
        def bracket(self, delta: float) -> Bracket:
            asked.append((self.bound, relative_width()))
            return Bracket(0.9 * self.bound, self.bound, f"watched at {delta}")

    found = BestCount(lambda n: Watched(1.0 + abs(n - 3)), 4, 1, 5)
    assert found.enclosed("bracket", 0.1) == Bracket(0.9, 1.0, "watched at 0.1")
    assert [bound for bound, width in asked if width < 1e-3] == [1.0]
    assert found.epsilon(0.1) == 1.0
    # Next to a smaller bound no number is enclosed narrowly, and the lower end is known.
    asked.clear()
    assert BestOf((Watched(0.5), found)).bracket(0.1) == Bracket(0.45, 0.5, "watched at 0.1")
    assert {bound for bound, width in asked if width < 1e-3} == {0.5}
    # Of many numbers not all are tried: nothing is known of the lower end.
    many = BestCount(lambda n: Watched(1.0 + abs(math.log(n / 300))), 10, 1, 1000)
    assert many.enclosed("bracket", 0.1).lower == 0
    assert many.enclosed("bracket", 0.1).upper == many.epsilon(0.1)


def test_what_does_not_depend_on_a_search_is_that_of_the_first_number() -> None:
    found = BestCount(lambda count: GDP(count / 8), 4, 2, 9)
    assert found.renyi(3.0) == GDP(0.5).renyi(3.0)
    assert found.losses() == GDP(0.5).losses()
    assert group(found, 3) == GDP(1.5)
    assert dict(found.parameters()) == {"least": 2.0, "most": 9.0}
    assert found.delta(0.25) == GDP(0.25).delta(0.25)


def test_pure_rounds_add_up_where_nothing_may_fail() -> None:
    found = compose((PureDP(0.1), 3), PureDP(0.7))
    bracket = found.bracket(0.0)
    exact = 3 * mpf(0.1) + mpf(0.7)  # no double
    assert bracket.method == "plain sum"
    assert mpf(bracket.lower) < exact < mpf(bracket.upper)
    assert bracket.upper == math.nextafter(bracket.lower, 2)
    assert found.bracket(1e-6).method != "plain sum"
    # Where something may fail, the largest losses of what does not are a lower end.
    assert 0.3 * (1 - 1e-13) <= compose((ApproxDP(0.1, 1e-9), 3)).bracket(0.0).lower <= 0.3
    assert compose(GDP(1.0), PureDP(1.0)).bracket(0.0).upper == math.inf


def test_the_plain_sum_where_failures_use_up_delta() -> None:
    """At δ = 1-(1-δ₀)² nothing is left to gain; below it the sum does not hold."""
    found = Composition(((ApproxDP(0.1, 1e-3), 2),))
    plain = found._plain_sum()
    assert plain is not None
    assert mpf(plain.failure) >= 1 - (1 - mpf(1e-3)) ** 2
    assert found.bracket(plain.failure).upper <= plain.bound
    assert found.bracket(plain.failure).lower <= found.bracket(plain.failure).upper
    assert found.epsilon(plain.failure / 2) == math.inf
    unlike = Composition(((ApproxDP(0.1, 1e-3), 2), (ApproxDP(0.2, 1e-2), 1)))._plain_sum()
    assert unlike is not None
    exact = 1 - (1 - mpf(1e-3)) ** 2 * (1 - mpf(1e-2))
    assert exact <= unlike.failure <= exact * (1 + mpf("1e-15"))
    alone = Composition(((ApproxDP(0.1, 1e-3), 1), (PureDP(0.2), 2)))._plain_sum()
    assert alone is not None
    assert alone.failure == 1e-3
    assert Composition(((GDP(0.5), 1), (PureDP(0.1), 1)))._plain_sum() is None
    assert Composition(((PureDP(math.inf), 1),))._plain_sum() is None


def test_equal_parts_are_counted_together() -> None:
    found = compose(PureDP(0.1), (PureDP(0.2), 3), (PureDP(0.1), 2), (PureDP(0.3), 0))
    assert isinstance(found, Composition)
    assert found.parts == ((PureDP(0.1), 3), (PureDP(0.2), 3))
    assert compose((found, 2), PureDP(0.2)) == Composition(((PureDP(0.1), 6), (PureDP(0.2), 7)))


@pytest.mark.parametrize("failure", [0.0, 0.1, 0.25])
def test_a_pair_at_a_larger_delta_has_the_smaller_epsilon_that_follows(failure: float) -> None:
    """δ(ε) = δ₀ + (1-δ₀)(e^{ε₀} - e^ε)/(1 + e^{ε₀}), solved for ε."""
    for delta in (0.3, 0.4):
        share = (mpf(delta) - mpf(failure)) / (1 - mpf(failure))
        exact = mp.log(mp.exp(mpf(1.5)) - share * (1 + mp.exp(mpf(1.5))))
        assert exact <= ApproxDP(1.5, failure).epsilon(delta) <= exact * (1 + mpf(2) ** -51)
    assert ApproxDP(1.5, failure).epsilon(0.9) == 0.0


def test_infinite_rounds_stay_infinite() -> None:
    assert compose((ZCDP(math.inf), 2), ZCDP(0.5)).epsilon(1e-5) == math.inf
    assert compose((PureDP(math.inf), 2), ApproxDP(0.5, 0.1)).epsilon(0.5) == math.inf
    assert compose((GDP(math.inf), 2), GDP(0.5)).epsilon(1e-5) == math.inf


def test_failures_of_renyi_curves_multiply() -> None:
    """Curves that fail with δ₀ composed twice with one that does not: 1-(1-δ₀)² may fail."""
    found = compose((ApproximateRDP(ZCDP(0.125), 1e-3), 2), (ZCDP(0.25), 1))
    assert isinstance(found, ApproximateRDP)
    failure = 1 - (1 - mpf(1e-3)) ** 2
    assert failure <= found.failure <= failure * (1 + mpf("1e-15"))
    assert found.base.renyi(4.0) == pytest.approx(4 * 0.5, rel=1e-14)
    assert found.base.renyi(4.0) >= 2.0


def test_the_best_of_several_knows_losses_where_one_does() -> None:
    assert BestOf((ZCDP(0.1), GDP(0.5))).losses() == GDP(0.5).losses()
    assert BestOf((ZCDP(0.1), ZCDP(0.2))).losses() is None


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_updates_say_what_they_are_of(relation: str) -> None:
    update = Update(bound=0.5, curvature=0.25, dimension=3, tied=False)
    found = perturbed_update(update, relation, 0.75)
    assert repr(found) == "DominatedMechanism(objective perturbation, a = 0.5, d = 3)"
    assert found.epsilon(0.0) == 0.75
    assert len(found.losses() or ()) == (2 if relation == "add-remove" else 1)
    quiet = Update(bound=301.0, curvature=0.25, dimension=3, tied=False)
    assert perturbed_update(quiet, relation, 302.0) == PureDP(302.0)


KINDS: dict[str, Callable[[float], Guarantee]] = {
    "pure": PureDP,
    "approximate": lambda size: ApproxDP(size, 0.5),
    "gaussian": GDP,
    "zcdp": ZCDP,
    "renyi": lambda size: RDP.from_points({2: size}),
    "profile": lambda size: PrivacyProfile(lambda e: size * math.exp(-e)),
    "mixture": lambda size: GaussianMixture((size, size), (0.5, 0.5)),
    "group": lambda size: group(ApproxDP(size, 0.25), 3),
    "selection": lambda size: RandomSelection(ApproxDP(size, 0.25), 0.125),
    "failing": lambda size: ApproximateRDP(ZCDP(size), 0.5),
    "composition": lambda size: Composition(((PureDP(size), 2), (PureDP(2 * size), 1))),
    "claimed": lambda size: ClaimedCurve(lambda delta: -size * math.log(delta), {}),
    "finite losses": lambda size: _FiniteLossRDP(GDP(size)),
    "best": lambda size: BestOf((PureDP(size), GDP(size))),
    "worst": lambda size: WorstOf(((1, PureDP(size)), (2, GDP(size)))),
    "best count": lambda size: BestCount(lambda count: GDP(size * count), 1, 1, 3),
    "laplace": lambda size: laplace(1 / size, "add-remove"),
}


def test_a_picture_says_what_it_is_of(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[dict[str, Any]] = []

    def axes(curves: dict[str, Any], **said: Any) -> None:
        drawn.append({"curves": curves, **said})

    monkeypatch.setattr(answers, "epsilon_axes", axes)
    GDP(0.5).plot()
    GDP(0.5).under("add-remove").plot([1e-3, 1e-2])
    plain, under = drawn
    assert list(plain["curves"]) == ["certified"]
    assert plain["curves"]["certified"](1e-3) == GDP(0.5).epsilon(1e-3)
    assert (plain["title"], plain["setting"]) == ("gdp", "GDP(mu=0.5).")
    assert plain["deltas"] == answers.DELTAS
    assert under["setting"] == "GDP(mu=0.5). Neighbours: add-remove."
    assert under["deltas"] == [1e-3, 1e-2]
    compose(*[(PureDP(k / 64), 1) for k in range(1, 60)]).plot()
    assert len(drawn[2]["setting"]) <= 301


@pytest.mark.parametrize("kind", KINDS)
def test_refusals_name_what_is_out_of_range(kind: str) -> None:
    found = KINDS[kind](0.5)
    for ask, name in (
        (lambda: found.delta(-1.0), "epsilon"),
        (lambda: found.epsilon(1.5), "delta"),
        (lambda: found.renyi(1.0), "order"),
        (lambda: found.tradeoff(1.5), "false_positive_rate"),
        (lambda: found.attack_accuracy(1.5), "prior"),
    ):
        with pytest.raises(InvalidInput, match=rf"^{name} "):
            ask()


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"composition", "laplace", "claimed"}))
def test_what_hides_next_to_nothing_has_delta_one_and_no_more(kind: str) -> None:
    assert KINDS[kind](650.0).delta(0.0) == 1.0


def test_a_wide_question_that_is_answered_narrowly_is_not_asked_again() -> None:
    asked: list[float] = []

    @dataclass(frozen=True)
    class Counted(PureDP):
        def bracket(self, delta: float) -> Bracket:
            asked.append(relative_width())
            return Bracket(self.bound - 1e-9, self.bound, "counted")

    assert BestOf((Counted(1.0), Counted(0.9))).epsilon(0.0) == 0.9
    assert asked == [1e-6, 0.1]
