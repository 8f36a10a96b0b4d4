"""Exact laws of instances and bounds by multipliers, each against matrices, grids or differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpcalc.accounting.iteration.average import Averaged
from dpcalc.accounting.iteration.quadratics import Line, Quadratics, Uses, last_mu_squared
from dpcalc.accounting.iteration.scalar import ScalarADMM, Stretch
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
