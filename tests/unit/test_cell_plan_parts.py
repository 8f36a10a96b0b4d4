"""Cells of densities and the laws around them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discretisation import (
    CellPlan,
    cell_laws,
    coarse_upper,
    plan_cells,
    upper_and_lower,
)
from dpcalc.accounting.losses.quadrature import mass_errors
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonRemove,
)
from dpcalc.accounting.losses.user_densities import from_user_densities
from dpcalc.errors import NumericalFailure
from tests.unit.mechanism_densities import PAIRS, Mixture, mixtures

UNIT = 2.0**-53

pytestmark = pytest.mark.usefixtures("fifty_digits")


def test_a_plan_of_cells() -> None:
    pair = PoissonRemove(1.0, 0.2)
    window = pair.truncation_interval(1e-10)
    for c in (0.0, 3.0):
        plan = plan_cells(pair, window, c)
        np.testing.assert_allclose(plan.x, np.linspace(*window, 801))
        middle = (plan.x[1:] + plan.x[:-1]) / 2
        losses = pair.loss(plan.x)
        mean = (losses[1:] + losses[:-1]) / 2
        weight = np.exp(pair.log_q(middle) + (1 + c) * mean)
        weight /= weight.sum()
        density = np.cbrt(weight * np.diff(losses) ** 2)
        np.testing.assert_allclose(plan.density, density / density.sum(), rtol=1e-9)
        width = plan.x[1] - plan.x[0]
        np.testing.assert_allclose(plan.floor, width / pair.max_cell_width(middle), rtol=1e-9)
        assert plan.spread == pytest.approx(float(density.sum()) ** 3, rel=1e-9)
        edges = plan.edges(300)
        assert (edges[0], edges[-1]) == window
        assert len(edges) == math.ceil(300 + plan.floor.sum()) + 1
        assert np.all(np.diff(edges) > 0)
        # What the best cut leaves is what the plan says, over the square of the number of cells.
        cells = CellPlan(plan.x, plan.density, 0 * plan.floor, plan.spread).edges(2000)
        held = pair.loss(cells)
        weights = np.exp(
            pair.log_q((cells[1:] + cells[:-1]) / 2) + (1 + c) * (held[1:] + held[:-1]) / 2
        )
        spread = float((weights / weights.sum() * np.diff(held) ** 2).sum())
        assert spread == pytest.approx(plan.spread / 2000**2, rel=0.15)
    flat = from_user_densities(lambda x: 0 * x, lambda x: 0 * x, (0.0, 1.0), 1.0, 0.0)
    plan = plan_cells(flat, (0.0, 1.0), 0.0)
    assert plan.spread == 0.0
    assert plan.density.tolist() == [1 / 800] * 800
    np.testing.assert_allclose(plan.floor, 10 / 800)


def cell_masses(parts: Mixture, edges: np.ndarray) -> np.ndarray:
    with mp.workdps(50):
        below = [
            mp.fsum(w * mp.ncdf((mpf(x) - m) / mpf(s)) for w, m, s in parts) for x in edges.tolist()
        ]
        return np.array([float(b - a) for a, b in itertools.pairwise(below)])


@pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[4], PAIRS[8], PAIRS[9]], ids=repr)
def test_laws_around_a_pair(pair: DensityPair) -> None:
    """Cell by cell: P- and Q-mass of both laws are those of the cell."""
    tail = 1e-20
    window = pair.truncation_interval(tail)
    edges = plan_cells(pair, window, 0.0).edges(60)
    losses = pair.loss(edges)
    upper, lower, at_edges, each = cell_laws(pair, edges)
    p, q = (cell_masses(parts, edges) for parts in mixtures(pair))
    np.testing.assert_allclose(lower.masses, p, rtol=1e-12)
    np.testing.assert_allclose(lower.losses, np.log(p / q), rtol=1e-9, atol=1e-13)
    width = np.diff(losses)
    right = (p - np.exp(losses[:-1]) * q) / -np.expm1(-width)
    masses = np.zeros(len(edges))
    masses[:-1] += p - right
    masses[1:] += right
    np.testing.assert_allclose(upper.masses, masses, rtol=1e-5, atol=1e-18)
    assert upper.losses.tolist() == losses.tolist()
    blur = np.append(p * width, 0.0)
    blur[1:] += p * width
    np.testing.assert_allclose(upper.blur, blur, rtol=1e-9)
    np.testing.assert_allclose(lower.blur, p * width, rtol=1e-9)
    assert np.all(each <= 2e-12 * p + 1e-290)
    assert np.all(each >= 1.9e-13 * p)
    sums = np.append(each, 0.0)
    sums[1:] += each
    np.testing.assert_allclose(at_edges, sums)
    above, below = upper_and_lower(pair, edges, tail)
    assert above.infinite_mass == tail
    assert (above.missing, below.missing) == (-tail, tail)
    assert below.infinite_mass == 0
    assert above.mass_error >= 1e-13
    if pair.mirrored:
        assert len(above.losses) == 2 * len(losses)
        np.testing.assert_allclose(above.losses[: len(losses)], -losses[::-1])
        mirror = (upper.masses * np.exp(-losses))[::-1]
        np.testing.assert_allclose(above.masses[: len(losses)], mirror)
        np.testing.assert_allclose(above.blur[: len(losses)], upper.blur[::-1])
        assert above.mass_error == 2 * upper.mass_error
    else:
        assert above.masses.tolist() == upper.masses.tolist()
    coarse = coarse_upper(pair, tail)
    for epsilon in (0.1, 0.6):
        assert below.delta(epsilon)[0] <= coarse.delta(epsilon)[1]
        assert above.delta(epsilon)[1] <= coarse.delta(epsilon)[1] * (1 + 0.5) + 1e-3
    assert 100 < len(coarse.losses) < 500


def test_cells_in_which_losses_rise_by_hundreds() -> None:
    pair = PoissonRemove(0.001, 0.5)
    with pytest.raises(
        NumericalFailure, match=r"^the noise is too small: the privacy loss rises by 700 or more"
    ):
        upper_and_lower(pair, np.array([0.0, 0.6, 1.0]), 1e-10)


def test_errors_of_masses() -> None:
    x = np.array([[1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [2.0] * 6, [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]])
    log_q = -x
    losses = 3 * x
    found = mass_errors(x, log_q, losses, np.array([1.0, 1.0, 1e-301]))
    rise = 1.5 * 1.0 / 0.5
    first = 1e-14 + UNIT * (64 + 3 * rise + 8 * (1.5 + 4.5))
    second = 1e-14 + UNIT * (64 + 3 * 2 * 8 + 8 * 8)
    np.testing.assert_allclose(found, [first, second, 1e-14 + 64 * UNIT], rtol=1e-6)
    np.testing.assert_allclose(
        found - 1e-14, np.array([first, second, 1e-14 + 64 * UNIT]) - 1e-14, rtol=1e-9
    )
