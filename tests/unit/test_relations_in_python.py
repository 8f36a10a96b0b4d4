"""Guarantees say under which neighbouring relation they hold, and different ones do not compose."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dpcalc
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP, compose
from dpcalc.guarantees.groups import group
from dpcalc.guarantees.mechanisms import (
    exponential_norm,
    finite_distributions,
    from_densities,
    gaussian,
    gaussian_without_replacement,
    laplace,
    poisson_subsampled_gaussian,
)
from dpcalc.theorems.catalogue import keys, privacy_result
from dpcalc.vocabulary import Adjacency

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE


def densities(adjacency: str) -> Guarantee:
    def normal(mean: float):  # type: ignore[no-untyped-def]
        return lambda x: -((x - mean) ** 2) / 2 - 0.5 * np.log(2 * np.pi)

    return from_densities(
        normal(1.0), normal(0.0), support=(-8.0, 9.0), scale=1.0, outside=1e-14, adjacency=adjacency
    )


MECHANISMS = {
    "gaussian": lambda a: gaussian(2.0, a),
    "laplace": lambda a: laplace(2.0, a),
    "exponential-norm": lambda a: exponential_norm(2.0, 3, a),
    "one coordinate": lambda a: exponential_norm(2.0, 1, a),
    "finite": lambda a: finite_distributions([0.2, 0.8], [0.4, 0.6], a),
    "sampled": lambda a: poisson_subsampled_gaussian(2.0, 0.1, a),
    "always sampled": lambda a: poisson_subsampled_gaussian(2.0, 1.0, a),
    "densities": densities,
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_under_two_relations_are_refused_with_both(name: str) -> None:
    one, other = (MECHANISMS[name](a) for a in (ADD, REPLACE))
    assert (one.adjacency, other.adjacency) == (ADD, REPLACE)
    with pytest.raises(InvalidInput, match=r"under add-remove and some under replace-one"):
        compose((one, 2), other)
    with pytest.raises(InvalidInput, match=r"add-remove"):
        compose(other, one)


def test_the_one_that_has_a_single_relation_says_it() -> None:
    for sample in (10, 100):
        batch = gaussian_without_replacement(2.0, sample, 100)
        assert batch.adjacency is REPLACE
    with pytest.raises(InvalidInput, match="replace-one"):
        dpcalc.compose(batch, (gaussian(2.0, ADD), 3))


@pytest.mark.parametrize("key", keys(privacy=True))
def test_bounds_of_theorems_hold_under_the_relation_of_the_instance(key: str) -> None:
    kind = privacy_result(key)
    instance = kind.from_parameters(kind.example)
    other = REPLACE if instance.adjacency == ADD else ADD  # type: ignore[attr-defined] # all have it
    for bound in (instance.claimed(), instance.certified(), instance.attained()):
        if bound is not None:
            assert bound.guarantee.adjacency == instance.adjacency  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match="under one neighbouring relation"):
        compose(instance.certified().guarantee, gaussian(2.0, other))


@pytest.mark.parametrize(
    "plain",
    [PureDP(0.1), ApproxDP(0.1, 1e-7), GDP(0.3), ZCDP(0.01), RDP.from_points({2.0: 0.1, 9.0: 1.0})],
    ids=lambda g: g.notion,
)
def test_what_says_nothing_composes_with_either_and_takes_its_relation(plain: Guarantee) -> None:
    assert plain.adjacency is None
    for relation in (ADD, REPLACE):
        total = compose((plain, 3), poisson_subsampled_gaussian(2.0, 0.1, relation))
        assert total.adjacency is relation
        assert compose((total, 2)).adjacency is relation
        assert group(plain.under(relation), 2).adjacency is relation
    assert compose((plain, 2), plain).adjacency is None


def test_releases_that_never_happen_say_nothing() -> None:
    assert compose((gaussian(2.0, ADD), 0), gaussian(2.0, REPLACE)).adjacency is REPLACE


def test_a_relation_is_said_once_and_by_its_name() -> None:
    assert GDP(1.0).under("replace-one").adjacency is REPLACE
    assert GDP(1.0).under(None).adjacency is None
    assert GDP(1.0).under(ADD) == GDP(1.0)
    with pytest.raises(InvalidInput, match="replace-one"):
        GDP(1.0).under("replace")
    with pytest.raises(InvalidInput, match="under replace-one; got one that holds under"):
        gaussian(2.0, ADD).under(REPLACE)


def test_it_is_kept_where_a_value_goes_to_another_process() -> None:
    for value in (gaussian(2.0, ADD), poisson_subsampled_gaussian(2.0, 0.1, ADD)):
        assert pickle.loads(pickle.dumps(value)).adjacency is ADD  # noqa: S301


def test_a_notebook_shows_it() -> None:
    assert "replace-one" in gaussian(2.0, REPLACE)._repr_html_()
    assert "neighbours" not in GDP(1.0)._repr_html_()
