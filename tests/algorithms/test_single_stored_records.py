"""Methods that take a record a round, from a file that is larger than the memory they are given."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcalc.cli.main import main
from dpcalc.training.catalogue import method
from dpcalc.training.out_of_core import stored_split
from dpcalc.vocabulary import Release


def _rows(count: int, width: int) -> Any:
    rows = np.random.default_rng(0).normal(size=(count, width + 1))
    rows[:, -1] = np.where(rows[:, 0] > 0, 1, -1)
    return rows


@pytest.mark.parametrize("what", ["gradient-admm", "gradient-admm-noisy-oracle --runs 3"])
def test_single_records_have_the_bits_of_memory_with_any_blocks(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Released arrays; what is measured of all records is summed up by blocks."""
    few, released = tmp_path / "few.npy", []
    np.save(few, _rows(200, 20))
    for number, more in enumerate(("", "--memory 100kB", "--memory 1MB")):
        out = tmp_path / f"{number}.npz"
        words = f"run {what} --epsilon 1 --delta 1e-6 --seed 1 --row-bound 6 --data {few} --out {out} {more}"
        with pytest.raises(SystemExit) as stopped:
            main(words.split())
        assert stopped.value.code == 0, capsys.readouterr().err
        released.append(out.read_bytes())
    assert released[0] == released[1] == released[2]


def test_single_records_keep_to_the_memory(tmp_path: Path) -> None:
    """As NumPy counts it: 16 MB of rows within 6 MB, of which 4 MB are randomness drawn ahead."""
    rows = _rows(8000, 250)
    np.save(tmp_path / "rows.npy", rows)
    chosen = method("gradient-admm").from_parameters({})
    with stored_split(str(tmp_path / "rows.npy"), memory=2e6, row_bound=20.0) as data:
        records = data.records(1)
        algorithm = chosen.algorithm(records, None, chosen.theorem(records, None))
        tracemalloc.start()
        try:
            algorithm.run(1, release=Release.LAST_ITERATE)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 6e6 < rows.nbytes / 2
