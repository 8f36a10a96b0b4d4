"""Densities, cells and laws of single mechanisms, each against mpmath, plain sums or other formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcalc.accounting.losses.privacy_profile import (
    law_from_distributions,
    loss_from_profile,
    probabilities,
    sample_profile,
)
from dpcalc.accounting.losses.two_steps import Curve, lower_of, meet
from dpcalc.accounting.losses.user_densities import from_user_densities
from dpcalc.errors import AssumptionViolated, InvalidInput

pytestmark = pytest.mark.usefixtures("fifty_digits")


def curve_height(curve: Curve, q: float) -> float:
    """P-mass over Q-mass along a curve's pieces."""
    total, left = curve.infinite, q
    for loss, mass in zip(curve.losses, curve.masses, strict=True):
        used = min(mass, left)
        total += used * math.exp(loss)
        left -= used
    return total + left


def test_two_steps_meet_where_their_tests_do() -> None:
    """Each place of the middle's mass has the losses of both steps there."""
    first = (np.array([1.0, 0.2, -0.5]), np.array([0.1, 0.3, 0.6]))
    second = (np.array([math.inf, 0.7, 0.0]), np.array([0.05, 0.25, 0.7]))
    found = meet(first, second, 0.01)
    # Middle masses 0 to .05, .1, .3, .4, .5: infinite, 1.7, .9, .2, -.5 counted as 0.
    np.testing.assert_allclose(found.losses, [1.7, 0.9, 0.2, 0.0])
    middle = np.array([0.05, 0.2, 0.1, 0.1])
    np.testing.assert_allclose(found.masses, middle * np.exp(-np.array([0.7, 0.7, 0.0, 0.0])))
    assert found.infinite == pytest.approx(0.01 + 0.05 * math.e)
    ends = np.array([0.1, 0.3, 0.4, 0.5])
    weights = ends * np.exp([1.0, 0.2, 0.2, -0.5])
    drops = np.array([0.8, 0.7, 0.2, 0.0])
    farther = np.maximum(drops, [0.8, 0.8, 0.7, 0.2])
    np.testing.assert_allclose(found.blur, 4 * weights * farther * (1 + found.losses))


def test_the_lower_of_two_curves() -> None:
    a = Curve(np.array([1.0, 0.1]), np.array([0.2, 0.3]), np.zeros(2), 0.02)
    b = Curve(np.array([0.6, 0.4, 0.2]), np.array([0.1, 0.3, 0.3]), np.zeros(3), 0.01)
    found = lower_of(a, b)
    plain = [Curve(c.losses, c.masses, c.blur, 0.0) for c in (a, b)]
    bare = Curve(found.losses, found.masses, found.blur, 0.0)
    for q in np.linspace(0, 0.9, 91):
        expected = min(curve_height(c, q) for c in plain)
        assert curve_height(bare, q) == pytest.approx(expected, rel=1e-12)
    assert found.infinite == 0.02
    assert np.all(found.masses > 0)
    assert found.blur.shape == found.losses.shape
    same = lower_of(a, a)
    np.testing.assert_allclose(same.losses, a.losses)


def test_laws_of_profiles() -> None:
    law = loss_from_profile([(0.5, 0.2), (1.5, 0.05), (1.5, 0.01), (0.0, 0.4)])
    assert law.infinite_mass == 0.01
    # The greatest convex function below the points and their mirror images; slopes change at corners.
    k = [0.0] + [math.exp(e) for e in (-1.5, -0.5, 0.0, 0.5, 1.5)]
    h = [1.0, 1 - k[1] + 0.01 * k[1], 1 - k[2] + 0.2 * k[2], 0.4, 0.2, 0.01]
    found = dict(zip(np.round(law.losses, 12), law.masses, strict=True))
    for epsilon in (0.0, 0.5, 1.5):
        at = math.exp(epsilon)
        height = law.infinite_mass + sum(
            p * -math.expm1(epsilon - loss) for loss, p in found.items() if loss > epsilon
        )
        assert height <= min(y for x, y in zip(k, h, strict=True) if x == at) * (1 + 1e-12)
    assert float((law.masses * np.exp(-law.losses)).sum()) == pytest.approx(0.99, rel=1e-12)
    assert math.fsum(law.masses) + 0.01 == pytest.approx(1.0, rel=1e-12)
    simple = loss_from_profile([(1.0, 0.1)])
    p = 0.9 * math.e / (1 + math.e)
    assert sorted(simple.losses) == [-1.0, 1.0]
    np.testing.assert_allclose(sorted(simple.masses), [0.9 - p, p], rtol=1e-12)
    with pytest.raises(
        InvalidInput, match=r"^a profile needs at least one pair \(ε, δ\); got none$"
    ):
        loss_from_profile([])
    with pytest.raises(InvalidInput, match="epsilon"):
        loss_from_profile([(-1.0, 0.1)])
    with pytest.raises(InvalidInput, match="delta"):
        loss_from_profile([(1.0, 1.1)])


