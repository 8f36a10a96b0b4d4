"""Ranges of a sweep on whole numbers: rounded where they say so, refused at once where they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.sweep.carry_out import rows_of
from dpcalc.sweep.grid import Sweep, read_sweep


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "grid.toml"


def sweep_of(text: str, file: Path) -> Sweep:
    file.write_text(text, encoding="utf-8")
    return read_sweep(file)


def test_a_range_of_whole_numbers_is_rounded_where_it_says_so(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """theorem = "dp-admm"
delta = 1e-6
[parameters]
n_records = 32561
gradient_bound = 1
dual_start = "zero"
sigma = 0.01
rounds = {from = 1, to = 100, count = 40, scale = "log", whole = true}
"""
    rounds = sweep_of(text, file).axes["rounds"]
    assert (rounds[0], rounds[-1]) == (1, 100)
    assert all(isinstance(each, int) for each in rounds)
    assert list(rounds) == sorted({round(100 ** (k / 39)) for k in range(40)})
    with pytest.raises(SystemExit) as stopped:
        main(["sweep", str(file)])
    assert not stopped.value.code
    shown = capsys.readouterr().out
    assert f"rounds: 40 places, rounded to {len(rounds)} whole numbers" in shown
    assert "refused" not in shown
    falling = text.replace("1, to = 100, count = 40", "9, to = 1, count = 9")
    assert sweep_of(falling, file).axes["rounds"] == (9, 7, 5, 4, 3, 2, 1)


@pytest.mark.parametrize(
    ("head", "name", "whole"),
    [
        ('theorem = "private-dual-averaging"', "rounds", True),
        ('theorem = "private-dual-averaging"', "n_records", True),
        ('theorem = "private-dual-averaging"', "sigma", False),
        ('mechanism = "poisson-subsampled-gaussian"', "rounds", True),
        ('mechanism = "poisson-subsampled-gaussian"', "noise_multiplier", False),
        ('audit = "dp-admm"', "runs", True),
        ('run = "dp-admm"', "nodes", True),
    ],
)
def test_fractions_of_whole_numbers_are_refused_at_once(
    head: str, name: str, whole: bool, file: Path
) -> None:
    text = f'{head}\n[parameters]\n{name} = {{from = 600, to = 60000, count = 100, scale = "log"}}'
    if not whole:
        assert sweep_of(text, file).count == 100
        return
    with pytest.raises(InvalidInput, match=rf"{name} needs whole numbers; .* 628\.569; try whole"):
        sweep_of(text, file)


@pytest.mark.parametrize("values", ["[1, 1.0]", '[1, "1"]', '["1/2", 0.5]'])
def test_one_number_written_in_two_ways_is_one_value(values: str, file: Path) -> None:
    text = f'mechanism = "gaussian"\n[parameters]\nnoise_multiplier = {values}'
    with pytest.raises(InvalidInput, match="different values of noise_multiplier"):
        sweep_of(text, file)


def test_values_that_differ_are_taken_as_they_are(file: Path) -> None:
    text = 'mechanism = "gaussian"\n[parameters]\nnoise_multiplier = [1, true, "x", "1/3", 0.25]'
    assert sweep_of(text, file).axes["noise_multiplier"] == (1, True, "x", "1/3", 0.25)


@pytest.mark.parametrize("asked", ['mechanism = "gaussian"', 'audit = "dp-admm"'])
def test_promises_are_made_of_theorems_alone(asked: str, file: Path) -> None:
    with pytest.raises(InvalidInput, match="attest makes promises of a theorem"):
        sweep_of(f'{asked}\nattest = "all"', file)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (
            "surplus = 1",
            "unknown field 'surplus'; known: adjacency, delta, noise_multiplier, "
            "noise_over_sensitivity, rounds",
        ),
        (
            "rounds = 3\ncount = 5",
            "unknown field 'count'; how often the mechanism is used is its rounds; try rounds = 5",
        ),
        ('mechanism = "laplace"', "unknown field 'mechanism'; known: adjacency, delta, "),
        ('name = "first"', "unknown field 'name'; known: adjacency, delta, "),
    ],
)
def test_fields_of_a_mechanism_are_those_of_a_sweep(extra: str, said: str, tmp_path: Path) -> None:
    """A second mechanism stood in the place of the first, and of two counts one was left out."""
    file = tmp_path / "grid.toml"
    text = (
        f'mechanism = "gaussian"\ndelta = 1e-6\n[parameters]\nnoise_multiplier = [1, 2]\n{extra}\n'
    )
    for row in rows_of(sweep_of(text, file)):
        assert row["refused"].startswith(f"gaussian: {said}")
