"""Mechanisms that other libraries ship: each file in the folder, skipped where a library is missing.

A sound mechanism is refuted by chance at most once in twenty audits; in the short profile at most
once in a million, since what fails there must mean something.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from scipy import stats

from dpcalc.auditing import Outcome, audit
from dpcalc.auditing.verdict import Verdict
from dpcalc.audits.suite.libraries import shipped, shipped_keys
from dpcalc.errors import InvalidInput, MissingExtra

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
"""Libraries run beside newer ones than they were written for; nobody but they can act on it."""

KEYS = shipped_keys()
SOUND = [key for key in KEYS if not shipped(key).refuted]
FALSE = [key for key in KEYS if shipped(key).refuted]
SEEDS = 200


def _audited(key: str, *, runs: int, seed: int, alpha: float) -> Verdict:
    try:
        target, claim = shipped(key)()
    except MissingExtra as error:
        pytest.skip(str(error))
    return audit(target, claim, runs=runs, seed=seed, alpha=alpha, controls=False)


def test_every_file_in_the_folder_is_found() -> None:
    folder = Path(__file__).parents[2] / "audits" / "libraries"
    assert set(KEYS) == {p.stem for p in folder.glob("*.py")} - {"__init__"}
    with pytest.raises(InvalidInput, match="diffprivlib_laplace"):
        shipped("difprivlib_laplace")


@pytest.mark.parametrize("key", KEYS)
def test_what_is_said_of_a_file(key: str) -> None:
    found = shipped(key)
    assert found.title
    assert found.modules
    assert not found.thread or re.fullmatch(
        r"https://github\.com/\S+/(issues|pull)/\d+", found.thread
    )
    assert found.refuted or not found.thread


def test_a_library_that_does_not_load_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffprivlib", None)
    with pytest.raises(MissingExtra, match=r"diffprivlib, which is not installed.*libraries"):
        shipped("diffprivlib_laplace")()


def test_a_library_that_is_there_but_broken_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "diffprivlib.py").write_text("from math import nothing_of_that_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "diffprivlib", raising=False)
    with pytest.raises(MissingExtra, match=r"does not load .*nothing_of_that_name"):
        shipped("diffprivlib_laplace")()


@pytest.mark.parametrize("key", SOUND)
def test_sound_mechanism_is_not_accused(key: str) -> None:
    runs = min(500, shipped(key).runs // 4)
    verdict = _audited(key, runs=runs, seed=5, alpha=1e-6)
    assert verdict.outcome in (Outcome.NOT_REFUTED, Outcome.UNDERPOWERED)
    assert verdict.runs >= runs


@pytest.mark.parametrize("key", FALSE)
def test_false_claim_is_refuted(key: str) -> None:
    verdict = _audited(key, runs=shipped(key).runs, seed=5, alpha=1e-6)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.epsilon_lower > verdict.claim.epsilon


@pytest.mark.campaign
@pytest.mark.parametrize("key", SOUND)
def test_alarms_on_sound_mechanisms_keep_the_stated_rate(key: str) -> None:
    """Fails by chance less than once in ten thousand if every audit has α = 0.05."""
    outcomes = [_audited(key, runs=500, seed=s, alpha=0.05).outcome for s in range(SEEDS)]
    alarms = sum(outcome is Outcome.REFUTED for outcome in outcomes)
    assert stats.binom.sf(alarms - 1, SEEDS, 0.05) > 1e-4, f"{alarms} alarms in {SEEDS} audits"
