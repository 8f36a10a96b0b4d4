"""Batches that are laid out alike, scores that doubles hold, inputs whose sizes fit their relation."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.auditing import Claim, Observations, audit, audit_canaries, audit_scores, mechanism
from dpcalc.auditing.many_scores import many_scores
from dpcalc.auditing.scores import read_scores
from dpcalc.errors import InvalidInput

CLAIM = Claim.of(epsilon=1, adjacency="add-remove")
QUICK = {"runs": 200, "seed": 1, "controls": False}
LONG = np.longdouble(1) + np.finfo(np.longdouble).eps
LONGER = pytest.mark.skipif(float(LONG) == LONG, reason="long doubles are doubles here")


def attacked(release, score=None):
    target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="mine", score=score)
    return audit(target, CLAIM, **QUICK)


# ---- every batch


def later(alike, other):
    """A release that looks otherwise in batches of more than 30 runs, all of the pilot's and counted."""
    return lambda x, g, n: (other if n > 30 else alike)(x + g.laplace(size=n))


OTHERWISE = {
    "width": (lambda z: z[:, None], lambda z: np.column_stack([z, z])),
    "type": (lambda z: z, lambda z: np.round(z).astype(np.int32)),
    "names": (lambda z: {"a": z}, lambda z: {"b": z}),
    "ragged": (lambda z: list(z[:, None]), lambda z: [[0.0], *([0.0, 1.0] for _ in z[1:])]),
}


def first_number(released):
    values = next(iter(released.values())) if isinstance(released, dict) else released
    return np.asarray([np.ravel(row)[0] for row in values])


@pytest.mark.parametrize("score", [None, first_number], ids=["learnt", "own"])
@pytest.mark.parametrize("kinds", OTHERWISE.values(), ids=OTHERWISE)
def test_what_looks_otherwise_in_a_later_batch_is_refused(kinds, score):
    with pytest.raises(InvalidInput, match=r"same names, shapes and types .* target 'mine'; got"):
        attacked(later(*kinds), score)


# ---- scores that doubles hold


def bits(x, g, n):
    return (g.random(n) < 0.5).astype(float) + x


NO_DOUBLES = {
    "integers": lambda r: 2**60 + np.asarray(r).astype(np.int64),
    "words": lambda r: np.asarray(r).astype(str),
    "complex": lambda r: np.asarray(r) + 1j,
    "ragged": lambda r: [[1.0], [1.0, 2.0]] * len(r),
    "None": lambda r: [None] * len(r),
    "masked": lambda r: np.ma.masked_array(np.asarray(r), mask=np.asarray(r) > 0),
    "two numbers": lambda r: np.column_stack([r, r]),
}


@pytest.mark.parametrize("score", NO_DOUBLES.values(), ids=NO_DOUBLES)
def test_a_targets_own_score_is_a_double_for_every_run_or_refused(score):
    with pytest.raises(InvalidInput, match=r"target 'mine'.*; got|; got .* target 'mine'"):
        attacked(bits, score)


RECORDED = {
    "integers": [2**60 + 1] * 50,
    "words": ["1.0"] * 50,
    "complex": [1j] * 50,
    "masked": np.ma.masked_array(np.ones(50), mask=np.arange(50) > 3),
    "two numbers": np.ones((50, 2)),
}


@pytest.mark.parametrize("scores", RECORDED.values(), ids=RECORDED)
def test_recorded_scores_are_doubles_or_refused(scores):
    with pytest.raises(InvalidInput, match=r"as scores; got|shape"):
        audit_scores(CLAIM, scores, np.zeros(50), seed=1)
    flags = np.arange(50) % 3 > 0
    terms = {"guess_in": 5, "guess_out": 5, "fair_coins": True, "seed": 1}
    with pytest.raises(InvalidInput, match=r"as scores; got|shape"):
        audit_canaries(CLAIM, flags, scores, **terms)
    with pytest.raises(InvalidInput, match=r"as scores; got|shape"):
        Observations(is_in=flags, score=scores)


@LONGER
def test_long_doubles_in_a_file_are_refused_where_a_double_does_not_hold_them(tmp_path):
    for name, values in (("kept", np.ones(5, np.longdouble)), ("lost", np.full(5, LONG))):
        np.save(tmp_path / f"{name}.npy", values)
    assert list(read_scores(tmp_path / "kept.npy")) == [1.0] * 5
    with pytest.raises(InvalidInput, match=r"lost.npy.*which is no double"):
        read_scores(tmp_path / "lost.npy")


def test_nan_among_very_many_scores_is_refused_and_not_answered_wrongly():
    first, second = np.zeros(100), np.ones(100)
    first[40] = np.nan
    many = many_scores(first, second, pilot_share=0.2, seed=1, game=True)
    with pytest.raises(InvalidInput, match="NaN"):
        many.pilot()


# ---- sizes and relations


def total(data, g, n):
    return np.sum(data) + g.laplace(size=n)


@pytest.mark.parametrize(
    "kind", [np.ones, lambda n: [1.0] * n, lambda n: (np.ones((n, 2)), np.ones(n))]
)
def test_a_record_that_is_left_out_is_no_replaced_one(kind):
    with pytest.raises(
        InvalidInput, match="one size for replace-one from target 'mine'; got 11 and"
    ):
        mechanism(total, kind(11), kind(10), adjacency="replace-one", name="mine")


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (np.ones(10), np.arange(10.0), "the relation is replace-one"),
        (np.ones(10), np.ones(11), "the wrong way round"),
        (np.ones(15), np.ones(10), "only if what differs belongs to one"),
        (np.ones(11), np.ones(10), None),
        (np.ones(1), np.zeros(1), None),
        (np.float64(1), np.float64(0), None),
        ({"a": 1}, {"a": 2, "b": 1}, None),
        ("a word", "another", None),
    ],
)
def test_sizes_that_one_record_does_not_explain_are_told(first, second, said):
    def release(data, g, n):
        return g.laplace(size=n)

    target = mechanism(release, first, second, adjacency="add-remove")
    told = [f.text for f in audit(target, CLAIM, **QUICK).findings if f.check == "neighbours"]
    assert (said is None and not told) or said in told[0]


# ---- what is no batch of named numbers


@pytest.mark.parametrize(
    ("released", "said"),
    [
        (lambda n: {"a": np.zeros(n), 1: np.zeros(n)}, "words as names .*; got 1 of type int"),
        (lambda n: np.array([]), "one release per run from target 'mine', 16 of them; got 0"),
        (lambda n: np.float64(3), "one number for all runs"),
    ],
)
def test_it_is_refused_by_what_it_is(released, said):
    with pytest.raises(InvalidInput, match=said):
        attacked(lambda x, g, n: released(n))
