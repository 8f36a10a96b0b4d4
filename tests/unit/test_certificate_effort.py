"""How long evidence takes to check is estimated from what is written, and added over a file."""

from __future__ import annotations

import copy
import itertools
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpcalc.certificates import checker, effort, grids, lattice, meter, reading
from dpcalc.certificates.balls import integral, precision
from dpcalc.certificates.certify import Certified, certify
from dpcalc.certificates.checker import check, digest
from dpcalc.certificates.effort import EFFORT
from dpcalc.certificates.effort import effort as effort_of
from dpcalc.certificates.evidence import evidence
from dpcalc.certificates.grammar import Refused, exact, work_is_limited
from dpcalc.certificates.lattice import convolved, time_of_product
from dpcalc.certificates.laws import acb, arb
from dpcalc.certificates.verdicts import NotCertified
from dpcalc.certificates.ways import on_lattices
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import compose
from dpcalc.guarantees.mechanisms import finite_distributions, poisson_subsampled_gaussian

LAPLACE = {"mechanism": "laplace", "epsilon": "0.1", "count": 3}
SAMPLED = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": "1", "rate": "0.01"}
LINE = {
    "method": "line",
    "real_part": "1",
    "period": "10",
    "order": "2",
    "smoothing": "0",
    "nodes": 10,
    "shifts": ["0.3"],
    "quiet": [11],
}


def stated(how: dict[str, Any], *releases: dict[str, Any], delta: str = "1") -> dict[str, Any]:
    """A certificate of δ(0.1) with this evidence in one direction."""
    whole = {"precision": 100, "enclosure": ["0", "1"], **how}
    found = {
        "format": checker.FORMAT,
        "made_by": "nobody",
        "adjacency": "replace-one",
        "releases": list(releases) or [LAPLACE],
        "delta": delta,
        "lower": None,
        "upper": {"epsilon": "0.1", "evidence": {"both": whole}},
    }
    return {**found, "digest": digest(found)}


LONG = {"method": "outcomes", "precision": 9_999}
ASKED = stated(LONG, {**LAPLACE, "count": 300})


