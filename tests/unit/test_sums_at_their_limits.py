"""Sums of few and many rounds at their limits: which answers, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.losses.exponential_norm import LARGEST_DIMENSION
from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.gaussian_update import LARGEST_MU, GaussianUpdate
from dpcalc.guarantees import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ClaimedCurve,
    PureDP,
    compose,
)
from dpcalc.guarantees import objective_perturbation as updates
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.objective_perturbation import (
    moved_noise,
    normally_perturbed_update,
    perturbed_update,
)
from dpcalc.guarantees.worst import WorstOf
from tests.unit.limit_sums import Told, refused

pytestmark = pytest.mark.usefixtures("fifty_digits")


def _randomised_response(bounds: list[float], epsilon: float) -> mpf:
    """δ(ε) of pure rounds by all outcomes of randomised response."""
    found = mpf(0)
    for signs in np.ndindex(*(2,) * len(bounds)):
        loss = mp.fsum((1 - 2 * s) * mpf(b) for s, b in zip(signs, bounds, strict=True))
        p = mp.fprod(
            1 / (1 + mp.exp(-(1 - 2 * s) * mpf(b))) for s, b in zip(signs, bounds, strict=True)
        )
        found += max(mpf(0), p - mp.exp(mpf(epsilon) - loss) * p)
    return found


def test_several_deltas_of_pure_rounds_are_exact() -> None:
    total = Composition(((PureDP(0.5), 2), (PureDP(0.25), 1)))
    for epsilon, found in zip((0.0, 0.3, 1.0), total.deltas([0.0, 0.3, 1.0]), strict=True):
        exact = _randomised_response([0.5, 0.5, 0.25], epsilon)
        assert exact <= mpf(found) <= exact * (1 + mpf("1e-12"))
    assert total.deltas([math.inf]) == (0.0,)
    many = Composition(((PureDP(0.01), 3000), (PureDP(0.02), 500)))
    assert many.deltas([0.5, 1.0]) == (many.delta(0.5), many.delta(1.0))
    assert compose((GDP(0.5), 2), PureDP(0.25)).deltas([math.inf, math.inf]) == (0.0, 0.0)
    assert total.delta_bracket(math.inf).method == "plain sum"


def test_the_plain_sum_is_named_where_it_is_the_answer() -> None:
    pair = Composition(((ApproxDP(0.1, 1e-3), 1), (PureDP(0.2), 2)))
    found = pair.bracket(1e-3)
    assert found.method == "plain sum"
    exact = mpf(0.1) + 2 * mpf(0.2)
    assert found.lower <= exact <= mpf(found.upper) == mpf(math.nextafter(0.5, 1))
    assert pair.bracket(2e-3).method != "plain sum"
    assert Composition(((GDP(0.5), 1),)).bracket(0.0).method == "plain sum"


@pytest.mark.parametrize(("count", "all_ways"), [(199, True), (200, False)])
def test_ways_of_two_cases_are_gone_through_up_to_two_hundred(count: int, all_ways: bool) -> None:
    """``count`` releases of two cases are ``count + 1`` ways."""
    worst = WorstOf(((1, GDP(0.1)), (2, GDP(0.2))))
    found = compose((worst, count))
    assert isinstance(found, WorstOf) == all_ways
    exact = GDP(0.2 * math.sqrt(count)).epsilon(1e-5)
    if all_ways:
        assert isinstance(found, WorstOf)
        assert len(found.cases) == count + 1
        assert [node for node, _ in found.cases] == [1] * count + [2]
        assert found.cases[-1][1].epsilon(1e-5) == pytest.approx(exact, rel=1e-12)
    else:
        assert exact < found.epsilon(1e-5) < 1.2 * exact


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_an_update_at_the_largest_of_its_law_still_has_it(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert updates._LARGEST_BOUND == 300.0
    monkeypatch.setattr(updates, "_LARGEST_BOUND", 2.0)  # which takes less time
    for mu, curvature, known in (
        (LARGEST_MU, 0.25, True),
        (math.nextafter(LARGEST_MU, math.inf), 0.25, False),
        (1.0, 1e12, True),
        (1.0, math.nextafter(1e12, math.inf), False),
    ):
        normal = normally_perturbed_update(GaussianUpdate(mu, curvature, tied=False), relation)
        assert isinstance(normal, DominatedMechanism) == known
        assert known or normal == GDP(math.inf)
        if known:
            assert repr(normal) == (
                f"DominatedMechanism(objective perturbation, normal noise, μ = {mu:g})"
            )
            assert normal.epsilon(0.0) == math.inf
    for bound, curvature, known in (
        (2.0, 0.25, True),
        (math.nextafter(2.0, 3), 0.25, False),
        (1.0, 1e12, True),
        (1.0, math.nextafter(1e12, math.inf), False),
    ):
        update = Update(bound=bound, curvature=curvature, dimension=3, tied=False)
        found = perturbed_update(update, relation, 400.0)
        assert isinstance(found, DominatedMechanism) == known
        assert known or found == PureDP(400.0)
    largest = Update(bound=1.0, curvature=0.25, dimension=LARGEST_DIMENSION, tied=False)
    assert isinstance(perturbed_update(largest, relation, 2.0), DominatedMechanism)
    beyond = Update(bound=1.0, curvature=0.25, dimension=LARGEST_DIMENSION + 1, tied=False)
    assert refused(perturbed_update, beyond, relation, 2.0) == (
        f"dimension needs to be at most {LARGEST_DIMENSION:,}; got "
        f"dimension={LARGEST_DIMENSION + 1}; without a dimension the bound holds in all"
    )


def test_moved_noise_says_what_it_is() -> None:
    for dimension in (1, 2):
        found = moved_noise(0.5, dimension, 0.75)
        assert repr(found) == (
            f"DominatedMechanism(exponential-norm noise, ε = 0.5, d = {dimension})"
        )
        assert found.epsilon(0.0) == 0.75
    assert refused(moved_noise, 0.0, 1, 1.0).startswith("bound needs a finite number above 0")


def test_orders_are_rounded_down_and_refused_where_nothing_is_left() -> None:
    """Of 1 + 2e-16 the nearest double is above 1, and the next one below is 1."""
    from dpcalc.numerals import number

    for order in ("1.0000000000000001", "1.0000000000000002"):
        assert refused(RDP.from_points, {number(order): 0.5}) == (
            "order needs a finite number above 1; got order=1.0; try 2"
        )
    above = number("1.5000000000000000000000000000001")
    assert RDP.from_points({above: number("0.1")}).points == ((1.5, 0.1),)
    assert RDP.from_points({2: number("0.1000000000000000056")}).points == (
        (2.0, math.nextafter(0.1, 1)),
    )
    nothing: list[Any] = [{}, [], [2]]
    for wrong in nothing:
        assert refused(RDP.from_points, wrong) == (
            f"RDP needs at least one order with its divergence; got {wrong!r}; try {{2: 0.1}}"
        )
    assert refused(RDP.from_points, {2: -1.0}).startswith("divergence at order 2")


@pytest.mark.parametrize("part", [3, "GDP", (GDP(1.0),), (GDP(1.0), 2, 3), (3, GDP(1.0)), None])
def test_what_is_no_guarantee_is_refused(part: Any) -> None:
    assert refused(compose, part) == (
        f"expected guarantees, or pairs (guarantee, count); got {part!r}; "
        "try compose((PureDP(0.1), 100), GDP(0.5))"
    )


def test_what_cannot_be_composed_says_why() -> None:
    first, second = GDP(1.0).under("add-remove"), PureDP(1.0).under("replace-one")
    assert refused(compose, first, second) == (
        "expected releases under one neighbouring relation; got some under add-remove and some "
        "under replace-one; state all of them under one, or compose apart those of each"
    )
    assert compose(first, (second, 0)).adjacency == "add-remove"
    assert compose(first, PureDP(1.0)).adjacency == "add-remove"
    assert compose(GDP(1.0), PureDP(1.0)).adjacency is None
    assert refused(compose, ClaimedCurve(lambda delta: 1.0, {})) == (
        "a certified guarantee is needed for composition; got a paper's claim; "
        "try the theorem's certified() guarantee"
    )
    assert refused(compose, (Told(), 2), ZCDP(0.5)) == (
        "a guarantee with a known loss or Rényi divergence is needed; got told; "
        "convert it to (ε, δ) at a fixed δ first"
    )
    assert refused(compose, (GDP(1.0), -1)).startswith("count needs a whole number, 0 or above")
    assert compose() == compose((GDP(1.0), 0)) == PureDP(0.0)
    assert compose(GDP(1.0)) == GDP(1.0)
