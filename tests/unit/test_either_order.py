"""Two distributions under a relation without an order, and under one with an order."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.composition import bracket_epsilon
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove
from dpcalc.claims.composition import read_plan
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import PrivacyProfile
from dpcalc.guarantees.composition import compose
from dpcalc.guarantees.mechanisms import finite_distributions, from_densities

P, Q = (0.2, 0.8), (0.4, 0.6)


def adaptive_delta(p: list[mpf], q: list[mpf], rounds: int, epsilon: float) -> mpf:
    """The largest δ(ε) where every round's order is chosen in view of the outcomes before it.

    By recursion over all outcomes: what is left to gain with probabilities a and b of the past.
    """
    factor = mp.exp(mpf(epsilon))

    def gain(left: int, a: mpf, b: mpf) -> mpf:
        if left == 0:
            return max(a - factor * b, mpf(0))
        return max(
            mp.fsum(gain(left - 1, a * x, b * y) for x, y in zip(one, other, strict=True))
            for one, other in ((p, q), (q, p))
        )

    return gain(rounds, mpf(1), mpf(1))


TABLES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=3).filter(
    lambda weights: all(sum(column) for column in zip(*weights, strict=True))
)


def exact(weights: list[int]) -> list[mpf]:
    return [
        mpf(w / sum(weights)) / mp.fsum(mpf(x / sum(weights)) for x in weights) for w in weights
    ]


@given(TABLES, st.integers(1, 4), st.floats(0, 3))
@settings(max_examples=150)
def test_no_choice_of_orders_reveals_more(
    weights: list[tuple[int, int]], rounds: int, epsilon: float
) -> None:
    columns = [list(column) for column in zip(*weights, strict=True)]
    p, q = ([w / sum(column) for w in column] for column in columns)
    found = compose((finite_distributions(p, q, "replace-one"), rounds)).delta(epsilon)
    with mp.workdps(50):
        truth = adaptive_delta(*(exact(column) for column in columns), rounds, epsilon)
    assert mpf(found) >= truth
    if rounds == 1:
        assert mpf(found) <= truth * (1 + mpf("1e-13")) + mpf("1e-15")


@given(TABLES, st.integers(1, 3), st.floats(0, 3))
@settings(max_examples=8)
def test_nor_where_only_the_profile_is_known(
    weights: list[tuple[int, int]], rounds: int, epsilon: float
) -> None:
    """A profile holds in both directions, so its composition covers every choice of orders too."""
    with mp.workdps(50):
        p, q = (exact(list(column)) for column in zip(*weights, strict=True))

        def profile(at: float) -> float:
            return min(1.0, math.nextafter(float(adaptive_delta(p, q, 1, at)), 2.0))

        found = compose((PrivacyProfile(profile), rounds)).delta(epsilon)
        assert mpf(found) >= adaptive_delta(p, q, rounds, epsilon)


def test_an_order_that_is_kept_reveals_less() -> None:
    """Two rounds at δ = 0.1: 0.405465 in one order, 0.606136 if the second is exchanged."""
    kept = compose((finite_distributions(P, Q, "add-remove"), 2))
    either = compose((finite_distributions(P, Q, "replace-one"), 2))
    exchanged = compose(
        finite_distributions(P, Q, "add-remove"), finite_distributions(Q, P, "add-remove")
    )
    assert kept.epsilon(0.1) == pytest.approx(0.40546510810816, rel=1e-13)
    assert exchanged.epsilon(0.1) == pytest.approx(0.60613580357031, rel=1e-13)
    assert exchanged.epsilon(0.1) < either.epsilon(0.1)
    assert either.epsilon(0.0) == pytest.approx(2 * math.log(2), rel=1e-15)
    assert either.epsilon(0.0) >= 2 * math.log(2)


def test_what_is_certain_to_be_seen_stays_possible_in_either_order() -> None:
    found = finite_distributions((0.0, 1.0), (0.3, 0.7), "replace-one")
    assert found.epsilon(0.0) == math.inf
    assert found.delta(5.0) == pytest.approx(0.3, rel=1e-14)
    same = finite_distributions((0.5, 0.5), (0.5, 0.5), "replace-one")
    assert compose((same, 100)).epsilon(1e-9) == 0.0


def mixture(rate: float) -> Any:
    """ln of (1-q)N(0, 1) + qN(1, 1)."""

    def logarithm(x: Any) -> Any:
        return (
            -(x**2) / 2
            - 0.5 * math.log(2 * math.pi)
            + np.log1p(rate * np.expm1(np.asarray(x) - 0.5))
        )

    return logarithm


def test_densities_in_either_order_cover_a_round_of_each() -> None:
    """A sampled Gaussian, once for each direction, which neither direction alone covers."""
    wide = {"support": (-30.0, 31.0), "scale": 0.5, "outside": 1e-190}
    either = from_densities(mixture(0.4), mixture(0.0), adjacency="replace-one", **wide)
    kept = from_densities(mixture(0.4), mixture(0.0), adjacency="add-remove", **wide)
    for delta in (1e-2, 1e-6):
        assert either.epsilon(delta) == pytest.approx(kept.epsilon(delta), rel=1e-4)
        assert either.epsilon(delta) >= kept.bracket(delta).lower
    each = [(PoissonRemove(1.0, 0.4), 1), (PoissonAdd(1.0, 0.4), 1)]
    twice = compose((either, 2)).epsilon(1e-6)
    assert twice >= bracket_epsilon(each, 1e-6).lower
    assert twice >= compose((kept, 2)).bracket(1e-6).lower


def test_symmetric_densities_need_no_relation_and_lose_little_without_being_called_so() -> None:
    normal = [mixture(0.0), lambda x: mixture(0.0)(x - 1)]
    wide: Any = {"support": (-30.0, 31.0), "scale": 0.5, "outside": 1e-190}
    called = compose((from_densities(*normal, symmetric=True, **wide), 10))
    either = compose((from_densities(*normal, adjacency="replace-one", **wide), 10))
    assert called.bracket(1e-6).lower <= either.epsilon(1e-6)
    assert either.epsilon(1e-6) == pytest.approx(called.epsilon(1e-6), rel=1e-5)


@pytest.mark.parametrize("adjacency", [None, "", "either"])
def test_python_asks_for_the_relation_with_both_readings(adjacency: Any) -> None:
    with pytest.raises(InvalidInput, match="p belongs to the data set with the record"):
        finite_distributions(P, Q, adjacency)
    with pytest.raises(InvalidInput, match="in either order, which reveals more"):
        from_densities(
            mixture(0.4), mixture(0.0), support=(-30, 31), scale=0.5, outside=1e-190,
            adjacency=adjacency,
        )  # fmt: skip


TABLE = (
    '[[release]]\nmechanism = "finite-distributions"\np = [0.2, 0.8]\nq = [0.4, 0.6]\ncount = 2\n'
)


def test_a_file_has_to_say_the_relation(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(f"delta = 0.1\n{TABLE}")
    with pytest.raises(InvalidInput, match="'adjacency' is needed"):
        read_plan(file)
    found = []
    for relation in ("add-remove", "replace-one"):
        with pytest.raises(SystemExit):
            main(["compose", str(file), "--adjacency", relation, "--json"])
        found.append(json.loads(capsys.readouterr().out))
    assert [record["adjacency"] for record in found] == ["add-remove", "replace-one"]
    assert found[0]["certified"]["epsilon"] < 0.4055
    assert 0.6061 < found[1]["certified"]["epsilon"] < 0.642
