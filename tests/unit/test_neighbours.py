"""Answers for other numbers of the same rounds: what they tell, and that they change no truth."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcalc.accounting.composition import driver, worst_epsilon
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.neighbours import (
    Neighbours,
    current_neighbours,
    neighbouring,
)
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import GaussianLoss
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove
from dpcalc.errors import NumericalFailure

RARE = PoissonRemove(0.6, 1e-4)


def rounds(count: int) -> list[LossSum]:
    return [LossSum.of([(RARE, count)])]


@given(
    st.dictionaries(st.integers(1, 30), st.tuples(st.floats(0, 0.4), st.floats(0, 0.4))),
    st.integers(1, 30),
)
def test_what_is_known_holds_where_more_rounds_need_no_less(
    others: dict[int, tuple[float, float]], asked: int
) -> None:
    """The truth is the number of rounds; enclosures around it of any width."""
    kept = Neighbours()
    for count, (below, above) in others.items():
        kept.add(rounds(count), 0.5, Bracket(count - below, count + above, "one"))
    known = kept.known(rounds(asked), 0.5)
    if not others:
        assert known is None
        return
    assert known is not None
    assert known.lower <= asked <= known.upper
    fewer = [count for count in others if count <= asked]
    assert known.lower > (max(fewer) - 0.41 if fewer else -1)
    assert (known.upper == math.inf) == all(count < asked for count in others)
    assert kept.known(rounds(asked), 0.25) is None


def test_several_directions_or_kinds_of_rounds_are_not_followed() -> None:
    kept = Neighbours()
    two = [LossSum.of([(PoissonRemove(2.0, 0.1), 3)]), LossSum.of([(PoissonAdd(2.0, 0.1), 3)])]
    mixed = [LossSum.of([(RARE, 3), (GaussianLoss(0.1), 1)])]
    for totals in (two, mixed):
        kept.add(totals, 1e-3, Bracket(1.0, 2.0, "one"))
        assert kept.known(totals, 1e-3) is None
    assert not kept.found


def test_answers_for_one_kind_of_rounds_tell_nothing_of_another() -> None:
    """Half the signal at the same number of rounds would otherwise pass for the whole."""
    kept = Neighbours()
    kept.add(rounds(10), 1e-3, Bracket(1.0, 2.0, "one"))
    for other in (PoissonRemove(0.3, 1e-4), PoissonRemove(0.6, 2e-4), PoissonAdd(0.6, 1e-4)):
        assert kept.known([LossSum.of([(other, 10)])], 1e-3) is None
    assert kept.known([LossSum.of([(PoissonRemove(0.6, 1e-4), 10)])], 1e-3) is not None


def test_of_several_answers_the_narrowest_is_known() -> None:
    """More rounds may have been enclosed more narrowly, and the same number twice."""
    kept = Neighbours()
    kept.add(rounds(12), 1e-3, Bracket(1.0, 5.0, "wide"))
    kept.add(rounds(13), 1e-3, Bracket(1.0, 3.0, "narrow"))
    kept.add(rounds(8), 1e-3, Bracket(0.5, 2.0, "first"))
    kept.add(rounds(8), 1e-3, Bracket(0.25, 1.5, "second"))
    assert kept.known(rounds(10), 1e-3) == Bracket(0.5, 3.0, "narrow")
    assert kept.known(rounds(8), 1e-3) == Bracket(0.5, 1.5, "second")


def test_answers_are_kept_within_their_line_alone() -> None:
    assert current_neighbours() is None
    with neighbouring() as outer:
        with neighbouring() as inner:
            assert current_neighbours() is inner
        assert current_neighbours() is outer
    assert current_neighbours() is None


def test_rare_events_need_no_lattice_next_to_a_neighbour(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(count: int) -> Bracket:
        return worst_epsilon([[(RARE, count)]], 1e-6, relative_width=1e-3)

    alone = ask(1000)
    with neighbouring():
        fewer, more = ask(950), ask(1050)
        assert fewer.upper < alone.lower <= alone.upper < more.lower
        monkeypatch.setattr(driver.lattice_sum, "enclose", None)
        found = ask(1000)
        monkeypatch.setattr(driver, "begin", None)
        wide = worst_epsilon([[(RARE, 1025)]], 1e-6, relative_width=0.2)
    assert max(found.lower, alone.lower) <= min(found.upper, alone.upper)
    assert found.relative_width < 2e-3
    assert (wide.lower, wide.upper) == (found.lower, more.upper)  # as narrow as was asked


def test_a_neighbour_that_cannot_be_is_an_error() -> None:
    with neighbouring() as kept:
        kept.add(rounds(999), 1e-6, Bracket(50.0, 51.0, "wrong"))
        kept.add(rounds(1001), 1e-6, Bracket(1.0, 2.0, "wrong"))
        with pytest.raises(NumericalFailure, match="lower"):
            worst_epsilon([[(RARE, 1000)]], 1e-6, relative_width=1e-3)
