"""Estimators that jax_privacy's auditing has as well, at the same counts; skips where it is missing.

To run: an environment with ``pip install jax-privacy pytest`` and dpcalc.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcalc.auditing import Counts
from dpcalc.auditing.estimators import accuracy, clopper_pearson, one_run, one_run_curve
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.gaussian import gaussian_pair

ALPHA = 0.05


@pytest.fixture(scope="module")
def peer() -> Any:
    return pytest.importorskip("jax_privacy.auditing", exc_type=ImportError)


def scores(tp: int, fn: int, fp: int, tn: int) -> tuple[np.ndarray, np.ndarray]:
    """One per run: above the threshold of one half, or below it."""
    return np.repeat([1.0, 0.0], [tp, fn]), np.repeat([1.0, 0.0], [fp, tn])


CELLS = [(250, 250, 5, 495), (500, 0, 0, 500), (1000, 4000, 0, 5000), (60, 40, 30, 70)]


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-2])
def test_clopper_pearson(peer: Any, cells: tuple[int, int, int, int], delta: float) -> None:
    theirs = peer.CanaryScoreAuditor(*scores(*cells)).epsilon_clopper_pearson(
        ALPHA, delta, one_sided=False, threshold_strategy=peer.Explicit(0.5)
    )
    ours = clopper_pearson.epsilon_lower(Counts.of(*cells), delta=delta, alpha=ALPHA)
    assert float(ours) == pytest.approx(theirs, rel=1e-9, abs=1e-12)


GUESSES = [(1000, 100, 100), (1000, 100, 80), (1000, 1000, 650), (500, 60, 33), (200, 200, 190)]


@pytest.mark.parametrize(("canaries", "guessed", "correct"), GUESSES)
@pytest.mark.parametrize("delta", [1e-5, 1e-3])
def test_one_run(peer: Any, canaries: int, guessed: int, correct: int, delta: float) -> None:
    """Theirs guesses IN only, which changes nothing in the formula."""
    guesses = Guesses(canaries=canaries, guessed=guessed, correct=correct)
    for epsilon in (0.1, 1.0, 3.0):
        theirs = peer._one_run_p_value(canaries, guessed, correct, epsilon, delta)
        ours = one_run.p_value(guesses, np.array(epsilon), delta)
        assert float(ours) == pytest.approx(theirs, rel=1e-9)
    theirs = peer._epsilon_one_run(0, canaries, guessed, correct, ALPHA, delta)
    ours = one_run.epsilon_lower(guesses, delta=delta, alpha=ALPHA)
    assert ours <= theirs + 1e-5  # theirs takes p for monotone; ours is the first accepted ε
    assert ours == pytest.approx(theirs, abs=1e-4)


@pytest.mark.parametrize(("canaries", "guessed", "correct"), GUESSES)
def test_one_run_of_a_curve(peer: Any, canaries: int, guessed: int, correct: int) -> None:
    guesses = Guesses(canaries=canaries, guessed=guessed, correct=correct)
    theirs = peer._epsilon_one_run_fdp(0, canaries, guessed, correct, ALPHA, 1e-5)
    mu = one_run_curve.mu_lower(guesses, alpha=ALPHA)
    assert float(gaussian_pair.epsilon_of(mu, 1e-5)) == pytest.approx(theirs, abs=2e-4)


def test_a_gaussian_curve_from_one_threshold(peer: Any) -> None:
    """Theirs corrects for every threshold of the scores; with two scores there are three."""
    cells = (250, 250, 5, 495)
    found = peer.CanaryScoreAuditor(*scores(*cells))
    thresholds = len(found._fn_counts)
    theirs = found.epsilon_from_gdp(ALPHA, 1e-5)
    mu = clopper_pearson.mu_lower(Counts.of(*cells), alpha=ALPHA / thresholds)
    assert float(gaussian_pair.epsilon_of(mu, 1e-5)) == pytest.approx(theirs, abs=1e-4)


def test_scores_that_say_nothing(peer: Any) -> None:
    """Version 2.0.0 takes the absolute value of a difference of confidence limits: a large ε."""
    generator = np.random.default_rng(3)
    inside, outside = generator.normal(size=(2, 200))
    theirs = peer.CanaryScoreAuditor(inside, outside).epsilon_from_gdp(ALPHA, 1e-5)
    right = int((inside > 0).sum() + (outside <= 0).sum())
    ours = gaussian_pair.epsilon_of(accuracy.mu_lower(right, 400, alpha=ALPHA), 1e-5)
    assert ours == 0
    assert theirs == 0 or theirs > 2
