"""Minorants, chains of steps and records used several times, by plain loops."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcalc.accounting.iteration.descent import NoisyContraction, Participation
from dpcalc.accounting.iteration.expanding import Expanding
from dpcalc.accounting.iteration.minorant import convex_minorant, total_cost
from dpcalc.accounting.iteration.optimal_shifts import optimal_shifts
from dpcalc.errors import InvalidInput
from dpcalc.numerics.precise import mpf as real


def test_minorants_by_trying_all_vertices() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = int(rng.integers(2, 7))
        w = [Fraction(0), *np.cumsum(rng.integers(1, 5, n)).tolist()]
        u = [Fraction(0), *np.cumsum(rng.integers(0, 5, n)).tolist()]
        points = [(Fraction(a), Fraction(b)) for a, b in zip(w, u, strict=True)]
        kept = convex_minorant(points)
        assert kept[0] == 0
        assert kept[-1] == n
        slopes = [
            (points[j][1] - points[k][1]) / (points[j][0] - points[k][0])
            for k, j in itertools.pairwise(kept)
        ]
        assert all(a < b for a, b in itertools.pairwise(slopes))
        for k, j in itertools.pairwise(kept):
            for i in range(k + 1, j):
                share = (points[i][0] - points[k][0]) / (points[j][0] - points[k][0])
                assert points[k][1] + share * (points[j][1] - points[k][1]) <= points[i][1]
        cost = sum(
            (points[j][1] - points[k][1]) ** 2 / (points[j][0] - points[k][0])
            for k, j in itertools.pairwise(kept)
        )
        found = total_cost([(real(a), real(b)) for a, b in points], kept)
        assert float(found) == pytest.approx(float(cost), rel=1e-15)
    flat = [(real(0), real(0)), (real(0), real(1)), (real(1), real(2))]
    assert total_cost(flat, [0, 1, 2]) == math.inf
    assert total_cost([(real(0), real(0)), (real(0), real(0))], [0, 1]) == 0


def jumps_of(participation: Participation) -> list[float]:
    """1 in every counted step that uses the record, by walking through them."""
    found = [0.0] * participation.steps_before
    for k in range(participation.count):
        last = k == participation.count - 1
        gap = (
            participation.last_gap
            if k == participation.count - 2 and participation.last_gap
            else participation.gap
        )
        found += [1.0] + [0.0] * ((participation.steps_after if last else gap) - 1)
    return found


PARTICIPATIONS = [
    Participation(1, 1, 4), Participation(3, 2, 5), Participation(4, 3, 1, 2), Participation(3, 4, 2, 1, 2), Participation(2, 5, 3, 0, 1)
]  # fmt: skip


@pytest.mark.parametrize("participation", PARTICIPATIONS, ids=repr)
@pytest.mark.parametrize("c", [0.8, 1.0])
@pytest.mark.parametrize("start", [0.0, 2.5])
def test_participations_cost_what_any_chain_does(
    participation: Participation, c: float, start: float
) -> None:
    jumps = jumps_of(participation)
    assert participation.steps == len(jumps)
    places = [k for k, jump in enumerate(jumps) if jump]
    assert [participation.steps_until(v) for v in range(1, participation.count + 1)] == places
    assert participation.breakpoints() == sorted(
        {1, max(participation.count - 1, 1), participation.count}
    )
    descent = NoisyContraction(real(c), real(0.7), real(1.3))
    found = float(descent.mu(participation, start))
    chain = optimal_shifts(0.7 * np.array(jumps), c, 1.3, start).mu[0]
    assert found == pytest.approx(float(chain), rel=1e-12)
    for count in range(participation.count):
        latest = participation.latest(count)
        after = places[-count - 1] + 1
        tail = jumps[after:]
        assert latest.steps == len(tail)
        if count:
            assert jumps_of(latest) == tail


def test_no_visits_at_all() -> None:
    nothing = Participation(0, 1, 4, 0)
    assert (nothing.steps, nothing.breakpoints()) == (4, [])
    assert NoisyContraction(real(0.9), real(1), real(1)).mu(nothing) == 0
    assert Participation(3, 2, 5).latest(0) == Participation(0, 2, 4, 0)


@pytest.mark.parametrize(
    "participation",
    [
        Participation(8, 3, 2),
        Participation(8, 3, 2, 0, 1),
        Participation(20, 5, 2, 0, 2),
        Participation(2, 5, 2, 0, 1),
        Participation(1, 1, 6),
    ],
)
@pytest.mark.parametrize("diameter", [0.1, 1.0, 4.0, 1e6])
def test_the_best_number_of_visits_to_count(participation: Participation, diameter: float) -> None:
    descent = NoisyContraction(real(0.95), real(1.0), real(1.0))
    each = [descent.mu(participation.latest(k), diameter) for k in range(participation.count)]
    each.append(descent.mu(participation))
    best = min(each)
    found, counted = descent.mu_bounded(participation, diameter)
    assert (found, each[counted]) == (best, best)
    for near in range(participation.count):
        assert descent.mu_bounded(participation, diameter, near)[0] == best
    with_no_steps = Participation(3, 1, 1)
    last = descent.mu_bounded(with_no_steps, 1e-9)
    assert last[0] <= descent.mu(with_no_steps.latest(1), 1e-9)


def test_numbers_of_visits_that_surely_differ_are_told_apart_in_doubles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sixty digits for the number that is chosen alone, be it all visits or fewer."""
    asked: list[Participation] = []
    inner = NoisyContraction.mu

    def counted(self, participation, start=0):
        asked.append(participation)
        return inner(self, participation, start)

    participation = Participation(50, 20, 3, 0, 18)
    best = NoisyContraction(real(0.99), real(1), real(1)).mu_bounded(participation, real(4))[1]
    monkeypatch.setattr(NoisyContraction, "mu", counted)
    for c, few in ((0.99, True), (1 - 1e-9, False)):
        asked.clear()
        descent = NoisyContraction(real(c), real(1), real(1))
        descent.mu_bounded(participation, real(4), best)
        assert (len(asked) == 1) == few


