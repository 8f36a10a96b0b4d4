"""Losses that are not convex: bounds with steps that expand, against exact laws and a general chain."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.accounting.iteration import Expanding, NoisyContraction, Participation, optimal_shifts
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.numerics.precise import mpf
from dpcalc.theorems.catalogue import privacy_result
from tests.oracles.noisy_descent import Interval
from tests.oracles.random_instances import ROOM, expanding_descent


def _cgd(**changes: object) -> dict[str, object]:
    return {
        "sensitivity": 1, "batch_size": 1, "n_batches": 10, "passes": 5, "step_size": 0.05,
        "smoothness": 1, "weak_convexity": 1, "sigma": 1, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(("c", "mu"), [(1.01, 1.199), (1.05, 1.264), (1.3, 1.625)])
def test_ten_batches_five_times_last_in_the_pass(c: float, mu: float) -> None:
    """To three digits from the closed form; composition has 2.236."""
    theorem = privacy_result("noisy-cgd").from_parameters(_cgd(step_size=c - 1))
    assert theorem.certified().numbers["mu"] == pytest.approx(mu, abs=5e-4)


def test_the_closed_form_is_the_cheapest_of_all_shifts() -> None:
    rng = np.random.default_rng(6)
    for _ in range(60):
        passes, gap = int(rng.integers(1, 5)), int(rng.integers(1, 7))
        tail, c = int(rng.integers(1, gap + 1)), 1 + float(rng.uniform(0, 0.4))
        found = Expanding(mpf(c), mpf(0.3), mpf(0.7)).mu_squared(Participation(passes, gap, tail))
        jumps = np.zeros(gap * (passes - 1) + tail)
        jumps[: gap * (passes - 1) + 1 : gap] = 0.3
        general = optimal_shifts(jumps, c, 0.7).mu[0] ** 2
        assert general >= float(found) * (1 - 1e-12)
        assert general == pytest.approx(float(found), rel=1e-4)


def test_convex_limit_and_long_runs() -> None:
    for participation in (Participation(1, 5, 5), Participation(1, 1, 1)):
        plain = NoisyContraction(mpf(1), mpf(0.3), mpf(0.7)).mu(participation) ** 2
        limit = Expanding(mpf(1), mpf(0.3), mpf(0.7)).mu_squared(participation)
        assert float(limit) == pytest.approx(float(plain), rel=1e-15)
    long = Expanding(mpf(1.3), mpf(1), mpf(1)).mu_squared(Participation(10**9, 10**9, 10**9))
    assert float(long) == pytest.approx(1e9 * (1 - 1.3**-2), rel=1e-12)


def test_no_exact_law_exceeds_the_bounds() -> None:
    rng = np.random.default_rng(9)
    assert 0.99 < max(expanding_descent(rng) for _ in range(150)) <= 1 + ROOM[expanding_descent]


def test_one_pass_attains_the_bound() -> None:
    for position in (1, 4, 10):
        given = _cgd(passes=1, step_size=1.2, weak_convexity=0.3, position=position)
        theorem = privacy_result("noisy-cgd").from_parameters(given)
        bound, instance = theorem.certified().numbers["mu"], theorem.attained().numbers["mu"]
        assert bound * (1 - 1e-12) <= instance <= bound


def test_on_a_bounded_domain_no_law_exceeds_the_bound() -> None:
    """φ(x) = x + η·sin-shaped force: expansion 1 + ηw; the exact law on an interval."""
    width, omega, jump, c = 1.0, 0.5, 0.2, 1.3
    interval = Interval(width)
    pushed = np.clip(interval.x + 0.3 * (interval.x - width / 2), -5, 5)
    p = q = interval.start()
    for _ in range(12):
        p = interval.step(p, [(1.0, pushed + jump)], omega)
        q = interval.step(q, [(1.0, pushed)], omega)
    given = _cgd(
        n_batches=1, passes=12, step_size=0.3, sigma=omega / 0.3, sensitivity=jump / 0.3,
        diameter=width,
    )  # fmt: skip
    theorem = privacy_result("noisy-cgd-constrained").from_parameters(given)
    assert float(theorem.contraction()) == pytest.approx(c)
    guarantee = theorem.certified().guarantee
    for epsilon in (0.0, 0.2, 0.5, 1.0):
        assert max(interval.delta(p, q, epsilon), interval.delta(q, p, epsilon)) <= guarantee.delta(
            epsilon
        )


def test_a_new_order_pays_earlier_uses_at_once() -> None:
    """Uses late in earlier passes are not the worst: (3, 1, 3) costs more than (3, 3, 3)."""
    schedules = np.zeros((2, 9))
    schedules[0, [2, 3, 8]] = 1.0
    schedules[1, [2, 5, 8]] = 1.0
    moved, late = optimal_shifts(schedules, 1.05, 1.0).mu
    assert moved == pytest.approx(1.3415, abs=1e-4)
    assert late == pytest.approx(1.3163, abs=1e-4)
    theorem = privacy_result("noisy-cgd").from_parameters(
        _cgd(n_batches=3, passes=3, order="reshuffled")
    )
    assert theorem.certified().numbers["largest_mu"] >= moved


def test_where_the_proof_needs_a_contraction_it_is_refused() -> None:
    for key in ("pnsgd-strongly-convex", "noisy-gd", "noisy-sgd", "noisy-sgd-constrained"):
        kind = privacy_result(key)
        with pytest.raises(InvalidInput, match="weak_convexity"):
            kind.from_parameters({**kind.example, "weak_convexity": 1})
        longer = kind.from_parameters({**kind.example, "step_size": 3.0})
        with pytest.raises(AssumptionViolated, match="2/smoothness"):
            longer.certified()
    theorem = privacy_result("noisy-cgd").from_parameters(_cgd())
    with pytest.raises(AssumptionViolated, match="convex losses"):
        theorem.claimed()
    with pytest.raises(InvalidInput, match="weakly or strongly"):
        privacy_result("noisy-cgd").from_parameters(_cgd(strong_convexity=0.5))


def test_landmarks_for_an_expanding_chain_would_be_caught() -> None:
    """A planted bug: the closed form for contractions leaves out points that expansion needs."""
    participation = Participation(5, 10, 1)
    wrong = NoisyContraction(mpf(1.3), mpf(1), mpf(1)).mu(participation) ** 2
    right = Expanding(mpf(1.3), mpf(1), mpf(1)).mu_squared(participation)
    assert wrong < right * 0.95
