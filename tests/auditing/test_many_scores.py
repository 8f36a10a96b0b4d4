"""Scores that are read in blocks: roles of the right sizes and law, verdicts as from memory."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcalc.auditing import Claim, many_scores, read_scores, recorded, recorded_scores
from dpcalc.auditing.estimators.rules import Rule
from dpcalc.auditing.many_scores import ManyScores, Role
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 64 and a pilot of 500, so that a thousand scores are many."""
    monkeypatch.setattr(many_scores, "_BLOCK", 64)
    monkeypatch.setattr(many_scores, "PILOT", 500)
    monkeypatch.setattr(recorded_scores, "MANY", 1000)


def roles_of(many: ManyScores, kind: int) -> dict[Role, list[float]]:
    return {role: [float(s) for block in many._of(kind, role) for s in block] for role in Role}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("coins", [{}, {"fair_coins": True}, {"game": False}], ids=str)
def test_every_score_has_one_role_and_the_numbers_were_settled_before(coins: Any) -> None:
    kinds = np.arange(1000.0), 5000 + np.arange(1300.0)
    terms = {"game": True, "fair_coins": False} | coins
    many = many_scores.many_scores(*kinds, pilot_share=0.2, seed=3, **terms)
    counted = 0
    for kind in (0, 1):
        found = roles_of(many, kind)
        assert sorted(s for scores in found.values() for s in scores) == kinds[kind].tolist()
        assert {role: len(scores) for role, scores in found.items()} == many.roles[kind]
        assert roles_of(many, kind) == found  # the second pass sees what the first did
        counted += many.roles[kind][Role.COUNTED]
    answered = many.answers(Rule.at(math.inf))
    assert answered.runs == counted + many.missing
    assert int(answered.right) == many.roles[1][Role.COUNTED]


@pytest.mark.usefixtures("small")
def test_roles_know_nothing_of_places() -> None:
    """Each of 300 scores is in the pilot equally often, in 400 draws.

    The largest of 300 binomial counts is off by 5 standard deviations with probability 2e-4.
    """
    kinds = np.arange(300.0), np.arange(300.0)
    times = np.zeros(300)
    for seed in range(400):
        many = many_scores.many_scores(*kinds, pilot_share=0.2, seed=seed, game=True)
        times[np.array(roles_of(many, 0)[Role.PILOT], int)] += 1
    share = 60 / 300
    assert abs(times - 400 * share).max() < 5 * math.sqrt(400 * share * (1 - share))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("uneven", [False, True])
def test_verdicts_are_those_of_memory_up_to_the_draw(
    sign: int, uneven: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorted scores, large or small ones for IN: both refute, and their bounds are close."""
    draw = np.random.default_rng(1)
    first = np.sort(sign * draw.normal(2.0, size=1500 if uneven else 4000))
    second = np.sort(sign * draw.normal(0.0, size=4000))
    claim = Claim.of(epsilon=1.0, delta=1e-5, adjacency="add-remove")
    found = recorded.audit_scores(claim, first, second, seed=5)
    monkeypatch.setattr(recorded_scores, "MANY", 10**9)
    whole = recorded.audit_scores(claim, first, second, seed=5)
    assert found.outcome == whole.outcome
    assert found.outcome.value == "REFUTED"
    bounds = [max(e.lower for e in v.evidence if e.gates) for v in (found, whole)]
    assert bounds[0] == pytest.approx(bounds[1], rel=0.25)


@pytest.mark.usefixtures("small")
def test_true_claims_are_refuted_as_rarely_as_said() -> None:
    """At α = 0.2 in 60 draws of equal laws, more than 24 alarms have probability 2e-4."""
    claim = Claim.of(epsilon=0.0, delta=0.0, adjacency="add-remove")
    draw, alarms = np.random.default_rng(7), 0
    for seed in range(60):
        first, second = draw.normal(size=(2, 700))
        found = recorded.audit_scores(claim, first, second, seed=seed, alpha=0.2)
        alarms += found.outcome.value == "REFUTED"
    assert alarms <= 24


def test_arrays_in_files_are_read_where_they_lie(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = np.random.default_rng(1)
    names = [str(tmp_path / f"{name}.npy") for name in ("in", "out")]
    for name, mean in zip(names, (2.0, 0.0), strict=True):
        np.save(name, draw.normal(mean, size=600).astype(np.float32))
    scores = read_scores(names[0])
    assert isinstance(scores, np.memmap)
    words = ["audit", "--scores", *names, "--claim", "eps=1,delta=1e-5"]
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--adjacency", "add-remove"])
    assert stopped.value.code == 1
    assert "REFUTED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (np.array([1.0, np.nan]), "number 2 of"),
        (np.ones((3, 2)), "shape (runs,)"),
        (np.arange(4), "floating-point"),
        (np.array([{}], dtype=object), "expected a NumPy array"),
        (b"no array", "expected a NumPy array"),
    ],
    ids=str,
)
def test_arrays_that_are_no_scores_are_refused(tmp_path: Path, content: Any, said: str) -> None:
    path = tmp_path / "scores.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content, allow_pickle=True)
    with pytest.raises(InvalidInput) as refused:
        read_scores(path)
    assert said in str(refused.value)
