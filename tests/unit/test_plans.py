"""Plans, claims and solutions made by hand: what files cannot say, and what each says of itself."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from dpcalc.claims.composition import Plan, Release
from dpcalc.claims.mechanisms import release_from
from dpcalc.claims.reading import claim_from, needs_delta
from dpcalc.claims.relations import NO_RELATION, Basis, Relation, relation_of
from dpcalc.claims.solve import solve
from dpcalc.claims.system import SystemClaim, is_system
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.guarantees import GDP, Guarantee, PureDP, compose
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.vocabulary import Verdict

DP_ADMM = privacy_result("dp-admm").from_parameters(dict(privacy_result("dp-admm").example))


def _plan(*guarantees: Guarantee, count: int = 1) -> Plan:
    releases = tuple(Release(f"r{k}", g, count) for k, g in enumerate(guarantees, start=1))
    return Plan(releases, 0.0, None, NO_RELATION)


def test_a_release_that_cannot_be_composed_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        _plan(PureDP(1.0), DP_ADMM.claimed().guarantee, PureDP(1.0)).total()
    assert str(caught.value) == (
        "release 2 (r2): a certified guarantee is needed for composition; got a paper's claim; try the "
        "theorem's certified() guarantee"
    )


def test_releases_that_cannot_be_composed_together_are_blamed_together() -> None:
    sampled = [poisson_subsampled_gaussian(2.0, 0.1, a) for a in ("add-remove", "replace-one")]
    with pytest.raises(InvalidInput) as caught:
        _plan(*sampled).total()
    assert str(caught.value).startswith(
        "these releases together: expected releases under one neighbouring relation; got some under"
    )


def test_a_release_counts_as_often_as_it_stands_in_the_list() -> None:
    once = Release("a", PureDP(0.25), 3)
    twice = Plan((once, Release("b", PureDP(0.5), 1), once), 0.0, None, NO_RELATION)
    assert twice.total().epsilon(0.0) == 2.0
    assert _plan(PureDP(0.25), count=0).total().epsilon(0.0) == 0.0


def test_delta_is_needed_where_one_of_two_curves_needs_it() -> None:
    def theorem(certified: Guarantee, claimed: Guarantee | Exception) -> Any:
        def claim() -> Any:
            if isinstance(claimed, Exception):
                raise claimed
            return SimpleNamespace(guarantee=claimed)

        return SimpleNamespace(
            certified=lambda: SimpleNamespace(guarantee=certified), claimed=claim
        )

    assert needs_delta(theorem(GDP(1.0), PureDP(1.0)))
    assert needs_delta(theorem(PureDP(1.0), GDP(1.0)))
    assert not needs_delta(theorem(PureDP(1.0), PureDP(1.0)))
    for error in (InvalidInput("no"), AssumptionViolated("no")):
        assert not needs_delta(theorem(PureDP(1.0), error))


def test_parameters_are_refused_before_a_missing_delta() -> None:
    given = {**privacy_result("dp-admm").example, "n_records": 1.5}
    with pytest.raises(InvalidInput, match=r"^claim 2: n_records needs a whole number"):
        claim_from("claim 2", {"theorem": "dp-admm", "parameters": given})
    given["n_records"] = 1000
    for left_out in ((), ("sigma",)):
        rest = {name: value for name, value in given.items() if name not in left_out}
        with pytest.raises(
            InvalidInput, match=r"^claim 2: delta above 0 is needed: dp-admm gives no"
        ):
            claim_from("claim 2", {"theorem": "dp-admm", "parameters": rest, "epsilon": 1})


@pytest.mark.parametrize(
    ("twice", "other"),
    [("min_singular_value", "min-singular-value"), ("min-singular_value", "min_singular-value")],
)
def test_a_parameter_in_two_spellings_is_named_in_both(twice: str, other: str) -> None:
    kind = privacy_result("admm-iteration")
    rest = {k: v for k, v in kind.example.items() if k != "min_singular_value"}
    with pytest.raises(InvalidInput) as caught:
        kind.from_parameters({**rest, twice: 1, other: 2})
    assert str(caught.value) == (
        f"min_singular_value is needed once; got {twice} and {other}; leave out one"
    )


def test_the_relation_of_an_instance_says_who_chose_it() -> None:
    nothing: Any = SimpleNamespace()
    assert relation_of(nothing, stated=True) is NO_RELATION
    name = str(DP_ADMM.inputs()["adjacency"])
    assert relation_of(DP_ADMM, stated=True) == Relation(name, Basis.STATED)
    assert relation_of(DP_ADMM, stated=False) == Relation(name, Basis.DEFAULT)
    kind = privacy_result("noisy-gd")
    alone = kind.from_parameters(dict(kind.example))
    for stated in (True, False):
        found = relation_of(alone, stated=stated)
        assert found == Relation("neighbouring-functions", Basis.ONLY)


def test_a_relation_said_for_all_reaches_a_theorem_that_states_none() -> None:
    given = {k: v for k, v in privacy_result("dp-admm").example.items() if k != "adjacency"}
    table = {"theorem": "dp-admm", "parameters": given}
    for adjacency in ("add-remove", "replace-one"):
        stated = DP_ADMM.replace(adjacency=adjacency)
        for found in (
            release_from("release 1", table, adjacency),
            release_from(
                "release 1", {**table, "parameters": {**given, "adjacency": adjacency}}, ""
            ),
        ):
            assert found.theorem == stated
            assert found.guarantee == stated.certified().guarantee
            assert found.relation == Relation(adjacency, Basis.STATED)
    assert release_from("release 1", table).relation == Relation("replace-one", Basis.DEFAULT)


def test_a_solution_says_what_it_is_for() -> None:
    table = {"mechanism": "randomised-response", "epsilon": 2**-13}
    found = solve(table, None, 0.5, 0.0)
    assert str(found) == (
        "rounds = 4096 over 4,096 rounds; neighbouring relation: that of the numbers given; none was said"
    )
    assert float(found) == 4096.0
    assert found.guarantee.epsilon(0.0) == 0.5
    assert found.table == table


def test_a_claim_about_a_theorem_says_what_it_is_about() -> None:
    example = dict(privacy_result("dp-admm").example)
    claim = claim_from("claim 1", {"theorem": "dp-admm", "delta": 1e-3, "parameters": example})
    assert claim.guarantee.epsilon(1e-3) == DP_ADMM.certified().guarantee.epsilon(1e-3)
    assert claim.inputs() == DP_ADMM.inputs()


@pytest.mark.parametrize(
    ("verdict", "certified", "attained", "reason"),
    [
        (Verdict.REFUTED, 9.0, 1.23456, "these releases leak at least ε = 1.234 about the worst neighbours"),
        (Verdict.REFUTED, math.inf, math.inf, "these releases leak no finite ε about the worst neighbours"),
        (Verdict.UNSUPPORTED, math.inf, None, "nothing is certified; what bare guarantees or theorems in the list leak at least is not known"),
        (Verdict.UNSUPPORTED, 1.23411, None, "only ε = 1.235 is certified; what bare guarantees or theorems in the list leak at least is not known"),
        (Verdict.UNSUPPORTED, 1.23411, 0.98769, "only ε = 1.235 is certified; the exact ε is at least 0.9876, not known to exceed the claim"),
        (Verdict.HOLDS, 1.0, 1.0, "the claim is certified"),
        (Verdict.LOOSE, 0.0, 0.0, "the certified ε is 0"),
        (Verdict.LOOSE, 0.3, None, "3.333 times the certified ε"),
    ],
)  # fmt: skip
def test_the_reason_of_a_verdict_on_a_list(
    verdict: Verdict, certified: float, attained: float | None, reason: str
) -> None:
    claim = SystemClaim("ours", _plan(PureDP(1.0)), 1.0, 0.0)
    assert claim._reason(verdict, certified, attained) == reason


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ({"release": []}, True),
        ({"rounds": "t.csv"}, True),
        ({"theorem": "dp-admm", "rounds": "t.csv"}, False),
        ({"name": "a"}, False),
        ({}, False),
        (["release"], False),
        ("rounds", False),
    ],
)
def test_a_claim_is_about_a_list_if_it_has_one_and_no_theorem(
    table: object, *, found: bool
) -> None:
    assert is_system(table) is found


def test_the_total_of_a_list_is_what_is_judged() -> None:
    claim = SystemClaim("ours", _plan(PureDP(1.0), GDP(0.5)), 1.0, 1e-6)
    assert claim.guarantee.epsilon(1e-6) == compose(PureDP(1.0), GDP(0.5)).epsilon(1e-6)
    assert claim.inputs() == {"releases": 2}
    assert list(claim.promised()) == ["as-listed"]
