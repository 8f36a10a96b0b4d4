"""Laws whose P- and Q-mass agree: moments of very many tiny losses, to second order."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.node_sums import NodeSums, second_order, turned
from dpcalc.accounting.losses.subsampled_gaussian import WithoutReplacement

ROUNDS = 700_000_000
Z = list[tuple[float, complex]]


def mirrored(size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    losses = np.sort(rng.gamma(1.0, size, 40))
    masses = rng.dirichlet(np.ones(80))[:40]
    return np.append(losses, -losses), np.append(masses, masses * np.exp(-losses))


def moment(losses: np.ndarray, masses: np.ndarray, z: mp.mpc) -> mp.mpc:
    """With the masses of negative losses exact."""
    half, found = len(losses) // 2, mp.mpc(1)
    for loss, mass in zip(losses[:half].tolist(), masses[:half].tolist(), strict=True):
        x, m = mp.mpf(loss), mp.mpf(mass)
        found += m * (mp.exp(z * x) - 1) + m * mp.exp(-x) * (mp.exp(-z * x) - 1)
    return found


@pytest.mark.parametrize("size", [1e-9, 1e-7])
@pytest.mark.parametrize("start", [0, 64, 1000])
def test_moments_are_off_by_no_more_than_their_bound(size: float, start: int) -> None:
    """Of masses that are off by as much as they may be, each in the worse direction."""
    losses, masses = mirrored(size, 3)
    wrong, c = 1e-12, 0.02 / size / 1e3
    step, stop = c / 8, start + 64
    law = DiscreteLoss(losses, masses * (1 + wrong), mass_error=wrong * 1.01, balanced=True)
    line = law.tilted(c)
    ratios, errors = line.log_ratio(step, start, stop, ROUNDS)
    with mp.workdps(50):
        at_c = moment(losses, masses, mp.mpc(c))
        assert abs(mp.mpf(line.log_moment) - mp.log(at_c)) <= line.rounding
        for k in (1, 20, 63):
            exact = moment(losses, masses, mp.mpc(c, mp.mpf(step) * (start + k)))
            found = mp.exp(mp.mpc(complex(ratios[k])) + mp.mpf(line.log_moment))
            assert abs(found / exact - 1) <= errors[k] + line.rounding
    plain = DiscreteLoss(losses, masses, mass_error=wrong)
    _, before = plain.tilted(c).log_ratio(step, start, stop, ROUNDS)
    assert (errors[1:] <= 0.1 * before[1:]).all()


@pytest.mark.parametrize("size", [1e-9, 1e-3, 2.0])
def test_sums_at_nodes_are_right_to_second_order(size: float) -> None:
    rng = np.random.default_rng(5)
    losses, weights = size * rng.normal(size=300), rng.dirichlet(np.ones(300))
    found = NodeSums(losses, weights).less_slope(0.7, 40, 90)
    square = float((weights * losses**2).sum())
    with mp.workdps(40):
        for k in (0, 7, 49):
            y = mp.mpf(0.7) * (40 + k)
            each = zip(losses.tolist(), weights.tolist(), strict=True)
            exact = mp.fsum(w * (mp.expj(y * x) - 1 - 1j * y * x) for x, w in each)
            assert abs(mp.mpc(complex(found[k])) - exact) <= 1e-13 * float(y) ** 2 / 2 * square


def test_remainders_are_right_to_a_share_of_themselves() -> None:
    x = np.concatenate([np.geomspace(1e-12, 5, 200), -np.geomspace(1e-12, 5, 200), [1.0, -1.0]])
    with mp.workdps(60):
        for at, value, turn in zip(x, second_order(x), turned(x)[1], strict=True):
            exact = mp.expm1(mp.mpf(at)) - mp.mpf(at)
            assert abs(mp.mpf(value) - exact) <= 4.5e-15 * exact
            angle = mp.expj(mp.mpf(at)) - 1 - 1j * mp.mpf(at)
            assert abs(mp.mpc(complex(turn)) - angle) <= 2.7e-15 * mp.mpf(at) ** 2 / 2


def delta_of_batches(mu: float, rate: float, rounds: int, epsilon: float) -> mp.mpf:
    """By Fourier inversion with forty digits, of one round's law as an integral over its outcomes."""
    m, q, n = mp.mpf(mu), mp.mpf(rate), 80
    nodes, weights = np.polynomial.legendre.leggauss(n)
    low, half = m / 2, mp.mpf(7)
    outcomes = []
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        x = low + half * (1 + mp.mpf(node))
        log_ratio = mp.log1p(q * mp.expm1(m * x - m * m / 2))
        outcomes.append((mp.mpf(weight) * half * mp.npdf(x), log_ratio))

    def log_moment(z: mp.mpc) -> mp.mpc:
        each = (
            w * (mp.exp((z + 1) * loss) - mp.exp(loss) + mp.expm1(-z * loss))
            for w, loss in outcomes
        )
        return mp.log1p(mp.fsum(each))

    spread = mp.sqrt(rounds * mp.fsum(2 * w * loss**2 for w, loss in outcomes))
    c = 3 / spread
    step, total = 2 * mp.pi / (40 * spread), mp.mpf(0)
    for k in range(80):
        z = mp.mpc(c, k * step)
        value = mp.exp(rounds * log_moment(z) - z * mp.mpf(epsilon)) / (z * (z + 1))
        total += value.real * (1 if k else mp.mpf(1) / 2)
    return total * step / mp.pi


def test_epsilon_next_to_zero_after_very_many_rounds() -> None:
    """A hundredth of the sum's deviation: δ has to be known to 1e-7 of itself."""
    mu, rate, rounds, delta = 0.19355, 1.1921e-9, 701_003_337, 2.6137e-6
    parts = [(WithoutReplacement(mu, rate), rounds)]
    found = bracket_epsilon(parts, delta)
    assert 0 < found.upper < 1e-6
    assert found.relative_width <= 1e-5
    with mp.workdps(40):
        assert delta_of_batches(mu, rate, rounds, found.lower) >= delta
        assert delta_of_batches(mu, rate, rounds, found.upper) <= delta
        there = bracket_delta(parts, 1e-6)
        exact = delta_of_batches(mu, rate, rounds, 1e-6)
        assert there.lower <= exact <= there.upper
        assert there.relative_width <= 1e-6
