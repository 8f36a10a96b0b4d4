"""Calibration spends narrow enclosures only next to the answer."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from dpcalc import calibration
from dpcalc.accounting.composition import chernoff, contour_integral, driver
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import EpsilonAt
from dpcalc.accounting.enclosure import (
    Bracket,
    current_search,
    find_root,
    relative_width,
    searching,
)
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove
from dpcalc.claims import budget_search, solve
from dpcalc.claims.mechanisms import guarantee_from
from dpcalc.guarantees import composition
from dpcalc.theorems.catalogue import privacy_result


def _counted(monkeypatch: pytest.MonkeyPatch) -> Counter[float]:
    """How many enclosures of each width a search asks for, from now on."""
    effort: Counter[float] = Counter()
    plain = budget_search._height

    def counted(*given: object) -> float:
        effort[relative_width()] += 1
        return plain(*given)

    monkeypatch.setattr(budget_search, "_height", counted)
    return effort


def test_few_enclosures_are_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rounds of a sample drawn without replacement: a narrow enclosure takes seconds there."""
    effort = _counted(monkeypatch)
    table = {"mechanism": "gaussian-without-replacement", "sample": 10, "population": 1000}
    found = solve.solve(table, 10, 1.0, 1e-10)
    assert 2.3643 < found.value < 2.3644
    narrow = sum(times for width, times in effort.items() if width < 1e-5)
    assert narrow <= 4
    assert min(effort) == 1e-6


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
    effort = _counted(monkeypatch)
    table = {
        "mechanism": "poisson-subsampled-gaussian",
        "rate": 0.01,
        "adjacency": "add-remove",
    }
    found = solve.solve(table, 100, 2e-9, 1e-5)
    assert 3989.02 < found.value < 3989.03
    assert found.guarantee.epsilon(1e-5) <= 2e-9
    assert (
        sum(times for width, times in effort.items() if width < 1e-5) <= 12
    )  # were 20, for fewer digits


def test_an_answer_found_with_one_method_is_sought_with_all() -> None:
    """In a search this function is off by far more than the tolerance, as one method alone may be."""
    asked: list[bool] = []

    def height(x: float, gain: float) -> float:
        searching = current_search() is not None
        asked.append(searching)
        return 1.0 - x + (gain if searching else 0.0)

    for gain, most in ((1e-2, 5), (0.0, 3)):
        asked.clear()
        found = find_root(lambda x: height(x, gain), 0.0, tolerance=1e-7, least=-9, most=9)  # noqa: B023
        assert found.low < 1.0 <= found.high <= 1.0 + 1e-7
        assert asked.count(False) <= most
        assert sorted(asked, reverse=True) == asked  # the search comes first


def test_the_slope_that_a_wide_search_found_saves_narrow_enclosures() -> None:
    narrow: list[float] = []

    def height(x: float) -> float:
        if relative_width() < 1e-5:
            narrow.append(x)
        return 4 * (1.0 - x) + math.expm1(1.0 - x) + relative_width() / 3

    found = find_root(height, 0.0, tolerance=1e-6, least=-9, most=9)
    assert found.low <= 1 + 1e-7 <= found.high <= 1 + 1.2e-6
    assert len(narrow) <= 3  # were 4


def test_numbers_of_rounds_are_told_apart_by_wide_enclosures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    widths: list[float] = []
    plain = composition.worst_epsilon

    def counted(losses: object, delta: float, *, relative_width: float) -> Bracket:
        widths.append(relative_width)
        return plain(losses, delta, relative_width=relative_width)  # type: ignore[arg-type]

    monkeypatch.setattr(composition, "worst_epsilon", counted)
    table = {"mechanism": "laplace", "scale_multiplier": 14.25, "adjacency": "replace-one"}
    assert solve.solve(table, None, 1.05, 3.6e-6).value == 7
    assert widths.count(0.05) >= 3
    assert sum(width < 1e-3 for width in widths) <= 1  # the answer's own


def test_a_contour_that_loses_all_digits_is_left_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far out among rare events rounding is more than δ, whatever the smoothing and the cells."""
    tried: list[object] = []
    plain = contour_integral.upper_and_lower_sums

    def counted(*given: Any) -> Any:
        tried.append(given)
        return plain(*given)

    monkeypatch.setattr(contour_integral, "upper_and_lower_sums", counted)
    mechanism = {
        "mechanism": "poisson-subsampled-gaussian",
        "rate": 6.09e-5,
        "noise_multiplier": 1.0,
        "adjacency": "add-remove",
    }
    parts = guarantee_from("poisson-subsampled-gaussian", mechanism)[0].losses()
    assert parts is not None
    total, query = LossSum.of([(loss, 6975 * n) for loss, n in parts[0]]), EpsilonAt(8.05e-93, 1e-3)
    contour_integral.enclose(total, query, contour_integral.estimate(total, query))
    assert len(tried) <= 2  # were 4


@pytest.mark.parametrize("key", ["gaussian-objective-perturbation", "recycled-admm"])
def test_a_search_that_stops_short_of_the_budget_is_carried_on(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search tests ε at a width of its own; what is returned meets the budget as it is reported."""
    run, short = calibration._Search.run, []

    def stops_short(search: Any, enclose: Any, tolerance: float) -> Any:
        short.append(search.quieter(run(search, enclose, tolerance), -2.5 * tolerance))
        return short[-1]

    monkeypatch.setattr(calibration._Search, "run", stops_short)
    kind = privacy_result(key)
    found = calibration.smallest_noise(kind.from_parameters(kind.example), 1.0, 1e-5)
    assert short[0].certified().guarantee.epsilon(1e-5) > 1
    assert found.certified().guarantee.epsilon(1e-5) <= 1


