"""Releases with known losses next to others known through Rényi divergences: never below the truth."""

from __future__ import annotations

import math
import pickle
import warnings
from pathlib import Path

import pytest
from mpmath import mp, mpf

from dpcalc import mechanisms
from dpcalc.accountant import Accountant
from dpcalc.claims.composition import read_plan
from dpcalc.cli._composing import record_of
from dpcalc.errors import NumericalFailure
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP, compose
from dpcalc.guarantees.best_orders import delta_at_best, epsilon_at_best
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.conversion import to_zcdp
from dpcalc.guarantees.groups import GroupProfile, group
from dpcalc.guarantees.mixed import MixedReleases
from dpcalc.guarantees.one_order import epsilon_of
from dpcalc.guarantees.renyi_profile import corners
from dpcalc.guarantees.through_renyi import ApproximateRDP
from dpcalc.odometer import Odometer

BATCH = mechanisms.gaussian_without_replacement(5, 3, 1000)
TABLE = {
    "mechanism": "gaussian-without-replacement",
    "noise_multiplier": 5,
    "sample": 3,
    "population": 1000,
    "adjacency": "replace-one",
}
DELTA = 3.1e-8


def mixed(*parts: Guarantee | tuple[Guarantee, int]) -> MixedReleases:
    found = compose(*parts)
    assert isinstance(found, MixedReleases)
    return found


def batch_divergence(order: float, mu: float = 0.4, rate: float = 0.003) -> mpf:
    """Of the losses' densities as Balle, Barthe and Gaboardi have them, by quadrature, thirty digits.

    Above 0 they are those of the mixture against its base, below 0 their mirror image.
    """
    with mp.workdps(30):
        a, m, q = mpf(order), mpf(mu), mpf(rate)

        def base(x: mpf) -> mpf:
            return mp.npdf(x)

        def mixture(x: mpf) -> mpf:
            return (1 - q) * mp.npdf(x) + q * mp.npdf(x, m)

        def excess(x: mpf) -> mpf:
            p, o = mixture(x), base(x)
            return p**a * o ** (1 - a) + o**a * p ** (1 - a) - p - o

        far = a * m + 14
        places = [m / 2 + (far - m / 2) * k / 40 for k in range(41)]
        return mp.log1p(mp.quad(excess, places)) / (a - 1)


@pytest.mark.parametrize("order", [1.5, 2.0, 10.0, 50.0, 300.0])
def test_batches_have_the_divergences_of_their_definition_at_every_order(order: float) -> None:
    exact = batch_divergence(order)
    assert exact <= mpf(BATCH.renyi(order)) <= exact * (1 + mpf("1e-6"))


def test_next_to_a_concentrated_release_batches_cost_what_their_losses_cost() -> None:
    """As much as δ split in two allows, and less: both are composed."""
    both = compose((BATCH, 20), ZCDP(1e-4))
    alone = ZCDP(1e-4)
    shares = (0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99)
    split = min(
        alone.epsilon(DELTA * x) + compose((BATCH, 20)).epsilon(DELTA * (1 - x)) for x in shares
    )
    assert alone.epsilon(DELTA) < both.epsilon(DELTA) < 0.0716 < split < 0.097


def test_an_accountant_and_the_file_say_the_same_and_no_more_than_an_odometer() -> None:
    odometer = Odometer(epsilon=1, delta=DELTA)
    odometer.spend(TABLE, 20)
    odometer.spend({"zcdp": 1e-4})
    spent = Accountant(1, DELTA).spend(TABLE, 20).spend(ZCDP(1e-4))
    assert spent.epsilon_spent() == compose((BATCH, 20), ZCDP(1e-4)).epsilon(DELTA)
    assert spent.epsilon_spent() == odometer.accountant.epsilon_spent() < odometer.epsilon


PLANS: list[tuple[Guarantee | tuple[Guarantee, int], ...]] = [
    ((BATCH, 20), ZCDP(1e-4)),
    (GDP(1.0), ZCDP(1e-4)),
    ((PureDP(0.1), 50), ZCDP(0.01)),
    ((ApproxDP(0.5, 1e-7), 3), (ZCDP(0.02), 2)),
    (GDP(0.2), RDP.from_points({4: 0.01, 40: 0.1})),
    (GDP(0.2), (ApproximateRDP(ZCDP(1e-3), 1e-9), 3)),
    ((mechanisms.poisson_subsampled_gaussian(2, 1e-4, "add-remove"), 100), ZCDP(1e-5)),
]