def test_where_a_profile_is_looked_at() -> None:
    points = sample_profile(lambda e: math.exp(-3 * e))
    near, far = 30 * math.log(10) / 3, 290 * math.log(10) / 3
    at = [e for e, _ in points]
    assert len(points) == 1200 + 300 - 1
    assert at[0] == 0.0
    assert at[1199] == pytest.approx(near, rel=1e-4)
    assert at[-1] == pytest.approx(far, rel=1e-4)
    assert all(d == math.exp(-3 * e) for e, d in points)
    assert sample_profile(lambda _: 0.5)[-1][0] > 1e6


def test_laws_of_two_distributions() -> None:
    law = law_from_distributions([0.5, 0.3, 0.2, 0.0], [0.25, 0.45, 0.0, 0.3])
    np.testing.assert_allclose(law.losses, [math.log(2), math.log(2 / 3)])
    np.testing.assert_allclose(law.masses, [0.5, 0.3])
    assert 0.2 <= law.infinite_mass <= 0.2 * (1 + 3e-15)
    assert law_from_distributions([1.0], [0.0 + 1.0]).masses.tolist() == [1.0]
    assert law_from_distributions([1.0, 0.0], [0.0, 1.0]).infinite_mass == 1.0
    p, _ = probabilities([0.5, 0.5 + 5e-10], [1.0, 0.0])
    assert float(sum(p)) == 1.0
    for given, message in (
        (([0.5, 0.5], [1.0]), "p and q need the same outcomes; got 2 and 1 probabilities"),
        (([], [1.0]), "p needs at least one probability; got none"),
        (([1.0], []), "q needs at least one probability; got none"),
        (([0.5, 0.4], [1.0, 0.0]), "the probabilities p need to sum to 1; their sum is 0.9"),
        (([1.0, 0.0], [0.5, 0.4]), "the probabilities q need to sum to 1; their sum is 0.9"),
    ):
        with pytest.raises(InvalidInput) as caught:
            probabilities(*given)
        assert str(caught.value) == message


def log_normal(mean: float, sigma: float = 1.0):
    return lambda x: (
        -(((x - mean) / sigma) ** 2) / 2 - math.log(sigma) - 0.5 * math.log(2 * math.pi)
    )


def test_densities_of_users_own() -> None:
    pair = from_user_densities(log_normal(0.5), log_normal(0), (-9.0, 11.0), 1.0, 1e-17)
    assert pair.truncation_interval(1e-3) == (-9.0, 11.0)
    assert (pair.sign, pair.outside) == (1.0, 1e-17)
    assert pair.max_cell_width(np.zeros(2)).tolist() == [0.1, 0.1]
    assert 1e-13 <= pair.mass_error < 1e-12
    x = np.array([0.3])
    assert pair.loss(x)[0] == pytest.approx(0.5 * 0.3 - 0.125)
    assert pair.moment_interval(2.0) == ((-9.0, 11.0), math.inf)
    falling = from_user_densities(log_normal(0), log_normal(0.5), (-11.0, 9.0), 1.0, 0.0)
    assert falling.sign == -1.0
    assert falling.truncation_interval(1e-3) == (-9.0, 11.0)
    assert falling.loss(-x)[0] == pytest.approx(-(0.5 * 0.3 - 0.125))
    assert falling.moment_interval(2.0) == ((-9.0, 11.0), -math.inf)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((log_normal(0.5), log_normal(0), (1.0, 1.0), 1.0, 0.0), InvalidInput,
         "support needs two finite increasing numbers; got support=(1.0, 1.0); give the mass beyond as outside"),
        ((log_normal(0.5), log_normal(0), (-math.inf, 1.0), 1.0, 0.0), InvalidInput,
         "support needs two finite increasing numbers; got support=(-inf, 1.0); give the mass beyond as outside"),
        ((lambda x: np.log(np.maximum(x, 0)), log_normal(0), (-1.0, 1.0), 1.0, 0.0), InvalidInput,
         "expected finite log-densities on the whole support; got an infinite one or nan; try a smaller support, the rest as outside"),
        ((log_normal(0, 2.0), log_normal(0), (-9.0, 9.0), 1.0, 1e-3), AssumptionViolated,
         "the log-likelihood ratio ln(p/q) needs to be monotone on the support; it rises and falls; try a finite distribution or a privacy profile"),
        ((log_normal(0.5), log_normal(0), (-1.0, 1.0), 1.0, 1e-3), InvalidInput,
         "expected a density p of mass 1; its mass on the support is 0.624655260005; try a wider support, or give what is beyond as outside"),
        ((log_normal(0.5), lambda x: log_normal(0)(x) + 0.1, (-9.0, 11.0), 1.0, 1e-3), InvalidInput,
         "expected a density q of mass 1; its mass is 1.10517091808"),
        ((log_normal(0.5), log_normal(0), (-9.0, 11.0), 30.0, 1e-3), AssumptionViolated, "scale needs to be small enough"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_densities_that_are_refused(given, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        from_user_densities(*given)
    assert str(caught.value).startswith(message)
