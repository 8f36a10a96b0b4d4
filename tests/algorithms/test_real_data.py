"""The loaders and one private run on the real files, in the folder that DPCALC_DATA names."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.data.adult import MAXIMA, load_adult
from dpcalc.algorithms.problems.data.libsvm import load_libsvm
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.networks import complete
from dpcalc.algorithms.problems.records import split

FOLDER = os.environ.get("DPCALC_DATA")
pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="set DPCALC_DATA to a folder with adult.data, adult.test, a9a, ..."
)


@pytest.fixture(scope="module")
def adult():
    return load_adult(FOLDER)


def test_adult_has_the_documented_shape(adult):
    assert adult.features.shape == (45222, 105)
    assert (adult.labels > 0).sum() == 11208
    np.testing.assert_allclose(np.linalg.norm(adult.features, axis=1), 1)
    empty = [n for n, column in zip(adult.names, adult.features.T, strict=True) if not column.any()]
    assert empty == ["workclass=Never-worked"]


def test_the_constant_maxima_are_those_of_the_complete_rows():
    import lzma

    from dpcalc.algorithms.problems.data.adult import COLUMNS

    largest = dict.fromkeys(MAXIMA, 0.0)
    for name in ("adult.data", "adult.test"):
        path = next(Path(FOLDER).glob(name + "*"))
        opener = lzma.open if path.suffix == ".xz" else open
        with opener(path, "rt") as file:
            for line in file:
                fields = [field.strip() for field in line.split(",")]
                if len(fields) == 15 and "?" not in fields:
                    for column in MAXIMA:
                        value = float(fields[COLUMNS.index(column)])
                        largest[column] = max(largest[column], value)
    assert largest == MAXIMA


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("a9a", (32561, 123)),
        ("a9a.t", (16281, 123)),
        ("a8a", (22696, 123)),
        ("a8a.t", (9865, 123)),
        ("ijcnn1", (49990, 22)),
    ],
)
def test_libsvm_files_have_the_published_shapes(name, shape):
    path = next(p for p in Path(FOLDER).iterdir() if p.name in (name, f"{name}.xz"))
    data = load_libsvm(path, features=shape[1])
    assert data.features.shape == shape
    assert set(data.labels) == {-1.0, 1.0}


def problem(adult, ridge=0.22):
    return ConsensusProblem(
        records=split(adult.features[:40000], adult.labels[:40000], 5, shuffle=1),
        network=complete(5),
        loss=Logistic(),
        loss_weight=1750.0,
        ridge=ridge,
    )


def test_conventional_admm_reaches_the_central_optimum_on_adult(adult):
    p = problem(adult)
    run = load("decentralised-admm")(p, rounds=150, penalty=0.5).run(0, diagnostics=True)
    best = p.optimum()
    central = p.average_loss(np.tile(best, (1, 5, 1)))[0]
    assert run.diagnostic("average_loss")[0, -1] == pytest.approx(central, abs=7e-4)
    assert np.nanmax(run.diagnostic("gradient_norm")) < 1e-9


def test_growing_penalties_stall_on_adult(adult):
    """Non-private M-ADMM with growth 1.2 stops above growth 1.02, which stops above none."""
    from dpcalc.algorithms.engine.schedules import geometric

    p, ends = problem(adult), []
    for growth in (1.0, 1.02, 1.2):
        penalty = geometric(0.5, growth, 60)
        algorithm = load("m-admm")(p, rounds=60, penalty=penalty, dual_step=0.5)
        ends.append(algorithm.run(0, diagnostics=True).diagnostic("average_loss")[0, -1])
    assert ends[0] < ends[1] < ends[2]


def test_private_r_admm_on_adult_is_exact_and_its_density_consistent(adult):
    algorithm = load("private-r-admm")(
        problem(adult), rounds=4, penalty=1.0, noise_rate=1.0, proximal_weight=0.5
    )
    run = algorithm.run(3, runs=2)
    assert np.nanmax(run.diagnostic("gradient_norm")) < 1e-9
    implied = algorithm.implied_noise(run)
    state = algorithm.start(3, runs=2)
    drawn = state.streams.draw(algorithm._draws(1)["noise"], 0, 1)
    np.testing.assert_allclose(implied.unit[:, 0], drawn, atol=1e-8)
    assert np.isfinite(algorithm.log_density(run)).all()
