"""What Python answers about a published result: every field, its text, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dpcalc
from dpcalc.answers.asked import delta_asked, instance_of, kind_of, relation_asked
from dpcalc.claims.relations import Basis, Relation
from dpcalc.cli._recorded import _scores
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.report.records import attack_accuracy, bound, budget, instance_verdict
from dpcalc.theorems import DPADMM
from dpcalc.theorems.base import Bound
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.vocabulary import Release, Verdict

SETTING: dict[str, Any] = dict(DPADMM.example)
NO_NOISE = {name: value for name, value in SETTING.items() if name != "sigma"}
ADAPTED = {**privacy_result("penalty-perturbation").example, "dimension": None}


def _refused(ask: Any, *given: Any, **named: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        ask(*given, **named)
    return str(caught.value)


def test_a_theorem_is_meant_by_key_class_or_instance() -> None:
    instance = DPADMM.from_parameters(SETTING)
    assert kind_of("dp-admm") is kind_of(DPADMM) is kind_of(instance) is DPADMM
    for wrong in (3, int, None):
        given: Any = wrong
        assert _refused(kind_of, given) == (
            f"expected a theorem, by its key, class or instance; got {wrong!r}; try 'dp-admm'"
        )
    assert "did you mean 'dp-admm'" in _refused(kind_of, "dp-adm")


def test_a_mechanism_in_place_of_a_theorem_gets_a_pointer_that_can_be_followed() -> None:
    hint = _refused(kind_of, "dp-sgd")
    assert "dpcalc.mechanisms.poisson_subsampled_gaussian(...)" in hint
    assert "dpcalc.compose((mechanism, rounds)).epsilon(delta)" in hint
    once = dpcalc.mechanisms.poisson_subsampled_gaussian(1.1, 0.01, "add-remove")
    assert dpcalc.compose((once, 100)).epsilon(1e-6) > once.epsilon(1e-6)


def test_what_is_proved_is_found_once_and_composes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Averages over thousands of positions once were computed for every part of the answer."""
    asked: list[DPADMM] = []
    inner = DPADMM.certified

    def counted(self: DPADMM) -> Bound:
        asked.append(self)
        return inner(self)

    monkeypatch.setattr(DPADMM, "certified", counted)
    found = dpcalc.epsilon("dp-admm", delta=1e-5, **SETTING)
    assert not asked
    assert found.record()["certified"]["epsilon"] == found.guarantee.epsilon(1e-5) == float(found)
    assert len(asked) == 1
    assert dpcalc.compose((found.guarantee, 2)).epsilon(1e-5) > float(found)


def test_an_instance_is_made_or_changed() -> None:
    instance = DPADMM.from_parameters(SETTING)
    assert instance_of(instance, {}) is instance
    changed = instance_of(instance, {"rounds": 7})
    assert changed.inputs() == {**instance.inputs(), "rounds": 7}
    for what in ("dp-admm", DPADMM):
        assert instance_of(what, SETTING) == instance
        promised = instance_of(what, {**SETTING, "attest": "all"})
        assert list(promised.promised()) == ["gradient-bound", "public-parameters"]
        assert promised.inputs() == instance.inputs()


def test_the_relation_is_stated_where_somebody_chose_it() -> None:
    other = {"adjacency": "replace-one"}
    default = {k: v for k, v in SETTING.items() if k != "adjacency"}
    made = instance_of(DPADMM, default)
    name = str(made.inputs()["adjacency"])
    assert relation_asked(made, default) == Relation(name, Basis.DEFAULT)
    assert relation_asked(made, {"adjacency": name}) == Relation(name, Basis.STATED)
    chosen = instance_of(DPADMM, {**default, "adjacency": "add-remove"})
    assert name == other["adjacency"]
    assert relation_asked(chosen, {}) == Relation("add-remove", Basis.STATED)
    alone = privacy_result("noisy-gd")
    found = relation_asked(alone.from_parameters(dict(alone.example)), {})
    assert found == Relation("neighbouring-functions", Basis.ONLY)


def test_a_missing_delta_is_zero_where_zero_has_an_answer() -> None:
    instance = DPADMM.from_parameters(SETTING)
    assert delta_asked(instance, 1e-5) == 1e-5
    for missing in (None, 0.0):
        assert _refused(delta_asked, instance, missing) == (
            "--delta above 0 is needed: dp-admm gives no ε at δ = 0; try --delta 1e-6"
        )
    assert "delta needs a number in [0, 1)" in _refused(delta_asked, instance, 1.0)
    pure, loose = (SimpleNamespace(guarantee=g) for g in (dpcalc.PureDP(1.0), dpcalc.GDP(1.0)))
    asked: Any = SimpleNamespace(key="k", certified=lambda: pure, claimed=lambda: pure)
    assert delta_asked(asked, None) == delta_asked(asked, 0.0) == 0.0
    asked.claimed = lambda: loose
    assert delta_asked(asked, 0.0) == 0.0
    assert _refused(delta_asked, asked, None).startswith("--delta above 0 is needed: k gives no")


