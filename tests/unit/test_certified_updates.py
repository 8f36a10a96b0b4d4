"""Certificates of objective-perturbed updates: bounds of single rounds, and their sums on a lattice."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.gaussian_update import GaussianUpdate
from dpcalc.certificates import falling, lattice, laws, outcomes, updates
from dpcalc.certificates.balls import precision
from dpcalc.certificates.certify import CERTIFIED, certify
from dpcalc.certificates.checker import check, digest
from dpcalc.certificates.grammar import Refused
from dpcalc.certificates.laws import arb
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.certificates.norm import exponential_norm
from dpcalc.cli.main import main
from dpcalc.guarantees import compose
from dpcalc.guarantees import mechanisms as named
from dpcalc.guarantees.objective_perturbation import normally_perturbed_update, perturbed_update
from tests.oracles.objective_profile import stated_profile
from tests.unit.gaussian_formula import gaussian_delta

UPDATE = {
    "mechanism": "exponentially-perturbed-update",
    "bound": "0.5",
    "dimension": 3,
    "curvature": "1.5",
    "tied": True,
    "count": 1,
}


def tables(bound: str, d: int, curvature: str, reach: float, points: int) -> Any:
    """R and R* at points of a lattice that ends at ``reach``."""
    with precision(128):
        step = arb(reach) / (points - 1)
        moved = (laws.laplace(arb(bound)) if d == 1 else exponential_norm(arb(bound), d)).bounds(
            step, points
        )[0]
        return updates.one_record(moved, step, arb(curvature), tied=True, known=[]), step


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("bound", "curvature"), [("0.5", "1.5"), ("0.3", "0.1"), ("2", "4")])
def test_one_record_against_quadrature_of_the_stated_bound(
    d: int, bound: str, curvature: str
) -> None:
    """The oracle's quadrature of kinks is off by less than a thousandth of a."""
    reach, points = float(bound) * 1.25, 126
    (removed, added), _ = tables(bound, d, curvature, reach, points)
    logs = np.linspace(0, reach, points)
    of_record, of_noise = stated_profile(float(bound), float(curvature), d, logs)
    found = np.array([float(x) for x in removed])
    assert np.allclose(found, of_record, atol=1e-3 * float(bound), rtol=0)
    assert np.allclose([float(x) for x in added], of_noise, atol=1e-3 * float(bound), rtol=0)


def test_dropping_the_jacobian_would_be_seen() -> None:
    """At a = .028, κ = 4.255, d = 2 some record is told at ε = .7a by .00835; without it h = .0014."""
    (removed, added), _ = tables("0.028", 2, "4.255", 0.028, 101)
    assert float(removed[70]) >= 0.00835
    assert float(added[70]) < 0.0015


def test_a_maximum_is_not_below_any_of_what_it_is_over() -> None:
    s = np.linspace(0, 1, 100_001)
    for a, kappa in [(0.0, 1.0), (0.3, 4.0), (2.5, 3.0), (40.0, 50.0), (1.0, 1.0), (3.0, 1.0)]:
        truth = float(np.max(a * s + np.log1p(kappa * s * (1 - s))))
        with precision(96):
            assert (
                truth - 1e-12 <= float(updates.linked(arb(a), arb(kappa), tied=True)) < truth + 1e-5
            )
            free = float(updates.linked(arb(a), arb(kappa), tied=False))
        assert free == pytest.approx(a + math.log1p(kappa))


@settings(max_examples=10, deadline=None)
@given(st.floats(0.1, 2), st.floats(0.01, 5))
def test_the_split_that_is_found_is_the_best_on_the_lattice(bound: float, curvature: float) -> None:
    (to, back), step = tables(repr(bound), 2, repr(curvature), bound * 1.4, 24)
    size = len(to)

    def at(table: list[Any], mirrored: list[Any], j: int) -> float:
        k = math.exp(float(step) * j)
        return float(table[j]) if j >= 0 else 1 - k * (1 - float(mirrored[-j]))

    with precision(128):
        found = updates.in_two_steps(to, back, step)
    for j in range(2 * size - 1):
        splits = range(max(1 - size, j - size + 1), size)
        sums = [at(to, back, i) + math.exp(float(step) * i) * at(back, to, j - i) for i in splits]
        assert float(found[j]) == pytest.approx(min(sums), abs=1e-12)


