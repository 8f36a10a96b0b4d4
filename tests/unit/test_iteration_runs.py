"""Exact laws of instances and bounds by multipliers, each against matrices, grids or differences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpcalc.accounting.iteration import sector_bounds
from dpcalc.accounting.iteration.average import Averaged
from dpcalc.accounting.iteration.multipliers import (
    _basis,
    _Search,
    _slopes,
    continued,
    good_multipliers,
    in_doubles,
    worst_replies,
)
from dpcalc.accounting.iteration.pulled_walk import PulledWalk, _falls, _upper_law
from dpcalc.accounting.iteration.quadratics import Line, Quadratics, Uses, last_mu_squared
from dpcalc.accounting.iteration.sampled_walk import SampledWalk, _lower_law, _spread
from dpcalc.accounting.iteration.scalar import ScalarADMM, Stretch
from dpcalc.accounting.iteration.sectors import Answer, Form, Sectors
from dpcalc.accounting.iteration.worst_run import _EDGE, _revealed, _worst_factors, worst_law
from dpcalc.numerics.precise import mpf as real


def matrix(stretch: Stretch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a = np.array([float(v) for v in stretch.linear]).reshape(2, 2)
    u, v, w = (float(x) for x in stretch.spread)
    return a, np.array([float(x) for x in stretch.shift]), np.array([[u, v], [v, w]])


def then(one, other):
    (a, c, s), (b, d, t) = one, other
    return b @ a, b @ c + d, b @ s @ b.T + t


def close(found: Stretch, expected) -> None:
    for x, y in zip(matrix(found), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


FIRST = Stretch((0.9, 0.2, -0.3, 0.7), (1.0, 0.5), (1.0, 0.2, 0.6))
SECOND = Stretch((0.8, -0.1, 0.4, 0.6), (0.3, -0.2), (0.5, -0.1, 0.4))


def test_stretches_are_matrices() -> None:
    close(FIRST.then(SECOND), then(matrix(FIRST), matrix(SECOND)))
    expected = (np.eye(2), np.zeros(2), np.zeros((2, 2)))
    for count in range(8):
        close(FIRST.repeated(count), expected)
        expected = then(expected, matrix(FIRST))
    _, d, c = matrix(FIRST)
    assert FIRST.mu_squared() == pytest.approx(float(d @ np.linalg.solve(c, d)))
    assert FIRST.mu_squared_of_x() == 1.0
    assert float(FIRST.surely_revealed()) == pytest.approx(FIRST.mu_squared())
    flat = Stretch((1, 0, 0, 1), (real(2), real(1)), (real(4), real(2), real(1)))
    assert flat.surely_revealed() == 1


def test_an_iteration_of_admm_is_its_update_equations() -> None:
    e, r, jump, noise = 0.6, 0.3, 1.5, 0.8
    model = ScalarADMM(e, r, jump, noise)
    a, c, s = matrix(model.iteration(0.7, own=True))
    x, ell = 1.1, -0.4
    after = r * (ell - x)
    moved = (0.7 * x + e * (2 * r - 1) * (ell - x)) / (1 + e)
    np.testing.assert_allclose(a @ [x, ell], [moved, after])
    assert c.tolist() == [1.5, 0]
    np.testing.assert_allclose(s, [[0.64, 0], [0, 0]])
    assert matrix(model.iteration(0.7))[1].tolist() == [0, 0]
    run = model.run(0.9, 0.4, switch=1, passes=3, gap=4, tail=3)
    expected = (np.eye(2), np.zeros(2), np.zeros((2, 2)))
    own, early, late = (
        matrix(model.iteration(0.9, own=True)), matrix(model.iteration(0.9)), matrix(model.iteration(0.4))
    )  # fmt: skip
    for step in [own, early, late, late] * 2 + [own, early, late]:
        expected = then(expected, step)
    close(run, expected)


def test_means_of_iterates_by_summing() -> None:
    model = Averaged(1.5, 0.8, 0.2, 0.9)

    def law(steps: list[tuple[float, float]]) -> tuple[float, float]:
        """μ² of the mean and of the last iterate, noise by noise."""
        n = len(steps)
        total, last = 0.0, 0.0
        for k in range(n):
            carry = list(
                itertools.accumulate([1.0] + [a for a, _ in steps[k + 1 :]], lambda x, y: x * y)
            )
            total += (0.8 * sum(carry)) ** 2
            last += (0.8 * carry[-1]) ** 2
        jumps = [
            list(itertools.accumulate([s] + [a for a, _ in steps[k + 1 :]], lambda x, y: x * y))
            for k, (_, s) in enumerate(steps) if s
        ]  # fmt: skip
        return sum(map(sum, jumps)) ** 2 / total, sum(j[-1] for j in jumps) ** 2 / last

    passes, gap, tail, lead = 3, 4, 6, 2
    found = []
    for switch in range(6):
        own = 0.9 if switch >= gap - 1 else 0.2
        steps = [(0.2, 0.0)] * lead
        for length in [gap] * (passes - 1) + [tail]:
            kept = min(switch, length - 1)
            steps += [(own, 1.5)] + [(0.9, 0.0)] * kept + [(0.2, 0.0)] * (length - 1 - kept)
        found.append(law(steps)[0])
    given = {"passes": passes, "gap": gap, "tail": tail, "lead": lead}
    assert float(model.mu_squared(**given)) == pytest.approx(max(found[k] for k in (0, 1, 2, 3, 5)))
    steps = [(0.9, 0.0)] * lead
    for length in [gap] * (passes - 1) + [tail]:
        steps += [(0.9, 1.5)] + [(0.9, 0.0)] * (length - 1)
    assert float(model.last_mu_squared(**given)) == pytest.approx(law(steps)[1])
    once = [(0.2, 0.0)] * lead + [(0.2, 1.5)] + [(0.9, 0.0)] * 5
    single = model.last_mu_squared(passes=1, gap=1, tail=6, lead=lead)
    assert float(single) == pytest.approx(law(once)[1])
    turning = Averaged(1.5, 0.8, -0.5, 0.9)
    step = [(0.0, 0.0)] * lead + [(0.0, 1.5)] + [(0.9, 0.0)] * 5
    single = turning.last_mu_squared(passes=1, gap=1, tail=6, lead=lead)
    assert float(single) == pytest.approx(law(step)[1])


def test_lines_are_steps() -> None:
    one, other = Line(0.9, 1.0, 0.5), Line(-0.4, 0.2, 1.5)
    z, v = -0.4 * 1.0 + 0.2, 0.16 * 0.5 + 1.5
    both = one.then(other)
    assert (both.factor, both.shift, both.spread) == pytest.approx((-0.36, z, v))
    expected = Line(1, 0, 0)
    for count in range(8):
        found = one.repeated(count)
        assert (found.factor, found.shift, found.spread) == pytest.approx(
            (expected.factor, expected.shift, expected.spread)
        )
        expected = expected.then(one)


def several(model: Quadratics, uses: Uses, forgetting: int, share: float) -> float:
    """μ² with the last use in the best direction of a plane, by trying angles."""
    keep, forget = model.keep, model.forget
    partly = forget + (keep - forget) * share
    kept = uses.gap - 1 - forgetting
    first = [(forget, 0.0)] * uses.lead + [(forget, 1.0)]
    middle = ([(keep, 0.0)] * (uses.gap - 1) + [(keep, 1.0)]) * (uses.passes - 2)
    last = [(keep, 0.0)] * kept + [(partly, 0.0)] + [(forget, 0.0)] * forgetting
    tail = [(keep, 0.0)] * (uses.tail - 1)

    def law(steps):
        z, v = 0.0, 0.0
        for a, s in steps:
            z, v = a * z + s, a * a * v + 1
        return z, v

    along, spread = law(first + middle + last + tail)
    carry = keep ** (uses.tail - 1)
    idle = uses.lead + uses.gap * (uses.passes - 1)
    _, side = law([(forget, 0.0)] * idle + [(forget, 0.0)] + tail)
    cosine = np.linspace(0, 1, 200_001)
    return float(((along + carry * cosine) ** 2 / spread + carry**2 * (1 - cosine**2) / side).max())


@pytest.mark.parametrize("uses", [Uses(2, 3, 4, 2), Uses(0, 2, 3, 5), Uses(3, 5, 2, 1)])
@pytest.mark.parametrize("forget", [0.0, 0.5])
def test_several_uses_of_quadratics(uses: Uses, forget: float) -> None:
    model = Quadratics(forget, 0.95)
    for forgetting in range(uses.gap):
        for share in (0.0, 0.45, 1.0):
            found = model.mu_squared(uses, forgetting, share)
            if forgetting <= uses.gap - 1:
                kept = uses.gap - 1 - forgetting
                if kept >= 0:
                    truth = several(model, uses, forgetting, share)
                    assert found == pytest.approx(truth, rel=1e-8)
    shares = (1.0, 0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 0.0)
    tried = {
        (n, share): model.mu_squared(uses, n, share) for n in range(uses.gap) for share in shares
    }
    assert tried[model.worst(uses)] == max(tried.values())
    unit = last_mu_squared(unit=real(2), least=real(forget), most=real(0.95), uses=uses)
    assert float(unit) == pytest.approx(4 * max(tried.values()), rel=1e-12)


def test_one_use_of_quadratics() -> None:
    uses = Uses(2, 1, 1, 3)
    for least, most, forget, keep in (
        (0.2, 0.9, 0.2, 0.9),
        (-0.95, 0.4, 0.0, 0.95),
        (0.3, 0.9, 0.3, 0.9),
    ):
        v = ((forget**2 + 1) * forget**2 + 1) * keep**4 + keep**2 + 1
        found = last_mu_squared(unit=real(3), least=real(least), most=real(most), uses=uses)
        assert float(found) == pytest.approx(9 * keep**4 / v)
    assert Quadratics(0.2, 0.9).worst(uses) == (0, 1.0)
    several_uses = last_mu_squared(
        unit=real(1), least=real(-0.95), most=real(0.4), uses=Uses(0, 2, 2, 1)
    )
    model = Quadratics(0.0, 0.4)
    best = max(
        model.mu_squared(Uses(0, 2, 2, 1), n, s)
        for n in range(2) for s in (1.0, 0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 0.0)
    )  # fmt: skip
    assert float(several_uses) == pytest.approx(best)


def sectors(
    wide: bool = False, kept: float = 0.0, least: float = 0.0, most: float = 1.0
) -> Sectors:
    return Sectors(0.6, 1.0, least, most, kept, wide)


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


@pytest.mark.parametrize("iterations", [2, 3, 5])
def test_costs_of_few_iterations_are_attained(iterations: int) -> None:
    s = Sectors(real("0.6"), real(1), real(0), real(1), real(0), False)
    cost = float(sector_bounds.cost_after(s, iterations))
    attained = float(worst_law(s, iterations, real(1) / real("1.6"), real(1)).mu_squared())
    assert attained <= cost * (1 + 1e-9)
    assert attained >= cost * (1 - (1e-5 if iterations < 5 else 0.02))
    assert float(sector_bounds.cost_by_table(s, iterations)) == pytest.approx(cost, rel=5e-3)
    rough = in_doubles(s)
    multipliers = good_multipliers(rough, iterations)
    assert multipliers is not None
    moved, kept = worst_replies(rough, *multipliers)
    assert len(moved) == len(kept) == iterations - 1


def test_what_a_run_reveals_and_its_derivatives() -> None:
    s = sectors(kept=0.05)
    rng = np.random.default_rng(3)
    factors = np.concatenate([rng.uniform(0, 1, 4), rng.uniform(0.1, 0.9, 4)])
    value, slopes = _revealed(s, factors)
    model = Stretch((1, 0, 0, 1), (1.0, 0.0), (1.0, 0.0, 0.0))
    for m, r in factors.reshape(2, 4).T.tolist():
        model = model.then(ScalarADMM(0.6, r, 1.0, 1.0).iteration(m))
    assert value == pytest.approx(math.log(model.mu_squared()))
    for k in range(8):
        ends = []
        for side in (1, -1):
            moved = factors.copy()
            moved[k] += side * 1e-6
            ends.append(_revealed(s, moved)[0])
        assert slopes[k] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-8)


def test_the_worst_factors_are_allowed_and_better_than_constant_ones() -> None:
    s = sectors(kept=0.05)
    moved, kept = _worst_factors(s, 4)
    assert all(0 <= m <= 1 for m in moved)
    assert all(0.05 <= r <= 1 - 1e-7 for r in kept)
    found = _revealed(s, np.array(moved + kept))[0]
    for r in (0.05, 0.1, 0.3, 0.5, 0.8):
        assert found >= _revealed(s, np.array([1.0] * 4 + [r] * 4))[0] - 1e-12
    exact = Sectors(real("0.6"), real(1), real(0), real(1), real("0.05"), False)
    law = worst_law(exact, 5, real(2), real(3))
    assert float(law.mu_squared()) == pytest.approx(math.exp(found) * 4 / 9, rel=1e-9)
    long = worst_law(exact, 60, real(2), real(3))
    moved, kept = _worst_factors(s, 47)
    model = ScalarADMM(0.6, 0.05, 2.0, 3.0).iteration(1.0, own=True)
    for m, r in zip([moved[0]] * 12 + moved, [kept[0]] * 12 + kept, strict=True):
        clipped = min(max(r, 0.05), 1 - _EDGE)
        model = model.then(ScalarADMM(0.6, clipped, 2.0, 3.0).iteration(min(max(m, 0.0), 1.0)))
    assert float(long.mu_squared()) == pytest.approx(model.mu_squared(), rel=1e-6)


def test_a_pulled_walk_step_by_step() -> None:
    from scipy.special import ndtr

    grid, law, beyond = _upper_law(6, 0.5, 0.8)
    assert grid[1] == 0.125
    assert len(grid) == int(min(12 * math.sqrt(6) + 5, 40 / 0.5 + 12) * 8) + 1
    assert float(law.sum()) + beyond == pytest.approx(1.0, rel=1e-11)
    # One step from zero: |N(0, 1)| rounded up.
    grid, law, _ = _upper_law(1, 0.5, 0.8)
    np.testing.assert_allclose(np.cumsum(law), 2 * ndtr(grid) - 1, atol=1e-15)
    # Two steps, by a sum over the first.
    two = _upper_law(2, 0.5, 0.8)[1]
    centre = grid - np.minimum(0.8 * grid, 0.5)
    at = np.searchsorted(grid, 1.0)
    truth = float(law[: len(grid)] @ (ndtr(1.0 - centre) - ndtr(-1.0 - centre)))
    assert float(two[: at + 1].sum()) == pytest.approx(truth, rel=1e-9)
    walk, epsilon, root = PulledWalk(4, 3, 0.5, 0.8), 0.7, math.sqrt(3)
    grid, law, beyond = _upper_law(4, 0.5, 0.8)
    found = 0.0
    for share in (1.0, 1.01, 1.03, 1.1):
        at = share * max(epsilon * 3 / 1.0, 0.5)
        a, b = (at - 0.5) / root, (at + 0.5) / root
        told = float(law @ ((ndtr(grid / root - a) + ndtr(-grid / root - a)) / 2))
        wrong = float(law @ ((ndtr(grid / root - b) + ndtr(-grid / root - b)) / 2))
        found = max(found, told - math.exp(epsilon) * (wrong + beyond))
    assert walk(epsilon) == pytest.approx(found, rel=1e-9)
    assert walk(800.0) == 0.0
    assert _falls(0.0, 1.0, 0.1)
    assert not _falls(0.0, 0.0, 0.1)
    assert not _falls(-0.1, 1.0, 0.1)
    edge = math.log(0.5) - 0.125 - (math.log(2.0) - 2.0)
    assert _falls(0.5, 2.0, edge + 1e-9)
    assert not _falls(0.5, 2.0, edge - 1e-9)


@pytest.mark.parametrize("c", [0.0, 0.6, 1.0])
def test_a_sampled_walk_by_enumeration(c: float) -> None:
    sums, law = _lower_law(5, 0.3, c)
    assert float(law.sum()) == pytest.approx(1.0, rel=1e-12)
    outcomes = []
    for batches in itertools.product((0, 1), repeat=5):
        p = math.prod(0.3 if b else 0.7 for b in batches)
        outcomes.append((sum(b * c**i for i, b in enumerate(batches)), p))
    counted = float(sum(p * s for s, p in outcomes))
    assert counted * (1 - 2e-2) <= float(sums @ law) <= counted
    for level in (0.5, 1.2, 2.1):  # stochastically smaller, and not by much
        mine = float(law[sums >= level].sum())
        assert mine <= sum(p for s, p in outcomes if s >= level) + 1e-12
        assert mine >= sum(p for s, p in outcomes if s >= level + 0.02) - 1e-12
    truth = sum(c ** (2 * i) for i in range(5))
    assert truth <= _spread(c, 5) <= truth * (1 + 2e-10)
    walk = SampledWalk(5, 0.3, c, 1.2)
    from scipy.special import ndtr

    for epsilon in (0.0, 0.4):
        root = math.sqrt(_spread(c, 5))
        best = 0.0
        for at in np.linspace(-1, 6, 1401):
            shifts = [(s * 0.6 / root, p) for s, p in outcomes]
            told = sum(p * ndtr(s - at) for s, p in shifts)
            wrong = sum(p * ndtr(-s - at) for s, p in shifts)
            best = max(best, told - math.exp(epsilon) * wrong)
        assert walk(epsilon) <= best * (1 + 1e-9)
        assert walk(epsilon) >= 0.9 * best - 1e-3
    assert walk(701.0) == 0.0
