"""The figures of the mutation campaign mean what they say, and its register is about this code."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.campaign.mutation.__main__ import interval, sample, within
from tests.campaign.mutation.areas import AREAS, MEASURED, NEAR, TESTS, area
from tests.campaign.mutation.survivors import REGISTER, Change, registered, unnoticeable

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("killed", "judged", "low", "high"),
    [(49, 49, 0.9275, 1.0), (0, 10, 0.0, 0.3085), (46, 49, 0.8313, 0.9872), (0, 0, 0.0, 1.0)],
)
def test_the_interval_is_that_of_clopper_and_pearson(
    killed: int, judged: int, low: float, high: float
) -> None:
    """The tails of the binomial law at the ends are 2.5 %, by the sum of its terms."""
    found = interval(killed, judged)
    assert found == pytest.approx((low, high), abs=1e-4)


def test_a_sample_is_seeded_and_a_larger_one_begins_with_it() -> None:
    names = [f"m{k}" for k in range(500)]
    first = sample(names, 40, 3)
    assert first == sample(names[::-1], 40, 3) == sample(names, 120, 3)[:40]
    assert first != sample(names, 40, 4)
    assert sorted(sample(names, None, 3)) == sorted(names)


def test_the_shortest_tests_fill_the_budget() -> None:
    assert within([(5.0, "a"), (9.0, "b")], 1.0) == [(5.0, "a")]
    assert within([(0.2, "a"), (0.3, "b"), (0.6, "c")], 0.6) == [(0.2, "a"), (0.3, "b")]
    assert within([], 1.0) == []


def test_only_messages_and_registered_changes_go_unnoticed() -> None:
    message = Change(
        ('raise InvalidInput("a number is needed")',),
        ('raise InvalidInput("XXa number is neededXX")',),
    )
    assert unnoticeable("m", message, set())
    shouted = Change(('said = "not here"',), ('said = "NOT HERE"',))
    assert unnoticeable("m", shouted, set())
    for name in ('"XXgradientXX"', '"GRADIENT"'):
        compared = Change(('if where == "gradient":',), (f"if where == {name}:",))
        assert not unnoticeable("m", compared, set())
    number = Change(("x = 1",), ("x = 2",))
    assert not unnoticeable("m", number, set())
    assert unnoticeable("m", number, {("", "x = 1", "x = 2")})
    assert unnoticeable("m", Change(("x = 1", ""), ("x = 2",)), {("", "x = 1", "x = 2")})
    here = {("dpcalc.a.x_f", "x = 1", "x = 2")}
    assert unnoticeable("dpcalc.a.x_f__mutmut_12", number, here)
    assert not unnoticeable("dpcalc.a.x_g__mutmut_12", number, here)


def test_the_tests_about_an_area_stand_where_they_are_said_to() -> None:
    assert set(NEAR) <= set(AREAS)
    for files in (TESTS, *NEAR.values()):
        for file in files:
            assert (ROOT / file).exists(), file


def test_every_area_is_a_module_and_every_entry_a_line_of_the_code() -> None:
    assert area("dpcalc.theorems.base") == "theorems"
    assert area("dpcalc.cli.main") is None
    files: list[Path] = []
    for module in MEASURED:
        path = ROOT / module.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").exists(), module
        files += sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    code = "\n".join(" ".join(path.read_text("utf-8").split()) for path in files)
    entries = tomllib.loads(REGISTER.read_text("utf-8"))["survivor"]
    assert len(entries) == len(registered())
    for entry in entries:
        assert entry["why"]
        assert " ".join(entry["was"].split()) in code, f"no such line any more: {entry['was']}"