@pytest.mark.parametrize("parts", PLANS)
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_no_bound_is_above_divergences_alone_or_a_split(
    parts: tuple[Guarantee | tuple[Guarantee, int], ...], delta: float
) -> None:
    both = mixed(*parts)
    *known, bare = parts
    assert both.epsilon(delta) <= both.divergences.epsilon(delta) * (1 + 1e-10)  # other searches
    split = compose(*known).epsilon(delta / 2) + compose(bare).epsilon(delta / 2)
    assert both.epsilon(delta) <= split * (1 + 1e-3)
    assert both.delta(both.epsilon(delta)) <= delta * (1 + 1e-6)


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize(("mu", "rho"), [(1.0, 1e-4), (0.1, 0.5), (0.3, 0.045)])
def test_no_bound_is_below_gaussians_that_have_these_guarantees(
    mu: float, rho: float, delta: float
) -> None:
    """√(2ρ)-GDP is ρ-zCDP; once and several times."""
    for rounds, times in ((1, 1), (3, 1), (1, 4)):
        exact = GDP(math.sqrt(mu**2 * rounds + 2 * rho * times))
        _not_below(mixed((GDP(mu), rounds), (ZCDP(rho), times)), exact, delta)


def _not_below(found: MixedReleases, exact: GDP, delta: float) -> None:
    assert exact.epsilon(delta) * (1 - 1e-12) <= found.epsilon(delta)
    assert exact.delta(0.1) * (1 - 1e-12) <= found.delta(0.1)
    assert exact.tradeoff(0.1) * (1 + 1e-12) >= found.tradeoff(0.1)
    places = [0.0, 0.1, 0.5]
    for at, delta_ in zip(places, found.deltas(places), strict=True):
        assert exact.delta(at) * (1 - 1e-12) <= delta_


def revealing(failure: float, epsilon: float) -> mpf:
    """δ of what reveals all with a probability and is 1/8-GDP next to 1/4-GDP otherwise."""
    mu = mp.sqrt(mpf(1) / 64 + mpf(1) / 16)
    e, f = mpf(epsilon), mpf(failure)
    return f + (1 - f) * (mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu))


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 3.0])
def test_a_release_that_may_fail_is_composed_with_its_failure(epsilon: float) -> None:
    found = mixed(GDP(0.125), ApproximateRDP(ZCDP(1 / 32), 1e-3))
    with mp.workdps(40):
        exact = revealing(1e-3, epsilon)
    assert exact <= mpf(found.delta(epsilon))
    assert found.delta(epsilon) <= found.divergences.delta(epsilon)


def test_corners_are_on_the_conversion_of_the_divergences() -> None:
    """With fifty digits at the best order, which a grid of orders misses by little."""
    rho = 0.02
    points = corners([(ZCDP(rho), 1)])
    with mp.workdps(50):
        for epsilon, delta, _ in points[40::60]:
            best = mp.findroot(
                lambda s, e=epsilon: rho * (1 + 2 * s) - e + mp.log(s / (1 + s)),
                (mpf(epsilon) - rho) / (2 * rho),
            )
            exponent = best * ((1 + best) * mpf(rho) - mpf(epsilon)) + best * mp.log(best)
            exact = mp.exp(exponent - (1 + best) * mp.log1p(best))
            assert exact <= mpf(delta) * (1 + mpf("1e-30"))
            assert mpf(delta) <= exact * (1 + mpf("1e-2"))


def test_parts_are_opened_whatever_was_composed_first() -> None:
    first = compose(compose((BATCH, 20), ZCDP(1e-4)), ZCDP(2e-4))
    other = compose((BATCH, 20), compose(ZCDP(1e-4), ZCDP(2e-4)))
    assert isinstance(first, MixedReleases)
    assert first.epsilon(DELTA) == pytest.approx(other.epsilon(DELTA), rel=1e-6)


def test_an_answer_says_which_of_both_bounds_it_is(tmp_path: Path) -> None:
    """The profile next to a pair; and the sum of divergences where Pinsker's inequality says 0."""
    for releases, words, delta in (
        ("gdp = 1\n[[release]]\nzcdp = 0.01", "profile of the Rényi divergences, composed", 1e-6),
        ("gdp = 1e-3\n[[release]]\nzcdp = 1e-6", "sum of Rényi divergences, converted", 0.1),
    ):
        file = tmp_path / "plan.toml"
        file.write_text(f"[[release]]\n{releases}\n", encoding="utf-8")
        certified = record_of(read_plan(file, [], None), delta)["certified"]
        assert certified["method"].startswith(words)
        assert certified["method"].endswith("; an upper bound alone")


def test_it_travels() -> None:
    found = compose((BATCH, 20), ZCDP(1e-4))
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own


NORM = mechanisms.exponential_norm(2.0, 2, "add-remove")
"""Of which divergences at many orders at once are coarser than one by one."""


