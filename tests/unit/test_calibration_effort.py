"""Calibration spends narrow enclosures only next to the answer."""

from __future__ import annotations

from collections import Counter

import pytest

from dpcalc.accounting.enclosure import find_root, relative_width
from dpcalc.claims import solve


def test_few_enclosures_are_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rounds of a sample drawn without replacement: a narrow enclosure takes seconds there."""
    effort: Counter[float] = Counter()
    plain = solve._height

    def counted(*given: object) -> float:
        effort[relative_width()] += 1
        return plain(*given)

    monkeypatch.setattr(solve, "_height", counted)
    table = {"mechanism": "gaussian-without-replacement", "sample": 10, "population": 1000}
    found = solve.solve(table, 10, 1.0, 1e-10)
    assert 2.3643 < found.value < 2.3644
    narrow = sum(times for width, times in effort.items() if width < 1e-5)
    assert narrow <= 6
    assert min(effort) == pytest.approx(4e-6)


def test_a_search_that_begins_wide_ends_at_the_same_root() -> None:
    """Enclosures that are too high by their width, as sound ones are, do not move the answer."""

    def height(x: float) -> float:
        return 1.0 - x + relative_width()

    for widths in ((1e-3,), (0.05, 1e-3)):
        found = find_root(height, 0.0, tolerance=1e-6, least=-9, most=9, widths=widths)
        assert found.low <= 1 + 1e-6 <= found.high <= 1 + 3e-6
        below = find_root(height, 0.0, tolerance=1e-6, least=2, most=9, widths=widths)
        assert below.low == below.high == 2


def test_wide_enclosures_do_not_make_a_budget_infeasible() -> None:
    def height(x: float) -> float:
        return 0.97 - x + relative_width()  # at most 1.0: met by narrow ones alone

    found = find_root(height, 0.0, tolerance=1e-6, least=-9, most=1.0, widths=(0.05, 1e-3))
    assert found.high <= 1.0


def test_where_epsilon_falls_to_nothing_few_enclosures_are_narrow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """δ is next to the total variation, so ε is 0 right of a place and falls steeply before it."""
    effort: Counter[float] = Counter()
    plain = solve._height

    def counted(*given: object) -> float:
        effort[relative_width()] += 1
        return plain(*given)

    monkeypatch.setattr(solve, "_height", counted)
    table = {
        "mechanism": "poisson-subsampled-gaussian",
        "rate": 0.01,
        "adjacency": "add-remove",
    }
    found = solve.solve(table, 100, 2e-9, 1e-5)
    assert 3989.02 < found.value < 3989.03
    assert found.guarantee.epsilon(1e-5) <= 2e-9
    assert sum(times for width, times in effort.items() if width < 1e-5) <= 8  # were 20
