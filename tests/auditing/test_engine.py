"""The way from a mechanism to a verdict: short, repeatable, resumable, with everything in it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dpcalc.algorithms import catalogue, load
from dpcalc.auditing import (
    AuditDesign,
    Claim,
    Counts,
    Evidence,
    ImportanceSample,
    Observations,
    Outcome,
    Severity,
    Target,
    World,
    algorithm_target,
    audit,
    audit_all,
    audit_canaries,
    audit_counts,
    audit_scores,
    mechanism,
    rank_neighbours,
    read_scores,
)
from dpcalc.auditing import controls as known
from dpcalc.auditing.controls.run import run_controls
from dpcalc.auditing.noise.conformance import conformance
from dpcalc.auditing.targets.target import Noise
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, PureDP
from dpcalc.report.records import to_json

CURVE = Claim(guarantee=GDP(1.0), delta=1e-5, adjacency="add-remove")


# ---- one's own mechanism


def noisy_sum(data, generator, runs):
    return data.sum() + generator.laplace(scale=1.0, size=runs)


OWN = mechanism(noisy_sum, np.ones(3), np.ones(2), adjacency="add-remove", name="noisy sum")


def test_an_audit_of_ones_own_mechanism_takes_a_function_two_inputs_and_a_claim():
    holds = audit(OWN, Claim.of(epsilon=1, adjacency="add-remove"), runs=20_000, seed=1)
    assert holds.outcome is Outcome.NOT_REFUTED
    assert holds.outcome.exit_status == 0
    assert 0.6 < holds.epsilon_lower < 1
    assert holds.detectable is not None
    assert 1.1 < holds.detectable < 1.15  # of Laplace noise; of randomised response 1.07
    false = audit(OWN, Claim.of(epsilon=0.5, adjacency="add-remove"), runs=20_000, seed=1)
    assert false.outcome is Outcome.REFUTED
    assert false.outcome.exit_status == 1


def test_few_runs_are_underpowered_and_say_what_they_would_have_noticed():
    verdict = audit(OWN, Claim.of(epsilon=1, adjacency="add-remove"), runs=30, seed=1)
    assert verdict.outcome is Outcome.UNDERPOWERED
    assert verdict.outcome.exit_status == 3
    assert "would have noticed" in verdict.reason
    assert verdict.detectable is not None
    assert verdict.detectable > 2


def test_no_verdict_says_that_a_mechanism_is_private():
    for verdict in (
        audit(OWN, Claim.of(epsilon=1, adjacency="add-remove"), runs=2000, seed=1),
        audit(known.gaussian(0.5), CURVE, seed=1),
    ):
        text = f"{verdict}{json.dumps(verdict.record())}".lower()
        assert "is private" not in text
        assert "holds: " in text or "not refuted" in text


def test_outputs_of_many_numbers_get_a_learnt_score():
    """The difference sits in the spread of the third of five numbers."""

    def release(data, generator, runs):
        x = generator.standard_normal((runs, 5))
        x[:, 2] *= data
        return x

    target = mechanism(release, 4.0, 1.0, adjacency="replace-one")
    verdict = audit(target, Claim.of(epsilon=0.5, adjacency="replace-one"), runs=4000, seed=2)
    assert verdict.outcome is Outcome.REFUTED


def test_a_score_of_the_wrong_shape_names_the_target():
    target = Target(
        name="odd", run=OWN.run, adjacency="add-remove", score=lambda x: np.zeros((len(x), 2))
    )
    with pytest.raises(InvalidInput, match=r"'odd'.*runs axis first"):
        audit(target, Claim.of(epsilon=1, adjacency="add-remove"), seed=1)


# ---- repeatable, resumable


def test_the_same_seed_gives_the_same_verdict_and_another_does_not():
    first, again, other = (
        audit(known.gaussian(1.0), CURVE, seed=s, controls=False).record() for s in (3, 3, 4)
    )
    assert first == again
    assert first["evidence"] != other["evidence"]


def test_an_interrupted_audit_goes_on_to_the_same_verdict(tmp_path):
    target = known.gaussian(1.0)
    design = AuditDesign.for_claim(
        target, CURVE, runs=900, methods=("accuracy", "e-process"), batch=300
    )
    whole = audit(target, CURVE, design=design, seed=5, controls=False)
    file = tmp_path / "batches.npz"

    class Interrupted(Exception):
        pass

    def stop(progress):
        if progress.runs == 600:
            raise Interrupted

    with pytest.raises(Interrupted):
        audit(target, CURVE, design=design, seed=5, controls=False, checkpoint=file, progress=stop)
    calls = []

    def counting(world, generator, runs):
        calls.append(runs)
        return target.run(world, generator, runs)

    resumed = replace(target, run=counting)
    again = audit(resumed, CURVE, design=design, seed=5, controls=False, checkpoint=file)
    assert again.record() == whole.record()
    fresh = [n for n in calls if n > 100]
    assert sum(fresh) == 300 + 300  # the first batch is made again and compared, the third is new
    with pytest.raises(InvalidInput, match="others"):
        audit(target, CURVE, design=design, seed=6, controls=False, checkpoint=file)


def test_a_target_that_does_not_repeat_itself_is_found_out(tmp_path):
    rng = np.random.default_rng(0)
    target = Target(
        name="careless",
        run=lambda world, generator, runs: rng.standard_normal(runs),
        adjacency="add-remove",
        score=lambda x: x,
    )
    file = tmp_path / "batches.npz"
    options = {"runs": 100, "seed": 1, "controls": False, "checkpoint": file}
    audit(target, Claim.of(epsilon=1, adjacency="add-remove"), **options)
    with pytest.raises(InvalidInput, match="all randomness from the generator"):
        audit(target, Claim.of(epsilon=1, adjacency="add-remove"), **options)


def test_progress_carries_the_anytime_bound():
    seen = []
    audit(
        known.gaussian(3.0),
        CURVE,
        runs=3000,
        seed=1,
        early_stop=True,
        progress=seen.append,
        controls=False,
    )
    assert seen[-1].runs < 3000
    assert seen[-1].lower > 1
    assert seen[-1].e_value > 20


# ---- what a verdict holds


CLAIMS = [
    CURVE,
    Claim(guarantee=ApproxDP(4.4, 1e-5), delta=1e-5, adjacency="add-remove"),
    Claim(guarantee=ZCDP(0.5), delta=1e-5, adjacency="add-remove"),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.name)
def test_a_gaussian_mechanism_at_its_claim_and_at_three_times_its_loss(claim):
    fits = audit(known.gaussian(1.0), claim, seed=8)
    assert fits.outcome is Outcome.NOT_REFUTED
    assert fits.controls == {
        "leaks exactly what is claimed": "NOT REFUTED",
        "no privacy": "REFUTED",
        "a third of the noise": "REFUTED",
    }
    assert fits.epsilon_lower > 0.9 * 4.377
    assert audit(known.gaussian(3.0), claim, seed=8, controls=False).outcome is Outcome.REFUTED


def test_a_verdict_is_plain_data_with_everything_needed_to_recompute_it():
    verdict = audit(known.gaussian(1.0), CURVE, seed=3)
    record = json.loads(to_json(verdict.record()))
    assert record["claim"]["adjacency"] == "add-remove"
    assert record["claim"]["release"] == "every message"
    assert record["seed"] == 3
    assert set(record["versions"]) == {"dpcalc", "numpy", "scipy", "python"}
    assert sum(e["alpha"] for e in record["evidence"] if e["gates"]) == pytest.approx(1e-4 - 1e-6)
    balanced = next(e for e in record["evidence"] if e["method"] == "accuracy")
    from dpcalc.auditing.estimators import accuracy

    counted = balanced["counted"]
    again = float(accuracy.mu_lower(counted["right"], counted["runs"], alpha=balanced["alpha"]))
    assert again == balanced["lower"]


def test_all_pairs_and_claims_share_one_alpha():
    targets = [known.gaussian(1.0), known.gaussian(0.9)]
    verdicts = audit_all(targets, CLAIMS[:2], alpha=0.04, seed=1, controls=False)
    assert [v.alpha for v in verdicts] == [0.01] * 4
    with pytest.raises(InvalidInput):
        audit_all([], CLAIMS)


def test_a_pure_claim_falls_to_one_outcome():
    target = known.exponential_norm(1.0, 20)
    false = audit(target, Claim.of(epsilon=0.99, adjacency="replace-one"), seed=1, controls=False)
    assert false.outcome is Outcome.REFUTED
    assert false.runs == 0
    true = audit(target, Claim.of(epsilon=1, adjacency="replace-one"), seed=1, controls=False)
    assert true.outcome is Outcome.NOT_REFUTED
    assert "pointwise" in {f.check for f in true.findings}


EXTREMES = [
    *(Claim.of(epsilon=e, delta=d, adjacency="add-remove") for e in (0, 1000) for d in (0, 0.9)),
    *(Claim(guarantee=GDP(mu), delta=1e-5, adjacency="add-remove") for mu in (0, 30, np.inf)),
    *(Claim(guarantee=ZCDP(rho), delta=1e-5, adjacency="add-remove") for rho in (0, 500)),
]


@pytest.mark.parametrize("claim", EXTREMES, ids=lambda c: f"{c.name} {c.delta:g}")
@pytest.mark.parametrize("mu", [1e-6, 100.0])
def test_extreme_claims_get_an_answer(claim, mu):
    """Numbers, no warnings; nothing that is claimed about nothing is refuted."""
    verdict = audit(known.gaussian(mu), claim, runs=100, seed=1)
    assert "NaN" not in to_json(verdict.record())
    assert verdict.outcome is not Outcome.REFUTED or mu == 100.0
    assert verdict.outcome is not Outcome.REFUTED or claim.epsilon < 5000


@pytest.mark.parametrize("early_stop", [False, True])
def test_whole_audits_of_a_true_claim_refute_it_no_more_often_than_they_may(early_stop):
    """300 audits of randomised response at exactly its ε: at most .05 + 3 standard errors."""
    from dpcalc.auditing.audit import evaluate
    from dpcalc.auditing.experiment import carry_out

    target, claim = known.randomised_response(1.0), Claim.of(epsilon=1, adjacency="replace-one")
    design = AuditDesign.for_claim(target, claim, runs=400, batch=100, early_stop=early_stop)
    wrong = 0
    for seed in range(300):
        evidence, _ = evaluate(carry_out(target, claim, design, seed=seed), claim)
        wrong += any(e.refutes(claim) for e in evidence)
    assert wrong / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize("epsilon", [1.0, 5.0, 10.0])
def test_outputs_of_few_values_are_not_taken_for_constants(epsilon):
    claim = Claim.of(epsilon=epsilon, adjacency="replace-one")
    target = known.randomised_response(epsilon)
    for seed in range(20):
        verdict = audit(target, claim, runs=40, seed=seed, controls=False)
        assert not {"refutes", "premise"} & {f.severity.value for f in verdict.findings}


def test_e_values_of_independent_experiments_multiply():
    from dpcalc.auditing.estimators import eprocess

    halves = [float(eprocess.log_wealth(80, 100, 0.7)) for _ in range(2)]
    assert eprocess.combined(*halves) == pytest.approx(2 * halves[0])
    with pytest.raises(InvalidInput):
        eprocess.combined()


def test_a_claim_of_nothing_is_not_refuted():
    claim = Claim(guarantee=PureDP(float("inf")), adjacency="add-remove")
    assert not Evidence(
        method="x", quantity="epsilon", lower=9.0, alpha=0.1, delta=0.0, access="runs", runs=1
    ).refutes(claim)


def test_a_renyi_claim_without_rho_is_tested_as_epsilon():
    claim = Claim(guarantee=RDP(lambda a: a * 0.5), delta=1e-5, adjacency="add-remove")
    verdict = audit(known.gaussian(3.0), claim, seed=1, controls=False)
    assert verdict.outcome is Outcome.REFUTED


# ---- looking for the worst neighbours


@pytest.mark.parametrize("knows", ["tilts", "ratios", "score", "nothing"])
def test_the_most_distinguishable_pair_comes_first(knows):
    targets = [known.gaussian(mu) for mu in (0.5, 2.0, 1.0)]
    if knows != "tilts":
        targets = [replace(t, tilted=None) for t in targets]
    if knows in ("score", "nothing"):
        score = targets[0].log_ratio if knows == "score" else None
        targets = [replace(t, log_ratio=None, score=score) for t in targets]
    found = rank_neighbours(targets, seed=1, runs=2000)
    assert [c.target.name for c in found] == [targets[i].name for i in (1, 2, 0)]
    assert found[0].mu == pytest.approx(2.0, rel=0.15)
    with pytest.raises(InvalidInput):
        rank_neighbours([], seed=1)


# ---- recorded elsewhere


def test_counts_scores_and_canaries_recorded_elsewhere(tmp_path):
    claim = Claim.of(epsilon=1, adjacency="replace-one")
    assert audit_counts(claim, Counts.of(95, 5, 5, 95)).outcome is Outcome.REFUTED
    rng = np.random.default_rng(1)
    for name, shift in (("in", 2.0), ("out", 0.0)):
        rows = "\n".join(f"{x},{i}" for i, x in enumerate(rng.normal(shift, 1, 800)))
        (tmp_path / f"{name}.csv").write_text(f"score,run\n{rows}\n")
    columns = [read_scores(tmp_path / f"{n}.csv", column="score") for n in ("in", "out")]
    verdict = audit_scores(claim, *columns, seed=1)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.runs == 1600
    included = rng.random(500) < 0.5
    score = rng.normal(size=500) + 2 * included
    options = {"guess_in": 30, "guess_out": 30, "fair_coins": True}
    assert audit_canaries(claim, included, score, **options).outcome is Outcome.REFUTED
    curve = audit_canaries(CURVE, included, score, **options)
    assert {e.method for e in curve.evidence} == {"one-run-exact", "one-run-exact-curve"}


@pytest.mark.parametrize("text", ["", "score\n", "1,2\n", "score\n1\nx\n"])
def test_score_files_that_cannot_be_read_say_why(tmp_path, text):
    file = tmp_path / "scores.csv"
    file.write_text(text)
    with pytest.raises(InvalidInput, match="scores"):
        read_scores(file)
    with pytest.raises(InvalidInput, match="readable"):
        read_scores(tmp_path / "none.csv")


def test_observations_are_saved_bit_for_bit(tmp_path):
    rng = np.random.default_rng(1)
    seen = Observations(is_in=rng.random(9) < 0.5, score=rng.normal(size=9), exact=True)
    seen.save(tmp_path / "o.npz")
    again = Observations.load(tmp_path / "o.npz")
    assert again.score.tobytes() == seen.score.tobytes()
    assert (again.is_in == seen.is_in).all()
    assert again.exact
    assert not again.fair_coins


@pytest.mark.parametrize(
    "make",
    [
        lambda: Counts.of(-1, 2, 3, 4),
        lambda: Counts.of(0, 0, 3, 4),
        lambda: Observations(is_in=np.ones(3, bool), score=np.ones(2)),
        lambda: Observations(is_in=np.ones(2, bool), score=np.array([1.0, np.nan])),
        lambda: AuditDesign.for_claim(OWN, CURVE, methods=("accurate",)),
        lambda: AuditDesign.for_claim(OWN, CURVE, methods=()),
        lambda: AuditDesign.for_claim(OWN, CURVE, alpha=0.0),
        lambda: Noise(unit=np.ones(3), law="gaussian"),
        lambda: Target(name="x", run=OWN.run, adjacency="near"),
        lambda: Claim.of(epsilon=-1, adjacency="add-remove"),
    ],
)
def test_bad_input_is_one_clear_error(make):
    with pytest.raises(InvalidInput):
        make()


# ---- the reference algorithms


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


# ---- noise


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
