"""Bounds by multipliers against grids and differences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpcalc.accounting.iteration.multipliers import (
    _basis,
    _Search,
    _slopes,
    continued,
    good_multipliers,
    in_doubles,
)
from dpcalc.accounting.iteration.sectors import Answer, Form, Sectors
from dpcalc.numerics.precise import mpf as real
from tests.unit.run_matrices import sectors


def worst_by_grid(s: Sectors, form: Form, x: float, u: float) -> float:
    """The largest Q(x⁺, u⁺) over replies that the two conditions allow, along one line."""
    phi = np.linspace(s.least * x, s.most * x, 61)[:, None]
    ell = np.linspace(s.kept * u, u, 61)[None, :]
    after = (phi + s.pull * (2 * ell - u)) / (1 + s.pull)
    rest = ell - after
    value = form.alpha * after**2 + 2 * form.gamma * after * rest + form.kappa * rest**2
    return float(value.max())


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kept", [0.0, 0.3])
def test_forms_bound_every_reply(wide: bool, kept: float) -> None:
    """One noise and one iteration more: the shift it names, then the worst reply, is below the form."""
    s = sectors(wide, kept)
    multipliers = s.in_proportion(4, 1.3, 1.2)
    assert multipliers is not None
    first, second = multipliers
    assert (len(first), len(second)) == (4, 3)
    answers: list[Answer] = []
    forms = list(s.forms(first, second, answers))
    assert len(forms) == len(answers) == 4
    rng = np.random.default_rng(2)
    for (before, form), answer in zip(itertools.pairwise(forms), answers[1:], strict=True):
        for x, u in rng.normal(size=(6, 2)).tolist():
            value = form.alpha * x * x + 2 * form.gamma * x * u + form.kappa * u * u
            d = answer.dx * x + answer.du * u
            cost = s.cost * d * d + worst_by_grid(s, before, x - d, u + d)
            assert 0 <= cost <= value * (1 + 1e-9)
            # A shift and the reply that the form names cost what it says, less the slacks' multiples.
            z, w = x - d, u + d
            phi, ell = answer.px * z + answer.pu * w, answer.lx * z + answer.lu * w
            after = (phi + s.pull * (2 * ell - w)) / (1 + s.pull)
            rest = ell - after
            told = s.cost * d * d + before.alpha * after**2
            told += 2 * before.gamma * after * rest + before.kappa * rest**2
            k = answers.index(answer)
            told += first[k] * (s.most * z - phi) * (phi - s.least * z)
            told += second[k - 1] * (w - ell) * (ell - s.kept * w)
            assert told == pytest.approx(value, rel=1e-9, abs=1e-12)
        if wide:
            z = 1 - answer.kerd
            phi = answer.kerp * z
            told = answer.kerd**2 + before.ker * phi**2
            told += first[answers.index(answer)] * (s.most * z - phi) * (phi - s.least * z)
            assert told == pytest.approx(form.ker, rel=1e-9)
    # The first form: no reply of the last iteration but φ, at most x⁺ = (φ + ...)/(1 + e).
    t, a = first[0], 1 / 1.6**2
    at = t * 0.5 / (t - a)
    m = t * 0.5 * at
    found = forms[0]
    assert tuple(found)[:3] == pytest.approx((m, m, m + 1))
    if wide:
        at = t * 0.5 / (t - 1)
        mk = t * 0.5 * at
        assert found.ker == pytest.approx(mk / (1 + mk))
        assert s.start(found) == pytest.approx(max(1 / 1.6**2, mk / (1 + mk)))
    else:
        assert found.ker == 0
        assert s.start(found) == pytest.approx((m - 2 * m + m + 1) / 1.6**2)


def test_multipliers_that_are_too_small_end_the_forms() -> None:
    s = sectors()
    assert list(s.forms([1e-9], [])) == []
    first, second = s.in_proportion(3, 1.3, 1.2)  # type: ignore[misc]
    assert len(list(s.forms([first[0], 1e-9, 1.0], second))) == 1
    assert len(list(s.forms([first[0], first[1], 1e-9], second))) == 2
    assert s.in_proportion(3, 0.9, 1.2) is None or len(first) == 3


@pytest.mark.parametrize("wide", [False, True])
def test_the_ceiling_is_the_largest_value(wide: bool) -> None:
    s = Sectors(0.6, 1.0, -0.3, 0.9, 0.0, wide)
    phi = np.linspace(-5, 5, 200_001)
    values = 0.4 * phi**2 + 0.7 * (0.9 - phi) * (phi + 0.3)
    found = s._ceiling(0.7, 0.4)
    assert found is not None
    assert found[0] == pytest.approx(float(values.max()), rel=1e-9)
    assert found[1] == pytest.approx(float(phi[np.argmax(values)]), abs=1e-4)
    assert s._ceiling(0.4, 0.4) is None


def test_couplings_are_those_of_the_state_after() -> None:
    s, form = sectors(), Form(1.3, -0.4, 0.8, 0.2)
    rng = np.random.default_rng(0)
    for phi, ell, u in rng.normal(size=(5, 3)):
        x = (phi + 0.6 * (2 * ell - u)) / 1.6
        rest = ell - x
        value = 1.3 * x * x - 0.8 * x * rest + 0.8 * rest * rest
        pp, pl, pu, ll, lu, uu = s._couplings(form)
        found = pp * phi**2 + 2 * pl * phi * ell + 2 * pu * phi * u
        found += ll * ell**2 + 2 * lu * ell * u + uu * u * u
        assert found == pytest.approx(value)


@pytest.mark.parametrize("wide", [False, True])
def test_slacks_are_derivatives_of_the_cost(wide: bool) -> None:
    s = sectors(wide, 0.1)
    first, second = s.in_proportion(5, 1.4, 1.3)  # type: ignore[misc]
    value, slopes = _slopes(s, first, second)
    row, ker = s._row(list(s.forms(first, second))[-1]), list(s.forms(first, second))[-1].ker
    assert value == pytest.approx(math.log(row**12 + ker**12) / 12)
    given = [*first, *second]
    for k in range(len(given)):
        step = 1e-6 * given[k]
        ends = []
        for side in (1, -1):
            moved = list(given)
            moved[k] += side * step
            ends.append(_slopes(s, moved[:5], moved[5:])[0])
        assert slopes[k] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4, abs=1e-7)
    assert _slopes(s, [1e-9] * 5, second)[0] == 1e3
    assert not _slopes(s, [1e-9] * 5, second)[1].any()


def test_multipliers_that_are_found_beat_those_in_proportion() -> None:
    s = sectors()
    found = good_multipliers(s, 4)
    assert found is not None
    cost = s.start(list(s.forms(*map(list, found)))[-1])
    tried = [
        s.start(list(s.forms(*pair))[-1])
        for first, second in itertools.product((1.05, 1.2, 1.5, 2.0, 3.0, 6.0), (1.02, 1.1, 1.3, 2.0))
        if (pair := s.in_proportion(3, first, second)) is not None
    ]  # fmt: skip
    assert cost < min(tried) * (1 - 1e-3)


def test_a_search_among_multipliers_has_the_gradient_it_says() -> None:
    s = sectors(kept=0.1)
    first, second = s.in_proportion(5, 1.4, 1.3)  # type: ignore[misc]
    search = _Search(s, first, second)
    assert search.dimension == _basis(5).shape[1] + _basis(4).shape[1]
    assert search(np.zeros(search.dimension))[0] == pytest.approx(_slopes(s, first, second)[0])
    assert search.best == (pytest.approx(first), pytest.approx(second))
    moves = 0.01 * np.cos(np.arange(search.dimension))
    _, slopes = search(moves)
    for k in range(search.dimension):
        ends = []
        for side in (1, -1):
            moved = moves.copy()
            moved[k] += side * 1e-6
            ends.append(search(moved)[0])
        assert slopes[k] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-7)
    before = list(search.best[0])
    search(np.full(search.dimension, 3.0))
    assert list(search.best[0]) == before


def test_more_multipliers_go_on_as_their_inverses_grow() -> None:
    first, second = (2.0, 1.0, 0.5, 0.25, 0.2, 0.125), (1.0, 0.5, 0.25)
    longer = continued((first, second), 9)
    growth = (8 - 4) / 2
    assert longer[0][:6] == list(first)
    assert longer[0][6:] == pytest.approx([1 / (8 + growth * k) for k in (1, 2, 3)])
    growth = (4 - 2) / 1
    assert longer[1] == pytest.approx([*second, *(1 / (4 + growth * k) for k in range(1, 6))])
    falling = continued(((1.0, 1.0, 2.0), (1.0, 1.0, 2.0)), 5)
    assert falling[0] == pytest.approx([1.0, 1.0, 2.0, 2.0, 2.0])


def test_functions_between_knots() -> None:
    basis = _basis(9)
    assert basis.shape[0] == 9
    np.testing.assert_allclose(basis[:, :-1].sum(axis=1), 1.0)
    np.testing.assert_allclose(basis[:, -1], np.arange(1, 10) / 9)
    # Knots 1, 2, 3, 4, 6, 8, 9: each function is 1 at its own.
    for k, knot in enumerate((1, 2, 3, 4, 6, 8, 9)):
        assert basis[knot - 1, k] == 1.0
    share = math.log(5 / 4) / math.log(6 / 4)
    assert basis[4, 4] == pytest.approx(share)
    assert basis.shape[1] == 8
    assert _basis(0).shape == (0, 0)
    rough = in_doubles(Sectors(real("0.6"), real(1), real(0), real(1), real("0.1"), True))
    assert rough == Sectors(0.6, 1.0, 0.0, 1.0, 0.1, True)
