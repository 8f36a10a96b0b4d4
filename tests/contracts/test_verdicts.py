"""The word on an instance follows from its numbers, for every result there is."""

from __future__ import annotations

import contextlib
import math
import os
from collections import Counter
from collections.abc import Iterator
from itertools import islice

import pytest

from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.claims.verdict import Claim, judge
from dpcalc.errors import AssumptionViolated, Infeasible
from dpcalc.report.rates import comparison
from dpcalc.report.records import budget
from dpcalc.theorems.base import Scope, Theorem
from dpcalc.theorems.catalogue import keys, privacy_result
from dpcalc.vocabulary import Status
from tests.contracts.instances import drawn

LONG = os.environ.get("DPCALC_HYPOTHESIS") == "long"
DELTA = 1e-3
"""Every claim of a δ-dependent formula is made here, and other formulas are converted."""


def the_rule(claimed: float, certified: float, attained: float | None) -> str:
    """What README says, written a second time."""
    if attained is not None and attained > claimed:
        return "REFUTED"
    if certified <= claimed:
        tight = math.isinf(claimed) or claimed <= 1.01 * certified
        return "HOLDS" if tight else "LOOSE"
    return "UNSUPPORTED"


def _with_all_promises(instance: Theorem) -> Theorem:
    return instance.replace(attest=[a.key for a in instance.assumptions if a.promised])


def _privacy_instances(key: str) -> Iterator[Theorem]:
    """Random instances within their assumptions, with the noise drawn and with the paper's for 0.5."""
    within = (
        i
        for i in drawn(key, 100)
        if isinstance(i, Theorem)
        and not i.violations(Scope.CERTIFIED)
        and not i.violations(Scope.CLAIMED)
    )
    few = 2 if privacy_result(key).status is Status.FALSE_SOMEWHERE else 1
    for instance in islice(within, 4 if LONG else few):
        yield instance
        with contextlib.suppress(Infeasible):
            yield instance.prescribed(0.5, DELTA)


@pytest.mark.parametrize("key", keys(privacy=True))
def test_the_word_on_a_privacy_claim_is_the_rule_on_its_numbers(key: str) -> None:
    """Whatever the width of an enclosure: with wide ones there are as many words and they come sooner."""
    seen: Counter[str] = Counter()
    with with_relative_width(1e-2):
        seen.update(_words(key))
    assert seen, "no instance was judged"
    if privacy_result(key).status is Status.FALSE_SOMEWHERE:
        assert "REFUTED" in seen, "no instance exceeds a statement that is called false"
    else:
        assert set(seen) <= {"HOLDS", "LOOSE"}, "the statement is called proved"


def _words(key: str) -> Iterator[str]:
    for instance in _privacy_instances(key):
        judged = judge(Claim("claim", _with_all_promises(instance), None, DELTA))
        assert judged.claimed is not None
        word = the_rule(judged.claimed, judged.certified, judged.attained)
        assert judged.verdict == word, instance
        record = budget(instance, DELTA)
        assert record["verdict"] == word, instance
        assert record["certified"]["epsilon"] == judged.certified
        assert bool(record["provided"]) == (word != "REFUTED")
        yield word


@pytest.mark.parametrize("key", keys(privacy=False))
def test_the_word_on_a_rate_is_the_rule_on_its_numbers(key: str) -> None:
    seen = 0
    for instance in drawn(key, 10):
        record = comparison(instance)  # type: ignore[arg-type] # a result without privacy content
        try:
            claimed = instance.claimed().value  # type: ignore[attr-defined] # the same
        except AssumptionViolated:
            assert record["verdict"] is None
            continue
        attained = instance.attained()  # type: ignore[attr-defined] # the same
        word = the_rule(
            claimed,
            instance.certified().value,  # type: ignore[attr-defined] # the same
            None if attained is None else attained.value,
        )
        assert record["verdict"] == word, instance
        assert (word == "REFUTED") <= (record["provided"] == [])
        seen += 1
    assert seen, "no instance was judged"


@pytest.mark.parametrize("rounds", [1, 100])
def test_a_wrong_proof_of_a_true_number_is_not_called_refuted(rounds: int) -> None:
    """Replace-one from a zero dual: the printed proof uses half the sensitivity, and ε = 0.1 holds."""
    kind = privacy_result("dp-admm")
    draft = kind.from_parameters(
        {"n_records": 32561, "rounds": rounds, "gradient_bound": 3.7417, "sigma": 1,
         "adjacency": "replace-one", "dual_start": "zero"}
    )  # fmt: skip
    small, large = draft.prescribed(0.1, 1e-3), draft.prescribed(0.5, 1e-3)
    for instance, word in ((small, "LOOSE"), (large, "REFUTED")):
        record = budget(instance, 1e-3)
        assert record["verdict"] == word
        assert "the printed proof fails here" in {f["bearing"] for f in record["findings"]}
