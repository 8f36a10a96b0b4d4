"""What authors of results use: the decorator, and one formula for two number systems."""

from __future__ import annotations

import copy
import inspect
import math
import sys
from types import ModuleType
from typing import Any

import pytest
import sympy
from mpmath import mp, mpf

from dpcalc.errors import Infeasible, InvalidInput
from dpcalc.guarantees import GDP
from dpcalc.theorems.authoring import Numbers, Real, Theorem, assume, finding, number, theorem
from dpcalc.theorems.base import Bound
from dpcalc.theorems.numbers import Digits, NotAFormula, Symbols
from dpcalc.theorems.parameters import (
    Parameter,
    count,
    parameters,
    schedule,
)

DOC = """Title of a result (ABC).

Statement
    First line of it,
    and its second.

    Conditions.
Source
    Paper 2020, theorem 1
Certified
    Nothing.
"""


@pytest.fixture
def module() -> Any:
    made = ModuleType("dpcalc.theorems.tests.of_authoring", DOC)
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def example(module: ModuleType) -> Any:
    """Two released numbers, with a claimed ρ and a certified μ."""

    class Described(Theorem):
        """Two numbers."""

        __module__ = module.__name__
        findings = (finding("It is loose.", "loose", lambda t: t.sigma > 1),)
        assumptions = (assume("bounded", "Sensitivities are bounded."),)

        gap: float = number("how far apart", "Delta")
        sigma: float = number("noise", "sigma")
        extra: float | None = number("more, e", "e", default=None)

        def claimed_rho(self, x: Numbers) -> Real:
            return (x.gap / x.sigma) ** 2

        def certified_mu(self, x: Numbers) -> tuple[Real, str, dict[str, Real]]:
            mu = x.sqrt(2) * x.gap / x.sigma
            return mu, "two releases", {"twice": 2 * mu, "whole": 3}

        def suggestion(self, epsilon: float, delta: float) -> str:
            return super().suggestion(epsilon, delta) + "!"

    made = theorem(
        status="loose",
        releases="every iterate",
        noise="sigma",
        adjacency="replace-one",
        example={"gap": 1, "sigma": 3},
    )
    return made(Described)


def test_a_result_is_described_by_its_file_and_docstring(module: ModuleType) -> None:
    kind = example(module)
    assert kind.key == "of-authoring"
    assert kind.title == "Title of a result (ABC)"
    assert kind.statement == "First line of it, and its second."
    assert kind.reference == "Paper 2020, theorem 1"
    assert [str(each) for each in kind.releases] == ["every iterate"]
    made = kind(gap=1, sigma=3, attest="all")
    assert (made.release, made.attest) == ("every iterate", {"bounded"})
    assert repr(made).endswith("(gap=1.0, sigma=3.0, attest=['bounded'])")


def test_a_docstring_without_a_statement_is_refused(module: ModuleType) -> None:
    module.__doc__ = DOC.replace("Statement\n", "Claim\n")
    with pytest.raises(TypeError, match="sections Statement and Source"):
        example(module)


def test_instances_are_frozen_keyword_only_and_have_slots(module: ModuleType) -> None:
    kind = example(module)
    made = kind(gap=1, sigma=3)
    with pytest.raises(AttributeError):
        made.sigma = 4
    with pytest.raises(
        InvalidInput, match=r"takes its parameters by name; got 1, 3; try \w+\(gap=.*\)$"
    ):
        kind(1, 3)
    assert not hasattr(made, "__dict__")
    assert [*inspect.signature(kind).parameters] == ["gap", "sigma", "extra", "attest"]
    assert kind(gap=1, sigma=3) == made == copy.deepcopy(made)
    assert made.suggestion(1, 1e-5).endswith("rounds!")  # super() knows the class with slots


