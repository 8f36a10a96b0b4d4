"""Exact laws of instances and bounds by multipliers, each against matrices, grids or differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpcalc.accounting.iteration.average import Averaged
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
