"""What random batches attain on bounded domains, against exact laws on an interval by quadrature."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpcalc.accounting.iteration.sampled_interval import SampledConfinedWalk
from dpcalc.accounting.iteration.sampled_walk import SampledWalk
from dpcalc.accounting.iteration.walled_walk import WalledWalk
from dpcalc.claims.verdict import surely_attained
from dpcalc.theorems.catalogue import privacy_result
from tests.oracles.noisy_descent import Interval

EPSILONS = (0.0, 0.1, 0.4)
QUADRATURE = 2e-7
"""Where a difference of densities is cut at zero between points 0.002 apart."""


def exact(width: float, slope: float, shift: float, steps: int, rate: float) -> list[float]:
    """δ at `EPSILONS` of both worlds' last iterates, from the middle of the interval."""
    interval, laws = Interval(width), []
    for side in (1, -1):
        law = interval.start()
        for step in range(steps):
            before = interval.x if step else np.full_like(interval.x, width / 2)
            kept = width / 2 + slope * (before - width / 2)
            law = interval.step(law, [(1 - rate, kept), (rate, kept + side * shift)], 1.0)
        laws.append(law)
    return [interval.delta(laws[0], laws[1], epsilon) for epsilon in EPSILONS]


@pytest.mark.parametrize(
    ("width", "shift", "steps", "rate"),
    [(0.5, 0.3, 7, 0.2), (3.0, 0.5, 40, 0.3), (9.0, 0.6, 50, 0.5)],
)
def test_linear_losses_between_walls(width: float, shift: float, steps: int, rate: float) -> None:
    walk = WalledWalk(width=width, shift=shift, steps=steps, rate=rate)
    for epsilon, truth in zip(EPSILONS, exact(width, 1.0, shift, steps, rate), strict=True):
        assert 0.95 * truth - 1e-4 < walk(epsilon) <= truth + QUADRATURE


@pytest.mark.parametrize(("width", "sensitivity", "batch_size"), [(24, 0.9, 60), (36, 2.0, 20)])
def test_quadratics_that_hardly_meet_a_wall(
    width: float, sensitivity: float, batch_size: int
) -> None:
    """Thirty steps with every curvature that is tried; the record's own gradient keeps within L."""
    walk = SampledConfinedWalk(
        width=width, step_sensitivity=sensitivity, least=0.0, most=1.0, steps=30, rate=0.3,
        batch_size=batch_size,
    )  # fmt: skip
    best = np.zeros(len(EPSILONS))
    for slope, _ in walk._slopes():
        # In units of a step's noise L moves an iterate by b times the sensitivity over two.
        steepest = batch_size * sensitivity / 2
        own = (steepest - (1 - slope) * width / 2) / batch_size
        assert own > 0
        best = np.maximum(best, exact(width, slope, own, 30, 0.3))
    for epsilon, truth in zip(EPSILONS, best, strict=True):
        assert truth * 0.9 - 1e-3 < walk(epsilon) <= truth + QUADRATURE
    assert walk(0.0) > 0.05


def test_where_a_curvature_leaves_no_gradient_nothing_is_said() -> None:
    walk = SampledConfinedWalk(
        width=24, step_sensitivity=0.02, least=0.0, most=1.0, steps=30, rate=0.3, batch_size=1
    )
    assert walk(0.0) == 0.0


def test_records_that_all_lie_on_one_side_tell_more() -> None:
    """Every pattern of five batches: one run never moved, the other by twice the sum."""
    c, rate, s = 0.9, 0.3, 1.2
    found, without = SampledWalk(5, rate, c, s, one_sided=True), SampledWalk(5, rate, c, s)
    root = math.sqrt(sum(c ** (2 * i) for i in range(5)))
    patterns = np.array(list(itertools.product([0, 1], repeat=5)))
    chances = np.prod(np.where(patterns, rate, 1 - rate), axis=1)
    moved = s * patterns @ (c ** np.arange(5)) / root
    at = np.linspace(-1, 8, 2001)[:, None]
    for epsilon in (1.0, 1.5, 2.5):
        truth = float(np.max(ndtr(moved - at) @ chances - math.exp(epsilon) * ndtr(-at[:, 0])))
        assert 0.9 * truth < found(epsilon) <= truth * (1 + 1e-9)
        assert found(epsilon) > 1.05 * without(epsilon)


@pytest.mark.parametrize("name", ["noisy-sgd-constrained", "noisy-sgd-constrained-tradeoff"])
def test_instances_never_exceed_what_is_certified(name: str) -> None:
    kind, rng, known = privacy_result(name), np.random.default_rng(9), 0
    for _ in range(5):
        batch = int(rng.integers(1, 40))
        given = {
            "diameter": float(10 ** rng.uniform(-2, 0.5)), "n_records": 40, "batch_size": batch,
            "steps": int(rng.integers(20, 400)), "sigma": float(rng.uniform(0.1, 0.4)),
        }  # fmt: skip
        theorem = kind.from_parameters({**kind.example, **given})
        instance, certified = theorem.attained(), theorem.certified().guarantee
        for delta in (1e-2, 1e-6) if instance else ():
            known += 1
            assert surely_attained(instance.guarantee, delta) <= certified.epsilon(delta)
    assert known >= 6


def test_instances_on_bounded_domains_refute() -> None:
    kind = privacy_result("noisy-sgd-constrained")
    for given in ({}, {"batch_size": 10, "n_records": 100, "diameter": 0.06, "steps": 1000}):
        theorem = kind.from_parameters({**kind.example, **given})
        assert surely_attained(theorem.attained().guarantee, 1e-6) > 0.01
    averages = kind.from_parameters({**kind.example, "release": "average-of-iterates"})
    assert averages.attained() is None