def test_a_budget_has_the_numbers_of_its_instance() -> None:
    instance = DPADMM.from_parameters(SETTING)
    found = dpcalc.epsilon("dp-admm", delta=1e-5, **SETTING)
    certified = instance.certified().guarantee.epsilon(1e-5)
    claimed = instance.claimed().guarantee.epsilon(1e-5)
    assert float(found) == found.certified == certified
    assert found.claimed == claimed
    assert found.verdict is Verdict.LOOSE
    assert found.release is Release.EVERY_ITERATE
    assert found.theorem == instance
    assert found.record() == budget(instance, 1e-5, found.relation)
    assert found.record() is not found.record()
    assert str(found).splitlines() == [
        "theorem      dp-admm",
        "δ            1e-5",
        "claimed ε    0.147843",
        "certified ε  0.0939214",
        "verdict      LOOSE (claimed/certified = 1.574)",
        "neighbours   add-remove",
        "release      every iterate",
    ]
    assert found._repr_html_().count("<tr>") == 7
    assert repr(found) == (
        "Budget(dp-admm at δ = 1e-5: claimed ε = 0.147843, certified ε = 0.0939214, LOOSE)"
    )


def test_a_violated_assumption_is_told_at_once_and_a_missing_claim_in_the_answer() -> None:
    kind = privacy_result("noisy-gd")
    with pytest.raises(AssumptionViolated, match="step_size <= 2/smoothness = 1; got step_size=2"):
        dpcalc.epsilon(kind, delta=1e-5, **{**kind.example, "step_size": 2})
    found = instance_verdict(kind.from_parameters(dict(kind.example)), None, 1.0, 1e-5)
    assert found == {"verdict": None, "reason": "the paper claims nothing here", "provided": []}


@pytest.mark.parametrize(
    ("claimed", "attest", "verdict", "provided"),
    [
        (0.01, (), "REFUTED", []),
        (9.0, (), "LOOSE", ["gradient-bound", "public-parameters"]),
        (9.0, ("public-parameters",), "LOOSE", ["gradient-bound"]),
        (9.0, "all", "LOOSE", []),
    ],
)
def test_a_verdict_names_the_promises_it_rests_on(
    claimed: float, attest: Any, verdict: str, provided: list[str]
) -> None:
    theorem = DPADMM.from_parameters(SETTING, attest)
    certified = theorem.certified().guarantee.epsilon(1e-5)
    found = instance_verdict(theorem, claimed, certified, 1e-5)
    assert (found["verdict"], found["provided"]) == (verdict, provided)


def test_noise_is_the_least_that_is_certified() -> None:
    found = dpcalc.noise("dp-admm", epsilon=1, delta=1e-5, **NO_NOISE)
    assert float(found) == found.value == found.theorem.noise_level()
    assert found.parameter == "sigma"
    assert found.spent == found.theorem.certified().guarantee.epsilon(1e-5) <= 1
    assert (
        found.theorem.with_noise_level(found.value * (1 - 1e-9)).certified().guarantee.epsilon(1e-5)
        > 1
    )
    assert found.prescribed is not None
    assert found.why_none == ""
    record = found.record()
    assert record["inputs"] == {k: v for k, v in found.theorem.inputs().items() if k != "sigma"}
    assert record["budget"] == {"epsilon": 1, "delta": 1e-5}
    assert record["certified"]["sigma"] == found.value
    prescribed = record["claimed"]
    assert prescribed["sigma"] == found.prescribed.noise_level()
    spent = found.prescribed.certified().guarantee.epsilon(1e-5)
    assert prescribed["certified_epsilon"] == spent
    assert (prescribed["epsilon"], prescribed["delta"]) == (1, 1e-5)
    assert prescribed["verdict"] == "LOOSE"
    assert str(found).splitlines() == [
        "theorem         dp-admm",
        "budget          ε = 1, δ = 1e-5",
        "smallest sigma  0.0011457362",
        "prescribed      0.0015053645 (certified ε = 0.741462)",
        "neighbours      add-remove",
        "release         every iterate",
    ]
    assert repr(found) == f"Noise(dp-admm for (1, 1e-5): sigma = {found.value!r})"
    assert found._repr_html_().count("<tr>") == 6


def test_where_the_formula_gives_no_noise_the_answer_says_why() -> None:
    found = dpcalc.noise("penalty-perturbation", epsilon=1, delta=1e-5, **ADAPTED)
    assert found.prescribed is None
    assert found.why_none.startswith("the printed formula charges 2.17047 even without the noise")
    assert found.record()["claimed"] == {
        "noise_rate": None, "epsilon": None, "delta": 1e-5, "reason": found.why_none,
    }  # fmt: skip
    assert f"prescribed           none: {found.why_none}" in str(found).splitlines()


