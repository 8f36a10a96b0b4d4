"""Edited certificates: none that is false passes, and none makes the checker run for long.

Both ends of these certificates are certified 1e-5 of themselves or less apart. Whatever is changed in the
statement by a thousandth, one end is then false, whichever way the change goes: no oracle is needed.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpcalc.certificates import checker, reading
from dpcalc.certificates.certify import CERTIFIED, certify
from dpcalc.certificates.checker import check, digest
from dpcalc.certificates.grammar import Refused
from dpcalc.certificates.mechanisms import MECHANISMS
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, ApproxDP, Guarantee, PureDP, compose
from dpcalc.guarantees.distributions import finite_distributions
from dpcalc.guarantees.mechanisms import (
    exponential_norm,
    gaussian_without_replacement,
    laplace,
    poisson_subsampled_gaussian,
)

Parts = list[tuple[Guarantee, int]]
SAMPLED = poisson_subsampled_gaussian(1.25, 0.05, "add-remove")
REPLACED = poisson_subsampled_gaussian(1.25, 0.05, "replace-one")
TABLE = finite_distributions([0.25, 0.5, 0.25], [0.5, 0.375, 0.125], "add-remove")

CASES: dict[str, tuple[Parts, str, float]] = {
    "Gaussians and a pure bound": ([(GDP(0.5), 2), (GDP(0.3), 1), (PureDP(0.25), 1)], "", 1e-5),
    "approximate bounds": ([(ApproxDP(0.25, 1e-7), 6), (PureDP(0.5), 2)], "", 1e-4),
    "Laplace": ([(laplace(2.5, "add-remove"), 5)], "add-remove", 1e-3),
    "one Poisson sample": ([(SAMPLED, 1)], "add-remove", 1e-4),
    "Poisson samples": ([(SAMPLED, 50)], "add-remove", 1e-4),
    "Poisson samples, replaced": ([(REPLACED, 50), (GDP(0.2), 1)], "replace-one", 1e-4),
    "one batch": ([(gaussian_without_replacement(2.0, 20, 100), 1)], "replace-one", 1e-3),
    "exponential norm": ([(exponential_norm(1.5, 3, "add-remove"), 1)], "add-remove", 1e-2),
    "a table": ([(TABLE, 3)], "add-remove", 1e-2),
}


@pytest.fixture(scope="module", params=CASES)
def certificate(request: pytest.FixtureRequest) -> dict[str, Any]:
    parts, adjacency, delta = CASES[request.param]
    bracket = compose(*parts).bracket(delta)
    assert 0 < bracket.lower <= bracket.upper < bracket.lower * (1 + 1e-5)
    found = certify(parts, adjacency, delta, bracket.upper, bracket.lower)
    assert (found.upper, found.lower) == (CERTIFIED, CERTIFIED)
    assert found.certificate is not None
    assert len(check(found.certificate)) == 2
    return found.certificate


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(child, (*path, key))
    else:
        yield path


def edited(certificate: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """With its checksum renewed."""
    found = copy.deepcopy(certificate)
    place: Any = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return {**found, "digest": digest(found)}


def others(value: Any) -> list[Any]:
    """What may stand there instead: other numbers or words."""
    if isinstance(value, int):
        return [value - 1, value + 1, str(value), float(value), True, None]
    if any(character.isdigit() for character in value):
        near = [["product", value, factor] for factor in ("0.999", "1.001")]
        near = near if checker.exact(value) else ["0.001"]
        return [*near, f"-{value}", f"{value}0/0", value + "e", "nan", float("nan"), None]
    words = {"add-remove", "replace-one", "neighbouring-functions", "", "no such word", *MECHANISMS}
    return [*sorted(words - {value}), None, 1]


def test_no_other_number_or_word_of_the_statement_passes(certificate: dict[str, Any]) -> None:
    statement = {name: certificate[name] for name in ("adjacency", "releases", "delta")}
    tried = 0
    symmetric = certificate["adjacency"] == ""  # a relation may be named, and nothing else is said
    for path in leaves(statement):
        if symmetric and path == ("adjacency",):
            continue
        old: Any = statement
        for key in path:
            old = old[key]
        for value in others(old):
            with pytest.raises((Refused, ValueError, ArithmeticError)):
                check(edited(certificate, path, value))
            tried += 1
    assert tried > 20


@pytest.mark.parametrize(("end", "factor"), [("upper", 1 - 1e-4), ("lower", 1 + 1e-4)])
def test_no_smaller_upper_and_no_larger_lower_end_passes(
    certificate: dict[str, Any], end: str, factor: float
) -> None:
    eps = repr(float(checker.exact(certificate[end]["epsilon"])) * factor)
    with pytest.raises(Refused):
        check(edited(certificate, (end, "epsilon"), eps))
    for direction, how in certificate[end]["evidence"].items():
        for wrong in (["0", "1e-30"], ["0.5", "1"]):
            if "enclosure" in how and how["enclosure"][0] != "0":
                path = (end, "evidence", direction, "enclosure")
                with pytest.raises(Refused):
                    check(edited(certificate, path, wrong))


HUGE = 10**12


def with_evidence(changes: dict[str, Any], statement: dict[str, Any]) -> dict[str, Any]:
    how = {"precision": 100, "enclosure": ["0", "1"], **changes}
    found = {
        "format": checker.FORMAT,
        "made_by": "nobody",
        "adjacency": "",
        "releases": [{"mechanism": "laplace", "epsilon": "0.1", "count": 3}],
        "delta": "0.5",
        "lower": None,
        "upper": {"epsilon": "0.1", "evidence": {"both": how}},
        **statement,
    }
    return {**found, "digest": digest(found)}


LINE = {
    "method": "line",
    "real_part": "1",
    "period": "10",
    "order": "2",
    "smoothing": "0.1",
    "nodes": 10,
    "shifts": ["0"],
    "quiet": [11],
}
NORM = {"mechanism": "exponential-norm", "epsilon": "1", "dimension": 10_000}
LATTICE = {"method": "lattice", "step": "0.01", "points": [20], "reach": 100}
ENDLESS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("from 1 to 200,000", {**LINE, "nodes": HUGE}, {}),
    ("from 1 to 11", {**LINE, "quiet": [HUGE]}, {}),
    ("takes an effort", {**LINE, "precision": 9999, "nodes": 99_999, "quiet": [99_999]}, {}),
    ("from 53 to 10,000", {**LINE, "precision": HUGE}, {}),
    (
        "takes an effort",
        {**LINE, "nodes": 200_000, "quiet": [1] * 1000, "shifts": ["0"] * 1000},
        {"releases": [{"mechanism": "laplace", "epsilon": "0.1", "count": 3}] * 1000},
    ),
    (
        "takes an effort",
        {"method": "one round", "precision": 9999},
        {"releases": [{**NORM, "count": 1}] * 100},
    ),
    ("from 1 to 60,000", {**LATTICE, "reach": HUGE}, {}),
    ("from 2 to 60,000", {**LATTICE, "points": [HUGE]}, {}),
    (
        "takes an effort",
        {**LATTICE, "reach": 59_999, "precision": 9999},
        {"releases": [{"mechanism": "laplace", "epsilon": "0.1", "count": 10**15}]},
    ),
    (
        "a sum of so many outcomes",
        {"method": "outcomes"},
        {"releases": [{"mechanism": "laplace", "epsilon": "1", "count": HUGE}]},
    ),
    (
        "a sum of so many outcomes",
        {"method": "outcomes"},
        {"releases": [{"mechanism": "approximate", "epsilon": "1", "delta": "0", "count": HUGE}]},
    ),
    (
        "from 1 to",
        {"method": "one round"},
        {"releases": [{"mechanism": "laplace", "epsilon": "1", "count": 10**99}]},
    ),
    (
        "from 2 to 10,000",
        {"method": "one round"},
        {
            "releases": [
                {"mechanism": "exponential-norm", "epsilon": "1", "dimension": HUGE, "count": 1}
            ]
        },
    ),
    (
        "'so many rounds'",
        {"method": "largest loss"},
        {
            "releases": [
                {"mechanism": "approximate", "epsilon": "1", "delta": "0.1", "count": HUGE}
            ],
            "upper": None,
            "lower": {
                "epsilon": "1",
                "evidence": {"both": {"method": "largest loss", "precision": 53}},
            },
        },
    ),
]


@pytest.mark.parametrize(("reason", "changes", "statement"), ENDLESS)
def test_what_would_run_for_long_is_refused(
    reason: str, changes: dict[str, Any], statement: dict[str, Any]
) -> None:
    with pytest.raises(Refused, match=reason):
        check(with_evidence(changes, statement))


def test_a_refusal_for_work_says_how_much_it_is_and_how_much_there_may_be() -> None:
    """200,000 nodes of a thousand laws are 200,000,000 moments and powers, a microsecond or more each."""
    asked = {**LINE, "nodes": 200_000, "quiet": [200_001] * 1000, "shifts": ["0"] * 1000}
    laws = [{"mechanism": "laplace", "epsilon": "0.1", "count": 3}] * 1000
    with pytest.raises(Refused, match=r"an effort of at most 300, .* asks for about [1-9],\d{3};"):
        check(with_evidence(asked, {"releases": laws}))


def test_a_file_of_too_many_certificates_is_refused_before_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "many.json"
    seen: list[Any] = []
    monkeypatch.setattr(reading, "check", lambda *given: seen.append(given) or [])
    file.write_text(json.dumps([{"releases": [], "adjacency": ""}] * 1001))
    with pytest.raises(InvalidInput, match=r"at most 1,000 certificates in a file.* with 1,001"):
        reading.verified(file)
    assert seen == []
    file.write_text(json.dumps([{"releases": [], "adjacency": ""}] * 1000))
    assert len(reading.verified(file)) == len(seen) == 1000


def test_evidence_within_the_limits_is_computed() -> None:
    for how in ({"method": "outcomes"}, LINE, LATTICE):
        assert check(with_evidence(how, {"delta": "1"}))


def test_another_version_of_the_format_is_named() -> None:
    certificate = with_evidence({"method": "outcomes"}, {"format": "dpcalc certificate 2"})
    with pytest.raises(Refused, match="expected format 'dpcalc certificate 1'"):
        check(certificate)


@pytest.mark.parametrize("text", ["0x1.8p-1074", "0x0.8p-1074", "0x1.fp-1075", "0x1.0000001p-1060"])
def test_numbers_between_the_least_doubles_are_refused(text: str) -> None:
    """They would be rounded: two rounds that fail with 2^-1074 have no δ of 1.5 times that."""
    with pytest.raises(Refused, match="not valid here"):
        checker.exact(text)
    assert checker.exact("0x1.8p-1073") == 3 * checker.exact("0x1p-1074") == Fraction(3, 2**1074)
    assert checker.exact("0x1.fffffffffffffp+1023") == Fraction(sys.float_info.max)
    assert checker.exact("0x0p0") == 0
    failing = {"mechanism": "approximate", "epsilon": "1", "delta": "0x1p-1074", "count": 2}
    how = {"method": "largest loss", "precision": 53}
    made: dict[str, Any] = {
        "format": checker.FORMAT,
        "made_by": "a test",
        "adjacency": "",
        "releases": [failing],
        "delta": text,
        "upper": {"epsilon": "2", "evidence": {"both": how}},
        "lower": None,
    }
    with pytest.raises(Refused):
        check({**made, "digest": digest(made)})
    assert check(edited(made, ("delta",), "0x1p-1073")) == ["δ(2) <= 0x1p-1073"]
