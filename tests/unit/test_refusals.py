"""Refusals that say what to try instead, and never print two equal numbers that differ."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from dpcalc.checks import told_apart
from dpcalc.errors import InvalidInput
from dpcalc.theorems.base import Scope
from dpcalc.theorems.catalogue import keys, privacy_result, result
from dpcalc.theorems.parameters import parameters


def _changed(key: str, **changes: Any) -> Any:
    kind = result(key)
    return kind.from_parameters({**kind.example, **changes})


@pytest.mark.parametrize(
    ("key", "changes", "words"),
    [
        ("recycled-admm", {"degree": 0}, "degree needs a whole number, 1 or above; got degree=0; try 1"),
        ("recycled-admm", {"n_records": 0}, "n_records needs a whole number, 1 or above; got n_records=0"),
        ("noisy-gd", {"strong_convexity": 0}, "noisy-cgd with --n-batches 1"),
        ("pnsgd-strongly-convex", {"strong_convexity": 0}, "try pnsgd"),
        ("noisy-cgd-constrained", {"diameter": math.inf}, "try noisy-cgd"),
        ("noisy-sgd-constrained", {"diameter": math.inf}, "try noisy-sgd"),
        ("noisy-sgd-constrained-tradeoff", {"diameter": math.inf}, "try noisy-sgd"),
    ],
)  # fmt: skip
def test_what_another_result_answers_is_sent_there(
    key: str, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(words)):
        _changed(key, **changes)


@pytest.mark.parametrize("key", ["admm-iteration", "admm-iteration-strongly-convex"])
def test_a_pass_that_ends_before_the_run_does_is_not_taken_for_one_use(key: str) -> None:
    """One pass of 3 iterations within a run of 9: the user may well have taken part three times."""
    with pytest.raises(InvalidInput, match=r"pass_length=3 with iterations=9 can mean .* passes=2"):
        _changed(key, iterations=9, pass_length=3)
    once = _changed(key, iterations=9).certified().guarantee
    for length in (9, 10):
        assert _changed(key, iterations=9, pass_length=length).certified().guarantee == once
    often = _changed(key, iterations=3, passes=3, pass_length=3).certified().guarantee
    assert often.epsilon(1e-5) > once.epsilon(1e-5)


def test_the_result_named_for_convex_losses_answers() -> None:
    kind = privacy_result("noisy-gd")
    given = dict(kind.example)
    steps, records = given.pop("steps"), given.pop("n_records")
    del given["strong_convexity"]
    convex = privacy_result("noisy-cgd").from_parameters(
        {**given, "batch_size": records, "n_batches": 1, "passes": steps}
    )
    nearly = _changed("noisy-gd", strong_convexity=1e-9)
    assert convex.certified().guarantee.epsilon(1e-5) == pytest.approx(
        nearly.certified().guarantee.epsilon(1e-5), rel=1e-4
    )


@pytest.mark.parametrize(
    "key", [k for k in keys(privacy=True) if {"step_size", "smoothness"} <= set(parameters(result(k)))]
)  # fmt: skip
def test_a_limit_missed_by_a_digit_is_printed_with_that_digit(key: str) -> None:
    smoothness = 0.2553
    over = math.nextafter(2 / smoothness, math.inf)
    changes = {"smoothness": smoothness, "step_size": over}
    if "strong_convexity" in result(key).example:
        changes["strong_convexity"] = 0.01
    instance = _changed(key, **changes)
    reasons = [*instance.violations(Scope.CLAIMED), *instance.violations(Scope.CERTIFIED)]
    assert any("step_size=" in reason for reason in reasons)
    for reason in reasons:
        shown = re.findall(r"= ?([\d.]+\d)", reason)
        assert len(shown) == len(set(shown)), reason


def test_numbers_are_told_apart_by_as_many_digits_as_it_takes() -> None:
    assert told_apart(1.0, 2.0) == ("1", "2")
    assert told_apart(7.833920094, 7.833920095) == ("7.833920094", "7.833920095")
    assert told_apart(0.5, 0.5) == ("0.5", "0.5")


@pytest.mark.parametrize("changes", [{"loss_weight": 1e6}, {"regularization": 0}])
@pytest.mark.parametrize("key", ["penalty-perturbation", "recycled-admm"])
def test_a_formula_read_beyond_its_conditions_says_so(key: str, changes: dict[str, Any]) -> None:
    def said(instance: Any) -> bool:
        return any("C <= B_i" in finding.text for finding in instance.applicable_findings())

    assert said(_changed(key, **changes))
    assert not said(_changed(key))