def test_noise_that_is_given_is_refused_unless_it_is_a_shape() -> None:
    assert _refused(dpcalc.noise, "dp-admm", 1, 1e-5, **SETTING) == (
        f"sigma is what is looked for; got {SETTING['sigma']!r}; leave it out"
    )
    start = DPADMM.from_parameters({**SETTING, "sigma": 4})
    again = dpcalc.noise(start, 1, 1e-5).value
    assert again == pytest.approx(dpcalc.noise(DPADMM, 1, 1e-5, **NO_NOISE).value, rel=1e-11)
    for epsilon in (0, -1, math.inf):
        assert "epsilon needs a finite number above 0" in _refused(
            dpcalc.noise, "dp-admm", epsilon, 1e-5, **NO_NOISE
        )


def test_a_double_above_the_decimal_number_that_was_meant_is_told() -> None:
    """Ten times .1 as a double is above 1: nine rounds, and how to have ten."""
    found = dpcalc.calibrate("randomised-response", 1.0, each=0.1)
    assert found.value == 9
    assert str(found).endswith(
        "; 0.1 as a double is larger than the decimal number, of which more fit: pass each='0.1'"
    )
    assert dpcalc.calibrate("randomised-response", 1.0, each="0.1").value == 10
    for each in (0.25, 0.3, "0.1", 0.11):
        assert dpcalc.calibrate("randomised-response", 1.0, each=each).note == ""


def test_calibrate_says_which_door_is_meant() -> None:
    instance = DPADMM.from_parameters(SETTING)
    assert _refused(dpcalc.calibrate, instance, 1, 1e-5, rounds=3, sigma=1) == (
        "an instance has its parameters; got rounds, sigma besides; use instance.replace(...)"
    )
    assert _refused(dpcalc.calibrate, "dp_admm", 1, 1e-5) == (
        "expected a mechanism; dp-admm is a theorem; try dpcalc.noise('dp-admm', ...)"
    )
    assert "did you mean 'gaussian'" in _refused(dpcalc.calibrate, "gausian", 1, 1e-5)
    assert "rounds needs a whole number" in _refused(
        dpcalc.calibrate, "gaussian", 1, 1e-5, rounds=0
    )
    found = dpcalc.calibrate("randomised-response", 1.0, each=0.25)
    assert (found.field, found.value, found.rounds) == ("rounds", 4, 4)
    found = dpcalc.calibrate("randomised-response", 1.0, rounds=4)
    assert found.field == "epsilon"
    assert 0.25 * (1 - 1e-12) <= found.value <= 0.25


def test_a_bound_names_its_method_and_its_worst_node() -> None:
    curve: Any = SimpleNamespace(epsilon=lambda delta: 2.0, worst=lambda delta: 3)
    found = bound(Bound(curve, {"beta": 1.5}, "by hand"), 1e-5)
    assert found == {
        "epsilon": 2.0, "delta": 1e-5, "method": "by hand", "beta": 1.5, "worst_node": 3,
    }  # fmt: skip
    assert "worst_node" not in bound(Bound(curve, {}, "by hand"), 0.0)
    enclosed = bound(Bound(dpcalc.GDP(1.0), {}, "by hand"), 1e-5)
    assert enclosed["method"] == "by hand"
    assert enclosed["epsilon_lower"] < enclosed["epsilon"]
    assert (
        attack_accuracy(dpcalc.PureDP(1.0), math.inf, 0.0) == dpcalc.PureDP(1.0).attack_accuracy()
    )


def test_a_rate_of_noise_is_rounded_down_and_a_deviation_up() -> None:
    rate = dpcalc.noise("penalty-perturbation", epsilon=1, delta=1e-5, **ADAPTED)
    shown = str(rate).splitlines()[2].split()[-1]
    assert float(shown) < rate.value < float(shown) + 2e-7
    deviation = dpcalc.noise("dp-admm", epsilon=1, delta=1e-5, **NO_NOISE)
    shown = str(deviation).splitlines()[2].split()[-1]
    assert float(shown) - 2e-10 < deviation.value <= float(shown)


def test_recorded_scores_are_read_by_the_same_column_from_both_files(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("in.csv", "out.csv")]
    for k, file in enumerate(files):
        Path(file).write_text(f"aa,bb\n{k},{k + 5}\n")
    given: dict[str, Any] = {"scores": files, "column": "bb", "member": None}
    first, second = _scores(given)
    assert (first.tolist(), second.tolist()) == ([5.0], [6.0])
    assert _refused(_scores, {**given, "scores": files[:1] * 2}) == (
        f"expected two files; got {files[0]!r} twice; give it once with --member"
    )
    assert _refused(_scores, {**given, "member": "world"}) == (
        "--member goes with one file of --scores; got two"
    )
