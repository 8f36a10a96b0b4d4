"""Walls of a domain that forget: instances against their update equations, without dpcalc's chains."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcalc.claims.verdict import standing_of
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.vocabulary import Verdict
from tests.oracles.noisy_descent import quadratic_mu_squared

Reals = NDArray[np.float64]


def _segments(uses: Reals, c: float) -> list[tuple[int, int, float]]:
    """First and last step and slope of every line below all points (ΣW, ΣU): a search over pairs."""
    steps = len(uses)
    carried = c ** np.arange(steps - 1, -1, -1)
    weight, height = (
        np.concatenate([[0], np.cumsum(carried**2)]),
        np.concatenate([[0], np.cumsum(carried * uses)]),
    )
    # A shift may be paid in the step of its use or later: what counts before step t is used before t.
    found, at = [], 0
    while at < steps:
        slopes = (height[at + 1 :] - height[at]) / (weight[at + 1 :] - weight[at])
        end = at + 1 + int(np.flatnonzero(slopes <= slopes.min() + 1e-12)[-1])
        found.append((at, end, float(slopes.min())))
        at = end
    return found


def _law(uses: Reals, c: float) -> float:
    """μ² of the instance, step by step: one coordinate for each segment, all noise 1."""
    segments = _segments(uses, c)
    slopes = np.array([slope for *_, slope in segments])
    shares = np.sqrt(np.diff(np.concatenate([[0], slopes**2])))
    mean, variance = np.zeros(len(segments)), np.zeros(len(segments))
    for which, (first, last, slope) in enumerate(segments):
        mean[which] = variance[which] = 0.0  # the wall
        for t in range(first, last):
            mean, variance = c * mean, c * c * variance + 1
            if uses[t]:
                direction = np.where(np.arange(len(segments)) <= which, shares, 0) / slope
                assert np.linalg.norm(direction) == pytest.approx(1, rel=1e-9)
                mean = mean + direction
    return float(np.sum(mean**2 / variance))


def _cgd(**changes: object) -> dict[str, object]:
    return {
        "sensitivity": 1, "batch_size": 1, "n_batches": 4, "passes": 3, "step_size": 0.5,
        "smoothness": 2, "sigma": 1, **changes,
    }  # fmt: skip


@pytest.mark.parametrize("convex", [True, False])
def test_one_wall_for_every_line_attains_the_bound(convex: bool) -> None:
    """Noise and jump of a step are 1; contraction by strong convexity, expansion by a weak one."""
    rng = np.random.default_rng(3)
    for _ in range(25):
        batches, passes = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        position, h = int(rng.integers(1, batches + 1)), float(rng.uniform(0.01, 0.9))
        curvature = {"strong_convexity": h} if convex else {"weak_convexity": h}
        theorem = privacy_result("noisy-cgd").from_parameters(
            _cgd(n_batches=batches, passes=passes, position=position, **curvature)
        )
        uses = np.zeros(batches * passes)
        uses[position - 1 :: batches] = 1
        expected = _law(uses, 1 - h / 2 if convex else 1 + h / 2)
        attained = theorem.attained()
        assert attained is not None
        # Some hundred sums of doubles.
        assert attained.numbers["mu"] ** 2 == pytest.approx(expected, rel=1e-11)
        assert attained.numbers["mu"] <= theorem.certified().numbers["mu"]


class _Loss:
    """Two batches, three passes, the record in the second: fixed losses in three coordinates.

    The first coordinate is where the run is: 1e9, then ρ times that, and so on. The domain is where
    the two others are not negative. In the step before the first use the second coordinate is driven
    beyond the wall, before the last use the third; the next step drives it back inside.
    """

    eta, least, travel, start, push = 0.25, 0.125, 1.0, 1e9, 1e3

    def __init__(self, angle: float) -> None:
        self.places = self.start * (1 - self.eta * self.travel) ** np.arange(6)
        self.drives = np.zeros((6, 2))
        self.drives[[0, 4], [0, 1]] = self.push / self.eta
        self.drives[[1, 5], [0, 1]] = -self.push / self.eta
        self.angles = np.array([0, 0, 0, 0, 0, angle])

    def _at(self, batch: int, x: float, values: Reals) -> tuple[float, float]:
        """A function of the place that is flat around the batch's own places, and its slope."""
        own = range(5 - (batch == 0), -1, -2)
        xs = [self.places[t] * side for t in own for side in (0.99, 1.01)]
        ys = [float(values[t]) for t in own for _ in range(2)]
        width = 1e4
        low, high = np.interp([x - width, x + width], xs, ys)
        return float(np.interp(x, xs, ys)), float(high - low) / (2 * width)

    def gradient(self, batch: int, x: Reals) -> Reals:
        (first, f), (second, s) = (self._at(batch, x[0], self.drives[:, j]) for j in (0, 1))
        return np.array(
            [
                self.travel * x[0] + f * x[1] + s * x[2],
                self.least * x[1] + first,
                self.least * x[2] + second,
            ]
        )

    def change(self, x: Reals) -> Reals:
        """What the other record adds: the gradient of x₂ cos θ + x₃ sin θ, θ a function of x₁."""
        angle, slope = self._at(1, x[0], self.angles)
        turn = slope * (x[2] * math.cos(angle) - x[1] * math.sin(angle))
        return np.array([turn, math.cos(angle), math.sin(angle)])

    def run(self, noises: Reals, other: bool) -> Reals:
        x = np.array([self.start, 0.0, 0.0])
        for t, noise in enumerate(noises):
            gradient = self.gradient(t % 2, x)
            if other and t % 2:
                gradient = gradient - self.change(x) / self.eta
            x = x - self.eta * gradient + noise
            x[1:] = np.maximum(x[1:], 0)
        return x[1:]


