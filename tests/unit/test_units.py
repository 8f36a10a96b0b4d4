"""What a noise multiplier is measured in, wherever it is given: file, command line, Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accountant import Accountant
from dpcalc.claims.composition import read_plan
from dpcalc.claims.solve import solve
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP
from dpcalc.guarantees.mechanisms import (
    exponential_norm,
    gaussian,
    gaussian_without_replacement,
    laplace,
    poisson_subsampled_gaussian,
)

RELATIONS = ("add-remove", "replace-one")
FARTHEST = {"add-remove": (0, 1), "replace-one": (-1, 1)}
"""Two neighbours' sums that are as far apart as one record's norm of 1 allows."""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(line: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(line.split())
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


def gaussian_delta(sigma: float, relation: str, epsilon: float) -> mpf:
    """δ(ε) of N(b, σ²) against N(a, σ²) for the farthest sums, as an integral with 30 digits."""
    a, b = FARTHEST[relation]
    with mp.workdps(30):
        s = mpf(sigma)
        threshold = (a + b) / mpf(2) + s**2 * epsilon / (b - a)
        return mp.ncdf((b - threshold) / s) - mp.exp(epsilon) * mp.ncdf((a - threshold) / s)


def laplace_delta(scale: float, relation: str, epsilon: float) -> mpf:
    """δ(ε) of two Laplace densities at the farthest sums: a sum over where the loss is above ε."""
    a, b = FARTHEST[relation]
    with mp.workdps(30):
        gap = (b - a) / mpf(scale)
        return 1 - mp.exp((epsilon - gap) / 2) if epsilon < gap else mpf(0)


@given(st.floats(0.3, 30), st.sampled_from(RELATIONS), st.floats(0, 3))
@settings(max_examples=60)
def test_gaussian_noise_is_that_of_the_farthest_neighbours(
    sigma: float, relation: str, epsilon: float
) -> None:
    truth = gaussian_delta(sigma, relation, epsilon)
    found = gaussian(sigma, relation).delta(epsilon)
    assert truth <= mpf(found) <= truth * (1 + mpf("1e-12")) + mpf("1e-25")


@given(st.floats(0.3, 30), st.sampled_from(RELATIONS), st.floats(0, 3))
@settings(max_examples=60)
def test_laplace_noise_is_that_of_the_farthest_neighbours(
    scale: float, relation: str, epsilon: float
) -> None:
    truth = laplace_delta(scale, relation, epsilon)
    found = laplace(scale, relation).delta(epsilon)
    assert truth <= mpf(found) <= truth * (1 + mpf("1e-9")) + mpf("1e-12")
    assert exponential_norm(scale, 4, relation).epsilon(0.0) == laplace(scale, relation).epsilon(
        0.0
    )


@pytest.mark.parametrize("relation", RELATIONS)
def test_over_sensitivity_says_the_same_under_every_relation(relation: str) -> None:
    moved = FARTHEST[relation][1] - FARTHEST[relation][0]
    assert gaussian(4.0, relation) == gaussian(noise_over_sensitivity=4.0 / moved)
    assert laplace(4.0, relation) == laplace(scale_over_sensitivity=4.0 / moved)
    assert exponential_norm(4.0, 3, relation) == exponential_norm(
        dimension=3, scale_over_sensitivity=4.0 / moved
    )


@given(st.floats(0.05, 50), st.integers(1, 50))
@settings(max_examples=30)
def test_sampling_everything_is_not_sampling(multiplier: float, population: int) -> None:
    plain = gaussian(multiplier, "replace-one")
    assert poisson_subsampled_gaussian(multiplier, 1.0, "replace-one") == plain
    assert gaussian_without_replacement(multiplier, population, population) == plain
    assert poisson_subsampled_gaussian(multiplier, 1.0, "add-remove") == gaussian(
        multiplier, "add-remove"
    )


@pytest.mark.parametrize("rounds", [1, 30])
def test_the_same_mechanism_is_calibrated_to_the_same_number(rounds: int) -> None:
    same = [
        {"mechanism": "gaussian", "adjacency": "replace-one"},
        {"mechanism": "poisson-subsampled-gaussian", "adjacency": "replace-one", "rate": 1},
        {"mechanism": "gaussian-without-replacement", "sample": 100, "population": 100},
    ]
    found = [solve(table, rounds, 1.0, 1e-5).value for table in same]
    assert len(set(found)) == 1
    added = solve({"mechanism": "gaussian"}, rounds, 1.0, 1e-5)
    assert found[0] == pytest.approx(2 * added.value, rel=1e-11)
    assert added.relation.name == "add-remove"


def test_the_command_line_prints_unit_and_relation(run: Any) -> None:
    _, out, _ = run("calibrate gaussian --epsilon 1 --delta 1e-5")
    words = " ".join(out.split())
    assert "3.7306317 times one record's largest norm, 3.7306317 times the sensitivity" in words
    assert "one record more or less (the default; --adjacency replace-one for the other)" in words
    _, out, _ = run("calibrate gaussian --epsilon 1 --delta 1e-5 --adjacency replace-one")
    words = " ".join(out.split())
    assert "7.4612633 times one record's largest norm, 3.7306317 times the sensitivity" in words
    assert "neighbouring relation: replace-one" in words
    answer = json.loads(
        run("calibrate gaussian-without-replacement --population 100 --sample 100 --rounds 1"
            " --epsilon 1 --delta 1e-5 --json")[1]
    )  # fmt: skip
    assert answer["value"] == pytest.approx(7.46126326, rel=1e-8)
    assert answer["noise_over_sensitivity"] == answer["value"] / 2
    assert (answer["adjacency"], answer["adjacency_basis"]) == ("replace-one", "only")
    assert "one record's largest norm" in answer["value_unit"]


MIXED = """
delta = 1e-5
{top}
[[release]]
mechanism = "gaussian"
{first}
[[release]]
mechanism = "gaussian-without-replacement"
noise_multiplier = 4
sample = 100
population = 100
"""


def plan_of(folder: Path, top: str, first: str) -> Any:
    file = folder / "plan.toml"
    file.write_text(MIXED.format(top=top, first=first))
    return read_plan(file)


def test_equal_words_in_one_file_are_equal_mechanisms(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'adjacency = "replace-one"', "noise_multiplier = 4")
    assert [r.guarantee for r in plan.releases] == [GDP(0.5), GDP(0.5)]
    plan = plan_of(tmp_path, "", "noise_over_sensitivity = 2")
    assert [r.guarantee for r in plan.releases] == [GDP(0.5), GDP(0.5)]
    assert plan.relation.name == "replace-one"


@pytest.mark.parametrize(
    ("top", "first", "message"),
    [
        ("", "noise_multiplier = 4", r"add-remove \(release 1, gaussian, by default\)"),
        ("", 'noise_multiplier = 4\nadjacency = "add-remove"', "add-remove"),
        ('adjacency = "add-remove"', "noise_multiplier = 4", "release 2: adjacency needs replace"),
        ('adjacency = "replace_one"', "noise_multiplier = 4", "did you mean 'replace-one'"),
        ('adjacency = "replace-one"', "noise_multiplier = 4\nadjacency = 'add-remove'", "for all"),
        ("", "noise_multiplier = 4\nnoise_over_sensitivity = 4", "got both"),
        ("", "adjacency = 'replace-one'", "got neither"),
        ("", "noise_multiplier = 4\nadjacency = 'neighbouring-functions'", "add-remove or replace"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(
    tmp_path: Path, top: str, first: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        plan_of(tmp_path, top, first)


@pytest.mark.parametrize(
    "make",
    [
        lambda: gaussian(1.0),
        lambda: laplace(1.0),
        lambda: exponential_norm(1.0, 3),
        lambda: poisson_subsampled_gaussian(1.0, 0.5),
    ],
)
def test_python_has_no_default_relation(make: Any) -> None:
    with pytest.raises(InvalidInput, match="add-remove moves a sum by that norm, replace-one"):
        make()


def test_an_accountant_does_not_mix_relations_either() -> None:
    spent = Accountant(8.0, 1e-6).spend({"mechanism": "gaussian", "noise_multiplier": 4})
    assert spent.adjacency == "add-remove"
    table = {"mechanism": "gaussian-without-replacement", "noise_multiplier": 4}
    with pytest.raises(InvalidInput, match="one neighbouring relation"):
        spent.spend({**table, "sample": 1, "population": 10})


def test_a_sample_of_one_is_never_assumed(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(
        'delta = 1e-5\n[[release]]\nmechanism = "gaussian-without-replacement"\n'
        "noise_multiplier = 4\npopulation = 100\n"
    )
    with pytest.raises(InvalidInput, match="'sample' is needed"):
        read_plan(file)


def test_a_file_may_be_read_under_a_relation_said_on_the_command_line(
    tmp_path: Path, run: Any
) -> None:
    file = tmp_path / "rounds.csv"
    file.write_text("mechanism,noise_multiplier\ngaussian,2\n")
    answer = json.loads(run(f"compose {file} --delta 1e-5 --json --adjacency replace-one")[1])
    assert answer["certified"]["epsilon"] == GDP(1.0).epsilon(1e-5)
    assert answer["adjacency_basis"] == "stated"
    answer = json.loads(run(f"compose {file} --delta 1e-5 --json")[1])
    assert answer["certified"]["epsilon"] == GDP(0.5).epsilon(1e-5)
    assert (answer["adjacency"], answer["adjacency_basis"]) == ("add-remove", "default")
    _, out, _ = run(f"compose {file} --delta 1e-5")
    assert "the default; --adjacency replace-one" in " ".join(out.split())