def test_missing_and_misspelt_arguments_say_what_was_given_and_what_to_try(
    module: ModuleType,
) -> None:
    kind = example(module)
    with pytest.raises(
        InvalidInput, match=r"also needs sigma; got gap; try \w+\(sigma=[\d.]+, ...\)$"
    ):
        kind(gap=1)
    with pytest.raises(
        InvalidInput, match=r"also needs gap, sigma; got none; try \w+\(gap=.*\d\)$"
    ):
        kind()
    with pytest.raises(InvalidInput, match="did you mean 'sigma'"):
        kind(gap=1, sigm=3)


def test_bounds_follow_from_the_formulas_rounded_outward(module: ModuleType) -> None:
    made = example(module)(gap=1, sigma=3)
    certified = made.certified()
    with mp.workdps(50):
        exact = mp.sqrt(mpf(2)) / 3
        mu = certified.numbers["mu"]
        assert math.nextafter(mu, 0) < exact <= mpf(mu)
        assert mpf(certified.numbers["twice"]) >= 2 * exact
    assert certified.numbers["whole"] == 3
    assert (certified.method, certified.guarantee.adjacency) == ("two releases", "replace-one")
    assert made.claimed().numbers == {"rho": math.nextafter(1 / 9, 1)}
    assert made.attained() is None
    assert made.calibration_tolerance() == 0


def test_prescribed_noise_is_the_claim_solved_for_it(module: ModuleType) -> None:
    made = example(module)(gap=1, sigma=3)
    found = made.prescribed(0.5, 1e-5)
    reached = found.claimed().guarantee.epsilon(1e-5)
    assert reached == pytest.approx(0.5, rel=1e-9)
    with pytest.raises(InvalidInput, match="epsilon"):
        made.prescribed(-1, 1e-5)


def test_a_claim_without_a_solution_is_searched(module: ModuleType) -> None:
    kind = example(module)

    class Other(kind):  # type: ignore[misc] # a class made here
        claimed_rho = Theorem.claimed_rho
        __module__ = module.__name__

        def claimed_divergence(self, x: Numbers) -> Real:
            return (x.gap / x.sigma) ** 2 + (x.extra or 0)

        def largest_order(self) -> float:
            return 50.0

    made = theorem(example={"gap": 1, "sigma": 3})(Other)(gap=1, sigma=3)
    guarantee = made.claimed().guarantee
    assert guarantee.renyi(50) == pytest.approx(50 / 9)
    assert guarantee.renyi(50.1) == math.inf
    found = made.prescribed(0.5, 1e-5).claimed().guarantee.epsilon(1e-5)
    assert found == pytest.approx(0.5, rel=1e-9)
    with pytest.raises(Infeasible, match="no sigma makes the printed curve"):
        made.replace(extra=1).prescribed(0.5, 1e-5)


def test_what_is_declared_is_kept(module: ModuleType) -> None:
    """Conditions of findings and assumptions, symbols, and the name of what is misspelt."""
    bound = finding("Sometimes.", "loose", lambda t: t > 3)
    assert (bound.text, bound.bearing.name) == ("Sometimes.", "LOOSE")
    assert [bound.applies(value) for value in (3, 4)] == [False, True]
    assert finding("Always.", "remark").applies(None)
    failing = assume("small", "It is small.", "claimed", lambda t: "too large" if t > 3 else None)
    assert (failing.key, failing.scope.value) == ("small", "claimed")
    assert failing.violated is not None
    assert [failing.violated(value) for value in (3, 4)] == [None, "too large"]
    for declare in (number, schedule, count):
        made: Any = declare("what it is", "sigma")
        (declared,) = (v for v in made.metadata.values() if isinstance(v, Parameter))
        assert (declared.symbol, declared.help) == ("sigma", "what it is, σ")
    with pytest.raises(InvalidInput) as caught:
        example(module).from_parameters({"gapp": 1, "sigma": 3})
    key = example(module).key
    assert str(caught.value) == f"unknown parameter of {key} 'gapp'; did you mean 'gap'?"


