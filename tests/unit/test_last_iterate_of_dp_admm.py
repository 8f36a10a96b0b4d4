"""DP-ADMM's release: what holds and what fails for every iterate and for (x_T, y_T) alone."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP
from dpcalc.report.records import budget
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.vocabulary import Release
from tests.oracles.printed_dual import last_iterate_mu

KIND = privacy_result("dp-admm")
GIVEN = {"n_records": 100, "rounds": 20, "gradient_bound": 1, "adjacency": "add-remove"}


def _theorem(epsilon: float = 1.0, **changes: Any) -> Any:
    return KIND.from_parameters({**GIVEN, "sigma": 1, **changes}).prescribed(epsilon, 1e-3)


@pytest.mark.parametrize("rounds", [2, 20, 100])
def test_small_steps_show_the_printed_dual_through_any_noise(rounds: int) -> None:
    """The law of (x_T, y_T) for g = (k/2)y², k = T, gets as far apart as one likes."""
    theorem = _theorem(rounds=rounds, release="last-iterate")
    given = {"gap": 0.01, "sigma": theorem.sigma, "rounds": rounds, "curvature": rounds}
    mus = [last_iterate_mu(**given, step=s, from_data=True) for s in (1e-4, 1e-6, 1e-8)]
    assert mus[1] > 50 * mus[0]
    assert mus[2] > 50 * mus[1]
    assert GDP(float(mus[2])).delta(100.0) > 0.999
    assert theorem.attained().numbers["mu"] == math.inf
    assert budget(theorem, 1e-3)["verdict"] == "REFUTED"


@pytest.mark.parametrize("rounds", [1, 7, 100])
def test_without_a_regulariser_the_last_iterate_shows_as_much_as_the_transcript(
    rounds: int,
) -> None:
    theorem = _theorem(rounds=rounds, release="last-iterate", dual_start="zero")
    truth = last_iterate_mu(
        gap=0.01, sigma=theorem.sigma, rounds=rounds, curvature=0, step=0.1, from_data=False
    )
    assert theorem.attained().numbers["mu"] == pytest.approx(float(truth), rel=1e-13)
    assert theorem.certified().numbers["mu"] == pytest.approx(float(truth), rel=1e-13)


def test_the_certified_transcript_covers_its_end() -> None:
    for start in ("zero", "noised"):
        whole, last = (
            _theorem(dual_start=start, release=r).certified().numbers["mu"]
            for r in ("every-iterate", "last-iterate")
        )
        assert last == whole
        assert _theorem(dual_start=start, release="last-iterate").attained().numbers["mu"] <= last


@pytest.mark.parametrize(
    ("adjacency", "epsilon", "verdict"),
    [("replace-one", 0.1, "UNSUPPORTED"), ("replace-one", 0.5, "REFUTED"),
     ("add-remove", 0.5, "UNSUPPORTED")],
)  # fmt: skip
def test_with_the_papers_regulariser_little_is_known_of_the_printed_dual(
    adjacency: str, epsilon: float, verdict: str
) -> None:
    more = {"release": "last iterate", "regularizer": "l1", "adjacency": adjacency}
    record = budget(_theorem(epsilon, **more), 1e-3)
    assert record["verdict"] == verdict
    assert record["certified"]["epsilon"] == math.inf
    assert record["release"] == "last iterate"
    first = budget(_theorem(epsilon, **more, rounds=1), 1e-3)
    assert first["verdict"] == "REFUTED"


def test_the_release_is_said_in_either_spelling_and_no_other_is_known() -> None:
    for spelling in ("last-iterate", "last iterate", Release.LAST_ITERATE):
        assert _theorem(release=spelling).release is Release.LAST_ITERATE
    assert _theorem().release is Release.EVERY_ITERATE
    with pytest.raises(InvalidInput, match="did you mean 'every-iterate'"):
        _theorem(release="every message")
