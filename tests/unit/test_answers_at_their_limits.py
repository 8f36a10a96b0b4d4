"""Answers where a number is 0, infinite or missing, and their pictures."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

import dpcalc
from dpcalc.accounting.enclosure import Bracket
from dpcalc.answers.budget import Budget
from dpcalc.claims.relations import Basis, Relation
from dpcalc.claims.verdict import surely_attained
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, ApproxDP, Guarantee, PureDP, compose
from dpcalc.report.enclosures import PAIR, WORST_CASE, enclosure, enclosure_line
from dpcalc.report.records import attack_accuracy, bound, budget
from dpcalc.theorems.base import Bound
from dpcalc.theorems.catalogue import privacy_result

GD = privacy_result("noisy-gd")
EXAMPLE: dict[str, Any] = dict(GD.example)
NO_NOISE = {name: value for name, value in EXAMPLE.items() if name != GD.noise}


def _rows(answer: Any) -> dict[str, str]:
    return dict(answer._rows())


def test_a_budget_of_zero_has_no_ratio() -> None:
    found = dpcalc.epsilon(GD, delta=0.9, **EXAMPLE)
    assert found.certified == 0
    assert _rows(found)["verdict"] in ("HOLDS", "LOOSE")
    assert _rows(found)["certified ε"] == "0"


def test_a_budget_of_nothing_certified_says_so() -> None:
    kind = privacy_result("dp-admm")
    found = dpcalc.epsilon(kind, delta=1e-5, **{**kind.example, "dual_start": "data"})
    assert found.certified == math.inf
    assert found.claimed is not None
    assert _rows(found)["certified ε"] == "∞"
    assert _rows(found)["verdict"] == found.verdict
    assert "certified ε = ∞" in repr(found)


def test_a_budget_without_a_claim_or_a_relation_says_so() -> None:
    instance = GD.from_parameters(EXAMPLE)
    found = Budget(instance, 1e-5, Relation("", Basis.NONE))
    record = {**budget(instance, 1e-5), "adjacency": "", "verdict": None, "reason": "why"}
    object.__setattr__(found, "_record", {**record, "claimed": {"epsilon": None}})
    assert (found.claimed, found.verdict, found.reason) == (None, None, "why")
    rows = _rows(found)
    assert (rows["claimed ε"], rows["verdict"]) == ("none", "none")
    assert rows["neighbours"] == "as the numbers given"
    assert repr(found).startswith("Budget(noisy-gd at δ = 1e-5: claimed ε = none, certified ε = ")
    assert repr(found).endswith(", no claim)")


def test_what_is_attained_is_that_of_the_instance_or_unknown() -> None:
    found = dpcalc.epsilon(GD, delta=1e-5, **EXAMPLE)
    attained = found.theorem.attained()
    assert attained is not None
    assert found.attained == surely_attained(attained.guarantee, 1e-5)
    assert found.attained is not None
    assert 0 < found.attained <= found.certified
    unknown = privacy_result("noisy-cgd")
    given = {**unknown.example, "order": "reshuffled"}
    assert dpcalc.epsilon(unknown, delta=1e-5, **given).attained is None


def test_a_record_is_of_the_relation_that_was_stated() -> None:
    kind = privacy_result("dp-admm")
    instance = kind.from_parameters(kind.example)
    stated = budget(instance, 1e-5)
    assert stated["adjacency_basis"] == Basis.STATED.value
    default = budget(instance, 1e-5, Relation("add-remove", Basis.DEFAULT))
    assert default["adjacency_basis"] == Basis.DEFAULT.value
    certified = instance.certified().guarantee
    assert stated["certified"]["attack_accuracy"] == attack_accuracy(
        certified, certified.epsilon(1e-5), 1e-5
    )


def _drawn(axes: Any) -> tuple[Any, list[tuple[list[float], list[float]]], set[float]]:
    """Title, curves of several points, and every place where something is marked."""
    lines = [([*map(float, li.get_xdata())], [*map(float, li.get_ydata())]) for li in axes.lines]
    marked = {x for xs, _ in lines if len(set(xs)) == 1 for x in xs}
    texts = " ".join(t.get_text() for t in axes.figure.findobj(lambda a: hasattr(a, "get_text")))
    return texts, [line for line in lines if len(set(line[0])) > 1], marked


def test_a_budget_is_drawn_with_its_delta_marked() -> None:
    pytest.importorskip("matplotlib")
    texts, curves, marked = _drawn(dpcalc.epsilon(GD, delta=1e-5, **EXAMPLE).plot())
    assert 1e-5 in marked
    assert GD.title in texts
    certified = GD.from_parameters(EXAMPLE).certified().guarantee
    here = [dict(zip(*curve, strict=True)).get(1e-5) for curve in curves]
    assert pytest.approx(certified.epsilon(1e-5), rel=2e-3) in here


def test_noise_is_drawn_over_budgets_around_its_own() -> None:
    pytest.importorskip("matplotlib")
    found = dpcalc.noise(GD, epsilon=2, delta=1e-5, **NO_NOISE)
    texts, curves, marked = _drawn(found.plot())
    assert 2 in marked
    assert GD.title in texts
    assert "δ = 1e-5" in texts
    assert f"{GD.noise} = " not in texts
    for xs, _ in curves:
        assert xs == pytest.approx([0.2 * 10 ** (k / 8) for k in range(17)])
    assert any(y[8] == pytest.approx(found.value) for _, y in curves)
    _, curves, _ = _drawn(found.plot([1.0, 3.0]))
    assert all(xs == [1.0, 3.0] for xs, _ in curves)


def test_noise_without_a_relation_says_so() -> None:
    found = dpcalc.noise(GD, epsilon=2, delta=1e-5, **NO_NOISE)
    object.__setattr__(found, "relation", Relation("", Basis.NONE))
    assert _rows(found)["neighbours"] == "as the numbers given"
    assert found.record()["findings"] == budget(found.theorem, 1e-5)["findings"]
    assert found.record()["assumptions"] == budget(found.theorem, 1e-5)["assumptions"]
    assert found._repr_html_().count("<th ") == len(_rows(found))


def test_noise_of_an_instance_starts_from_its_own_and_takes_changes() -> None:
    start = GD.from_parameters(EXAMPLE)
    found = dpcalc.noise(start, 2, 1e-5, steps=3)
    assert found.theorem.inputs()["steps"] == 3
    assert found.value == pytest.approx(dpcalc.noise(GD, 2, 1e-5, **{**NO_NOISE, "steps": 3}).value)
    made = dpcalc.calibrate(GD, 2, 1e-5, **NO_NOISE)
    assert made.inputs() == dpcalc.noise(GD, 2, 1e-5, **NO_NOISE).theorem.inputs()
    assert dpcalc.calibrate(start, 2, 1e-5).noise_level() == pytest.approx(made.noise_level())
    with pytest.raises(InvalidInput, match="unknown parameter of noisy-gd 'step'; did you mean"):
        dpcalc.noise(start, 2, 1e-5, step=3)
    with pytest.raises(InvalidInput, match="expected a theorem, by its key, class or instance"):
        dpcalc.calibrate(int, 2)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("bracket", "line"),
    [
        (Bracket(1.2345678, 1.25, "by hand"), "by hand; the exact value of the {} is at least 1.23456"),
        (Bracket(0.0, 1.25, "by hand"), "by hand"),
    ],
)  # fmt: skip
def test_a_bracket_gives_its_lower_end_and_its_method(bracket: Bracket, line: str) -> None:
    curve: Any = SimpleNamespace(epsilon=lambda _: bracket.upper, bracket={1e-5: bracket}.get)
    found = enclosure(curve, 1e-5)
    assert found == {
        "epsilon_lower": bracket.lower, "epsilon_lower_of": PAIR, "method": "by hand",
    }  # fmt: skip
    assert enclosure_line(found) == line.format(PAIR)
    assert bound(Bound(curve, {}, "own"), 1e-5)["method"] == "own; by hand"


def test_an_attained_composition_is_enclosed_for_its_worst_case() -> None:
    total = compose((GDP(1.0), 2), (PureDP(0.5), 3))
    found = enclosure(total, 1e-5)
    method = total.bracket(1e-5).method  # type: ignore[attr-defined]
    assert (found["epsilon_lower_of"], found["method"]) == (WORST_CASE, method)
    assert enclosure_line({**found, "epsilon_lower": math.inf}) == method
    assert enclosure_line({}) == ""
    assert (
        enclosure_line(found, 3).split()[-1]
        == f"{math.floor(1000 * found['epsilon_lower'] / 10) / 100:g}"
    )


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ApproxDP(0.5, 0.0), ApproxDP(0.5, 1e-6)])
def test_only_the_stated_point_of_a_guarantee_is_its_exact_value(guarantee: Guarantee) -> None:
    own = 1e-6 if guarantee == ApproxDP(0.5, 1e-6) else 0.0
    at, beside = (enclosure(guarantee, delta)["epsilon_lower"] for delta in (own, own + 1e-5))
    epsilon = guarantee.epsilon(own + 1e-5)
    assert at == guarantee.epsilon(own) == 0.5
    assert beside == math.nextafter(math.nextafter(epsilon, 0), 0)


def test_a_gaussian_composition_is_enclosed_by_a_few_doubles() -> None:
    mu = 1.0
    for _ in range(3):
        mu = math.nextafter(mu, 0)
    lower = GDP(mu).epsilon(1e-5)
    for _ in range(2):
        lower = math.nextafter(lower, 0)
    assert enclosure(GDP(1.0), 1e-5) == {
        "epsilon_lower": lower, "epsilon_lower_of": WORST_CASE,
        "method": "Gaussian composition, exact",
    }  # fmt: skip