def test_losses_and_a_domain_as_they_stand() -> None:
    """A fixed loss forgets at walls, turns the last use, and has the law of the bound."""
    c = 1 - _Loss.eta * _Loss.least
    uses = np.array([0, 1, 0, 1, 0, 1.0])
    (_, _, none), (_, _, early), (_, _, late) = _segments(uses, c)
    assert none == 0 < early < late
    loss = _Loss(math.acos(early / late))
    rng = np.random.default_rng(5)
    noises = rng.normal(size=(6, 3))
    # Doubles around 1e9 are 1e-7 apart, and places are off by the noise: a share of 1e-8.
    shift = loss.run(noises, True) - loss.run(noises, False)
    assert shift == pytest.approx([c**4 + c**2 + early / late, math.sin(loss.angles[5])], abs=1e-4)
    forgotten = noises.copy()
    forgotten[0, 1], forgotten[:5, 2] = 7, -7
    assert loss.run(forgotten, False) == pytest.approx(loss.run(noises, False), abs=1e-4)
    variance = np.zeros(2)
    for j, t in itertools.product(range(2), range(6)):
        moved = noises.copy()
        moved[t, j + 1] += 1
        variance[j] += (loss.run(moved, False) - loss.run(noises, False))[j] ** 2
    theorem = privacy_result("noisy-cgd").from_parameters(
        _cgd(sensitivity=4, n_batches=2, step_size=_Loss.eta, strong_convexity=_Loss.least, sigma=4)
    )
    mu = float(np.sqrt(np.sum(shift**2 / variance)))
    assert mu == pytest.approx(theorem.certified().numbers["mu"], rel=1e-3)
    for t, batch in ((t, t % 2) for t in range(6)):
        x = np.array([loss.places[t], 3.0, 900.0]) * rng.uniform(0.8, 1.2, 3)
        columns = []
        for h in np.diag([1e4, 1.0, 1.0]):
            difference = loss.gradient(batch, x + h) - loss.gradient(batch, x - h)
            columns.append(difference / (2 * h.max()))
        eigenvalues = np.linalg.eigvalsh((np.array(columns) + np.array(columns).T) / 2)
        assert 0.124 < eigenvalues[0] <= eigenvalues[-1] < 2
        assert np.linalg.norm(loss.change(x)) <= 1 + 1e-6


