"""Numbers are read in one grammar, and decimals are meant as decimals."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.claims.composition import read_plan
from dpcalc.claims.tables import as_real
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.numerals import (
    Written,
    at_least,
    at_most,
    comma_hint,
    hint_of,
    number,
    ratio,
    shown_at_least,
    shown_at_most,
    size,
    spelt,
    spelt_size,
    unpadded,
    whole,
)
from dpcalc.numerics.precise import mpf as precise
from dpcalc.numerics.rounding import extended
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.theorems.schedule import Schedule
from dpcalc.wording import spelt_count

DIGITS = st.integers(-(10**25), 10**25)


@given(DIGITS, st.integers(-60, 40))
def test_a_decimal_is_meant_as_that_decimal(digits: int, power: int) -> None:
    exact = digits * Fraction(10) ** power
    found = number(f"{digits}e{power}")
    assert float(found) == float(exact)
    assert Fraction(*ratio(found)) == exact
    assert Fraction(at_most(found)) <= exact <= Fraction(at_least(found))
    assert at_least(found) in (at_most(found), math.nextafter(at_most(found), math.inf))
    again = pickle.loads(pickle.dumps(found))  # noqa: S301  # our own
    assert (again, copy.deepcopy(found)) == (found, found)


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("10_000", Fraction(10_000)),
        (" 1e4 ", Fraction(10_000)),
        ("1/3", Fraction(1, 3)),
        ("-1.5e3/7", Fraction(-1500, 7)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("0.1/0.3", Fraction(1, 3)),
        ("+1E-5", Fraction(1, 10**5)),
    ],
)
def test_numbers_as_people_write_them(text: str, exact: Fraction) -> None:
    assert Fraction(*ratio(number(text))) == exact


def test_infinities_are_numbers() -> None:
    assert number("inf") == math.inf
    assert number("-Infinity") == -math.inf


@pytest.mark.parametrize(
    "text",
    ["", "one", "1,5", "1__0", "_1", "1_", "0x10", "1e", "1e5.5", "1e400", "1e-400", "1e9999999",
     "nan", "1/inf", "1//2", "1/2/3", "--1", "٣", "1 0", "1" * 2000, "1e5000/1e5000"],
)  # fmt: skip
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z]"):
        number(text)


@pytest.mark.parametrize("text", ["10000", "1e4", "10_000", "1.0e4", "20000/2"])
def test_whole_numbers_in_any_spelling(text: str) -> None:
    assert whole("runs", text) == 10_000
    assert whole("seed", f"{2**100}") == 2**100


def test_other_numbers_are_refused_with_their_neighbours() -> None:
    with pytest.raises(InvalidInput, match="try 7031 or 7032"):
        whole("rounds", "1800000/256")
    for text in ("x", "", "1/0", "inf"):
        with pytest.raises(InvalidInput, match="whole number such as"):
            whole("rounds", text)


def test_counts_are_spelt_whole_as_long_as_they_are_read() -> None:
    counts = 1, 1_000_000, 10**16 - 1, 10**16, 12_345_678_901_234_567_890, 10**300, 10**4000
    assert [spelt_count(count) for count in counts] == [
        "1", "1,000,000", "9,999,999,999,999,999", "1e16", "1.23457e19", "1e300", "1e4000",
    ]  # fmt: skip


def test_one_spelling() -> None:
    assert [spelt(x) for x in (1e-5, 1e20, 0.5, 3.0, 0.0)] == ["1e-5", "1e20", "0.5", "3", "0"]


def test_a_written_number_is_not_the_double_next_to_it() -> None:
    typed = number("0.7")
    assert isinstance(typed, Written)
    assert typed != 0.7
    assert float(typed) == 0.7
    assert number("0.70") == typed
    assert repr(typed) == "0.7"
    assert not isinstance(number("0.5"), Written)
    assert precise(typed) * 10 == 7
    assert float(extended((typed,))[0] * 10 - 7) == pytest.approx(0, abs=1e-18)


# ------------------------------------------------------- answers at what was typed


def test_a_schedule_has_the_powers_of_its_decimals() -> None:
    rows = Schedule.of("rate", "0.7:1.02").rounds("rate", 80, 1)
    assert len(rows) == 80
    for t, ((value,), _) in enumerate(rows):
        exact = Fraction(7, 10) * Fraction(51, 50) ** t
        assert float(value) == float(exact)
        assert abs(Fraction(*ratio(value)) / exact - 1) < Fraction(1, 10**60)


def test_powers_are_kept_for_the_numbers_as_they_were_written() -> None:
    """A double and the decimal that it is nearest to have powers of their own."""
    typed = Schedule.of("rate", "0.7:1.02").rounds("rate", 80, 1)
    double = Schedule.of("rate", Schedule(float(number("0.7")) + 0.0, 1.02)).rounds("rate", 80, 1)
    again = Schedule.of("rate", "0.7:1.02").rounds("rate", 80, 1)
    assert [ratio(value) for (value,), _ in typed] == [ratio(value) for (value,), _ in again]
    assert typed[0][0][0] is again[0][0][0]  # computed once
    assert ratio(typed[1][0][0]) != ratio(double[1][0][0])


def logistic_cost(rate: Any, penalty: Any) -> Any:
    """The largest over s in [0, 1] of a(1 + s) + ln(1 + κs(1-s)), by search in fifty digits."""
    given = privacy_result("penalty-perturbation").example
    records, weight = mpf(given["n_records"]), mpf(given["loss_weight"])
    pull = penalty * given["degree"]
    a = rate / (2 * pull) * weight / records
    kappa = weight / (records * (mpf(given["regularization"]) / given["n_nodes"] + 2 * pull))
    low, high = mpf(0), mpf(1)
    for _ in range(400):  # the cost is concave in s
        left, right = low + (high - low) / 3, high - (high - low) / 3
        costs = [a * (1 + s) + mp.log(1 + kappa * s * (1 - s)) for s in (left, right)]
        low, high = (left, high) if costs[0] < costs[1] else (low, right)
    return max(a * (1 + s) + mp.log(1 + kappa * s * (1 - s)) for s in (low, high, mpf(1)))


@pytest.mark.parametrize("rate", [("0.7", "1.02"), ("0.1", "1.003"), ("3.3", "0.99")])
def test_the_bound_of_a_schedule_is_not_below_that_of_its_decimals(rate: tuple[str, str]) -> None:
    kind = privacy_result("penalty-perturbation")
    parameters = {**kind.example, "noise_rate": ":".join(rate), "penalty": "1.1", "rounds": 25}
    found = kind.from_parameters(parameters).certified().guarantee.epsilon(0.0)
    with mp.workdps(50):
        start, factor = mpf(rate[0]), mpf(rate[1])
        exact = mp.fsum(logistic_cost(start * factor**t, mpf("1.1")) for t in range(25))
        assert found >= exact
        assert found <= exact * (1 + mpf("1e-15"))


FILES = [
    ("a.toml", "[[release]]\npure = 0.7\ncount = 80\n"),
    ("b.toml", '[[release]]\npure = "7/10"\ncount = 80\n'),
    ("c.csv", "pure,count\n0.7,80\n"),
]


@pytest.mark.parametrize(("name", "text"), FILES)
def test_sums_of_decimals_are_exact(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert read_plan(path).total().epsilon(0.0) == 56.0


@pytest.mark.parametrize("multiplier", ["0.7", "1.1", "2.3", "10/3"])
def test_noise_is_what_was_typed(tmp_path: Path, multiplier: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        '[[release]]\nmechanism = "gaussian"\nadjacency = "add-remove"\n'
        f'noise_multiplier = "{multiplier}"\n[[release]]\nmechanism = "laplace"\n'
        f'adjacency = "add-remove"\nscale_multiplier = "{multiplier}"\n'
    )
    gaussian, laplace = read_plan(path).releases
    exact = 1 / Fraction(multiplier)
    for found in (gaussian.guarantee.parameters()["mu"], laplace.guarantee.epsilon(0.0)):
        assert Fraction(found) >= exact > Fraction(math.nextafter(found, 0))


@pytest.mark.parametrize("fourth", ["95", "9.5e1", "190/2", "95.0"])
def test_counts_in_any_spelling(fourth: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "--counts", "95", "5", "5", fourth, "--claim", "eps=1"]
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--adjacency", "replace-one"])
    assert stopped.value.code == 1
    assert "200 runs" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "audit --counts 95 5 5 7031.25",
            "--counts needs a whole number; got 7031.25; try 7031 or",
        ),
        ("audit --counts 95 5 5 -1", "--counts needs a whole number, 0 or above; got -1"),
        ("audit dp-admm --runs 1e0", "--runs needs a whole number, 10 or above; got 1"),
        ("audit dp-admm --seconds 0", "--seconds needs a number above 0"),
        ("audit dp-admm --detectable-ratio 1/2", "--detectable-ratio needs a number of 1 or more"),
        ("verify --audit --runs 1e1.5", "--runs needs a whole number such as"),
        ("verify --audit --seed x", "--seed needs a whole number such as"),
        ("run dp-admm --runs 1.5", "try 1 or 2"),
        ("run dp-admm --nodes x", "--nodes needs a whole number such as"),
        ("reproduce chan2023-table-1 --seed 0.5", "try 0 or 1"),
        ("calibrate gaussian --epsilon 1 --delta 1e-5 --rounds 1800000/256", "try 7031 or 7032"),
    ],
)
def test_whole_numbers_of_the_command_line(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    assert stopped.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_delta_has_one_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main("calibrate gaussian --epsilon 1 --delta 0.00001".split())
    out = capsys.readouterr().out
    assert "δ = 1e-5" in out
    assert "1e-05" not in out


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("1e-05", "1e-5"),
        ("1e+20", "1e20"),
        ("1.5e-10", "1.5e-10"),
        ("2.e-07", "2.e-7"),
        ("1/3e-06", "1/3e-6"),
        ("a name-e-05", "a name-e-05"),
    ],
)
def test_exponents_are_unpadded_and_all_else_is_left(text: str, people: str) -> None:
    assert unpadded(text) == people


@pytest.mark.parametrize(
    "words",
    [
        "audit --counts 60 40 40 60 --claim eps=1,delta=1e-5 --adjacency add-remove",
        "audit --counts 60 40 40 60 --claim mu=1e-5,delta=1e-5 --adjacency add-remove",
        "compose HERE",
    ],
)
def test_delta_has_that_spelling_in_names_of_claims_and_releases(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("delta = 1e-4\n[[release]]\napprox = [1, 1e-5]\n[[release]]\npure = 1e-5\n")
    with pytest.raises(SystemExit):
        main(words.replace("HERE", str(plan)).split())
    out = capsys.readouterr().out
    assert "1e-5" in out
    assert "e-0" not in out


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1,000", "1000"),
        ("12,345,678", "12345678"),
        ("1,000.5", "1000.5"),
        ("0,5", "0.5"),
        ("1,5e-3", "1.5e-3"),
        ("1,00,0", ""),
        ("a,b", ""),
        ("1000", ""),
    ],
)
def test_commas_are_no_part_of_numbers(text: str, hint: str) -> None:
    said = comma_hint(text)
    assert said == (f"; a comma is no part of a number; try {hint}" if hint else "")
    if hint:
        assert math.isfinite(number(hint))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1%", "a percent sign is no part of a number; try 0.01"),
        ("-12.5 %", "a percent sign is no part of a number; try -0.125"),
        ("100%", "a percent sign is no part of a number; try 1"),
        ("10k", "try 10000"),
        ("1.5M", "try 1500000"),
        ("10^-6", "try 1e-6"),
        ("2*10**(-6)", "try 2e-6"),
        ("1,5", "a comma is no part of a number; try 1.5"),
        ("1e−5", "try 1e-5"),
        ("−1/3", "try -1/3"),
        ("10⁻⁵", "try 1e-5"),
        ("1.5 × 10⁻⁵", "try 1.5e-5"),
        ("$10^{-5}$", "try 1e-5"),
        (r"2 \times 10^{-6}", "try 2e-6"),
        ("5m", ""),
        ("5²", ""),
        ("−", ""),
        ("%", ""),
        ("10^x", ""),
    ],
)
def test_other_notations_are_told_how_to_write_them(text: str, hint: str) -> None:
    assert hint_of(text) == (f"; {hint}" if hint else "")
    if hint:
        with pytest.raises(InvalidInput, match=hint.rpartition(" ")[2]):
            as_real("rate", text)


@pytest.mark.parametrize(
    ("count", "most", "least"),
    [
        (0, "0 B", "0 B"),
        (64, "64 B", "64 B"),
        (20e3, "20 kB", "20 kB"),
        (281_501.5, "281 kB", "282 kB"),
        (999_950, "999 kB", "1 MB"),
        (1.5e9, "1.5 GB", "1.5 GB"),
        (2e15, "2000 TB", "2000 TB"),
    ],
)
def test_sizes_have_the_unit_that_suits_them(count: float, most: str, least: str) -> None:
    assert (spelt_size(count), spelt_size(count, at_least=True)) == (most, least)


@given(st.floats(1e3, 1e15))
def test_a_size_that_is_asked_for_is_enough_when_typed(count: float) -> None:
    assert (
        size("memory", spelt_size(count))
        <= count
        <= size("memory", spelt_size(count, at_least=True))
    )


@pytest.mark.parametrize("text", ["1/3", "2/3", "5/7", "0.33333333333333331", "0.1", "0.3", "1/4"])
def test_digits_that_are_shown_are_on_the_safe_side(text: str) -> None:
    """They are read as decimals; a number that has digits of its own keeps them."""
    value, exact = number(text), Fraction(text)
    above, below = (Fraction(repr(float(end(value)))) for end in (shown_at_least, shown_at_most))
    assert below <= exact <= above
    assert (below == above) == (text in ("0.1", "0.3", "1/4"))
