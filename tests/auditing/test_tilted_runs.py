"""Tilted runs of algorithms, and tests of the noise that they draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcalc.algorithms import catalogue, load
from dpcalc.auditing import (
    AuditDesign,
    Claim,
    ImportanceSample,
    Outcome,
    Severity,
    World,
    algorithm_target,
    audit,
)
from dpcalc.auditing import controls as known
from dpcalc.auditing.controls.run import run_controls
from dpcalc.auditing.noise.conformance import conformance
from dpcalc.auditing.targets.target import Noise
from dpcalc.guarantees import GDP, ZCDP
from tests.auditing.own_mechanisms import CURVE


@pytest.mark.parametrize("key", catalogue())
def test_every_algorithm_can_be_attacked(key):
    """Ratios are antisymmetric, the sampled noise passes its tests, tilts average to one."""
    algorithm = load(key).example()
    records = algorithm.problem.records
    other = records.replaced(0, -records.features[0], records.labels[0])
    target = algorithm_target(algorithm, other, adjacency="replace-one")
    outputs = target.run(World.IN, np.random.default_rng(0), 200)
    if target.log_ratio is None:
        assert target.noise is None
        return
    back = algorithm_target(algorithm.with_records(other), records, adjacency="replace-one")
    assert back.log_ratio is not None
    np.testing.assert_allclose(target.log_ratio(outputs), -back.log_ratio(outputs), atol=1e-8)
    if target.noise is not None:
        assert conformance(target.noise(World.IN, outputs)).passed
        assert target.shift is not None
        shift = target.shift(np.random.default_rng(1), 20)
        assert (shift.distance <= np.asarray(shift.claimed) * (1 + 1e-9)).all()
    if target.tilted is not None:
        moved = target.tilted(World.OUT, 0.5, True, np.random.default_rng(2), 2000)
        weight = np.exp(-moved.log_tilt)  # dP/dP_a under P_a: mean one, within five errors
        assert abs(weight.mean() - 1) < 5 * weight.std() / np.sqrt(2000)
        plain = target.tilted(World.OUT, 0.5, False, np.random.default_rng(2), 2000)
        weight = np.exp(plain.log_tilt)  # dP_a/dP under P
        assert abs(weight.mean() - 1) < 5 * weight.std() / np.sqrt(2000)


def linear_users():
    """Gradient ADMM in a fixed order and neighbouring users: a known spread V of the log-ratio."""
    algorithm = replace(load("gradient-admm").example(), order="fixed")
    records = algorithm.problem.records
    other = records.replaced(0, -records.features[0], records.labels[0])
    target = algorithm_target(algorithm, other, adjacency="neighbouring-functions")
    assert target.tilted is not None
    trial = target.tilted(World.IN, 1.0, True, np.random.default_rng(0), 50)
    spread = trial.log_ratio - trial.log_tilt
    assert np.ptp(spread) < 1e-9  # linear losses: the distance does not depend on the history
    # the declared sensitivities are those of the worst users, this claim is about these two
    return replace(target, accesses=()), float(np.sqrt(spread.mean()))


def test_tilted_runs_of_an_algorithm_reach_its_exact_epsilon():
    target, mu = linear_users()
    claim = Claim(guarantee=GDP(mu), delta=1e-3, adjacency="neighbouring-functions")
    verdict = audit(target, claim, runs=1000, seed=9, controls=False)
    assert verdict.outcome is Outcome.NOT_REFUTED
    assert 0.9 * claim.epsilon < verdict.epsilon_lower < claim.epsilon


@pytest.mark.parametrize("delta", [1e-5, 0.1])
def test_tilted_runs_as_the_runner_draws_them_keep_their_level(delta):
    """200 bounds from 500 tilted runs each at exactly the claim: at most .05 + 3 standard errors."""
    from dpcalc.auditing.estimators import importance
    from dpcalc.auditing.experiment import carry_out

    target, claim = known.gaussian(1.0), replace(CURVE, delta=delta)
    design = AuditDesign.for_claim(
        target, claim, runs=10, methods=("importance-sampling",), tilted=1000, pilot=20
    )
    done = [carry_out(target, claim, design, seed=seed) for seed in range(100)]
    assert len({round(e.spread, 9) for e in done}) == 1
    largest = importance.largest_value(done[0].tilt, 1.0, claim.epsilon)
    plain, moved = (
        ImportanceSample(
            log_ratio=np.stack([e.tilted[w][k].log_ratio for e in done for w in World]),
            log_tilt=np.stack([e.tilted[w][k].log_tilt for e in done for w in World]),
        )
        for k in (0, 1)
    )
    options = {"delta": delta, "alpha": 0.05, "largest": largest}
    wrong = importance.epsilon_lower(plain, moved, **options) > claim.epsilon
    assert wrong.mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(wrong))
    # Without the plain runs' own density ratios the same experiments would be wrong far too often.
    careless = replace(plain, log_tilt=np.zeros_like(plain.log_tilt))
    wrong = importance.epsilon_lower(careless, moved, **options) > claim.epsilon
    assert delta < 0.1 or wrong.mean() > 0.5  # at δ = 10⁻⁵ untilted runs hardly count


def sample(law: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(shape)
    if law == "exponential-norm":
        z *= (rng.standard_gamma(shape[-1], shape[:-1]) / np.linalg.norm(z, axis=-1))[..., None]
    return z


@pytest.mark.parametrize("law", ["gaussian", "exponential-norm"])
@pytest.mark.parametrize("d", [1, 2, 10])
def test_correct_noise_fails_no_more_often_than_it_may(law, d):
    """300 samples at level .05 over all tests: at most .05 + 3 standard errors fail."""
    failed = 0
    for seed in range(300):
        first, second = (
            Noise(unit=sample(law, (40, 3, 2, d), 2 * seed + k), law=law) for k in (0, 1)
        )
        failed += not conformance(first, second, level=0.05).passed
    assert failed / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_five_per_cent_less_noise_is_found_in_ten_thousand_numbers():
    found = [
        not conformance(
            Noise(unit=0.95 * sample("gaussian", (1000, 2, 5), s), law="gaussian")
        ).passed
        for s in range(20)
    ]
    assert all(found)


def test_too_little_noise_to_test_is_not_a_pass():
    report = conformance(Noise(unit=np.ones((3, 2, 2)), law="gaussian"))
    assert not report.passed
    assert not report.tests


def test_findings_say_what_they_mean():
    verdict = audit(known.gaussian(1.0, scale=0.5), CURVE, seed=1, controls=False)
    (noise,) = [f for f in verdict.findings if f.check == "noise"]
    assert noise.severity is Severity.PREMISE
    assert "σ / modelled σ = 0.4" in noise.text or "σ / modelled σ = 0.5" in noise.text


def test_tilted_runs_keep_shapes():
    drawn = known.gaussian(1.0).tilted
    assert drawn is not None
    found = drawn(World.IN, 0.5, True, np.random.default_rng(0), 7)
    assert isinstance(found, ImportanceSample)
    assert found.log_ratio.shape == found.log_tilt.shape == (7,)


@pytest.mark.parametrize("rho", [0.05, 0.2, 1.0])
@pytest.mark.few(2)
def test_the_control_of_a_zcdp_claim_leaks_no_more_than_its_rho(rho):
    """Its ε(δ) would allow a larger ρ, which Rényi bounds rightly refute."""
    claim = Claim(guarantee=ZCDP(rho), delta=1e-3, adjacency="add-remove")
    target = known.gaussian(1.0)
    design = AuditDesign.for_claim(target, claim, runs=4000)
    assert "renyi-density" in design.methods
    for seed in range(3):  # at its level a false alarm has chance 3e-4
        outcomes, findings = run_controls(claim, design, seed=seed)
        assert outcomes["leaks exactly what is claimed"] != "REFUTED"
        assert outcomes["a third of the noise"] == "REFUTED"
        assert not findings
