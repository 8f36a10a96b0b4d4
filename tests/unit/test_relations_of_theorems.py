"""Which relation a theorem's answer is about, and where a file and a theorem say different ones."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dpcalc.claims.mechanisms import release_from
from dpcalc.claims.relations import Basis, Relation, relation_of, shared
from dpcalc.errors import InvalidInput
from dpcalc.theorems.catalogue import privacy_result


def _release(key: str, of_file: str, **changed: Any) -> Any:
    kind = privacy_result(key)
    table = {"theorem": key, "parameters": {**kind.example, **changed}}
    return release_from("release 1", table, of_file)


def _epsilon(**changed: Any) -> float:
    kind = privacy_result("dp-admm")
    theorem = kind.from_parameters({**kind.example, **changed}, "all")
    return theorem.certified().guarantee.epsilon(1e-6)


def test_a_theorem_takes_the_relation_of_the_file() -> None:
    """Each budget is that of the theorem with its own parameter set; they differ twofold or so."""
    kind = privacy_result("dp-admm")
    silent = {name: value for name, value in kind.example.items() if name != "adjacency"}
    table = {"theorem": "dp-admm", "parameters": silent}
    spent = {}
    for name in ("add-remove", "replace-one"):
        found = release_from("release 1", table, name)
        assert found.relation.name == name
        spent[name] = found.guarantee.epsilon(1e-6)
        assert spent[name] == _epsilon(adjacency=name)
    assert spent["replace-one"] > 1.5 * spent["add-remove"]


def test_what_a_theorem_says_itself_is_kept_or_refused() -> None:
    stated = _release("dp-admm", "", adjacency="add-remove")
    assert stated.relation == Relation("add-remove", Basis.STATED)
    assert stated.guarantee.epsilon(1e-6) == _epsilon(adjacency="add-remove")
    with pytest.raises(InvalidInput, match="add-remove"):
        _release("dp-admm", "replace-one", adjacency="add-remove")


def test_a_theorem_about_one_relation_refuses_the_other() -> None:
    only = _release("noisy-sgd", "")
    assert only.relation == Relation("replace-one", Basis.ONLY)
    assert relation_of(only.theorem, stated=False) == Relation("replace-one", Basis.ONLY)
    with pytest.raises(InvalidInput, match="replace-one"):
        _release("noisy-sgd", "add-remove")


def test_a_relation_by_default_gives_way_to_the_same_one_stated() -> None:
    default = Relation("add-remove", Basis.DEFAULT), "release 1"
    stated = Relation("add-remove", Basis.STATED), "release 2"
    for order in ([default, stated], [stated, default]):
        assert shared(order, "say it").basis is Basis.STATED
    other = Relation("replace-one", Basis.STATED), "release 3"
    with pytest.raises(InvalidInput, match=r"add-remove \(release 1, by default\).*release 3"):
        shared([default, other], "say it")


def test_a_parameter_in_two_spellings_is_refused_with_both() -> None:
    kind = privacy_result("dp-admm")
    given = {**kind.example, "n-records": 10}
    with pytest.raises(InvalidInput, match=re.escape("got n_records and n-records")):
        kind.from_parameters(given)
