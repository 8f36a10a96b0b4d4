"""Errors of numbers to predict are of clipped labels, and the output says so."""

from __future__ import annotations

import json

import numpy as np
import pytest

CLIPPED = (
    "Errors are of labels clipped to their public range, not of labels as they are in the file"
)
LINE = ("run", "dp-admm", "--loss", "huber", "--epsilon", "50", "--delta", "1e-6", "--label", "h")


def _table(folder, suffix):
    """A height of 150 to 200 by x; 60 rows, of which those with x above 0.5 are above 175."""
    import pandas as pd

    x = np.arange(60) / 59
    frame = pd.DataFrame({"x": x, "h": 150 + 50 * x})
    path = folder / f"heights.{suffix}"
    if suffix == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return path


@pytest.mark.parametrize(("suffix", "more"), [("csv", ()), ("parquet", ("--memory", "1GB"))])
def test_errors_of_clipped_labels_say_so_with_their_number(run, tmp_path, suffix, more):
    """With h in 150..175 half of the labels are 175: the error says nothing of 180 or 200."""
    path = _table(tmp_path, suffix)
    line = (*LINE, "--seed", "3", "--data", path, "--scale", "x=0:1", *more, "--scale")
    (note,) = _notes(run, *line, "h=150:175")
    held_out = np.random.default_rng(3).permutation(60)[48:]
    outside = int((150 + 50 * held_out / 59 > 175).sum())
    assert 0 < outside < 12
    assert note == f"{CLIPPED}: {outside} of 12 held-out labels lie outside it."
    assert CLIPPED in " ".join(run(*line, "h=150:175")[1].split())
    (note,) = _notes(run, *line, "h=150:200")
    assert note == f"{CLIPPED}: 0 of 12 held-out labels lie outside it."
    (note,) = _notes(run, *line, "h=150:175", "--held-out", "0")
    assert note == f"{CLIPPED}."


def _notes(run, *line):
    status, out, err = run(*line, "--json")
    assert status == 0, err
    return [note for note in json.loads(out)["notes"] if note.startswith("Errors are of labels")]