@pytest.mark.parametrize("step_size", [0.3, 0.9])
@pytest.mark.parametrize("smoothness", [0, 2])
def test_without_room_between_curvatures_nothing_turns(smoothness: int, step_size: float) -> None:
    """All Hessians equal: both runs are affine and the change of the gradient is constant."""
    rng = np.random.default_rng(7)
    for _ in range(10):
        batches, passes = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        position, steps = int(rng.integers(1, batches + 1)), batches * passes
        theorem = privacy_result("noisy-cgd").from_parameters(
            _cgd(
                n_batches=batches, passes=passes, position=position, step_size=step_size,
                smoothness=smoothness, strong_convexity=smoothness or None,
            )
        )  # fmt: skip
        changes = np.zeros((steps, 1))
        changes[position - 1 :: batches] = 1
        etas = np.full(steps, step_size)
        hessians = [np.full((1, 1), float(smoothness))] * steps
        attained = theorem.attained()
        assert attained is not None
        exact = quadratic_mu_squared(hessians, etas, etas, changes)
        assert attained.numbers["mu"] ** 2 == pytest.approx(exact, rel=1e-11)
        assert attained.numbers["mu"] <= theorem.certified().numbers["mu"]


@pytest.mark.parametrize("key", ["noisy-gd", "noisy-sgd"])
@pytest.mark.parametrize("step_size", [0.2, 0.9, 0.99])
def test_the_full_batch_moves_to_and_fro_where_the_map_does(key: str, step_size: float) -> None:
    """Short steps keep the least curvature and the sign, long ones the largest, and reverse it."""
    kind, steps = privacy_result(key), 7
    full = {"batch_size": 5} if key == "noisy-sgd" else {}
    given = {"n_records": 5, "steps": steps, "step_size": step_size, "smoothness": 2, **full}
    theorem = kind.from_parameters({**kind.example, **given, "strong_convexity": 0.25, "sigma": 1})
    kept, signs = (0.25, np.ones(steps)) if step_size < 0.5 else (2, (-1.0) ** np.arange(steps))
    jump = 2 / 5 if key == "noisy-sgd" else 1 / 5  # two gradients of norm 1, or a change of 1
    exact = quadratic_mu_squared(
        [np.full((1, 1), float(kept))] * steps,
        np.full(steps, step_size),
        np.full(steps, step_size),
        jump * signs[:, None],
    )
    attained = theorem.attained()
    assert attained is not None
    assert attained.numbers["mu"] ** 2 == pytest.approx(exact, rel=1e-12)
    assert attained.numbers["mu"] <= theorem.certified().numbers["mu"]


def _without_domain(key: str, **changes: object) -> tuple[float, float]:
    """μ of the instances on any domain and on none."""
    kind = privacy_result(key)
    either = []
    for domain in ("any", "none"):
        theorem = kind.from_parameters({**kind.example, **changes, "domain": domain})
        attained = theorem.attained()
        assert attained is not None
        assert ("walls" in attained.method) == ("domain" in theorem.counterexample())
        either.append(attained.numbers["mu"])
    return either[0], either[1]


def test_runs_that_never_project_meet_no_walls() -> None:
    """One use as the last of four steps: three that multiply by .5 leave 1 + 1/4 + 1/16 + 1/64."""
    mu, without = _without_domain(
        "pnsgd-strongly-convex", n_records=4, position=4, step_size=0.25, sigma=2.0
    )
    assert mu == pytest.approx(1, rel=1e-12)
    assert without == pytest.approx(1 / math.sqrt(1 + 1 / 4 + 1 / 16 + 1 / 64), rel=1e-12)
    mu, without = _without_domain("noisy-cgd")
    assert 0.93 * mu < without < 0.94 * mu
    for straight in ({"n_batches": 1}, {"passes": 1, "position": 1}):
        mu, without = _without_domain("noisy-cgd", **straight)
        assert mu == without


def test_a_claim_above_what_runs_without_a_domain_leak_is_refuted_with_the_reason() -> None:
    kind = privacy_result("noisy-cgd")
    theorem = kind.from_parameters({**kind.example})
    found = standing_of(theorem, 0.86, theorem.certified().guarantee.epsilon(1e-5), 1e-5)
    assert found.verdict is Verdict.REFUTED
    assert "project on a domain" in found.reason
    unprojected = kind.from_parameters({**kind.example, "domain": "none"})
    certified = unprojected.certified().guarantee.epsilon(1e-5)
    assert certified == theorem.certified().guarantee.epsilon(1e-5)
    assert standing_of(unprojected, 0.86, certified, 1e-5).verdict is Verdict.UNSUPPORTED
    low = standing_of(unprojected, 0.5, certified, 1e-5)
    assert low.verdict is Verdict.REFUTED
    assert "domain" not in low.reason
