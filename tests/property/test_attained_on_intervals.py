"""What is attained on bounded domains, against exact laws on an interval by quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcalc.accounting.iteration import confined_walk, walled_walk
from dpcalc.accounting.iteration.confined_walk import ConfinedWalk
from dpcalc.accounting.iteration.walled_walk import WalledWalk
from dpcalc.claims.verdict import surely_attained
from dpcalc.theorems.catalogue import privacy_result
from tests.oracles.noisy_descent import Interval

EPSILONS = (0.0, 0.05, 0.2, 0.5)
QUADRATURE = 2e-7
"""Where a difference of densities, of slope up to 1/4, is cut at zero between points 0.002 apart."""


def exact(
    width: float, slope: float, shift: float, steps: int, gap: int = 1, tail: int = 1
) -> list[float]:
    """δ at `EPSILONS` of both worlds' last iterates, from the middle of the interval."""
    interval, laws = Interval(width), []
    for side in (1, -1):
        law = interval.start()
        for left in range(steps, 0, -1):
            before = interval.x if left < steps else np.full_like(interval.x, width / 2)
            uses = left >= tail and (left - tail) % gap == 0
            centre = width / 2 + slope * (before - width / 2) + side * shift * uses
            law = interval.step(law, [(1.0, centre)], 1.0)
        laws.append(law)
    return [interval.delta(laws[0], laws[1], epsilon) for epsilon in EPSILONS]


WALKS = [(0.5, 0.1, 7, 1, 1), (3.0, 0.3, 40, 1, 1), (3.0, 0.3, 41, 4, 3), (12.0, 0.4, 60, 2, 2)]


def _confined(width: float, apart: float, *, least: float = 0.0, **uses: int) -> ConfinedWalk:
    """Thirty steps with slopes from ``least`` to 1."""
    return ConfinedWalk(
        width=width, step_sensitivity=apart, least=least, most=1.0, steps=30, **uses
    )


@pytest.mark.parametrize(("width", "shift", "steps", "gap", "tail"), WALKS)
def test_a_walk_between_walls(width: float, shift: float, steps: int, gap: int, tail: int) -> None:
    """Linear losses; the likelihood ratio rises along the interval, so one threshold is the best test."""
    walk = WalledWalk(width=width, shift=shift, steps=steps, gap=gap, tail=tail)
    for epsilon, truth in zip(EPSILONS, exact(width, 1.0, shift, steps, gap, tail), strict=True):
        assert 0.98 * truth - 1e-6 < walk(epsilon) <= truth + QUADRATURE


@pytest.mark.parametrize("cells", [64, 256])
def test_a_coarse_grid_stays_below_and_rounding_up_would_be_caught(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, walk = exact(3.0, 1.0, 0.3, 40)[0], WalledWalk(width=3.0, shift=0.3, steps=40)
    law_below, movements = walled_walk._law_below.__wrapped__, walled_walk._movements.__wrapped__
    monkeypatch.setattr(walled_walk, "_GRID", cells)
    monkeypatch.setattr(walled_walk, "_movements", movements)
    assert _told(law_below(walk)) < truth
    monkeypatch.setattr(walled_walk, "_movements", lambda w, moved: movements(w, moved + 2))
    assert _told(law_below(walk)) > truth


def _told(law: walled_walk.Reals) -> float:
    return float((law.cumsum() - law[::-1].cumsum()).max())


def test_a_start_that_is_not_known_is_the_wall_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting the last steps only, from the worst place, tells less."""
    whole = [WalledWalk(width=3.0, shift=0.3, steps=40)(epsilon) for epsilon in EPSILONS]
    monkeypatch.setattr(walled_walk, "_STEPS", 39)
    walled_walk._law_below.cache_clear()
    counted = [WalledWalk(width=3.0, shift=0.3, steps=40)(epsilon) for epsilon in EPSILONS]
    walled_walk._law_below.cache_clear()
    for some, every in zip(counted, whole, strict=True):
        assert every * 0.99 <= some < every


@pytest.mark.parametrize(
    ("width", "sensitivity", "gap", "tail"), [(24, 0.6, 1, 1), (36, 0.9, 3, 2)]
)
def test_quadratics_that_hardly_meet_a_wall(
    width: float, sensitivity: float, gap: int, tail: int
) -> None:
    """Every slope that is tried: its law with walls is the free one but for the walls' chance."""
    walk = _confined(width, sensitivity, gap=gap, tail=tail)
    slopes = list(walk._slopes())
    best = np.zeros(len(EPSILONS))
    for slope, met in slopes:
        truth = np.array(exact(width, slope, sensitivity / 2, 30, gap, tail))
        free = np.array([confined_walk.gaussian_delta(walk._mu(slope), e) for e in EPSILONS])
        assert np.all(np.abs(free - truth) <= 2 * met * np.exp(EPSILONS) + QUADRATURE)
        best = np.maximum(best, truth)
    for epsilon, truth in zip(EPSILONS, best, strict=True):
        assert truth * 0.99 - 1e-6 < walk(epsilon) <= truth + QUADRATURE
    assert len(slopes) >= 2
    assert [met for _, met in slopes] == sorted((met for _, met in slopes), reverse=True)


def test_no_slope_keeps_within_a_narrow_interval() -> None:
    assert _confined(10, 0.1)(0.0) == 0
    assert _confined(50, 0.1, least=0.999)(0.0) == 0
    assert _confined(50, 0.1)(701.0) == WalledWalk(width=3, shift=0.1, steps=30)(701.0) == 0


def test_what_is_attained_never_exceeds_what_is_certified() -> None:
    kind, rng = privacy_result("noisy-cgd-constrained"), np.random.default_rng(8)
    known = 0
    for _ in range(25):
        batches = int(rng.integers(1, 6))
        given = {
            "diameter": float(10 ** rng.uniform(-2.5, 0.5)), "n_batches": batches,
            "passes": int(rng.integers(1, 60)), "batch_size": int(rng.integers(1, 30)),
            "sigma": 0.2, "step_size": float(rng.uniform(0.05, 0.9)),
            "position": int(rng.integers(1, batches + 1)),
        }  # fmt: skip
        if rng.random() < 0.3:
            given["strong_convexity"] = float(rng.uniform(0.01, 1))
        theorem = kind.from_parameters({**kind.example, **given})
        instance, certified = theorem.attained(), theorem.certified().guarantee
        for delta in (1e-2, 1e-6) if instance else ():
            known += 1
            assert surely_attained(instance.guarantee, delta) <= certified.epsilon(delta)
    assert known > 10


def test_instances_on_bounded_domains_refute() -> None:
    kind = privacy_result("noisy-cgd-constrained")
    narrow = {"diameter": 0.03, "n_batches": 1, "batch_size": 10, "passes": 400}
    theorem = kind.from_parameters({**kind.example, **narrow})
    instance = theorem.attained()
    # After long, small drifts ±u leave densities in proportion to e^{±2ux}: a largest loss of 2uD.
    assert 2 * 0.5 * 3 < surely_attained(instance.guarantee, 1e-6) < 4 * 0.5 * 3
    for without in ({"order": "reshuffled"}, {"release": "average-of-iterates"}):
        assert kind.from_parameters({**kind.example, **without}).attained() is None
    assert (
        kind.from_parameters({**kind.example, "diameter": 0.2, "smoothness": 0.01}).attained()
        is None
    )
    assert math.isfinite(kind.from_parameters(kind.example).attained().guarantee.epsilon(1e-9))
