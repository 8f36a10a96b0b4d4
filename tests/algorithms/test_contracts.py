"""What every algorithm in the folder must keep; a new file is tested without a new line here."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.engine.state import load_state
from dpcalc.errors import InvalidInput
from dpcalc.transcript import Transcript
from dpcalc.vocabulary import Release
from tests.algorithms.every_algorithm import KEYS, neighbour

FOLDER = Path(inspect.getfile(load)).parent


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


ALLOWED = {"numpy", "scipy", "networkx", "randomgen", "sklearn", "pyarrow", "numba", "llvmlite"}

ALLOWED_INSIDE = (
    "dpcalc.store",
    "dpcalc.files",
    "dpcalc.algorithms",
    "dpcalc.transcript",
    "dpcalc.errors",
    "dpcalc.extras",
    "dpcalc.delimited",
    "dpcalc.packed",
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
