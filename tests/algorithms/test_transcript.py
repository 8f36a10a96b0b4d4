"""Transcripts and series on their own."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.errors import InvalidInput
from dpcalc.transcript import Series, Transcript, read_only
from dpcalc.vocabulary import Release


def series(values, axes=("runs", "rounds")):
    return Series(values=np.asarray(values), axes=axes, meaning="numbers")


def transcript(**changes):
    parts = {
        "algorithm": "a",
        "release": Release.EVERY_ITERATE,
        "rounds": 2,
        "released": {
            "x": series([[1.0, np.nextafter(0.1, 1)], [-0.0, np.inf]]),
            "k": series([[1, 2], [3, 4]]),
        },
        "diagnostics": {"gap": series([[np.nan, 1.0], [0.5, 0.25]])},
    }
    return Transcript(**(parts | changes))


def test_every_bit_and_type_survives_a_file(tmp_path):
    made = transcript()
    made.save(tmp_path / "name without suffix")
    again = Transcript.load(tmp_path / "name without suffix")
    assert again == made
    assert again["k"].dtype == made["k"].dtype
    assert np.signbit(again["x"][1, 0])
    assert not list(tmp_path.glob("*.partial"))


def test_a_difference_in_one_bit_or_one_word_is_a_difference():
    made = transcript()
    other = np.array(made["x"])
    other[0, 0] = np.nextafter(1.0, 2)
    assert made != transcript(released={"x": series(other), "k": made.released["k"]})
    assert series([[1.0]]) != Series(values=np.ones((1, 1)), axes=("runs", "rounds"), meaning="-")
    assert series([[1.0]]) != series([[1]])
    assert (series([[1.0]]) == 1) is False


def test_nobody_can_write_through_the_array_that_was_given():
    values = np.zeros((2, 2))
    kept = series(values)
    values[:] = 1
    assert (kept.values == 0).all()
    frozen = read_only(values)
    assert read_only(frozen) is frozen
    with pytest.raises(TypeError):
        transcript().released["y"] = kept


def test_runs_can_be_selected_and_the_last_round_taken():
    made = transcript()
    assert made.select(slice(1, 2))["k"].tolist() == [[3, 4]]
    assert made.select(slice(1, 2)).runs == 1
    assert made.released["k"].last_round().values.tolist() == [2, 4]
    assert made.released["k"].last_round().axes == ("runs",)
    once = Series(values=np.ones((2, 3)), axes=("runs", "features"), meaning="-")
    assert once.last_round() is once


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: series([1.0]), "axis"),
        (lambda: series([[1.0]], ("rounds", "runs")), "runs first"),
        (lambda: series([["a"]]), "numbers"),
        (lambda: transcript(released={}), "at least one"),
        (lambda: transcript(released={"x": series([[1.0, 2.0]])}), "number of runs"),
        (lambda: transcript(diagnostics={"x": series([[1.0]] * 2)}), "either released"),
        (lambda: transcript()["z"], "released array"),
        (lambda: transcript()["gap"], "released array"),
        (lambda: transcript().diagnostic("x"), "diagnostic"),
    ],
)
def test_what_is_no_transcript_is_refused(make, word):
    with pytest.raises(InvalidInput, match=word):
        make()


def test_an_unknown_release_is_refused():
    with pytest.raises(ValueError, match="not a valid Release"):
        transcript(release="everything")


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "f.npz"
    with pytest.raises(InvalidInput, match="written by dpcalc"):
        Transcript.load(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(InvalidInput, match="written by dpcalc"):
        Transcript.load(path)
    np.savez(path, x=np.ones(3))
    with pytest.raises(InvalidInput, match="written by dpcalc"):
        Transcript.load(path)
    np.savez(path, header=np.array('{"format": 99}'))
    with pytest.raises(InvalidInput, match="layout 2"):
        Transcript.load(path)
    np.savez(path, header=np.array([{"format": 1}], dtype=object))
    with pytest.raises(InvalidInput, match="written by dpcalc"):
        Transcript.load(path)
