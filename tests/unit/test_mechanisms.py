"""Mechanisms beside the Gaussian: exponential-norm noise, and what a user supplies."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.losses import LaplaceLoss
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.guarantees import GDP, ApproxDP, PrivacyProfile, PureDP
from dpcalc.guarantees.composition import compose
from dpcalc.guarantees.mechanisms import (
    exponential_norm,
    finite_distributions,
    from_densities,
    from_profile,
    laplace,
)
from tests.oracles import exact


def normal(centre: float):
    return lambda x: -((x - centre) ** 2) / 2 - 0.5 * math.log(2 * math.pi)


# ------------------------------------------------------------------ exponential-norm noise


@pytest.mark.parametrize(("bound", "dimension", "epsilon"), [(1.0, 2, 0.3), (1.5, 5, 0.7)])
@pytest.mark.few(1)
def test_one_round_is_the_integral_over_radius_and_angle(
    bound: float, dimension: int, epsilon: float
) -> None:
    truth = exact.exponential_norm_delta(bound, dimension, epsilon, 9)
    found = bracket_delta([(ExponentialNorm(bound, dimension), 1)], epsilon)
    assert mpf(found.lower) <= truth * (1 + mpf("1e-7"))
    assert mpf(found.upper) >= truth * (1 - mpf("1e-7"))
    assert found.relative_width < 1e-10


@given(st.floats(-3, 1.5).map(lambda x: 10.0**x), st.integers(2, 400), st.floats(0, 0.999))
def test_samples_of_the_noise_have_the_computed_law(
    bound: float, dimension: int, share: float
) -> None:
    """P(L > share·a) from 4000 draws within six standard errors: false alarms below 1e-7."""
    rng = np.random.default_rng(dimension)
    radius = rng.gamma(dimension, size=4000)
    direction = rng.standard_normal((4000, min(dimension, 400)))
    cosine = direction[:, 0] / np.linalg.norm(direction, axis=1)
    losses = np.sqrt(radius**2 - 2 * bound * radius * cosine + bound**2) - radius
    pair = ExponentialNorm(bound, dimension)
    edges = np.linspace(
        math.atanh(share), max(pair.truncation_interval(1e-12)[1], math.atanh(share)), 20001
    )
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    expected = float((np.exp(pair.log_p(middle)) * width).sum())
    error = math.sqrt(max(expected * (1 - expected), 1e-4) / 4000)
    assert abs(float((losses > share * bound).mean()) - expected) < 6 * error + 1e-4


@given(st.floats(0.01, 20), st.integers(2, 1000), st.floats(-12, -1).map(lambda x: 10.0**x))
@settings(max_examples=15)
def test_a_nearer_centre_is_never_worse_and_the_pure_bound_never_better(
    bound: float, dimension: int, delta: float
) -> None:
    whole = bracket_epsilon([(ExponentialNorm(bound, dimension), 1)], delta)
    nearer = bracket_epsilon([(ExponentialNorm(0.8 * bound, dimension), 1)], delta)
    assert nearer.lower <= whole.upper
    assert whole.upper <= PureDP(bound).epsilon(delta) * (1 + 1e-9)


def test_one_dimension_is_laplace_and_many_rounds_gain_from_the_law() -> None:
    assert exponential_norm(2.0, 1, "add-remove") == laplace(2.0, "add-remove")
    law = compose((exponential_norm(5.0, 10, "add-remove"), 100))
    assert law.epsilon(1e-6) < 0.3 * compose((PureDP(0.2), 100)).epsilon(1e-6)
    assert exponential_norm(5.0, 10, "add-remove").epsilon(0.0) == pytest.approx(0.2, rel=1e-15)


def test_three_dimensions_in_closed_form() -> None:
    """In dimension 3 the loss has density ∝ e^{aν/2}(C + 1 - ν²) with elementary C."""
    with mp.workdps(30):
        a = mpf("1.5")
        constant = 2 / (a / 2) * (1 + 2 / a)
        shape = lambda v: mp.exp(a * v / 2) * (constant + 1 - v * v)  # noqa: E731
        total = mp.quad(shape, [-1, 0, 1])
        for epsilon in (0.0, 0.5, 1.2):
            part = mp.quad(
                lambda v, e=epsilon: shape(v) * (1 - mp.exp(e - a * v)), [mpf(epsilon) / a, 1]
            )
            found = bracket_delta([(ExponentialNorm(1.5, 3), 1)], epsilon)
            assert mpf(found.lower) <= part / total <= mpf(found.upper)


# ------------------------------------------------------------------ finite distributions


def test_randomised_response_as_a_table() -> None:
    e = math.exp(0.1)
    p = [e / (1 + e), 1 / (1 + e)]
    found = compose((finite_distributions(p, p[::-1], "replace-one"), 100))
    assert found.epsilon(1e-6) == pytest.approx(compose((PureDP(0.1), 100)).epsilon(1e-6), rel=2e-6)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=4),
    st.integers(1, 4),
    st.floats(0, 3),
)
def test_tables_compose_as_all_outcomes_say(
    weights: list[tuple[int, int]], rounds: int, epsilon: float
) -> None:
    if not (sum(a for a, _ in weights) and sum(b for _, b in weights)):
        return
    p = [a / sum(a for a, _ in weights) for a, _ in weights]
    q = [b / sum(b for _, b in weights) for _, b in weights]
    truth = max(
        exact.finite_delta(p, q, rounds, epsilon), exact.finite_delta(q, p, rounds, epsilon)
    )
    found = compose((finite_distributions(p, q, "add-remove"), rounds)).delta(epsilon)
    assert mpf(found) >= truth * (1 - mpf("1e-14"))
    assert found <= float(truth) * (1 + 1e-4) + 1e-9


# ------------------------------------------------------------------ profiles


@given(st.floats(0.01, 3), st.floats(-8, -2).map(lambda x: 10.0**x), st.floats(0, 4))
def test_one_point_is_the_worst_case_of_approximate_privacy(
    bound: float, failure: float, epsilon: float
) -> None:
    truth = ApproxDP(bound, failure).delta(epsilon)
    assert from_profile([(bound, failure)]).delta(epsilon) == pytest.approx(truth, rel=1e-12)


def test_dots_of_a_gaussian_profile_compose_from_above() -> None:
    mechanism = PrivacyProfile(GDP(0.3).delta)
    for delta in (1e-3, 1e-9):
        truth = GDP(0.3 * 5).epsilon(delta)
        found = compose((mechanism, 25)).epsilon(delta)
        assert truth <= found <= truth * (1 + 2e-5)


def test_a_profile_that_a_careless_caller_made_increasing_is_still_a_bound() -> None:
    points = [(0.0, 0.2), (0.5, 0.05), (1.0, 0.06), (2.0, 0.001)]
    dominated = from_profile(points)
    assert dominated.delta(1.0) <= 0.06
    assert dominated.delta(2.0) == pytest.approx(0.001, rel=1e-12)


# ------------------------------------------------------------------ densities


def test_supplied_gaussians_are_gaussian() -> None:
    found = from_densities(
        normal(1),
        normal(0),
        support=(-36, 37),
        scale=0.25,
        outside=1e-270,
        adjacency="add-remove",
    ).bracket(1e-6)
    assert found.lower <= GDP(1.0).epsilon(1e-6) <= found.upper
    assert found.relative_width < 1e-9
    backwards = from_densities(
        normal(0), normal(1), support=(-11, 12), scale=1, outside=1e-27, symmetric=True
    )
    rounds = compose((backwards, 10))
    assert rounds.epsilon(1e-6) == pytest.approx(GDP(math.sqrt(10)).epsilon(1e-6), rel=2e-6)
    assert rounds.epsilon(1e-6) >= GDP(math.sqrt(10)).epsilon(1e-6)


def test_mass_outside_the_support_is_charged_but_not_sure() -> None:
    """The losses of a shifted logistic law are at most its shift: δ is exactly 0 from there on."""

    def logistic(middle: float):
        return lambda x: -(x - middle) - 2 * np.logaddexp(0, -(x - middle))

    found = from_densities(
        logistic(1),
        logistic(0),
        support=(-30, 31),
        scale=1,
        outside=1e-12,
        adjacency="add-remove",
    )
    for epsilon in (1.5, 5.0, 700.0):
        bracket = found.delta_bracket(epsilon)
        assert bracket.lower == 0
        assert 0 < bracket.upper <= 2.001e-12


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"support": (0, math.inf), "scale": 1.0}, "finite increasing"),
        ({"support": (-3, 3), "scale": 1.0}, "wider support"),
        ({"support": (-36, 37), "scale": 30.0, "outside": 1e-200}, "scale"),
    ],
)
def test_bad_densities_are_refused(arguments: dict, text: str) -> None:
    with pytest.raises((InvalidInput, AssumptionViolated), match=text):
        from_densities(normal(1), normal(0), symmetric=True, **arguments)


def test_a_ratio_that_rises_and_falls_is_refused() -> None:
    wide = lambda x: -(x**2) / 8 - math.log(2) - 0.5 * math.log(2 * math.pi)  # noqa: E731
    with pytest.raises(AssumptionViolated, match="monotone"):
        from_densities(
            normal(0), wide, support=(-20, 20), scale=1.0, outside=1e-20, adjacency="add-remove"
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda: exponential_norm(0.0, 2, "add-remove"),
        lambda: exponential_norm(1.0, 0, "add-remove"),
        lambda: exponential_norm(1.0, 10**7, "add-remove"),
        lambda: finite_distributions([0.5, 0.4], [0.5, 0.5], "add-remove"),
        lambda: finite_distributions([], [], "replace-one"),
        lambda: finite_distributions([1.0], [0.5, 0.5], "replace-one"),
        lambda: finite_distributions([math.nan, 1.0], [0.5, 0.5], "add-remove"),
        lambda: from_profile([]),
        lambda: from_profile([(-1.0, 0.1)]),
        lambda: from_profile([(1.0, 1.5)]),
    ],
)
def test_nonsense_is_refused(make: object) -> None:
    with pytest.raises(InvalidInput):
        make()


def test_laplace_law_bounds_the_same_as_a_table_of_its_cells() -> None:
    found = bracket_epsilon([(LaplaceLoss(0.5, 0.5), 3)], 1e-4)
    assert found.lower <= found.upper <= 1.5
