"""A search over noise that goes on from the lattices of its last place."""

from __future__ import annotations

import pytest

from dpcalc.accounting.composition import bracket_epsilon, lattice_sum
from dpcalc.accounting.composition.last_pass import LastPass, last_pass, remember
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt
from dpcalc.accounting.enclosure import searching, with_relative_width
from dpcalc.accounting.losses.subsampled_gaussian import PoissonReplace

DELTA, ROUNDS, RATE = 2.92e-7, 200, 2.36e-7


def upper(sigma: float) -> float:
    return bracket_epsilon([(PoissonReplace(sigma, RATE), ROUNDS)], DELTA).upper


@pytest.mark.parametrize("second", [0.4502, 0.3])
def test_upper_ends_near_by_and_far_away_are_those_of_a_fresh_start(second: float) -> None:
    with with_relative_width(1e-4):
        fresh = bracket_epsilon([(PoissonReplace(second, RATE), ROUNDS)], DELTA)
    with searching() as search, with_relative_width(1e-4):
        upper(0.45)
        assert search.passes
        found = upper(second)
    assert fresh.lower <= found <= fresh.upper * (1 + 2e-3)


def test_near_by_one_pass_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    convolved = lattice_sum.convolved

    def counted(*arguments: object, **options: object) -> object:
        passes.append(arguments[3])  # type: ignore[arg-type]
        return convolved(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(lattice_sum, "convolved", counted)
    with searching(), with_relative_width(1e-4):
        upper(0.45)
        first = len(passes)
        upper(0.4501)
        assert len(passes) == first + 1 > 2
        assert passes[-1] == passes[first - 1]
        upper(0.3)  # not near by: one pass for nothing, then as at first
        assert len(passes) > first + 2


def test_what_is_remembered_is_of_the_search_and_the_kind_of_sum() -> None:
    total = LossSum(((PoissonReplace(1.0, 1e-3), 10),))
    query = EpsilonAt(1e-6, 1e-4)
    kept = LastPass(2.0, 0.1, 4.0, 3000, 1e-4)
    remember(total, kept)
    assert last_pass(total, query) is None
    with searching():
        assert last_pass(total, query) is None
        remember(total, kept)
        assert last_pass(total, query) is kept
        assert last_pass(total, EpsilonAt(1e-6, 0.05)) is None
        assert last_pass(total, DeltaAt(1.0, 1e-4)) is None
        two = LossSum((*total.parts, (PoissonReplace(2.0, 1e-3), 1)))
        assert last_pass(two, query) is None
    assert kept.upper_limit == pytest.approx(2.1)
    assert kept.beginning(query) == (0.1, 4.0, 3000, True)
    assert kept.beginning(EpsilonAt(1e-6, 1e-6)) == (0.1, 4.0, 2**11, False)