def test_bounds_that_are_written_as_guarantees_say_their_relation(module: ModuleType) -> None:
    kind = example(module)
    bound = Bound(GDP(0.5), {}, "by hand")

    class Written(kind):  # type: ignore[misc] # a class made here
        __module__ = module.__name__

        def claimed(self) -> Bound:
            return bound

        def certified(self) -> Bound:
            return bound

        def attained(self) -> Bound:
            return bound

    made = theorem(example={"gap": 1, "sigma": 3})(Written)(gap=1, sigma=3)
    for found in (made.claimed(), made.certified(), made.attained()):
        assert found.guarantee.adjacency == "replace-one"
        assert (found.guarantee, found.method) == (GDP(0.5), "by hand")
    assert bound.guarantee.adjacency is None


def test_a_claimed_epsilon_stands_with_what_the_paper_leaves_free(module: ModuleType) -> None:
    """The noise, and numbers with a default; not what every instance has to say."""
    kind = example(module)

    class Free(kind):  # type: ignore[misc] # a class made here
        claimed_rho = Theorem.claimed_rho
        __module__ = module.__name__

        share: float = number("what is split off", default=0.25)
        uses: int = count("how often", default=2)

        def claimed_epsilon(self, x: Numbers, delta: Real) -> Real:
            return x.gap / x.sigma * x.sqrt(x.log(1 / delta)) / x.share

    made = theorem(example={"gap": 1, "sigma": 3})(Free)(gap=1, sigma=3)
    claim = made.claimed()
    assert claim.numbers == {"sigma": 3.0}
    assert claim.guarantee.parameters() == {"sigma": 3.0, "share": 0.25}
    exact = math.sqrt(math.log(1e5)) / 3 / 0.25
    assert claim.guarantee.epsilon(1e-5) == pytest.approx(exact, rel=1e-12)


def test_symbols_show_the_same_formula_and_what_it_stands_for(module: ModuleType) -> None:
    made = example(module)(gap=2, sigma=3)
    claim, bound = made.symbolic()
    gap, sigma = sympy.symbols("Delta sigma", positive=True)
    assert (claim.name, claim.expression) == ("claimed.rho", gap**2 / sigma**2)
    assert (bound.name, bound.expression) == ("certified.mu", sympy.sqrt(2) * gap / sigma)
    assert bound.values == {"Delta": 2.0, "sigma": 3.0}


def test_both_number_systems_have_the_same_functions(module: ModuleType) -> None:
    made = example(module)(gap=2.5, sigma=3, extra=0.75)

    def formula(x: Numbers) -> Real:
        parts = [x.sqrt(x.gap), x.log(x.sigma), x.exp(-x.extra), x.floor(x.gap), x.ceil(x.gap)]
        ends = [x.max(x.gap, x.sigma, 1), x.min(x.gap, x.sigma, 7), x.harmonic(x.named("n", 4))]
        return sum(parts + ends) + x.up(x.gap)

    symbols = Symbols(made)
    expression = formula(symbols)
    exact = {sympy.Symbol(k, positive=True): sympy.Rational(v) for k, v in symbols.values.items()}
    found = expression.subs(exact)
    with mp.workdps(50):
        assert abs(mpf(str(found.evalf(45))) - formula(Digits(made))) < mpf("1e-40")
    assert Digits(made).inf == math.inf
    assert symbols.inf == sympy.oo


def test_what_a_search_gives_is_no_formula(module: ModuleType) -> None:
    made = example(module)(gap=2, sigma=3)
    assert Digits(made).computed(5) == 5
    with pytest.raises(NotAFormula):
        Symbols(made).computed(5)
    assert Symbols(made).computed(5, lambda: 7) == 7
    with pytest.raises(AttributeError, match="has no parameter sigmaa"):
        _ = Digits(made).sigmaa
    assert Digits(made).extra is None
    assert Symbols(made).named("z", 0) == 0  # no positive symbol is


def test_a_symbol_ends_the_help_unless_it_is_there(module: ModuleType) -> None:
    told = {name: each.help for name, each in parameters(example(module)).items()}
    assert told == {"gap": "how far apart, Δ", "sigma": "noise, σ", "extra": "more, e"}
