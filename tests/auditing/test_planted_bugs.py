"""Bugs of the kinds that audits and reviews have found: each caught, no correct twin accused.

The mechanism is T noisy means of n records in the unit ball at several nodes, every part of which
can be broken. Noise checks have a level of 10⁻³, accuracy bounds of .05; seeds are fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpcalc.auditing import (
    Claim,
    Noise,
    Outcome,
    ReplayDistances,
    Severity,
    Target,
    Verdict,
    World,
    audit,
)
from dpcalc.guarantees import GDP, PureDP
from tests.auditing.planted_means import REPLACE, raised

N, D, NODES, ROUNDS, SIGMA = 10, 3, 2, 4, 0.5


@dataclass(frozen=True)
class Means:
    """T rounds of noisy means at two nodes; every attribute but the first two can be a bug."""

    name: str = "correct"
    law: str = "gaussian"
    scale: float = 1.0
    sensitivity: float = 2 / N
    clip_after: bool = False
    noiseless_copy: bool = False
    same_for_all_nodes: bool = False
    same_in_both_worlds: bool = False
    never_refreshed: bool = False
    kind: str = "as modelled"
    data_dependent_step: bool = False
    stops_when_small: bool = False
    drawn_scales: tuple[float, ...] = (1.0,) * ROUNDS
    declared_scales: tuple[float, ...] = (1.0,) * ROUNDS

    def records(self, world: World) -> np.ndarray:
        rng = np.random.default_rng(99)
        rows = rng.normal(size=(NODES, N, D))
        rows /= np.linalg.norm(rows, axis=-1, keepdims=True)
        rows[0, 0] = [1, 0, 0] if world is World.IN else [-1, 0, 0]
        if self.clip_after:
            rows[0, 0] *= 20
        return rows

    def means(self, world: World) -> np.ndarray:
        mean = self.records(world).mean(axis=1)
        if self.clip_after:
            mean /= np.maximum(np.linalg.norm(mean, axis=-1, keepdims=True), 1.0)
        return mean

    def unit(self, generator: np.random.Generator, runs: int) -> np.ndarray:
        shape = (runs, ROUNDS, NODES, D)
        if self.same_in_both_worlds:
            generator = np.random.default_rng(1)
        z = generator.standard_normal(shape)
        if self.law == "exponential-norm":
            radius = generator.standard_gamma(D, shape[:-1])
            if self.kind == "Gamma(1) radius":
                radius = generator.standard_gamma(1, shape[:-1])
            z *= (radius / np.linalg.norm(z, axis=-1))[..., None]
            if self.kind == "iid Laplace":
                z = generator.laplace(size=shape)
        elif self.kind == "uniform":
            z = generator.uniform(-np.sqrt(3), np.sqrt(3), shape)
        elif self.kind == "on a lattice":
            z = np.round(z * 64) / 64
        if self.same_for_all_nodes:
            z[:, :, 1] = z[:, :, 0]
        if self.never_refreshed:
            z[:] = z[:, :1]
        return z * self.scale * np.array(self.drawn_scales)[:, None, None]

    def run(self, world: World, generator: np.random.Generator, runs: int) -> dict[str, np.ndarray]:
        released = {"x": self.means(world) + SIGMA * self.unit(generator, runs)}
        if self.noiseless_copy:
            released["dual"] = np.repeat(self.means(world)[None], runs, axis=0)
        if self.stops_when_small:
            middle = (self.means(World.IN) + self.means(World.OUT))[0, 0] / 2
            released["rounds"] = np.full(runs, 3 if self.means(world)[0, 0] < middle else 4)
        return released

    def noise(self, world: World, released: dict[str, np.ndarray]) -> Noise:
        scales = np.array(self.declared_scales)[:, None, None]
        return Noise(unit=(released["x"] - self.means(world)) / SIGMA / scales, law=self.law)

    def shift(self, generator: np.random.Generator, runs: int) -> ReplayDistances:
        gap = np.linalg.norm(self.means(World.IN) - self.means(World.OUT), axis=-1)
        return ReplayDistances(distance=np.tile(gap, (runs, ROUNDS)), claimed=self.sensitivity)

    def log_ratio(self, released: dict[str, np.ndarray]) -> np.ndarray:
        scales = SIGMA * np.array(self.declared_scales)[:, None, None]
        p, q = ((released["x"] - self.means(w)) / scales for w in World)
        if self.law == "gaussian":
            return ((q**2 - p**2) / 2).sum(axis=(1, 2, 3))
        return (np.linalg.norm(q, axis=-1) - np.linalg.norm(p, axis=-1)).sum(axis=(1, 2))

    @property
    def accesses(self) -> tuple[Any, ...]:
        return tuple(
            SimpleNamespace(
                round=t + 1,
                node=node,
                released="x",
                sensitivity=self.sensitivity,
                adjacency=REPLACE,
                noise=SimpleNamespace(sigma=SIGMA * self.declared_scales[t])
                if self.law == "gaussian"
                else SimpleNamespace(rate=1 / SIGMA),
                sampling_rate=1.0,
                batch=0,
                curvature_change=0.0,
                curvature_floor=np.inf,
            )
            for t in range(ROUNDS)
            for node in range(NODES)
        )

    def target(self) -> Target:
        step = {World.IN: 0.1, World.OUT: 0.2 if self.data_dependent_step else 0.1}
        return Target(
            name=self.name,
            run=self.run,
            adjacency=REPLACE,
            log_ratio=self.log_ratio,
            noise=self.noise,
            shift=self.shift,
            public=lambda world: {"step": step[world], "rounds": ROUNDS},
            accesses=self.accesses,
        )

    def claim(self) -> Claim:
        """What holds for the correct mechanism."""
        if self.law == "gaussian":
            mu = 2 / N / SIGMA * np.sqrt(ROUNDS)
            return Claim(guarantee=GDP(mu * (1 + 1e-12)), delta=1e-5, adjacency=REPLACE)
        pure = PureDP(ROUNDS * 2 / N / SIGMA * (1 + 1e-12))
        return Claim(guarantee=pure, adjacency=REPLACE)


def judged(means: Means, claim: Claim | None = None) -> Verdict:
    return audit(means.target(), claim or means.claim(), runs=1000, seed=4, controls=False)


EXPONENTIAL = Means(law="exponential-norm")


@pytest.mark.parametrize("means", [Means(), EXPONENTIAL], ids=["gaussian", "exponential norm"])
def test_the_correct_mechanism_is_not_accused(means):
    verdict = judged(means)
    assert raised(verdict) == set()
    assert verdict.outcome in (Outcome.NOT_REFUTED, Outcome.UNDERPOWERED)
    assert {f.check: f.severity for f in verdict.findings} == {
        "sensitivity": Severity.HOLDS,
        "public-parameters": Severity.HOLDS,
        "disclosure": Severity.HOLDS,
        "accounting": Severity.HOLDS,
        "noise": Severity.HOLDS,
    }


DECAY = (1.0, 0.8, 0.64, 0.512)

BUGS = [
    (Means("noiseless dual released", noiseless_copy=True), "disclosure", Outcome.REFUTED),
    (Means("noise times the step size", scale=0.1), "noise", Outcome.REFUTED),
    (Means("variance for standard deviation", scale=0.5), "noise", None),
    (Means("noise 10 per cent too small", scale=0.9), "noise", None),
    (Means("add-remove sensitivity for replace-one", sensitivity=1 / N), "sensitivity", None),
    (Means("clipping after averaging", clip_after=True), "sensitivity", None),
    (Means("one seed for all nodes", same_for_all_nodes=True), "noise", None),
    (Means("one seed for every run", same_in_both_worlds=True), "disclosure", None),
    (Means("noise never refreshed", never_refreshed=True), "noise", None),
    (Means("uniform noise", kind="uniform"), "noise", None),
    (Means("noise on a lattice", kind="on a lattice"), "noise", None),
    (
        Means("step size from the data", data_dependent_step=True),
        "public-parameters",
        Outcome.REFUTED,
    ),
    (Means("stopping round from the data", stops_when_small=True), "disclosure", Outcome.REFUTED),
    (
        Means("decaying noise accounted as constant", declared_scales=DECAY, drawn_scales=DECAY),
        "accounting",
        None,
    ),
    (Means("decaying noise declared as constant", drawn_scales=DECAY), "noise", None),
    (replace(EXPONENTIAL, name="iid Laplace", kind="iid Laplace"), "noise", None),
    (replace(EXPONENTIAL, name="Gamma(1) radius", kind="Gamma(1) radius"), "noise", None),
]


@pytest.mark.parametrize(("bug", "check", "outcome"), BUGS, ids=lambda b: getattr(b, "name", ""))
def test_a_planted_bug_is_caught(bug, check, outcome):
    verdict = judged(bug)
    assert check in raised(verdict)
    assert verdict.outcome in (
        (outcome,) if outcome else (Outcome.REFUTED, Outcome.PRECONDITION_FAILED)
    )
    assert verdict.outcome.exit_status in (1, 4)


def test_epsilon_of_one_round_claimed_for_all():
    one = Claim(guarantee=GDP(2 / N / SIGMA), delta=1e-5, adjacency=REPLACE)
    verdict = judged(Means(), one)
    (finding,) = [f for f in verdict.findings if f.check == "accounting"]
    assert finding.severity is Severity.PREMISE
    assert "covers one look" in finding.text


def test_too_little_noise_is_refuted_by_scores_alone():
    """The wrong standard deviation is seen in the balanced game, whatever the densities say."""
    verdict = judged(Means(scale=0.25))
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.best is not None
    assert verdict.best.method == "accuracy"


def test_a_released_average_breaks_a_last_iterate_claim():
    """x ← c·x + shift + noise, T = 100: the claim holds for x_T and not for the mean of all."""
    c, T, shift = 0.5, 100, 0.1
    last = shift * (1 - c**T) / (1 - c) / np.sqrt((1 - c ** (2 * T)) / (1 - c**2))

    def target(average: bool) -> Target:
        def run(world, generator, runs):
            x, total = np.zeros(runs), np.zeros(runs)
            for _ in range(T):
                x = c * x + shift * (world is World.IN) + generator.standard_normal(runs)
                total += x
            return total / T if average else x

        return Target(
            name="average" if average else "last", run=run, adjacency=REPLACE, score=lambda x: x
        )

    claim = Claim(guarantee=GDP(last), delta=1e-5, adjacency=REPLACE, release="last iterate")
    assert audit(target(True), claim, runs=2000, seed=5, controls=False).outcome is Outcome.REFUTED
    assert (
        audit(target(False), claim, runs=2000, seed=5, controls=False).outcome
        is not Outcome.REFUTED
    )
