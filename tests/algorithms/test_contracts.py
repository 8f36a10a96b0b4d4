"""What every algorithm in the folder must keep; a new file is tested without a new line here."""

from __future__ import annotations

import ast
import inspect
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpcalc.algorithms import catalogue, load
from dpcalc.algorithms.engine.state import load_state
from dpcalc.algorithms.problems.noise import (
    Gaussian,
    NoNoise,
    StandardNormal,
    UniformIndex,
    UnitExponentialNorm,
)
from dpcalc.errors import AssumptionViolated, DpcalcError, InvalidInput
from dpcalc.transcript import Transcript
from dpcalc.vocabulary import Release

FOLDER = Path(inspect.getfile(load)).parent
KEYS = catalogue()


def noisy(key):
    return not all(isinstance(a.noise, NoNoise) for a in load(key).example().data_accesses())


NOISY = [key for key in KEYS if noisy(key)]


@pytest.fixture(params=KEYS)
def algorithm(request):
    return load(request.param).example()


@pytest.fixture(params=NOISY)
def private(request):
    return load(request.param).example()


def neighbour(algorithm, row=1):
    """Replace-one: a record turned around, as far away as its norm allows."""
    records = algorithm.problem.records
    turned = -records.features[row][::-1]
    turned = turned / np.linalg.norm(turned) * records.row_bound
    return records.replaced(row, turned, records.labels[row])


def units(algorithm, state):
    """The random numbers that the next step will use."""
    t = state.round + 1
    draws = algorithm._draws(t)
    return {name: state.streams.draw(kind, i, t) for i, (name, kind) in enumerate(draws.items())}


# ---- what it says about itself


def test_the_catalogue_is_the_folder_and_imports_nothing_heavy():
    files = {path.stem.replace("_", "-") for path in FOLDER.glob("[a-z]*.py")}
    assert set(KEYS) == files
    code = (
        "import sys, dpcalc.algorithms as a; a.catalogue();"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'scipy', 'networkx', 'sklearn')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(InvalidInput, match="did you mean 'private-mr-admm'"):
        load("private-mradmm")


def test_it_says_what_it_is(algorithm):
    module = sys.modules[type(algorithm).__module__]
    assert algorithm.key == Path(module.__file__).stem.replace("_", "-")
    assert module.ALGORITHM is type(algorithm)
    assert "Source:" in module.__doc__
    assert algorithm.reference
    for caption in algorithm.released.values():
        assert caption.meaning