def test_rounds_on_a_lattice_against_the_closed_form() -> None:
    """Never below, whatever the lattice; close to it if it is fine and reaches far."""
    eps, exact = arb(2), float(gaussian_delta(mpf("0.3") * mp.sqrt(20), mpf(2)))
    rounds = [(laws.gaussian(arb("0.3")), 20)]
    with precision(128):
        fine = lattice.on_a_lattice(rounds, eps, arb("0.005"), [600], 1600)
        assert exact <= float(fine) < exact * (1 + 1e-3)
        for step, points, reach in [("0.3", 12, 40), ("0.01", 30, 900), ("0.01", 300, 230)]:
            assert exact < float(lattice.on_a_lattice(rounds, eps, arb(step), [points], reach)) <= 1
        assert float(lattice.on_a_lattice(rounds, eps, arb("0.01"), [300], 150)) > exact
        assert not lattice.on_a_lattice(rounds, eps, arb(0), [300], 150).is_finite()


def test_one_sided_rounds_on_a_lattice_keep_their_direction() -> None:
    """Of an update whose record is removed or added, against single rounds by quadrature of R."""
    for reverse in (False, True):
        with precision(128):
            ((law, _),) = rounds_of([UPDATE], "add-remove", reverse)
            found = lattice.on_a_lattice([(law, 1)], arb("0.3"), arb("0.002"), [301], 301)
        truth = stated_profile(0.5, 1.5, 3, np.array([0.3]))[int(reverse)]
        assert abs(float(found) - truth[0]) < 5e-4


@pytest.mark.parametrize("reverse", [False, True])
def test_few_outcomes_on_a_lattice_against_their_sum(*, reverse: bool) -> None:
    release = {
        "mechanism": "distributions",
        "outcomes": [["1/2", "1/8"], ["1/4", "1/4"], ["1/8", "1/2"], ["1/8", "0"], ["0", "1/8"]],
        "count": 3,
    }
    with precision(128):
        rounds = rounds_of([release], "add-remove", reverse)
        for eps in (arb("0.5"), arb(2)):
            infinite = 1 - (1 - rounds[0][0].infinite) ** 3
            exact = float(infinite + outcomes.over_outcomes(rounds, eps))
            found = float(lattice.on_a_lattice(rounds, eps, arb("0.01"), [150], 600))
            assert exact - 1e-12 <= found < exact + 1e-3


@pytest.mark.parametrize("reverse", [False, True])
def test_rare_sampling_on_a_lattice_is_not_below_two_rounds_by_quadrature(*, reverse: bool) -> None:
    """δ(ε) = E[δ₁(ε - L)] over the first round's loss L."""
    q, eps = 0.01, 0.005 if reverse else 0.02  # removed records lose at most .0201 here
    above, below = (0.0, 1.0) if reverse else (1.0, 0.0)
    x = np.linspace(-10, 12, 40_001)

    def ratio(sign: float) -> Any:
        return np.log1p(q * np.expm1(sign * x - 0.5))

    losses = above * ratio(1) - below * ratio(-1)
    masses = np.exp(-x * x / 2 + above * ratio(1)) * (x[1] - x[0]) / math.sqrt(2 * math.pi)
    order = np.argsort(losses)
    losses, masses = losses[order], masses[order]
    tail = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    tilted = np.append(np.cumsum((masses * np.exp(-losses))[::-1])[::-1], 0.0)
    first = np.searchsorted(losses, eps - losses)
    exact = float(masses @ (tail[first] - np.exp(eps - losses) * tilted[first]))
    sampled = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": "1", "rate": "0.01"}
    with precision(160):
        rounds = rounds_of([{**sampled, "count": 2}], "add-remove", reverse)
        found = float(lattice.on_a_lattice(rounds, arb(eps), arb("0.0005"), [3000], 7000))
    assert exact * (1 - 1e-6) <= found < exact * 1.01