@pytest.mark.parametrize(("noise", "diameter"), [(1e200, 1.0), (1.0, 1e300), (1e-200, 1e-300)])
def test_squares_that_are_no_doubles(noise: float, diameter: float) -> None:
    descent, participation = (
        NoisyContraction(real(0.5), real(1), real(noise)),
        Participation(5, 3, 2),
    )
    found, counted = descent.mu_bounded(participation, real(diameter))
    each = [descent.mu(participation.latest(k), real(diameter)) for k in range(5)]
    each.append(descent.mu(participation))
    assert found == each[counted] == min(each)


@pytest.mark.parametrize("c", [1.0, 0.999999, 0.5, 1e-3])
def test_comparisons_in_doubles_are_right(c: float) -> None:
    descent, participation = NoisyContraction(real(c), real(1), real(1)), Participation(12, 7, 2)
    rough = descent._roughly(participation, real(3))
    for count in range(12):
        exact = descent.mu(participation.latest(count), real(3)) ** 2
        assert math.isnan(rough(count)) or abs(rough(count) / exact - 1) < 1e-7
    exact = descent.mu(participation) ** 2  # all visits have a common start
    assert math.isnan(rough(12)) or abs(rough(12) / exact - 1) < 1e-7


def test_expanding_steps_by_plain_sums() -> None:
    c, s, w = 1.1, 0.7, 1.3
    expanding = Expanding(real(c), real(s), real(w))

    def weight(n: int) -> float:
        return sum(c ** (-2 * i) for i in range(n))

    assert float(expanding.weight(5)) == pytest.approx(weight(5))
    assert Expanding(real(1), real(s), real(w)).weight(5) == 5
    unit = (s / w) ** 2
    regular, once = Participation(4, 5, 3), Participation(1, 5, 3)
    assert float(expanding.mu_squared(regular)) == pytest.approx(
        unit * (3 / weight(5) + 1 / weight(3))
    )
    assert float(expanding.mu_squared(Participation(4, 5, 3, 0, 4))) == pytest.approx(
        unit * (3 + 1 / weight(3))
    )
    for diameter in (0.01, 0.3, 0.8, 2.0, 1e5):
        apart = diameter / w
        for participation in (regular, once, Participation(4, 1, 1), Participation(4, 5, 3, 0, 2)):
            tail, lead = participation.steps_after, participation.before_last - 1
            found = [float(expanding.mu_squared(participation))]
            if tail > 1:
                found.append((apart * c) ** 2 / weight(tail - 1))
            if lead and participation.count > 1:
                found.append(apart**2 * c**2 / weight(lead) + unit / weight(tail))
                whole = weight(lead + tail) / c**2
                total = apart + s / w / c ** (lead + 1)
                if total * weight(lead) / c**2 <= apart * whole:
                    found.append(total**2 / whole)
            got = float(expanding.mu_squared_bounded(participation, diameter))
            assert got == pytest.approx(min(found))


