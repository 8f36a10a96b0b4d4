"""Noise laws and streams: the right distributions, and the same numbers however runs are batched."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpcalc.algorithms.problems import noise as noise_module
from dpcalc.algorithms.problems.draws import (
    RandomPermutation,
    StandardNormal,
    UniformIndex,
    UnitExponentialNorm,
)
from dpcalc.algorithms.problems.noise import ExponentialNorm, Gaussian, NoNoise, Streams, streams
from dpcalc.errors import InvalidInput

ALARM = 1e-4  # false alarm of every statistical test here; seeds are fixed


@pytest.mark.parametrize("d", [1, 2, 5, 105])
def test_exponential_norm_has_gamma_radius_and_uniform_direction(d):
    """Kolmogorov-Smirnov on the radius, and on a squared direction coordinate ~ Beta(½, (d-1)/2)."""
    noise = streams(1, runs=5000).draw(UnitExponentialNorm((1, d)), 0, 1)[:, 0]
    radius = np.linalg.norm(noise, axis=1)
    assert stats.kstest(radius, stats.gamma(d).cdf).pvalue > ALARM
    direction = noise / radius[:, None]
    if d > 1:
        square = stats.beta(0.5, (d - 1) / 2)
        for k in {0, d // 2, d - 1}:
            assert stats.kstest(direction[:, k] ** 2, square.cdf).pvalue > ALARM
            assert stats.binomtest(int((direction[:, k] > 0).sum()), 5000).pvalue > ALARM
    assert abs(stats.spearmanr(radius, direction[:, 0] ** 2 if d > 1 else noise[:, 0])[0]) < 0.06


@pytest.mark.parametrize("planted", ["laplace", "gamma-one", "cube"])
def test_the_check_above_has_power(planted):
    """Independent Laplace coordinates, a Gamma(1) radius and cube directions are told apart."""
    rng, d = np.random.default_rng(0), 10
    if planted == "laplace":
        noise = rng.laplace(size=(5000, d))
    elif planted == "gamma-one":
        noise = rng.standard_normal((5000, d))
        noise *= (rng.standard_gamma(1, 5000) / np.linalg.norm(noise, axis=1))[:, None]
    else:
        noise = rng.uniform(-1, 1, (5000, d))
        noise *= (rng.standard_gamma(d, 5000) / np.linalg.norm(noise, axis=1))[:, None]
    radius = np.linalg.norm(noise, axis=1)
    squares = (noise / radius[:, None])[:, 0] ** 2
    worst = min(
        stats.kstest(radius, stats.gamma(d).cdf).pvalue,
        stats.kstest(squares, stats.beta(0.5, (d - 1) / 2).cdf).pvalue,
    )
    assert worst < ALARM


def test_normals_are_normal_and_independent_between_rounds_nodes_and_runs():
    source = streams(2, runs=3000)
    first, second = (source.draw(StandardNormal((2, 3)), 0, t) for t in (1, 2))
    assert stats.kstest(first.ravel(), stats.norm.cdf).pvalue > ALARM
    flat = np.concatenate([first.reshape(3000, -1), second.reshape(3000, -1)], axis=1)
    correlation = np.corrcoef(flat.T) - np.eye(12)
    assert np.abs(correlation).max() < 4.5 / math.sqrt(3000)
    along = np.corrcoef(first[:-1].ravel(), first[1:].ravel())[0, 1]
    assert abs(along) < 4.5 / math.sqrt(first.size)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("law", [Gaussian(0.7), ExponentialNorm(1.7)])
def test_densities_integrate_to_one(law, d):
    """Over shells: ∫ density(r)·area·r^{d-1} dr."""
    area = 2 * math.pi ** (d / 2) / math.gamma(d / 2)
    direction = np.eye(d)[0]

    def shell(r):
        return math.exp(law.log_density(r * direction)) * area * r ** (d - 1)

    assert integrate.quad(shell, 0, 60, limit=200)[0] == pytest.approx(1, abs=1e-8)


def test_densities_match_their_definitions():
    x = np.array([[0.3, -0.4], [1.0, 2.0]])
    expected = stats.norm.logpdf(x, scale=0.7).sum(axis=1)
    np.testing.assert_allclose(Gaussian(0.7).log_density(x), expected)
    ratio = np.subtract(*ExponentialNorm(1.7).log_density(x))
    assert ratio == pytest.approx(1.7 * (math.sqrt(5) - 0.5))
    np.testing.assert_array_equal(
        NoNoise().log_density(np.array([[0.0, 0], [0, 1e-9]])), [0, -math.inf]
    )


KINDS = [
    StandardNormal((2, 3)),
    StandardNormal((300, 40)),
    UnitExponentialNorm((4, 2)),
    UniformIndex((3,), high=(5, 7, 2)),
    RandomPermutation((6,)),
]


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_rounds_drawn_at_once_are_the_rounds_one_by_one(kind, real, monkeypatch):
    def rounds(ahead):
        for most in ("_AHEAD", "_MOST"):
            monkeypatch.setattr(noise_module, most, ahead)
        source = Streams(9, 5, 2, cryptographic=real)
        return [source.draw(kind, 1, t) for t in (1, 2, 3, 7, 62, 63, 64, 65)]

    for alone, together in zip(rounds(1), rounds(2**15), strict=True):
        np.testing.assert_array_equal(alone, together)


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_a_run_has_its_numbers_in_every_batch_and_in_every_order_of_rounds(kind):
    whole = streams(9, runs=40)
    rounds = {t: whole.draw(kind, 1, t) for t in (1, 2, 3, 64, 65, 130)}
    for first, count in ((0, 1), (17, 3), (39, 1)):
        part = streams(9, runs=count, first_run=first)
        for t in (130, 65, 3, 64, 1, 2, 2):
            np.testing.assert_array_equal(part.draw(kind, 1, t), rounds[t][first : first + count])


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_seeds_purposes_rounds_and_runs_have_numbers_of_their_own(kind):
    source = streams(9, runs=50)
    base = source.draw(kind, 0, 1)
    assert base.shape == (50, *kind.shape)
    others = [
        source.draw(kind, 0, 2),
        source.draw(kind, 0, 65),
        source.draw(kind, 1, 1),
        streams(10, runs=50).draw(kind, 0, 1),
        streams(9, runs=50, first_run=50).draw(kind, 0, 1),
    ]
    for other in others:
        assert (base != other).any()


def test_a_permutation_is_one():
    drawn = streams(0, runs=200).draw(RandomPermutation((6,)), 0, 0)
    np.testing.assert_array_equal(np.sort(drawn, axis=1), np.tile(np.arange(6), (200, 1)))


def test_seeds_of_all_kinds():
    kind = StandardNormal((2,))
    same = [
        (7, 7),
        (np.random.SeedSequence(7), np.random.SeedSequence(7)),
        (np.random.default_rng(7), np.random.default_rng(7)),
        (np.int64(7), 7),
    ]
    for one, other in same:
        np.testing.assert_array_equal(
            streams(one).draw(kind, 0, 1), streams(other).draw(kind, 0, 1)
        )
    secret = {streams(None).entropy for _ in range(4)}
    assert len(secret) == 4
    assert max(secret) > 2**200
    for bad in (-1, 1.5, True, "a"):
        with pytest.raises(InvalidInput, match="rng"):
            streams(bad)


def test_the_seed_is_no_part_of_a_transcript(tmp_path):
    from dpcalc.algorithms import load

    seed = 123456789123456789
    run = load("dp-admm").example().run(seed)
    run.save(tmp_path / "t.npz")
    assert str(seed).encode() not in (tmp_path / "t.npz").read_bytes()
    assert hex(seed).encode() not in (tmp_path / "t.npz").read_bytes()