ALLOWED = {"numpy", "scipy", "networkx", "randomgen", "sklearn", "pyarrow"}
ALLOWED_INSIDE = (
    "dpcalc.store",
    "dpcalc.files",
    "dpcalc.algorithms",
    "dpcalc.transcript",
    "dpcalc.errors",
    "dpcalc.extras",
    "dpcalc.delimited",
    "dpcalc.checks",
    "dpcalc.vocabulary",
)


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda p: p.stem)
def test_algorithms_import_nothing_that_knows_a_budget(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            root = name.split(".")[0]
            inside = root == "dpcalc" and name.startswith(ALLOWED_INSIDE)
            assert inside or root in ALLOWED or root in sys.stdlib_module_names, name


# ---- randomness


def test_same_seed_same_bits(algorithm):
    first, again = (algorithm.run(11, runs=3, diagnostics=True) for _ in range(2))
    assert first == again


def test_a_generator_in_the_same_state_gives_the_same_bits_and_then_new_ones(private):
    rng = np.random.default_rng(5)
    first, second = private.run(rng), private.run(rng)
    assert first == private.run(np.random.default_rng(5))
    assert first != second


def test_without_a_seed_two_runs_differ(private):
    assert private.run() != private.run()


def test_a_batch_is_its_runs_one_by_one(algorithm):
    batch = algorithm.run(4, runs=5)
    for r in (0, 3):
        single = algorithm.run(4, first_run=r)
        for name in batch.released:
            np.testing.assert_allclose(single[name][0], batch[name][r], rtol=1e-9, atol=1e-9)


def test_runs_of_a_batch_are_different(private):
    batch = private.run(4, runs=2)
    assert any((batch[name][0] != batch[name][1]).any() for name in batch.released)


# ---- interruption


def test_a_saved_state_goes_on_with_the_same_bits(algorithm, tmp_path):
    through = algorithm.start(7, runs=2)
    for _ in range(2):
        through = algorithm.step(through)
    through.save(tmp_path / "state.sqlite")
    resumed = load_state(algorithm, tmp_path / "state.sqlite")
    for one, other in zip(algorithm.steps(through), algorithm.steps(resumed), strict=True):
        for name in one.released:
            assert one.released[name].tobytes() == other.released[name].tobytes()
    with pytest.raises(InvalidInput, match=r"records|features|labels"):
        load_state(algorithm.with_records(neighbour(algorithm)), tmp_path / "state.sqlite")


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("release", [None, Release.LAST_ITERATE])
def test_an_interrupted_run_goes_on_from_its_checkpoint(algorithm, tmp_path, release):
    path = tmp_path / "checkpoint.sqlite"
    settings = {"runs": 2, "checkpoint": path, "diagnostics": True, "release": release}
    seen = []

    def interrupt(done, total):
        seen.append((done, total))
        if done == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        algorithm.run(3, progress=interrupt, checkpoint_every=1, **settings)
    resumed = algorithm.run(progress=lambda done, _: seen.append(done), **settings)
    assert resumed == algorithm.run(3, runs=2, diagnostics=True, release=release)
    assert seen == [(1, algorithm.rounds), (2, algorithm.rounds), *range(3, algorithm.rounds + 1)]
    for wrong in ({"runs": 3}, {"release": Release.LAST_ITERATE if release is None else None}):
        with pytest.raises(InvalidInput, match=f"{next(iter(wrong))} .* instead of"):
            algorithm.run(**(settings | wrong))
    with pytest.raises(InvalidInput, match="seed"):
        algorithm.run(4, **settings)


def test_a_checkpoint_is_for_its_owner_alone(private, tmp_path):
    """It holds the seed of the noise."""
    path = tmp_path / "checkpoint.sqlite"
    private.run(3, checkpoint=path)
    assert path.stat().st_mode & 0o077 == 0


def test_diagnostics_may_be_measured_now_and_then(algorithm):
    every = algorithm.run(3, diagnostics=True).diagnostic("objective")
    some = algorithm.run(3, diagnostics=2).diagnostic("objective")
    measured = np.isfinite(some[0])
    last = algorithm.rounds - 1
    assert measured.tolist() == [t % 2 == 1 or t == last for t in range(algorithm.rounds)]
    np.testing.assert_array_equal(some[:, measured], every[:, measured])


# ---- transcripts


def test_a_transcript_survives_a_file(algorithm, tmp_path):
    transcript = algorithm.run(2, runs=2, diagnostics=True)
    transcript.save(tmp_path / "t.npz")
    assert Transcript.load(tmp_path / "t.npz") == transcript


def test_a_transcript_is_frozen_and_says_what_it_holds(algorithm):
    transcript = algorithm.run(2, runs=3, diagnostics=True)
    assert transcript.runs == 3
    assert transcript.algorithm == algorithm.key
    assert not transcript.released.keys() & transcript.diagnostics.keys()
    for name, series in transcript.released.items():
        assert series.axes[0] == "runs"
        assert len(series.axes) == series.values.ndim
        assert np.isfinite(series.values).all()
        assert name in transcript.describe()
        with pytest.raises(ValueError, match="read-only"):
            series.values[...] = 0
        rounds = dict(zip(series.axes, series.values.shape, strict=True)).get("rounds")
        assert rounds in (None, algorithm.rounds)


def test_the_last_iterate_is_the_end_of_the_full_release(algorithm):
    full = algorithm.run(2, runs=2)
    last = algorithm.run(2, runs=2, release=Release.LAST_ITERATE)
    assert last.release == Release.LAST_ITERATE
    for name, series in last.released.items():
        assert "rounds" not in series.axes
        assert series.values.tobytes() == full.released[name].last_round().values.tobytes()
    with pytest.raises(InvalidInput, match="transcript"):
        algorithm.log_density(last)


def test_diagnostics_are_measured_only_when_asked_for(algorithm):
    assert "objective" not in algorithm.run(2).diagnostics
    assert "objective" in algorithm.run(2, diagnostics=True).diagnostics


# ---- data accesses


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


# ---- densities


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


# ---- bad input


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
