"""What is said of the error of masses, against normal integrals with sixty digits."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.composition.lattice.frame import Frame
from dpcalc.accounting.composition.lattice.splitting import Splitting
from dpcalc.accounting.composition.lattice.sums import LatticeSum, ListedMasses, left_out
from dpcalc.accounting.losses import DiscreteLoss
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.accounting.losses.user_densities import UserDensityPair, from_user_densities

KINDS = (PoissonRemove, PoissonAdd, PoissonReplace, WithoutReplacement)
SETTINGS = ((1.0, 0.01), (0.3, 1e-6), (20.0, 0.9), (0.05, 0.3), (0.025, 1e-13), (1.0, 1.0))


def normal(low: float, high: float, mean: float, sigma: float) -> mpf:
    """The mass of a normal law, from the tail that is nearer."""
    near, far = ((mpf(end) - mpf(mean)) / mpf(sigma) / mp.sqrt(2) for end in (low, high))
    near, far = (near, far) if near >= 0 else (-far, -near)
    return (mp.erfc(near) - mp.erfc(far)) / 2


def exact(pair: DensityPair, low: float, high: float) -> mpf:
    """P's mass between two points."""
    if isinstance(pair, WithoutReplacement):
        sigma, moved = 1.0, pair.mu
    else:
        assert isinstance(pair, PoissonAdd | PoissonRemove | PoissonReplace)
        sigma, moved = pair.sigma, 1.0
    unmoved = normal(low, high, 0.0, sigma)
    if isinstance(pair, PoissonAdd):
        return unmoved
    rate = mpf(pair.rate)  # type: ignore[attr-defined] # every one of them has it
    return (1 - rate) * unmoved + rate * normal(low, high, moved, sigma)


@pytest.mark.parametrize("tail", [1e-20, 1e-280])
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_masses_are_as_accurate_as_is_said(
    kind: type, setting: tuple[float, float], tail: float
) -> None:
    sigma, rate = setting
    pair = kind(1 / sigma if kind is WithoutReplacement else sigma, rate)
    edges = plan_cells(pair, pair.truncation_interval(tail), 0.0).edges(300)
    lower = upper_and_lower(pair, edges, tail)[1]
    said = lower.mass_error / (2 if pair.mirrored else 1)
    masses = lower.masses[-(len(edges) - 1) :]
    with mp.workdps(60):
        for k in range(0, len(masses), max(1, len(masses) // 40)):
            if masses[k] < 1e-290:
                continue
            truth = exact(pair, edges[k], edges[k + 1])
            assert abs(mpf(masses[k]) - truth) <= said * truth, (k, masses[k])


def test_a_loss_that_may_have_been_rounded_below_epsilon_counts() -> None:
    below = float(np.nextafter(1.0, 0.0))
    law = DiscreteLoss(np.array([below]), np.array([0.5]), mass_error=1e-13)
    low, high = law.delta(1.0)
    assert low == 0.0
    assert high >= 0.5e-13  # a loss of 1 + 1e-13, which it may stand for, gives as much


def test_a_law_whose_split_may_be_misplaced_says_so() -> None:
    law = DiscreteLoss(
        np.array([1.0, 3.0]), np.array([0.5, 0.0]), mass_error=1e-13, blur=np.array([1.0, 1.0])
    )
    assert law.delta(2.0)[1] >= 0.5e-13 * -np.expm1(-1.0)


def test_what_was_left_out_as_nothing_is_not_counted_as_certain() -> None:
    faint = ListedMasses(np.array([1.5]), np.array([1.1e-154]), (0.0, 0.0), 0.0)
    nothing = ListedMasses(np.zeros(0), np.zeros(0), (0.0, 0.0), 0.0)
    frame = Frame(0.5, 4, 4, 0, 0)
    sums = LatticeSum(
        frame=frame,
        reach=2.0,
        shift=0.0,
        upper_masses=faint,
        lower_masses=faint,
        moved=nothing,  # the weights of smaller masses, which were left out
        raised=(nothing, 0.0),
        splitting=Splitting(0.6),
        drifts=((3, (0.0, 0.0)),),
        discarded_mass=left_out(frame, 3),
    )
    assert sums.upper(0.5) >= 1.1e-154 * -np.expm1(-1.0)
    assert sums.lower(0.5) == 0.0


def test_the_error_that_quadrature_was_seen_to_have_is_counted() -> None:
    def normal_at(mean: float) -> object:
        return lambda x: -((x - mean) ** 2) / 2 - 0.5 * np.log(2 * np.pi)

    fine, coarse = (
        from_user_densities(normal_at(1.0), normal_at(0.0), (-9.0, 10.0), scale, 1e-15)  # type: ignore[arg-type]
        for scale in (4.0, 11.0)
    )
    assert isinstance(fine, UserDensityPair)
    assert coarse.mass_error - 1e-13 > 1e-12 > fine.mass_error - 1e-13


def test_a_cell_without_a_double_inside_has_an_error_too() -> None:
    pair = PoissonRemove(1.0, 0.4)
    edges = np.linspace(*pair.truncation_interval(1e-20), 300)
    edges = np.sort(np.append(edges, np.nextafter(edges[200], 1e9)))
    for law in upper_and_lower(pair, edges, 1e-20):
        assert 1e-13 <= law.mass_error < 1e-11
