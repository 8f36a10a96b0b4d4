"""Characteristic functions by fast transforms, against the plain sums they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.composition import bracket_epsilon
from dpcalc.accounting.contour.nodes import Nodes
from dpcalc.accounting.losses import RandomisedResponseLoss, fourier
from dpcalc.accounting.losses.discretisation import coarse_upper
from dpcalc.accounting.losses.fourier import change_at_nodes, moduli_at_nodes
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove


def random_law(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    size = int(rng.integers(2, 60))
    losses = rng.normal(size=size) * float(np.exp(rng.uniform(-3, 3)))
    step = float(np.exp(rng.uniform(-4, 1))) / float(np.abs(losses).max())
    return losses, rng.dirichlet(np.full(size, rng.uniform(0.05, 2))), step


@pytest.mark.parametrize("stop", [2, 33, 512, 1000])
def test_changes_are_within_their_error(stop: int) -> None:
    rng = np.random.default_rng(stop)
    for _ in range(20):
        losses, weights, step = random_law(rng)
        found, error = change_at_nodes(losses, weights, step, stop)
        angles = np.multiply.outer(step * np.arange(stop), losses)
        exact = np.expm1(1j * angles) @ weights
        # The plain sum is itself off by a unit roundoff of every angle.
        assert np.abs(found - exact).max() <= error + 2.0**-51 * (1 + angles.max())
        assert error < 1e-10


@pytest.mark.parametrize("stop", [2, 33, 512, 1000])
def test_moduli_are_bounded_at_every_node(stop: int) -> None:
    rng = np.random.default_rng(stop)
    for _ in range(30):
        losses, weights, step = random_law(rng)
        kept = weights[1:] * 0.9
        rest = 1 - float(kept.sum())
        bounds = moduli_at_nodes(losses[1:], kept, rest, step, stop)
        angles = np.multiply.outer(step * np.arange(stop), losses[1:])
        exact = np.abs(rest + np.exp(1j * angles) @ kept)
        excess = bounds - exact
        assert excess.min() >= -(2.0**-51) * (1 + np.abs(angles).max())
        # Six lattice points: the remainder is a ten-thousandth in the first third of the nodes.
        assert excess[: stop // 3].max(initial=0) < 1e-3


@pytest.mark.parametrize("spread", [0.0, 1e-9, 1e-4])
def test_atoms_that_meet_at_a_point_are_within_their_error(spread: float) -> None:
    """A thousand bumps at one point, summed one after the other."""
    rng = np.random.default_rng(7)
    losses = 1.0 + spread * rng.normal(size=1000)
    weights = rng.dirichlet(np.full(1000, 0.1))
    found, error = change_at_nodes(losses, weights, 0.01, 5000)
    with mp.workdps(40):
        for node in (1, 77, 2500, 4999):
            exact = mp.fsum(
                mpf(w) * (mp.expj(mpf(0.01) * node * mpf(loss)) - 1)
                for w, loss in zip(weights.tolist(), losses.tolist(), strict=True)
            )
            assert abs(mp.mpc(complex(found[node])) - exact) <= error
    assert error < 1e-11


def test_bumps_have_the_transform_that_is_divided_out() -> None:
    """What other periods and what lies beyond the reach add, in forty digits."""
    left_out = 2.01 * np.exp(-1.5 * np.pi**2 * fourier._VARIANCE)
    left_out += 2.5 * np.exp(-((fourier._REACH + 0.5) ** 2) / (2 * fourier._VARIANCE))
    assert left_out < 1e-16
    with mp.workdps(40):
        v, worst = mpf(fourier._VARIANCE), mpf(0)
        for offset in (mpf(0), mpf("0.31"), mpf("0.5"), mpf("-0.5")):
            for angle in (mpf(0), mp.pi / 9, mp.pi / 4):
                reach = range(-fourier._REACH, fourier._REACH + 1)
                bump = mp.fsum(
                    mp.exp(-((offset - k) ** 2) / (2 * v)) * mp.expj(angle * k) for k in reach
                )
                scaled = bump * mp.exp(v * angle**2 / 2) / mp.sqrt(2 * mp.pi * v)
                worst = max(worst, abs(scaled - mp.expj(angle * offset)))
    assert worst <= left_out
    assert worst > left_out / 1000


@pytest.mark.parametrize("stop", [2, 50, 700])
def test_both_ways_are_within_their_errors_of_one_another(stop: int) -> None:
    rng = np.random.default_rng(stop)
    losses = rng.normal(size=3000)
    weights = rng.dirichlet(np.full(3000, 0.3))
    moved, one = fourier._by_expansion(losses, weights, 0.3, stop)
    spread, other = fourier._by_bumps(losses, weights, 0.3, stop)
    assert np.abs(moved - spread).max() <= one + other < 1e-10
    expected = moved if len(losses) > 2 * 2 ** np.ceil(np.log2(stop)) else spread
    assert np.array_equal(change_at_nodes(losses, weights, 0.3, stop)[0], expected)


@pytest.mark.parametrize("name", ["_VARIANCE", "_REACH"])
def test_bumps_of_another_shape_are_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    losses, weights, step = random_law(rng)
    angles = np.multiply.outer(step * np.arange(512), losses)
    exact = np.expm1(1j * angles) @ weights
    found, error = change_at_nodes(losses, weights, step, 512)
    assert np.abs(found - exact).max() <= error + 2.0**-51 * (1 + angles.max())
    monkeypatch.setattr(fourier, name, {"_VARIANCE": 2.7, "_REACH": 4}[name])
    found, _ = change_at_nodes(losses, weights, step, 512)
    assert np.abs(found - exact).max() > error + 2.0**-51 * (1 + angles.max())


def test_closed_forms_bound_their_nodes() -> None:
    tilted = RandomisedResponseLoss.of({0.7: 3, 0.2: 1}).tilted(1.5)
    ratios, errors = tilted.log_ratio(0.05, 0, 300)
    bounds = tilted.node_moduli(0.05, 300)
    assert np.all(np.exp(ratios.real) <= bounds * (1 + errors) + 1e-14)


def test_the_way_nodes_are_evaluated_does_not_matter() -> None:
    """Products keep relative accuracy for many uses; for few uses transforms serve."""
    tilted = coarse_upper(PoissonRemove(1.0, 0.01), 1e-20).tilted(2.0)
    few, error = tilted.log_ratio(0.3, 0, 500, 1)
    many, other = tilted.log_ratio(0.3, 0, 500)
    assert np.abs(few - many).max() <= error.max() + other.max() < 1e-10


def test_different_rounds_cost_few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty different rounds once evaluated a hundred thousand nodes, of which 800 matter."""
    counts: list[int] = []
    extend = Nodes.extend_until_negligible

    def counted(nodes: Nodes, *given: float) -> None:
        extend(nodes, *given)
        counts.append(nodes.count)

    monkeypatch.setattr(Nodes, "extend_until_negligible", counted)
    parts = [(PoissonRemove(0.8 + 0.02 * k, 0.004 + 0.0002 * k), 1) for k in range(40)]
    found = bracket_epsilon(parts, 1e-5, relative_width=1e-5)
    assert found.relative_width <= 1e-5
    assert found.method == "moment inversion, two-sided"
    assert max(counts) <= 2048