@pytest.mark.parametrize(
    ("parts", "epsilon"), [((GDP(0.25), ZCDP(0.03125)), 0.5), (((NORM, 3), ZCDP(5.0)), 12.0)]
)
@pytest.mark.parametrize("delta", [1e-6, 0.01])
def test_where_losses_cannot_be_summed_divergences_answer(
    parts: tuple[Guarantee | tuple[Guarantee, int], ...],
    epsilon: float,
    delta: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = mixed(*parts)

    def failing(*_: object) -> float:
        raise NumericalFailure("beyond what is summed")

    for name in ("bracket", "delta_bracket", "deltas", "tradeoffs", "tradeoff_brackets"):
        monkeypatch.setattr(Composition, name, failing)
    alike = {"rel": 1e-10, "abs": 0.0}  # other searches
    assert found.epsilon(delta) == pytest.approx(found.divergences.epsilon(delta), **alike)
    assert found.delta(epsilon) == pytest.approx(found.divergences.delta(epsilon), **alike)
    deltas = found.divergences.deltas([epsilon])
    assert found.deltas([epsilon]) == pytest.approx(deltas, **alike)
    assert found.tradeoff(0.25) == found.divergences.tradeoff(0.25)
    [bracket] = found.tradeoff_brackets([0.25])
    assert bracket.lower == found.tradeoff(0.25)
    assert bracket.upper == 0.75


def test_without_a_delta_and_beyond_all_epsilon() -> None:
    for parts in PLANS:
        found = mixed(*parts)
        assert found.epsilon(0.0) == math.inf
        assert "converted" in found.method(0.0)
        assert found.delta(math.inf) == 0.0
    failing = mixed(GDP(0.2), ApproximateRDP(ZCDP(1e-3), 1e-3))
    assert failing.epsilon(1e-3) == failing.epsilon(1e-4) == math.inf
    assert failing.epsilon(math.nextafter(1e-3, 1)) < math.inf


def test_what_reveals_everything_is_no_mixture() -> None:
    assert compose(ZCDP(math.inf), GDP(1)) == ZCDP(math.inf)
    assert compose(ZCDP(0.125), PureDP(math.inf)) == GDP(math.inf)
    curve = RDP(lambda order: 0.1 * order if 1.5 < order <= 2 else math.inf)
    assert compose(curve, GDP(0.1)).epsilon(1e-3) < math.inf


def test_without_a_finite_divergence_nothing_is_known_of_a_corner() -> None:
    nothing = RDP(lambda order: math.inf if order != 2 + 1e-9 else 0.1)
    assert corners([(nothing, 1)]) == [(0.0, 1.0, 2.0)]


@pytest.mark.parametrize("rho", [5e-324, 1e-60, 1e3, 1e100, 1e300, 1.7e308])
def test_divergences_next_to_nothing_and_beyond_all_use(rho: float) -> None:
    found = mixed(GDP(1.0), ZCDP(rho))
    least = max(GDP(1.0).epsilon(1e-6), rho if rho > 1 else 0.0)
    assert least <= found.epsilon(1e-6) <= found.divergences.epsilon(1e-6) * (1 + 1e-10)
    assert GDP(1.0).delta(1.0) <= found.delta(1.0) <= found.divergences.delta(1.0) * (1 + 1e-10)


def test_concentrated_and_gaussian_releases_are_concentrated_together() -> None:
    assert to_zcdp(compose(ZCDP(0.125), GDP(0.5))) == ZCDP(0.25)


def test_groups_are_those_of_the_divergences() -> None:
    """In closed form, where all are concentrated; a search over sums of profiles would not end."""
    assert group(compose(ZCDP(0.1), GDP(1.0)), 3) == group(compose(ZCDP(0.1), ZCDP(0.5)), 3)
    sampled = mechanisms.poisson_subsampled_gaussian(1.0, 0.01, "add-remove")
    assert isinstance(group(compose((sampled, 100), ZCDP(0.1)), 3), GroupProfile)


def test_losses_whose_moments_are_no_doubles_are_summed_without_a_warning() -> None:
    """Next to no noise on either side: the likely losses are some 10¹¹."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mixed(GDP(535_000.0), ZCDP(2e10)).delta(1.6312e11)
    exact = GDP(math.nextafter(math.hypot(535_000.0, 2e5), 0)).delta(1.6312e11)
    assert exact <= found < 1


@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-9])
def test_the_best_order_is_found_where_two_curves_cross(delta: float) -> None:
    curve = RDP(lambda order: max(0.01 * order, 0.5 * order - 4.9))
    parts = mixed(PureDP(0.001), curve)
    found, sure = epsilon_at_best(parts.parts, parts.divergences, delta)
    assert sure
    crossing = epsilon_of(parts.divergences.renyi(10.0), 10.0, delta)
    assert found <= crossing * (1 + 1e-10)
    least, _ = delta_at_best(parts.parts, parts.divergences, crossing)
    assert least <= delta * (1 + 1e-9)


def test_divergences_that_are_known_next_to_one_alone_are_composed() -> None:
    """Bounds at orders 1.001 and 2 are not needed."""
    near_one = RDP.from_points({1.0005: 0.001})
    found = mixed(GDP(1.0), near_one).delta(3.0)
    assert GDP(1.0).delta(3.0) <= found <= GDP(1.0).delta(3.0) + near_one.delta(0.0)