def test_chains_of_any_steps_by_the_minorant_in_fractions() -> None:
    rng = np.random.default_rng(4)
    for expand in (False, True):
        for _ in range(20):
            steps = int(rng.integers(1, 8))
            s = rng.integers(0, 3, (2, steps)) * rng.uniform(0.1, 2, (2, steps))
            c = rng.uniform(0.7, 1.2 if expand else 1.0, steps)
            noise = rng.uniform(0.5, 2, steps)
            start = rng.uniform(0, 1, 2)
            found = optimal_shifts(s, c, noise, start)
            for user in range(2):
                carry = [
                    math.prod((Fraction(x) for x in c[t + 1 :]), start=Fraction(1))
                    for t in range(steps)
                ]
                w = [(Fraction(n) * k) ** 2 for n, k in zip(noise, carry, strict=True)]
                before = Fraction(start[user]) * carry[0] * Fraction(c[0])
                u = [Fraction(x) * k for x, k in zip(s[user], carry, strict=True)]
                sums = [
                    (sum(w[: t + 1], Fraction(0)), before + sum(u[: t + 1])) for t in range(steps)
                ]
                points = [(Fraction(0), Fraction(0)), *sums]
                # A point before each jump: what is to be paid by then.
                bends = (
                    [points[0]]
                    + [(points[t][0], points[t][1] if t else Fraction(0)) for t in range(1, steps)]
                    + [points[-1]]
                )
                cost = total_cost([(real(a), real(b)) for a, b in bends], convex_minorant(bends))
                mu = float(found.mu[user])
                assert mu >= float(cost) ** 0.5 * (1 - 1e-16)
                assert mu == pytest.approx(float(cost) ** 0.5, rel=1e-12, abs=1e-300)
                # The shifts bring the runs together and cost as much.
                z = float(start[user])
                for t in range(steps):
                    z = c[t] * z + s[user, t] - found.shifts[user, t]
                    assert z >= -1e-12
                assert abs(z) < 1e-12
                paid = float(((found.shifts[user] / noise) ** 2).sum())
                assert paid == pytest.approx(mu**2, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1.0], [1.0, 1.0, 1.0], 1.0), "contractions needs one value or one per step; got shape (3,) for 1 steps"),
        (([1.0, 1.0], 1.0, [[1.0]]), "noises needs one value or one per step; got shape (1, 1) for 2 steps"),
        ((np.zeros((1, 0)), 1.0, 1.0), "jumps needs shape (users, steps); got shape (1, 0)"),
        (([-1.0], 1.0, 1.0), "jumps needs finite numbers, 0 or above; try the norms of the changes"),
        (([math.inf], 1.0, 1.0), "jumps needs finite numbers, 0 or above; try the norms of the changes"),
        (([1.0, 1.0], [-1.0, 2.0], 1.0), "contractions needs finite numbers, 0 or above; got -1 to 2"),
        (([1.0], 1.0, 0.0), "noises needs finite numbers above 0; got a least of 0"),
        (([1.0, 1.0], 1.0, [1e-51, 1.0]), "noises needs values within a factor of 1e50; got 1e-51 to 1"),
        (([1.0], 1.0, 1.0, -2.0), "start needs finite numbers, 0 or above; got -2"),
        (([1.0] * 40, 2.0, 1.0), "expanding steps need to carry distances within a factor of 10000; got 5.49756e+11; try fewer steps"),
    ],
)  # fmt: skip
def test_chains_that_are_refused(given, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        optimal_shifts(*given)
    assert str(caught.value) == message


def test_chains_that_forget_and_records_that_are_not_used() -> None:
    far = optimal_shifts([1.0] + [0.0] * 400 + [1.0], 0.5, 1.0).mu[0]
    assert 1 < far < 1 + 1e-11
    assert optimal_shifts([0.0, 0.0], 0.5, 1.0).mu.tolist() == [0.0]
    assert optimal_shifts([1e-300, 0.0], 0.5, 1e20).mu[0] >= 5e-324
    # Every noise counts, so μ² = (2^-599)² / Σ 4^-k over the 600 steps, here without its root.
    faint = Fraction(float(optimal_shifts([1.0] + [0.0] * 599, 0.5, 1.0).mu[0]))
    assert faint**2 >= Fraction(1, 4**599) * Fraction(3, 4)
    assert float(faint) < 1e-98
    for scale in (1e-150, 1e150):
        unit = optimal_shifts([scale, 0.0, scale], 0.9, 2.0 * scale).mu[0]
        assert unit == pytest.approx(optimal_shifts([1.0, 0.0, 1.0], 0.9, 2.0).mu[0], rel=1e-13)


def test_a_search_for_the_noise_of_all_users_works_out_their_weights_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They hold for every σ; a training of thousands of users took half a minute without."""
    from dpcalc import calibration
    from dpcalc.accounting.iteration import kernels as module
    from dpcalc.theorems.catalogue import privacy_result

    asked: list[int] = []
    plain = module.Kernels.best_weight

    def counted(kernels: Any, iterations: int) -> Any:
        asked.append(iterations)
        return plain(kernels, iterations)

    monkeypatch.setattr(module.Kernels, "best_weight", counted)
    kind = privacy_result("admm-iteration-all-users")
    instance = kind.from_parameters({**kind.example, "users": 23, "step_size": 0.123}, attest="all")
    calibration.smallest_noise(instance, epsilon=1.0, delta=1e-6)
    assert sorted(asked) == list(range(2, 24))
