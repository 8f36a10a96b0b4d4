"""What contour sums of one law share: fewer evaluations, the same truth, whatever was asked before."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from dpcalc.accounting.composition import worst_epsilon
from dpcalc.accounting.composition.driver import _kept
from dpcalc.accounting.contour import shared
from dpcalc.accounting.contour.saddle_points import orders_around
from dpcalc.accounting.contour.shared import GRID, alone, cumulants, on_grid, sharing, tilted
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses.discrete import DiscreteLoss, TiltedDiscreteLoss
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove, WithoutReplacement
from dpcalc.guarantees import compose
from dpcalc.guarantees.composition import _cached_epsilon
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian
from dpcalc.sweep.grid import TOLERANCE

WIDTH = TOLERANCE / 2
LAWS = [WithoutReplacement(4.0, 5e-5), WithoutReplacement(2.3, 5e-5), PoissonRemove(0.8, 0.01)]


def ask(law: WithoutReplacement | PoissonRemove, count: int) -> Bracket:
    """As a sweep asks, without an answer that was kept."""
    _kept.cache_clear()
    return worst_epsilon([[(law, count)]], 1e-6, relative_width=WIDTH)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.few(1)
def test_shared_enclosures_meet_narrow_ones_and_are_narrow(
    law: WithoutReplacement | PoissonRemove,
) -> None:
    """Grids that moved a contour too far would widen them; a law kept for another would miss."""
    counts = (600, 629, 2000, 9000)
    exact = [worst_epsilon([[(law, n)]], 1e-6, relative_width=1e-6) for n in counts]
    with sharing():
        found = [ask(law, n) for n in counts]
    for one, known in zip(found, exact, strict=True):
        assert max(one.lower, known.lower) <= min(one.upper, known.upper)
        assert one.relative_width < TOLERANCE
        assert one.upper <= known.upper * (1 + TOLERANCE)


def test_an_answer_depends_on_its_question_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits: after other questions, after none, and where nothing has room to be kept."""
    law, counts = LAWS[0], (600, 640, 690)
    with sharing():
        after = [ask(law, n) for n in counts]
    for n, known in zip(counts, after, strict=True):
        with sharing():
            assert ask(law, n) == known
    monkeypatch.setattr(shared, "_MOST_KEPT", 1)
    monkeypatch.setattr(shared, "_MOST_TILTED", 1)
    with sharing():
        assert [ask(law, n) for n in counts] == after


def test_what_was_answered_alone_is_no_answer_while_sharing_nor_the_other_way_round() -> None:
    """Bits of a line are its own: workers meet its questions in other orders."""
    total = compose((poisson_subsampled_gaussian(0.8, 0.01, "add-remove"), 640))

    def asked(share: bool) -> Bracket:
        with sharing() if share else alone():
            return total.bracket(1e-6)

    answers = []
    for order in ((False, True), (True, False)):
        _cached_epsilon.cache_clear()
        _kept.cache_clear()
        answers.append({share: asked(share) for share in order})
    assert answers[0] == answers[1]
    assert answers[0][True] != answers[0][False]


def test_neighbours_evaluate_no_moment_function_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    plain = TiltedDiscreteLoss.log_ratio

    def counted(self: TiltedDiscreteLoss, *given: float) -> object:
        calls["nodes"] += int(given[2]) - int(given[1])
        return plain(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(TiltedDiscreteLoss, "log_ratio", counted)
    counts = range(640, 720, 20)
    for n in counts:
        ask(LAWS[0], n)
    by_itself = calls.pop("nodes")
    with sharing():
        for n in counts:
            ask(LAWS[0], n)
    assert calls["nodes"] < by_itself / 2


def test_grids_are_those_of_all_units_and_only_while_sharing() -> None:
    assert on_grid(0.37) == 0.37
    assert not np.isin(orders_around(1.0), orders_around(1.01)).any()
    with sharing():
        down, up = on_grid(0.37), on_grid(0.37, up=True)
        assert down <= 0.37 <= up
        assert up / down == pytest.approx(GRID)
        assert on_grid(0.375) == down
        assert np.isin(orders_around(1.0)[2:-2], orders_around(1.5)).sum() > 90
        with alone():
            assert on_grid(0.37) == 0.37
        assert on_grid(0.37) == down
    assert on_grid(0.37) == 0.37


def test_what_is_kept_is_what_the_law_says() -> None:
    law = DiscreteLoss(np.array([0.5, 1.0, 3.0]), np.array([0.2, 0.1, 0.01]))
    orders = np.array([0.5, 2.0])
    plain = law.tilted(1.5)
    with sharing():
        assert tilted(law, 1.5) is tilted(law, 1.5)
        assert tilted(law, 1.5) is not tilted(law, 1.6)
        remembering = tilted(law, 1.5)
        for name in ("log_moment", "mean", "variance", "spread", "rounding", "size", "refinements"):
            assert getattr(remembering, name) == getattr(plain, name)
        for asked in itertools.product((0.1, 0.2), (8, 9), (40, shared._LONGEST + 50), (2, 1000)):
            pairs = zip(remembering.log_ratio(*asked), plain.log_ratio(*asked), strict=True)
            assert all(np.array_equal(kept, made) for kept, made in pairs)
        for last, level in itertools.product((4.0, 5.0), range(plain.refinements)):
            edges = np.array([1.0, 2.0, last])
            assert np.array_equal(
                remembering.log_modulus_bound(edges, level), plain.log_modulus_bound(edges, level)
            )
        assert np.array_equal(remembering.node_moduli(0.1, 30), plain.node_moduli(0.1, 30))
        assert cumulants(law, orders) is cumulants(law, orders)
        assert np.array_equal(cumulants(law, orders), law.cumulants(orders))
