"""Mixtures over positions, splits of the noise and their rough costs, by plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcalc.accounting.iteration.distance_quantiles import TAIL_PROBABILITIES, upper_quantiles
from dpcalc.accounting.iteration.position_mixture import mixed_down, mixed_positions
from dpcalc.accounting.iteration.sampled_batches import NoiseSplit, SampledRun, max_distance
from dpcalc.numerics.precise import mpf as real
from dpcalc.numerics.precise import round_down, round_up


def test_mixtures_of_positions() -> None:
    mus, weights = mixed_positions(lambda t: real(1) / t if t < 5 else real(0), 6)
    assert list(mus) == [round_up(real(1) / t) for t in range(1, 5)]
    assert weights == (1 / 6,) * 4
    blocks, shares = mixed_positions(lambda t: real(1) / t, 10_000)
    assert len(blocks) < 10_000
    assert blocks[:4096] == tuple(round_up(real(1) / t) for t in range(1, 4097))
    assert math.fsum(shares) == pytest.approx(1.0)
    start, last = 4097, 0
    for mu, share in zip(blocks[4096:], shares[4096:], strict=True):
        assert mu == round_up(real(1) / start)
        last = round(share * 10_000)
        assert last == min(int(start * 1.0005) + 1, 10_001) - start
        start += last
    assert start == 10_001
    down, parts = mixed_down(lambda t: real(1) / t, 60)
    ends, stop = [], 0
    while stop < 60:
        before, stop = stop, min(60, max(stop + 1, int(stop * 1.04)))
        ends.append((stop, stop - before))
    assert list(down) == [round_down(real(1) / t * (1 - real("1e-9"))) for t, _ in ends]
    assert parts == tuple(n / 60 for _, n in ends)
    assert mixed_down(lambda _: real(0), 4) == ((), ())
    assert len(mixed_down(lambda t: real(1) / t, 60, growth=2.0)[0]) == 7


@pytest.mark.parametrize(("rate", "c", "steps"), [(0.1, 0.9, 30), (0.5, 1.0, 12), (0.01, 0.0, 5)])
def test_levels_are_the_best_of_the_markov_bounds(rate: float, c: float, steps: int) -> None:
    found = upper_quantiles(rate, c, steps)
    slopes = np.geomspace(1e-6, 600, 4000)
    values = c ** np.arange(steps)
    growth = np.log1p(rate * np.expm1(np.outer(slopes, values))).sum(axis=1)
    for level, p in zip(found, TAIL_PROBABILITIES, strict=True):
        best = min(float(((growth - math.log(p)) / slopes).min()), values.sum())
        assert best * (1 - 1e-9) <= level <= best * 1.01
    assert found == sorted(found)
    assert upper_quantiles(rate, 1.0, 10**20)[0] > 0


def run(c: float = 0.95, diameter: float = math.inf, likely: float = 1.0) -> SampledRun:
    return SampledRun(
        steps=200,
        rate=0.1,
        step_sensitivity=0.3,
        contraction=c,
        diameter=diameter,
        distance_share=likely,
    )


def test_splits_and_distances() -> None:
    assert float(max_distance(2.0, 0.5, 4)) == pytest.approx(2 * (1 + 0.5 + 0.25 + 0.125))
    assert max_distance(2.0, 1.0, 4) == 8
    split = NoiseSplit(steps=7, closing=3, share=0.2)
    weight = 1 + 0.9**2 + 0.9**4
    shift = 1.5 * 0.9**7 / (0.8 * math.sqrt(0.2 * weight))
    assert float(split.shift_mu(1.5, 0.8, 0.9)) == pytest.approx(shift)
    assert float(split.shift_mu(1.5, 0.8, 1.0)) == pytest.approx(1.5 / 0.8 / math.sqrt(0.6))
    assert NoiseSplit(steps=7, closing=0, share=0.0).shift_mu(1.5, 0.8, 0.9) == 0
    assert float(split.closing_mu(0.5, 0.8)) == pytest.approx(0.5 / 0.8 / math.sqrt(0.8))


def normal(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def test_the_rough_cost_of_hiding_a_record() -> None:
    for share in (0.0, 0.4):
        square = 0.09 / (1 - share)
        mu = math.sqrt(square)
        bracket = math.exp(square) * normal(1.5 * mu) + 3 * normal(-0.5 * mu) - 2
        assert run().step_cost(share) == pytest.approx(0.02 * bracket)
    tiny = SampledRun(steps=5, rate=0.1, step_sensitivity=1e-4, contraction=0.9)
    assert tiny.step_cost() == pytest.approx(1e-10)
    huge = SampledRun(steps=5, rate=0.1, step_sensitivity=1e200, contraction=0.9)
    assert math.isfinite(huge.step_cost())


@pytest.mark.parametrize("c", [0.0, 0.95, 1.0])
@pytest.mark.parametrize("diameter", [0.5, math.inf])
@pytest.mark.parametrize("likely", [0.3, 1.0])
def test_the_rough_cost_of_a_split_and_the_best_one(c, diameter: float, likely: float) -> None:
    search = run(c, diameter, likely)

    def cost(steps: int, closing: int, share: float) -> float:
        early = sum(c**i for i in range(200 - steps))
        apart = min(diameter, likely * 0.3 * early) * c**steps
        weight = sum(c ** (2 * i) for i in range(closing))
        hidden = (steps - closing) * search.step_cost() + closing * search.step_cost(share)
        return hidden + apart**2 / (share * weight)

    for tried in ((150, 20, 0.3), (40, 40, 0.9), (10, 1, 0.01)):
        split = NoiseSplit(steps=tried[0], closing=tried[1], share=tried[2])
        assert search.rough_cost(split) == pytest.approx(cost(*tried), rel=1e-9)
    assert search.composed() == NoiseSplit(steps=200, closing=0, share=0.0)
    assert search.rough_cost(search.composed()) == pytest.approx(200 * search.step_cost())
    best = search.best_split()
    rng = np.random.default_rng(1)
    for _ in range(300):
        closing = int(rng.integers(1, 200))
        steps = int(rng.integers(closing, 201))
        other = cost(steps, closing, float(rng.uniform(0.001, 0.999)))
        assert search.rough_cost(best) <= min(other, 200 * search.step_cost()) * (1 + 1e-3)
    for closing, share in ((5, 0.3), (60, 0.8)):
        chosen = search.with_best_count(closing, share)
        assert (chosen.closing, chosen.share) == (closing, share)
        least = min(cost(n, closing, share) for n in range(closing, 201))
        assert search.rough_cost(chosen) <= least * (1 + 1e-9)
