"""What instances of noisy descent attain: against brute force, and never above what is certified."""

from __future__ import annotations

import itertools
import math
import os

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2, norm

from dpcalc.accounting.iteration.position_mixture import mixed_down
from dpcalc.accounting.iteration.pulled_walk import PulledWalk
from dpcalc.accounting.iteration.quadratics import Quadratics, Uses
from dpcalc.accounting.iteration.sampled_walk import SampledWalk
from dpcalc.claims.verdict import surely_attained
from dpcalc.numerics.precise import mpf
from dpcalc.theorems.base import Scope
from dpcalc.theorems.catalogue import privacy_result

LONG = os.environ.get("DPCALC_HYPOTHESIS") == "long"


def test_the_law_of_changing_curvatures_by_brute_force() -> None:
    """Every step on its own, along the other uses; the last use's direction by a fine circle."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        passes, gap = int(rng.integers(2, 5)), int(rng.integers(1, 6))
        tail = int(rng.integers(1, gap + 1))
        uses = Uses(gap - tail, passes, gap, tail)
        forget, keep = np.sort(rng.uniform(0, 1, 2)).tolist()
        forgetting, share = int(rng.integers(0, gap)), float(rng.random())
        first, last = gap - tail, gap - tail + gap * (passes - 1)
        factors = np.full(last + tail, keep)
        factors[: first + 1] = forget
        factors[last - forgetting + 1 : last + 1] = forget
        factors[last - forgetting] = forget + (keep - forget) * share
        others, side = np.full(last + tail, forget), (0.0, 0.0)
        others[last + 1 :] = keep
        along, spread, lone = 0.0, 0.0, 0.0
        for t, a in enumerate(factors):
            along, spread, lone = a * along, a * a * spread + 1, a * lone
            along += (t - first) % gap == 0 and first <= t < last
            lone += t == last
            side = others[t] * side[0] + (t == last), others[t] ** 2 * side[1] + 1
        angles = np.linspace(0, math.pi / 2, 4001)
        best = (along + lone * np.cos(angles)) ** 2 / spread
        best = best + (side[0] * np.sin(angles)) ** 2 / side[1]
        found = Quadratics(forget, keep).mu_squared(uses, forgetting, share)
        assert found == pytest.approx(best.max(), rel=1e-6)


def test_a_loss_may_have_a_curvature_of_its_own_in_every_step() -> None:
    """Two batches, three passes: losses fixed, curvatures 1.9, 0.1, 0.5, 1.0, 1.5, 0.3 along the run."""
    eta, rho, start = 0.5, 0.5, 1e9
    curvatures = [1.9, 0.1, 0.5, 1.0, 1.5, 0.3]
    places = start * rho ** np.arange(6)
    rng, noise = np.random.default_rng(0), []

    def gradient(batch: int, x: float) -> float:
        """Piecewise linear through the places of the batch, flat pieces of the wanted slope around."""
        knots = []
        for t in range(batch, 6, 2):
            at = (1 - rho) * places[t] / eta
            knots += [(places[t] + side * 1e5, at + side * 1e5 * curvatures[t]) for side in (-1, 1)]
        knots.sort()
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(knots)]
        assert all(0.09 <= slope <= 1.91 for slope in slopes)
        xs, ys = zip(*knots, strict=True)
        assert xs[0] < x < xs[-1]
        return float(np.interp(x, xs, ys))

    runs = []
    for moved in (0.0, 1.0):
        x, path = start + moved, []
        for t in range(6):
            if not moved:
                noise.append(float(rng.normal()))
            x = x - eta * gradient(t % 2, x) + noise[t]
            path.append(x)
        runs.append(path)
    factors = np.cumprod([1 - eta * h for h in curvatures])
    # Doubles around 1e9 are 1e-7 apart.
    assert np.array(runs[1]) - np.array(runs[0]) == pytest.approx(factors, abs=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.3])
def test_the_pulled_walk_against_a_fine_grid(epsilon: float) -> None:
    """The law of X on a grid of 0.02 both ways; the best of all thresholds, which is near the bound."""
    lead, left, pull, slope = 12, 30, 0.5, 0.4
    x = np.arange(-1000, 1001) * 0.02
    law = (x == 0).astype(float)
    centres = x - np.clip(slope * x, -pull, pull)
    kernel = np.exp(-((x - centres[:, None]) ** 2) / 2) * 0.02 / math.sqrt(2 * math.pi)
    for _ in range(lead):
        law = law @ kernel
    root = math.sqrt(left)
    exact = max(
        float(law @ (ndtr((x + pull - t) / root) - math.exp(epsilon) * ndtr((x - pull - t) / root)))
        for t in np.linspace(0, 40, 801)
    )
    found = PulledWalk(lead, left, pull, slope)(epsilon)
    assert exact * 0.93 < found <= exact * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("c", [1.0, 0.7, 0.0])
def test_the_sampled_walk_by_enumeration(epsilon: float, c: float) -> None:
    """All 256 ways in which eight batches may hold the record; the best of all thresholds."""
    steps, rate, jump = 8, 0.3, 1.5
    held = (np.arange(2**steps)[:, None] >> np.arange(steps)) & 1
    weights = np.array([c**i for i in range(steps)])
    shift = held @ weights * jump / 2
    chance = np.prod(np.where(held, rate, 1 - rate), axis=1)
    root = math.sqrt(float(np.sum(weights**2)))
    exact = max(
        float(chance @ (ndtr((shift - t) / root) - math.exp(epsilon) * ndtr((-shift - t) / root)))
        for t in np.linspace(0, 15, 3001)
    )
    found = SampledWalk(steps, rate, c, jump)(epsilon)
    assert exact * 0.6 < found <= exact * (1 + 1e-5)  # few uses: the threshold is a rough one


SETTINGS = {
    "noisy-sgd": {
        "n_records": (20, 60), "batch_size": (1, 20), "steps": (30, 300), "sigma": (0.1, 1.0),
        "strong_convexity": (0.01, 1.0),
    },
    "noisy-cgd": {
        "n_batches": (1, 12), "passes": (1, 20), "step_size": (0.05, 0.9),
        "strong_convexity": (0.01, 1.0), "sigma": (0.01, 0.5),
    },
    "pnsgd": {"n_records": (1, 60), "step_size": (0.05, 1.0), "sigma": (0.3, 5.0)},
    "pnsgd-strongly-convex": {
        "n_records": (1, 60), "step_size": (0.05, 1.0), "strong_convexity": (0.01, 2.0),
        "sigma": (0.3, 5.0),
    },
}  # fmt: skip


@pytest.mark.parametrize("key", SETTINGS)
def test_what_is_attained_never_exceeds_what_is_certified(key: str) -> None:
    kind, rng = privacy_result(key), np.random.default_rng(12)
    for _ in range(400 if LONG else 2 if key == "noisy-sgd" else 25):
        given = {
            name: int(rng.integers(low, high + 1))
            if isinstance(low, int)
            else float(np.exp(rng.uniform(math.log(low), math.log(high))))
            for name, (low, high) in SETTINGS[key].items()
        }
        places = given.get("n_batches", given.get("n_records", 1))
        if key != "noisy-sgd":
            given["position"] = int(rng.integers(1, places + 1))
        theorem = kind.from_parameters({**kind.example, **given})
        if theorem.violations(Scope.CERTIFIED):
            continue
        for delta in (1e-3, 1e-6):
            attained = surely_attained(theorem.attained().guarantee, delta)
            assert attained <= theorem.certified().guarantee.epsilon(delta) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("key", "share"),
    [("noisy-cgd", 0.92), ("pnsgd", 0.97), ("pnsgd-strongly-convex", 0.98), ("noisy-gd", 0.999)],
)
def test_examples_attain_most_of_what_is_certified(key: str, share: float) -> None:
    kind = privacy_result(key)
    theorem = kind.from_parameters(kind.example)
    attained = surely_attained(theorem.attained().guarantee, 1e-6)
    assert attained > share * theorem.certified().guarantee.epsilon(1e-6)


def test_all_users_of_admm_attain_nearly_everything() -> None:
    """And a block of positions uses the value of its last one."""
    kind = privacy_result("admm-iteration-all-users")
    for order in ("permutation", "stopping"):
        theorem = kind.from_parameters({**kind.example, "users": 40, "order": order})
        attained = surely_attained(theorem.attained().guarantee, 1e-6)
        assert 0.95 < attained / theorem.certified().guarantee.epsilon(1e-6) <= 1
    mus, shares = mixed_down(lambda t: 1 / mpf(t), 200)
    assert sum(shares) == pytest.approx(1)
    mean = sum(m * s for m, s in zip(mus, shares, strict=True))
    assert (
        0.97 * sum(1 / t for t in range(1, 201)) / 200
        < mean
        < sum(1 / t for t in range(1, 201)) / 200
    )


def _hidden_stop(epsilon: float, unit: float, first: int, last: int, idle: int) -> float:
    """δ of a stopped walk in 1 + idle coordinates by quadrature, the stopping time not shown."""
    stops = np.arange(first, last + 1)
    x = np.linspace(-9, 9, 601) * math.sqrt(last) + unit
    spread = 10 * math.sqrt(2 * idle) + 20
    edges = np.linspace(max(first * (idle - spread), 0), last * (idle + spread), 1201)
    square = (edges[1:] + edges[:-1]) / 2
    told = [chi2.pdf(square / t, idle) / t for t in stops]
    p, q = (
        sum(
            np.multiply.outer(weight, norm.pdf(x, sign * unit / 2, math.sqrt(t)))
            for weight, t in zip(told, stops, strict=True)
        )
        / len(stops)
        for sign in (1, -1)
    )
    cell = (x[1] - x[0]) * (square[1] - square[0])
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * cell)


@pytest.mark.parametrize("first", [1, 3])
def test_idle_coordinates_tell_when_a_random_walk_was_stopped(first: int) -> None:
    """More of them leak more, and in the limit what is said to be attained."""
    sigma, last = 2.0, 4
    theorem = privacy_result("pnsgd-all-users").from_parameters(
        {
            "lipschitz": 1, "step_size": 0.1, "smoothness": 2, "sigma": sigma,
            "n_records": last, "stop_from": first,
        }
    )  # fmt: skip
    theorem = theorem.replace(attest=[a.key for a in theorem.assumptions if a.promised])
    for epsilon in (0.2, 1.0):
        exact = [_hidden_stop(epsilon, 2 / sigma, first, last, idle) for idle in (2, 20, 1000)]
        attained = theorem.attained()
        assert attained is not None
        found = attained.guarantee.delta(epsilon)
        # The midpoint rule with cells of less than a sixteenth of a deviation: h²/24 or less.
        assert exact[0] < exact[1] < exact[2] <= found * (1 + 2e-4)
        assert exact[2] >= found * (1 - 1e-3)
        assert found <= theorem.certified().guarantee.delta(epsilon)


def test_random_stopping_from_the_first_step_on_attains_what_is_certified() -> None:
    """The mean of exact Gaussian profiles, with blocks a five-hundredth longer than the last."""
    example = privacy_result("pnsgd-all-users")
    for changed in ({}, {"sigma": 30}, {"n_records": 20000}):
        theorem = example.from_parameters({**example.example, **changed}, attest="all")
        attained, certified = theorem.attained(), theorem.certified()
        assert attained is not None
        for epsilon in (0.01, 0.3, 1.0):
            share = attained.guarantee.delta(epsilon) / certified.guarantee.delta(epsilon)
            # δ falls like 1/t at most, so a block loses at most its length's share.
            assert 0.998 <= share <= 1
