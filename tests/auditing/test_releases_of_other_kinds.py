"""Leaks beside the values of real numbers: parts of complex ones, signs of zeros, names, shapes, types."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcalc.auditing import AuditDesign, Claim, audit, mechanism
from dpcalc.auditing.targets.target import features
from dpcalc.errors import InvalidInput

CLAIM = Claim.of(epsilon=1, adjacency="add-remove")


def verdict(release):
    target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="mine")
    return audit(target, CLAIM, seed=1, controls=False)


def zeros(x, g, n):
    return np.where(g.random(n) < 0.3, -0.0 if x else 0.0, g.laplace(size=n))


@pytest.mark.parametrize("leak", [lambda x, g, n: g.laplace(size=n) + 1j * x, zeros])
def test_what_real_values_do_not_show_is_found(leak):
    assert verdict(leak).outcome == "REFUTED"


@pytest.mark.parametrize(
    "sound",
    [
        lambda x, g, n: x + g.laplace(size=n) + 0j,
        lambda x, g, n: np.round(x + g.laplace(size=n)),  # -0.0 where it was below zero
    ],
)
def test_sound_twins_keep_their_claim(sound):
    assert verdict(sound).outcome == "NOT REFUTED"


def test_every_part_is_a_number_of_its_own():
    assert features(np.array([1 + 2j, 3.0])).tolist() == [[1, 2], [3, 0]]
    below, above = features(np.array([-0.0, 0.0]))[:, 0]
    assert -1e-300 < below < above == 0


@pytest.mark.parametrize(
    ("leak", "got"),
    [
        (lambda x, g, n: {"ab"[int(x)]: g.laplace(size=n)}, r"b of shape \(\) .* and a of shape"),
        (lambda x, g, n: g.laplace(size=(n, 2 + int(x))), r"shape \(3,\) .* shape \(2,\)"),
        (lambda x, g, n: g.laplace(size=n).astype("f8" if x else "f4"), "float64 and .* float32"),
    ],
    ids=["name", "shape", "type"],
)
def test_worlds_that_differ_before_any_value_are_refused(leak, got):
    with pytest.raises(InvalidInput, match=rf"with the record and without .* 'mine'; got .*{got}"):
        verdict(leak)


def test_words_are_to_be_given_as_numbers():
    with pytest.raises(
        InvalidInput, match=r"'mine'.*give words and other objects numbers of their own"
    ):
        verdict(lambda x, g, n: np.where(g.random(n) < 0.5, "yes", "no"))


@pytest.mark.parametrize("seed", range(6))
def test_a_number_of_values_that_changes_between_batches_is_refused(seed):
    """Wherever the first wide batch is: in a check, the pilot or the counted runs."""

    def release(x, g, n):
        return g.laplace(size=(n, 2 if x and g.random() < 0.25 else 1))

    target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="mine")
    # Several batches; some have two numbers with a chance above 1 - 1e-6.
    design = replace(AuditDesign.for_claim(target, CLAIM, runs=2000), batch=40)
    with pytest.raises(InvalidInput, match=r"'mine'.*(in another, which|, which) may give .* away"):
        audit(target, CLAIM, seed=seed, design=design, controls=False)
