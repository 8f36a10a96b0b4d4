"""What every algorithm declares of its accesses to the data, and its densities; a new file is tested too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.draws import StandardNormal, UniformIndex, UnitExponentialNorm
from dpcalc.algorithms.problems.noise import Gaussian
from dpcalc.errors import AssumptionViolated, DpcalcError, InvalidInput
from dpcalc.vocabulary import Release
from tests.algorithms.every_algorithm import NOISY, neighbour


def units(algorithm, state):
    """The random numbers that the next step will use."""
    t = state.round + 1
    draws = algorithm._draws(t)
    return {name: state.streams.draw(kind, i, t) for i, (name, kind) in enumerate(draws.items())}


def test_every_access_is_declared_and_no_other_happens(algorithm):
    """A round whose data are poisoned fails or releases NaN exactly if it declares an access."""
    declared = {max(access.round, 1) for access in algorithm.data_accesses()}
    poisoned = algorithm.with_records(algorithm.problem.records.poisoned())
    state = algorithm.start(1, runs=20)  # of runs that stop at random some go on to the end
    for t in range(1, algorithm.rounds + 1):
        memory = state.memory
        with np.errstate(all="ignore"):
            try:
                released = poisoned._advance(t, memory, units(algorithm, state))[1]
                touched = any(np.isnan(values).any() for values in released.values())
            except (DpcalcError, np.linalg.LinAlgError, ValueError):
                touched = True
        assert touched == (t in declared), f"round {t}"
        state = algorithm.step(state)


def test_accesses_are_complete_records(algorithm):
    sizes = algorithm.problem.records.sizes
    for access in algorithm.data_accesses():
        assert 0 <= access.round <= algorithm.rounds
        assert access.released in algorithm.released
        assert access.sensitivity > 0
        assert 0 < access.sampling_rate <= 1
        assert access.node is None or 0 <= access.node < max(len(sizes), sum(sizes))
    with pytest.raises(InvalidInput, match="adjacency"):
        algorithm.data_accesses(adjacency="next-door")


def scale_of(law):
    return law.sigma if isinstance(law, Gaussian) else 1 / law.rate


@pytest.mark.parametrize("row", [0, 1, 4])
def test_no_neighbour_moves_a_query_by_more_than_its_sensitivity(private, row):
    """Both worlds on the same history; the printed distance is what a proof may assume."""
    transcript = private.run(8, runs=50)
    try:
        here = private.implied_noise(transcript)
        there = private.implied_noise(transcript, neighbour(private, row))
    except AssumptionViolated:
        pytest.skip("the sampled record is hidden; tested with its own algorithm")
    moved = np.linalg.norm(here.unit - there.unit, axis=-1).max(axis=0)
    accesses = [a for a in private.data_accesses() if a.round in here.rounds]
    limits = [a.sensitivity / scale_of(a.noise) for a in accesses]
    assert (moved.ravel() <= np.array(limits) * (1 + 1e-9)).all()
    assert moved.max() > 0.05 * max(limits)


def log_unit_density(kind, u):
    """From the definition: independent normals, or Gamma radius and uniform direction."""
    if isinstance(kind, StandardNormal):
        return stats.norm.logpdf(u).sum()
    assert isinstance(kind, UnitExponentialNorm)
    d = kind.shape[-1]
    radius = np.linalg.norm(u.reshape(-1, d), axis=1)
    sphere = math.log(2 * math.pi ** (d / 2) / math.gamma(d / 2)) + (d - 1) * np.log(radius)
    return (stats.gamma(d).logpdf(radius) - sphere).sum()


def outputs(algorithm, t, memory, unit, names):
    """The released numbers of round t for a batch of noises, flattened."""
    many = len(next(iter(unit.values())))
    wide = {name: np.repeat(values, many, axis=0) for name, values in memory.items()}
    released = algorithm._advance(t, wide, unit)[1]
    return np.concatenate([released[name].reshape(many, -1) for name in names], axis=1)


def brute_force_round(algorithm, t, memory, unit, names):
    """ln p(noise) - ln|det ∂release/∂noise| with numerical derivatives; hidden choices summed."""
    draws = algorithm._draws(t)
    hidden = [name for name, kind in draws.items() if isinstance(kind, UniformIndex)]
    noises = [name for name in draws if name not in hidden]
    flat = np.concatenate([unit[name].ravel() for name in noises])

    def apply(points, choice):
        full, start = {}, 0
        for name in noises:
            size = draws[name].size
            full[name] = points[:, start : start + size].reshape(-1, *draws[name].shape)
            start += size
        full |= {name: np.repeat(choice[name], len(points), axis=0) for name in hidden}
        return outputs(algorithm, t, memory, full, names)

    h = 1e-5
    steps = np.vstack([flat + h * np.eye(len(flat)), flat - h * np.eye(len(flat))])
    image = apply(steps, unit)
    jacobian = (image[: len(flat)] - image[len(flat) :]) / (2 * h)
    if not hidden:
        start, log_p = 0, 0.0
        for name in noises:
            size = draws[name].size
            log_p += log_unit_density(draws[name], flat[start : start + size])
            start += size
        return log_p - np.linalg.slogdet(jacobian)[1]
    # Every node draws its index on its own: mix node by node over what each index would have given.
    (index,) = hidden
    nodes, d = len(draws[index].high), image.shape[1] // len(draws[index].high)
    spread = np.abs(np.diagonal(jacobian)).reshape(nodes, d)
    seen = apply(flat[None], unit).reshape(nodes, d)
    total = 0.0
    for i in range(nodes):
        density = 0.0
        for n in range(draws[index].high[i]):
            choice = unit[index].copy()
            choice[0, i] = n
            mean = apply(np.zeros((1, len(flat))), {index: choice}).reshape(nodes, d)[i]
            density += math.prod(stats.norm.pdf(seen[i], mean, spread[i])) / draws[index].high[i]
        total += math.log(density)
    return total


def brute_force(algorithm, seed, run):
    """Log-density of one run from the noise it drew; without the chance of random orders."""
    state, total = algorithm.start(seed, first_run=run), 0.0
    for _ in range(algorithm.rounds):
        t, unit = state.round + 1, units(algorithm, state)
        names = sorted({a.released for a in algorithm.data_accesses() if max(a.round, 1) == t})
        if names and not ("stop" in state.memory and (state.memory["stop"] < t).any()):
            total += brute_force_round(algorithm, t, state.memory, unit, names)
        state = algorithm.step(state)
    return total


def test_the_density_is_that_of_the_noise_carried_through_the_code(private):
    """Catches a wrong Jacobian, scale, sign or constant in a density, or a wrong mixture."""
    transcript = private.run(6, runs=3)
    gaps = [private.log_density(transcript)[run] - brute_force(private, 6, run) for run in range(3)]
    chance = gaps[0] if "order" in transcript.released else 0.0
    np.testing.assert_allclose(gaps, chance, atol=1e-5)


def test_likelihood_ratios_average_to_one(private):
    """E_D[p_D'/p_D] = 1. False alarm below 1e-5 per algorithm if the mean is near normal."""
    transcript = private.run(9, runs=4000)
    ratio = np.exp(
        private.log_density(transcript, neighbour(private)) - private.log_density(transcript)
    )
    assert ratio.std() > 0
    assert abs(ratio.mean() - 1) < 4.5 * ratio.std() / math.sqrt(len(ratio))


def test_the_density_under_other_data_is_that_of_the_algorithm_on_them(private):
    transcript = private.run(9, runs=2)
    other = neighbour(private)
    np.testing.assert_array_equal(
        private.log_density(transcript, other), private.with_records(other).log_density(transcript)
    )
    terms = private.log_density_terms(transcript)
    assert terms.shape[0] == 2
    assert terms.ndim == 3


def test_without_noise_there_is_no_density(algorithm):
    if algorithm.key in NOISY:
        pytest.skip("adds noise")
    with pytest.raises(AssumptionViolated, match="no such density"):
        algorithm.log_density(algorithm.run(1))


def test_implied_noise_is_the_noise_that_was_drawn(private):
    transcript = private.run(6, runs=2)
    try:
        implied = private.implied_noise(transcript)
    except AssumptionViolated:
        pytest.skip("the sampled record is hidden")
    state = private.start(6, runs=2)
    for t in range(1, private.rounds + 1):
        if t in implied.rounds:
            drawn = units(private, state)["noise"].reshape(2, -1, private.problem.dimension)
            found = implied.unit[:, implied.rounds.index(t)]
            going = slice(None) if implied.active is None else implied.active[:, t - 1, 0]
            np.testing.assert_allclose(found[going], drawn[going], atol=1e-8)
        state = private.step(state)


def test_the_gap_to_other_data_is_known_before_the_noise_is_drawn(private):
    """It is the difference of implied noises; nudged by it, a step lands where other data's does."""
    other = neighbour(private)
    twin = private.with_records(other)
    state = private.start(5, runs=6)
    run = private.run(5, runs=6)
    for t in range(1, private.rounds + 1):
        try:
            gap = private.normalised_distance(state, other)
        except AssumptionViolated:
            pytest.skip("the gap depends on the noise, or the record is hidden")
        implied = private.implied_noise(run, other).unit - private.implied_noise(run).unit
        going = slice(None) if "stop" not in state.memory else state.memory["stop"] >= t
        np.testing.assert_allclose(implied[going, t - 1], gap[going], atol=1e-9)
        nudged = private.step(state, nudge=-gap)
        there = twin._advance(t, state.memory, units(private, state))[1]
        for name in (a.released for a in private.data_accesses()):
            if name in there:
                np.testing.assert_allclose(nudged.released[name], there[name], atol=1e-9)
        state = private.step(state)


def test_a_round_without_noise_refuses_a_nudge():
    algorithm = load("private-r-admm").example()
    state = algorithm.step(algorithm.start(1))
    with pytest.raises(InvalidInput, match="nudge"):
        algorithm.step(state, nudge=np.zeros((1, 4, 2)))


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"runs": 0}, "runs"),
        ({"runs": 1.5}, "runs"),
        ({"first_run": -1}, "first_run"),
        ({"rng": -1}, "rng"),
        ({"rng": "seed"}, "rng"),
        ({"release": Release.NOTHING}, "release"),
        ({"checkpoint_every": 0}, "checkpoint_every"),
    ],
)
def test_bad_settings_are_refused_by_name(algorithm, settings, word):
    with pytest.raises(InvalidInput, match=word):
        algorithm.run(**settings)


def test_a_round_too_many_is_refused(algorithm):
    *_, state = algorithm.steps(algorithm.start(1))
    with pytest.raises(InvalidInput, match="round"):
        algorithm.step(state)


def test_a_foreign_transcript_is_refused(algorithm):
    other = load("private-r-admm" if algorithm.key != "private-r-admm" else "dp-admm").example()
    with pytest.raises(InvalidInput, match="transcript"):
        algorithm.log_density(other.run(1))


def test_zero_rounds_are_refused(algorithm):
    from dataclasses import replace

    with pytest.raises(InvalidInput):
        replace(algorithm, rounds=0)
