"""Gaussian noise on samples of a fixed size, stated as a mechanism: the smaller of two bounds."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from dpcalc import GDP, Accountant, compose
from dpcalc.accounting.composition import sampled_blocks
from dpcalc.accounting.composition.chi_square import LimitedProfile
from dpcalc.accounting.composition.sampled_blocks import _next_size, block_size
from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.cli.main import main
from dpcalc.errors import NumericalFailure
from dpcalc.guarantees.attainment import is_attained
from dpcalc.guarantees.mechanisms import gaussian_without_replacement, sampled_without_replacement
from dpcalc.guarantees.sampled_replacement import SampledReplacement, SampledRounds
from dpcalc.interop.dp_accounting import guarantee_of
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.vocabulary import Adjacency

DELTA, ROUNDS = 1e-6, 1000
ONE = gaussian_without_replacement(2, 10, 1000)
RELEASE = {
    "mechanism": "gaussian-without-replacement",
    "noise_multiplier": 2,
    "sample": 10,
    "population": 1000,
}


def test_rounds_stated_alone_cost_what_the_theorem_about_them_says() -> None:
    found = compose((ONE, ROUNDS))
    theorem = privacy_result("private-dual-averaging").from_parameters(
        {
            "n_records": 1000, "batch_size": 10, "rounds": ROUNDS, "lipschitz": 1, "sigma": 0.2,
            "sampling": "random-batch",
        }
    )  # fmt: skip
    assert found.epsilon(DELTA) == pytest.approx(theorem.certified().guarantee.epsilon(DELTA))
    pairs = compose((sampled_without_replacement(1.0, 0.01), ROUNDS))
    assert found.epsilon(DELTA) < 0.9 * pairs.epsilon(DELTA)
    few, many = found.deltas([0.5, 2.0])
    assert (few, many) == pytest.approx((found.delta(0.5), found.delta(2.0)), rel=1e-3)
    assert many < 0.5 * pairs.delta(2.0)


def test_what_is_below_is_attained_by_opposite_records() -> None:
    """The theorem's own instance is enclosed apart."""
    found = compose((ONE, ROUNDS))
    bracket = found.bracket(DELTA)
    assert 2.1 < bracket.lower < bracket.upper < 2.25
    assert is_attained(found)
    assert found.delta_bracket(bracket.lower).upper >= DELTA


def test_a_bound_below_what_is_attained_is_an_error_and_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    louder = compose((gaussian_without_replacement(1, 10, 1000), ROUNDS)).limited.opposite()
    found = compose((ONE, ROUNDS))
    monkeypatch.setattr(SampledReplacement, "opposite", lambda _: louder)
    with pytest.raises(NumericalFailure, match="lower"):
        found.bracket(DELTA)
    with pytest.raises(NumericalFailure, match="lower"):
        found.delta_bracket(2.0)


def test_next_to_another_release_the_pairs_are_composed() -> None:
    together, half = compose((ONE, ROUNDS), GDP(1e-6)), compose((ONE, ROUNDS // 2))
    assert not isinstance(together, SampledRounds)
    assert together.epsilon(DELTA) > 2.5
    assert compose(half, (ONE, ROUNDS // 2)) == compose((ONE, ROUNDS))


def test_a_hurried_enclosure_holds_and_leaves_the_slow_bound_out() -> None:
    found = compose((ONE, ROUNDS))
    with with_relative_width(0.05):
        rough = found.bracket(DELTA)
    assert rough.lower <= found.epsilon(DELTA) < rough.upper


def test_events_and_accountants_say_the_same() -> None:
    from dp_accounting import dp_event

    event = dp_event.SampledWithoutReplacementDpEvent(1000, 10, dp_event.GaussianDpEvent(2))
    read = guarantee_of(dp_event.SelfComposedDpEvent(event, ROUNDS), Adjacency.REPLACE_ONE)
    spent = Accountant(delta=DELTA).spend(RELEASE, ROUNDS)
    assert read.epsilon(DELTA) == spent.epsilon_spent() == compose((ONE, ROUNDS)).epsilon(DELTA)


@pytest.mark.parametrize("rounds", [8, 55, 95, 96, 143, 144, 1000, 7032, 10_369, 10**9])
def test_rounds_are_divided_into_about_fifty_blocks(rounds: int) -> None:
    size = block_size(rounds)
    assert size == 1 if rounds < 96 else 48 <= rounds // size < 72


def test_sizes_of_blocks_follow_one_another() -> None:
    sizes = [1]
    while sizes[-1] < 1000:
        sizes.append(_next_size(sizes[-1]))
    assert sizes[:9] == [1, 2, 3, 4, 6, 8, 12, 16, 24]
    for size, following in itertools.pairwise(sizes):
        assert block_size(48 * following) == following
        assert block_size(48 * following - 1) == size


def test_the_smaller_epsilon_is_certified_without_a_lower_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plan = tmp_path / "out.json", tmp_path / "plan.toml"
    plan.write_text(
        f"""delta = {DELTA}\n[[release]]\nmechanism = "gaussian-without-replacement"
noise_multiplier = 4\nsample = 20\npopulation = 1000\ncount = 200"""
    )
    with pytest.raises(SystemExit) as status:
        main(["compose", str(plan), "--certify", str(out), "--json"])
    assert status.value.code == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["certificate"]["upper"] == "certified"
    assert answer["certificate"]["lower"].endswith("χ²-divergence, and no lower end does")
    upper = json.loads(out.read_text())["upper"]
    assert float(upper["epsilon"]) == answer["certified"]["epsilon"]
    assert upper["evidence"]["both"]["method"] == "chi-square in parts"
    with pytest.raises(SystemExit) as status:
        main(["check", str(out)])
    assert status.value.code == 0


@pytest.mark.parametrize(("mu", "rate", "rounds"), [(1.0, 0.01, 1000), (0.5, 0.05, 400)])
def test_blocks_that_are_divided_in_turn_cost_less_and_no_less_than_is_attained(
    mu: float, rate: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = SampledReplacement(mu, rate, rounds)
    divided, attained = limited.epsilon(DELTA), limited.opposite().bracket(DELTA).lower
    monkeypatch.setattr(sampled_blocks, "_in_parts", _no_bound)
    _forget()
    whole = limited.epsilon(DELTA)
    _forget()
    assert attained < divided < 1.03 * attained
    assert whole > 1.015 * divided


def test_the_noise_of_epochs_is_at_most_what_it_was_when_blocks_were_not_shared() -> None:
    """256 of 60,000 records, thirty passes, (3, 1e-6); 1.7986 then, 1.8039 with shared blocks."""
    found = compose((gaussian_without_replacement(1.7986, 256, 60_000), 7032))
    bracket = found.bracket(DELTA)
    assert 0.96 * bracket.upper < bracket.lower < bracket.upper < 2.85


def _no_bound(*_: float) -> LimitedProfile:
    return LimitedProfile(1.0, np.ones(2))


def _forget() -> None:
    for kept in (sampled_blocks._after, sampled_blocks._block):
        kept.cache_clear()