def test_a_direction_below_the_floor_needs_no_second_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def wide(*_: object) -> Bracket:
        asked.append("wide")
        return Bracket(0.4, 0.5, "given")

    def never(*_: object) -> Bracket:
        asked.append("second")
        return Bracket(0.45, 0.45, "given")

    total = LossSum.of([(PoissonRemove(1.0, 1e-3), 2)])
    monkeypatch.setattr(driver, "general_methods", lambda *_: (wide, never))
    query, beginning = EpsilonAt(1e-6, 1e-6), driver.Beginning(None, None)
    monkeypatch.setattr(chernoff, "enclose", lambda *_: Bracket(0.0, 0.6, "weak"))
    assert driver.finish(total, query, beginning, 0.6).upper == 0.5
    assert asked == ["wide"]
    assert driver.finish(total, query, beginning, 0.49).upper == 0.45
    assert asked == ["wide", "second"]  # the first is remembered


def test_no_weak_bound_where_a_wide_enclosure_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search needs no lower end, and who asks for a relative width of 0.05 may be given 0.4."""
    weak: list[object] = []

    def bounded(*given: object) -> Bracket:
        weak.append(given)
        return Bracket(0.0, 9.0, "weak")

    def wide(*_: object) -> Bracket:
        return Bracket(0.6, 1.0, "given")

    total = LossSum.of([(PoissonRemove(1.0, 1e-3), 2)])
    monkeypatch.setattr(driver, "general_methods", lambda *_: (wide, wide))
    monkeypatch.setattr(driver, "_FAIR", 1.0)
    monkeypatch.setattr(chernoff, "enclose", bounded)
    beginning = driver.Beginning(None, None)
    with searching():
        assert driver.finish(total, EpsilonAt(1e-6, 1e-6), beginning).upper == 1.0
    assert driver.finish(total, EpsilonAt(1e-6, 0.05), beginning).upper == 1.0
    assert weak == []
    assert driver.finish(total, EpsilonAt(1e-6, 1e-3), beginning).upper == 1.0
    assert len(weak) == 1


@pytest.mark.parametrize(("width", "reached"), [(1e-9, 1e-10), (1e-7, 1e-7)])
def test_digits_beyond_the_tolerance_are_sought_where_they_are_free(
    width: float, reached: float
) -> None:
    """However steep the answer is: a narrow enclosure by a search costs seconds."""
    asked: list[float] = []

    def height(x: float) -> float:
        asked.append(x)
        return 50 * (1 - x)

    found = find_root(height, 0.9, tolerance=1e-7, least=-9, most=9, width_at=lambda _: width)
    assert reached / 4 <= found.high - found.low <= reached
    assert len(asked) <= 7


@pytest.mark.parametrize(("width", "reached"), [(1e-6, 1e-7), (0.4, 1e-5)])
def test_where_an_enclosure_stays_wide_jumps_of_its_upper_end_are_not_told_apart(
    width: float, reached: float
) -> None:
    """Five digits are enough of what is known to one; a narrow enclosure may take seconds there."""
    narrow: list[float] = []

    def height(x: float) -> float:
        if relative_width() < 1e-5:
            narrow.append(x)
        return 4 * (0.7 - x) + (3e-4 if x < 0.7 else -3e-4)

    found = find_root(height, 0.0, tolerance=1e-7, least=-9, most=9, width_at=lambda _: width)
    assert height(found.low) > 0 >= height(found.high)
    assert 0.7 <= found.high <= 0.7 + reached
    assert found.high - found.low > reached / 4
    assert relative_width() == 1e-6
    assert len(narrow) <= (12 if width == 0.4 else 18)


def test_a_smooth_upper_end_is_followed_however_wide_the_enclosure() -> None:
    found = find_root(
        lambda x: 4 * (0.7 - x), 0.0, tolerance=1e-7, least=-9, most=9, width_at=lambda _: 0.4
    )
    assert found.low < 0.7 <= found.high <= found.low + 1e-7