def test_a_file_is_refused_for_what_its_certificates_ask_for_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each alone is well below the limit; nothing of them is computed."""
    seen: list[Any] = []
    monkeypatch.setattr(reading, "check", lambda *given: seen.append(given) or [])
    each, file = effort_of(ASKED), tmp_path / "many.json"
    assert 1 < each < EFFORT / 3
    most = int(EFFORT / each)
    file.write_text(json.dumps([ASKED] * most))
    assert len(reading.verified(file)) == len(seen) == most
    file.write_text(json.dumps([ASKED] * (most + 1)))
    with pytest.raises(InvalidInput, match=r"effort of at most 300, .* got .* of about \d+;"):
        reading.verified(file)
    with pytest.raises(InvalidInput, match=r"effort of at most 0.001, .* of about [1-9]"):
        reading.verified(file, 0.001)
    assert len(seen) == most
    enough = (most + 1) * each * 1.001
    assert len(reading.verified(file, enough)) == most + 1
    assert seen[-1] == (ASKED, enough)


def test_the_command_line_says_what_is_needed_and_takes_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "asked.json"
    file.write_text(json.dumps(stated(LINE)))
    for words, status in ((["--effort", "1e-6"], 2), (["--effort", "5"], 0), ([], 0)):
        with pytest.raises(SystemExit) as stopped:
            main(["check", str(file), *words])
        assert stopped.value.code == status
    for value in ("0", "-1", "nan", "much"):
        with pytest.raises(SystemExit) as stopped:
            main(["check", str(file), "--effort", value])
        assert stopped.value.code == 2
        assert "--effort needs a number" in capsys.readouterr().err


def test_the_checker_alone_refuses_what_takes_too_long_before_anything_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checker, "holds", lambda *_: pytest.fail("computed"))
    with pytest.raises(Refused, match=r"an effort of at most 1, .* this asks for about \d+;"):
        check(ASKED, effort=1)


def forms() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Evidence, and the same evidence that asks for some hundred times as much."""
    points = {"mechanism": "profile", "points": [["0", "0.5"], ["1", "0.1"]], "count": 1}
    table = {"mechanism": "distributions", "outcomes": [["0.5", "0.5"]] * 2, "count": 1}
    parts = {"mechanism": "gaussian-mixture", "components": [["1", "0.5"]], "count": 1}
    orders = {"mechanism": "rdp", "orders": [["2", "0.1"]], "count": 1}
    norm = {"mechanism": "exponential-norm", "epsilon": "1", "dimension": 5, "count": 1}
    update = {
        "mechanism": "normally-perturbed-update",
        "mu": "0.1",
        "curvature": "1",
        "tied": True,
        "count": 1,
    }
    lattice = {"method": "lattice", "step": "0.1", "points": [9], "reach": 9}
    one, order = {"method": "one round"}, {"method": "order", "order": "3"}
    parted = {**LINE, "method": "parted line"}
    batches = {"mechanism": "gaussian-without-replacement", "mu": "1", "rate": "0.1", "count": 9}
    longest = {"method": "largest loss", "precision": 53}
    bound = {"mechanism": "approximate", "epsilon": "1", "delta": "0.1", "count": 1}
    sampled = {**SAMPLED, "count": 9}

    def longer(release: dict[str, Any], name: str) -> dict[str, Any]:
        return {**release, name: release[name] * 1000}

    def pair(*given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        return stated(given[0], given[1]), stated(given[2], given[3])

    return {
        "nodes": pair(LINE, sampled, {**LINE, "nodes": 199_999, "quiet": [200_000]}, sampled),
        "bits": pair(LINE, sampled, {**LINE, "precision": 9000}, sampled),
        "nodes of a parted line": pair(parted, batches, {**parted, "nodes": 199_999}, batches),
        "outcomes": pair({"method": "outcomes"}, LAPLACE, LONG, {**LAPLACE, "count": 300}),
        "points": pair(lattice, LAPLACE, {**lattice, "points": [50_000]}, LAPLACE),
        "reach": pair(lattice, LAPLACE, {**lattice, "reach": 50_000}, LAPLACE),
        "cells": pair(lattice, norm, {**lattice, "points": [5_000]}, norm),
        "theorem c": pair(lattice, {**update, "tied": False}, lattice, update),
        "rows": pair(one, table, one, longer(table, "outcomes")),
        "profile": pair(
            {"method": "outcomes"}, points, {"method": "outcomes"}, longer(points, "points")
        ),
        "components": pair(one, parts, one, longer(parts, "components")),
        "orders": pair(order, orders, order, longer(orders, "orders")),
        "dimension": pair(one, norm, {**one, "precision": 9_000}, norm),
        "exact powers": pair(
            longest, bound, longest, {**bound, "delta": "1/" + "7" * 900, "count": 9999}
        ),
        "a formula": pair(
            {"method": "bounded"},
            LAPLACE,
            {"method": "bounded", "precision": 9000},
            {**LAPLACE, "epsilon": ["power", *["1.1"] * 300]},
        ),
    }


@pytest.mark.parametrize("kind", forms())
def test_every_size_counts(kind: str) -> None:
    small, large = forms()[kind]
    assert effort_of(small) > 0
    assert effort_of(large) > 15 * effort_of(small)


def test_more_places_of_small_or_of_large_losses_take_more() -> None:
    batches = {"mechanism": "gaussian-without-replacement", "mu": "1", "rate": "0.1", "count": 9}
    fields = {"spacing": "0.1", "reach": 9, "block": 3, "step": "0.1", "width": 60_000}
    how = {"method": "chi-square", **fields}
    known = [[1000, 9, 1000], [59_000, 9, 1000], [60_000, 9, 1000], [60_000, 9, 60_000]]
    asked = [effort_of(stated({**how, "points": points}, batches)) for points in known]
    assert all(few < many for few, many in itertools.pairwise(asked))


def test_both_ends_and_all_directions_are_added() -> None:
    once = stated(LINE, {**SAMPLED, "count": 9})
    end = once["upper"]
    twice = {**once, "lower": end}
    thrice = {**once, "upper": {**end, "evidence": dict.fromkeys("ab", end["evidence"]["both"])}}
    assert effort_of(twice) == pytest.approx(2 * effort_of(once))
    assert effort_of({**thrice, "lower": end}) == pytest.approx(3 * effort_of(once))


@pytest.mark.parametrize(
    "wrong", [None, [], {}, 1, "x", True, -1, 10**400, float("nan"), [[]], [{}]]
)
def test_what_is_misshapen_is_no_effort_and_no_fault(wrong: Any) -> None:
    assert effort_of(wrong) == 0
    whole = stated(LINE, SAMPLED)
    for name in ("upper", "lower", "releases", "adjacency"):
        assert effort_of({**whole, name: wrong}) < 1
    for name in LINE | {"precision": 1}:
        edited = copy.deepcopy(whole)
        edited["upper"]["evidence"]["both"][name] = wrong
        assert effort_of(edited) < 1
    for release in (LAPLACE, {**SAMPLED, "count": 1}):
        for name in release:
            assert effort_of(stated(LINE, {**release, name: wrong})) < 1


def test_what_turns_out_to_take_far_longer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the estimate is: here one that sees nothing in 50,000 nodes."""
    certificate = stated({**LINE, "nodes": 50_000, "quiet": [50_001]}, {**SAMPLED, "count": 9})
    monkeypatch.setattr("dpcalc.certificates.effort.effort_of", lambda *_: 0.0)
    with pytest.raises(meter.Exhausted, match="far longer to check than evidence of its size"):
        check(certificate, effort=1e9)


def test_no_more_is_spent_than_is_allowed() -> None:
    calls: list[Any] = []

    def turning(x: Any, _: bool) -> Any:
        calls.append(x)
        return (acb(0, 10**9) * x).exp()

    with precision(64), meter.allowed(0.001), pytest.raises(meter.Exhausted):
        integral(turning, arb(0), arb(1))
    assert len(calls) * meter.integrand(64) < 2 * 1000
    with precision(64), meter.allowed(1):
        meter.spend(900_000)
        with pytest.raises(meter.Exhausted):
            meter.spend(100_001)
    meter.spend(1e99)  # outside nothing is limited


def test_what_is_asked_for_grows_no_faster_than_what_is_measured() -> None:
    """A sum over outcomes with 88 times the bits took 35 times as long."""
    few, many = ({**LONG, "precision": bits} for bits in (110, 9_680))
    laps = {**LAPLACE, "count": 300}
    assert 10 < effort_of(stated(many, laps)) / effort_of(stated(few, laps)) < 120
    assert effort.choices(2, 3) == pytest.approx(6)


def test_a_method_costs_more_than_reading_what_it_is_about() -> None:
    orders = {"mechanism": "rdp", "orders": [["2", "0.1"]] * 1000, "count": 1}
    parts = {"mechanism": "gaussian-mixture", "components": [["1", "0.001"]] * 1000, "count": 1}
    for method, release in (("order", orders), ("one round", parts)):
        how, nothing = ({"method": name, "precision": 9000} for name in (method, "bounded"))
        assert effort_of(stated(how, release)) > 5 * effort_of(stated(nothing, release))


def test_a_table_costs_by_the_square_without_order_and_of_its_digits() -> None:
    def asked(rows: int, number: str) -> float:
        table = {"mechanism": "distributions", "outcomes": [[number] * 2] * rows, "count": 1}
        return effort_of(stated({"method": "bounded"}, table))

    assert asked(4000, "0.1") > 60 * asked(400, "0.1")
    assert asked(100, "1/" + "7" * 900) > 5 * asked(100, "1/7777")


def test_operands_of_a_formula_cost_more_than_numbers_in_a_row() -> None:
    numbers = ["1.1"] * 300
    assert effort.reading(["power", *numbers], 9000) > 10 * effort.reading(numbers, 9000)


def test_products_of_wide_polynomials_are_counted() -> None:
    """Coefficients that range over e^900 are cut into pieces, and each is multiplied with each."""
    flat, wide = ([(-arb(width) * j * j).exp() for j in range(-30, 31)] for width in (0, 1))
    assert time_of_product(wide, wide) > 2 * time_of_product(flat, flat)
    time = time_of_product(wide, wide) / 1e6
    with meter.allowed(time * 1.01):
        assert len(convolved(wide, wide, 30)) == 61
    with meter.allowed(time * 0.99), pytest.raises(meter.Exhausted):
        convolved(wide, wide, 30)


def test_work_by_parameters_is_limited_by_what_is_left_or_by_a_minute() -> None:
    with meter.allowed(1):
        work_is_limited(1000)
        with pytest.raises(meter.Exhausted):
            work_is_limited(10**6)
    work_is_limited(10**6)
    with pytest.raises(
        Refused, match=r"take too long to compute: about [\d,]+ s, where at most 100 s"
    ):
        work_is_limited(10**8)


SMALL_LOSSES = [
    (poisson_subsampled_gaussian(1.1, 1e-9, "add-remove"), 1),
    (finite_distributions((0.5, 0.5), (0.5, 0.5), "add-remove"), 2),
    (poisson_subsampled_gaussian(1e4, 1e-3, "add-remove"), 1),
]
"""No line shows their ε of 4e-7 at δ = 1e-12; a lattice does, and a coarse one a larger ε."""


def small_losses_certified() -> Certified:
    grids.masses.cache_clear()
    upper = compose(*SMALL_LOSSES).epsilon(1e-12)
    return certify(SMALL_LOSSES, "add-remove", 1e-12, upper)


def test_a_larger_epsilon_is_written_so_that_the_checker_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Six digits of a decimal below 1e-6 have an exponent; certificates have a small e."""
    monkeypatch.setattr(grids, "_FINENESS", (300,))  # too coarse for the ε that is reported
    found = small_losses_certified()
    assert re.search(r"ε = \d\.\d{5}e-7 is certified", found.upper)
    assert check(found.certificate)
    assert grids.rounded_up(1.13739001e9) == "1.13740e+9"
    assert exact("1.13740e+9") == 1137400000


def test_what_the_checker_would_give_up_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates of 1e-9 spread coefficients so widely that products took twelve times the estimate."""
    monkeypatch.setattr(lattice, "time_of_product", lambda *_: 1e12)
    assert small_losses_certified().certificate is None
    grids.masses.cache_clear()


def test_a_finer_lattice_that_takes_too_long_leaves_the_coarser_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statement = {
        "adjacency": "replace-one",
        "releases": [{**SAMPLED, "count": 20}],
        "delta": "1e-6",
    }
    coarse = next(grids.lattices(statement, Fraction("1e-6"), False))
    size = 2 * coarse["reach"] + 1
    monkeypatch.setattr(lattice, "time_of_product", lambda a, _: 0.0 if len(a) == size else 1e12)
    grids.masses.cache_clear()
    with precision(64), pytest.raises(NotCertified) as raised:
        evidence(statement, "upper", "0.1", "both", on_lattices)
    grids.masses.cache_clear()
    assert raised.value.how["step"] == coarse["step"]
    shown = evidence(statement, "upper", raised.value.instead, "both", on_lattices)
    assert shown["step"] == coarse["step"]