@pytest.mark.campaign
def test_few_draws_leave_a_larger_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if lines of 3,000 nodes were too long."""
    monkeypatch.setattr("dpcalc.certificates.lines._MOST_CHEAP_NODES", 100)
    monkeypatch.setattr("dpcalc.certificates.lines._MOST_NODES", 100)
    part = named.gaussian_without_replacement(4, 20, 1000)
    with with_relative_width(1e-7):
        bracket = compose((part, 2)).bracket(1e-6)
    found = certify([(part, 2)], "replace-one", 1e-6, bracket.upper, bracket.lower)
    assert "too many nodes" in found.upper
    assert found.upper.endswith("is certified")
    assert "too many nodes" in found.lower
    assert found.certificate is not None
    assert check(found.certificate)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.few(2)
def test_what_the_engine_finds_is_certified(adjacency: str, *, tied: bool) -> None:
    """Where falling derivatives gain nothing the bounds are the same."""
    part = perturbed_update(Update(0.3, 0.02, 20, tied, 60), adjacency, 1.0)
    bracket = compose((part, 5)).bracket(1e-6)
    found = certify([(part, 5)], adjacency, 1e-6, bracket.upper, bracket.lower)
    assert found.upper == CERTIFIED
    assert "nothing about lower ends" in found.lower
    assert found.certificate is not None
    check(found.certificate)


def test_a_dimension_that_takes_too_long_is_refused() -> None:
    part = perturbed_update(Update(0.3, 0.02, 3000, True, 60), "replace-one", 1.0)
    assert "2,000 dimensions" in certify([(part, 5)], "replace-one", 1e-6, 1.0).upper


def test_normal_noise_against_the_gaussian_mechanism_without_curvature() -> None:
    """κ → 0: noise moved by the whole difference of two gradients, 2μ."""
    part = normally_perturbed_update(GaussianUpdate(0.1, 1e-9, True, 1000), "replace-one")
    exact = gaussian_delta(mpf("0.2") * mp.sqrt(9), mpf(1))
    found = certify([(part, 9)], "replace-one", float(exact) * 1.001, 1.0)
    assert found.upper == CERTIFIED
    wrong = certify([(part, 9)], "replace-one", float(exact) * 0.999, 1.0)
    assert wrong.upper.startswith("not certified")


@pytest.fixture(scope="module")
def small() -> dict[str, Any]:
    part = perturbed_update(Update(0.3, 0.2, 6, True, 400), "add-remove", 1.0)
    found = certify([(part, 4)], "add-remove", 1e-4, 1.0)
    assert found.certificate is not None
    return found.certificate


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bound", "0.5"),
        ("dimension", 2),
        ("curvature", "30"),
        ("tied", False),
        ("tied", "True"),
        ("tied", 1),
        ("dimension", 0),
        ("dimension", "6"),
        ("curvature", "0"),
        ("count", 12),
        ("mechanism", "normally-perturbed-update"),
    ],
)
def test_edited_updates_are_refused(small: dict[str, Any], field: str, value: Any) -> None:
    edited = copy.deepcopy(small)
    edited["releases"][0][field] = value
    edited["digest"] = digest(edited)
    with pytest.raises(Refused):
        check(edited)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("step", "0"),
        ("step", "0.5"),
        ("step", ["difference", "0", "1"]),
        ("points", []),
        ("points", [1]),
        ("points", [5]),
        ("points", ["300"]),
        ("reach", 0),
        ("reach", 3),
        ("enclosure", ["0", "1e-9"]),
        ("enclosure", ["1", "2"]),
        ("method", "line"),
        ("method", "order"),
    ],
)
def test_lattices_that_show_nothing_are_refused(
    small: dict[str, Any], field: str, value: Any
) -> None:
    edited = copy.deepcopy(small)
    edited["upper"]["evidence"]["remove"][field] = value
    edited["digest"] = digest(edited)
    with pytest.raises(Refused):
        check(edited)


def test_a_bound_from_above_shows_no_lower_end(small: dict[str, Any]) -> None:
    edited = copy.deepcopy(small)
    edited["lower"] = {"epsilon": "0.1", "evidence": {"add": small["upper"]["evidence"]["add"]}}
    edited["digest"] = digest(edited)
    with pytest.raises(Refused):
        check(edited)


def test_a_bound_without_a_proof_here_leaves_a_larger_epsilon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With theorems a and b alone; with theorem c the reported one is certified."""
    monkeypatch.setattr(falling, "worth_it", lambda *_: False)
    out = tmp_path / "out.json"
    asked = "recycled-admm --n-records 8000 --n-nodes 5 --degree 3 --loss-weight 1750 --rounds 25"
    more = "--regularization 0.22 --penalty 1 --noise-rate 1 --dimension 105 --delta 1e-6"
    with pytest.raises(SystemExit) as status:
        main(["epsilon", *asked.split(), *more.split(), "--certify", str(out)])
    assert status.value.code == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert "a larger ε is certified; verify with: dpcalc check" in shown
    certificate = json.loads(out.read_text())
    assert certificate["lower"] is None
    assert 0.9015 < float(certificate["upper"]["epsilon"]) < 0.90295
    with pytest.raises(SystemExit) as status:
        main(["check", str(out)])
    assert status.value.code == 0
