"""Batches and pilots that fit into memory."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcalc.auditing import AuditDesign, Claim, audit, mechanism
from dpcalc.auditing.learning.linear import _discriminant, linear_score
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput

CLAIM = Claim.of(epsilon=1.0, delta=1e-5, adjacency="add-remove")
NUMBERS = 5000


def wide(made: list[int], score: Any = None) -> Any:
    """A release of many numbers: 40 kB a run."""

    def release(data: float, generator: np.random.Generator, runs: int) -> Any:
        made.append(runs)
        return data + generator.laplace(size=(runs, NUMBERS))

    return mechanism(release, 1.0, 0.0, adjacency="add-remove", name="wide", score=score)


def first(outputs: Any) -> Any:
    return outputs[:, 0]


def test_batches_and_a_learnt_pilot_follow_the_memory() -> None:
    target = wide([])
    assert AuditDesign.for_claim(target, CLAIM, runs=3000).batch == 1000
    small = AuditDesign.for_claim(target, CLAIM, runs=3000, memory=100 * 4 * 8 * NUMBERS)
    assert (small.batch, small.pilot) == (100, 50)
    scored = AuditDesign.for_claim(wide([], first), CLAIM, runs=3000, memory=16e6)
    assert (scored.batch, scored.pilot) == (100, 1500)


def test_learning_from_many_numbers_takes_the_memory_of_the_runs_not_its_square() -> None:
    """With 2,000 numbers the scatter of all and their distances would take 128 MB, eighty times."""
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(0.1, size=(50, 2000)), rng.normal(size=(50, 2000))
    tracemalloc.start()
    score = linear_score(inside, outside)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * (inside.nbytes + outside.nbytes)
    assert score(inside).min() > score(outside).max()


def test_few_runs_of_many_numbers_teach_what_the_scatter_says() -> None:
    rng = np.random.default_rng(1)
    inside, outside = rng.normal(1, size=(4, 9)), rng.normal(size=(4, 9))
    weights, middle = _discriminant(inside, outside, 0.3)
    away = np.concatenate([inside - inside.mean(axis=0), outside - outside.mean(axis=0)])
    scatter = away.T @ away / 8 + 0.3 * np.eye(9)
    np.testing.assert_allclose(scatter @ weights, inside.mean(axis=0) - outside.mean(axis=0))
    np.testing.assert_allclose(middle, (inside.mean(axis=0) + outside.mean(axis=0)) / 2)


def test_no_batch_of_an_audit_is_larger() -> None:
    made: list[int] = []
    design = AuditDesign.for_claim(wide(made, first), CLAIM, runs=400, memory=8e6)
    assert design.batch == 50
    audit(wide(made, first), CLAIM, design=design, seed=1, controls=False)
    assert sum(made) > 400
    assert max(made) <= 50


def test_too_little_is_refused_with_what_would_do() -> None:
    with pytest.raises(InvalidInput, match=r"expected memory for 40 runs of 'wide', 6.4 MB"):
        AuditDesign.for_claim(wide([]), CLAIM, memory=1e6)


@pytest.mark.parametrize("given", ["2", "GB", "-1GB", "0MB", "2 XB", "1e9"])
def test_a_size_has_its_unit(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["audit", "dp-admm", "--memory", given])
    assert stopped.value.code == 2
    assert "a size with its unit, such as 2GB" in capsys.readouterr().err


def test_claims_and_sweeps_are_attacked_within_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("networkx", reason="the extra algorithms is not installed")
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(
        'audit = "dp-admm"\ncase = "zero-start"\nruns = 40\nseed = 1\nmemory = ["1KB", "1GB"]\n'
    )
    Path("claims.toml").write_text(
        '[[claim]]\nname = "mine"\ntheorem = "dp-admm"\nepsilon = 1\ndelta = 1e-5\nattest = "all"\n'
        '[claim.parameters]\nn_records = 100\nrounds = 5\ngradient_bound = 1\ndual_start = "zero"\n'
    )
    with pytest.raises(SystemExit):
        main(["sweep", "sweep.toml", "--json"])
    small, large = json.loads(capsys.readouterr().out)["rows"]
    assert "memory for 40 runs" in small["refused"]
    assert "lower" in large
    attack = ["verify", "claims.toml", "--audit", "--runs", "40", "--memory"]
    with pytest.raises(SystemExit) as stopped:
        main([*attack, "1KB"])
    assert stopped.value.code == 2
    assert "memory for 40 runs" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main([*attack[:2], *attack[-1:], "1GB"])
    assert stopped.value.code == 2
    assert "--audit" in capsys.readouterr().err
