"""An odometer at the end of its budget, what its rounds cost, and what its trail says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import dpcalc
from dpcalc import mechanisms
from dpcalc import odometer as module
from dpcalc.errors import Infeasible, InvalidInput
from dpcalc.guarantees import GDP, ApproxDP, Guarantee
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.odometer import Odometer

ROUND = {"mechanism": "gaussian", "noise_multiplier": 2.0, "adjacency": "add-remove"}


def test_the_whole_budget_may_be_spent_and_no_double_more() -> None:
    whole = Odometer(epsilon=1e9, delta=1e-5).spend(ROUND, 2)
    exact = Odometer(epsilon=whole, delta=1e-5)
    assert exact.allows(ROUND, 2)
    assert exact.spend(ROUND, 2) == whole == exact.epsilon
    less = Odometer(epsilon=math.nextafter(whole, 0), delta=1e-5)
    assert not less.allows(ROUND, 2)
    less.spend(ROUND)
    with pytest.raises(Infeasible) as caught:
        less.spend(ROUND)
    assert str(caught.value) == (
        f"expected a round within the budget; 1 more would make epsilon={whole:.6g} of "
        f"{less.budget:g} at delta=1e-05, after 1 rounds; stop here"
    )


def test_what_costs_less_than_the_conversion_gives_is_zero_and_nothing_costs_nothing() -> None:
    odometer = Odometer(epsilon=1.0, delta=0.5)
    assert odometer.epsilon == 0.0
    assert odometer.rounds == 0
    assert odometer.spend({**ROUND, "noise_multiplier": 1e3}) == 0.0
    assert odometer._spent.any()
    assert (odometer.budget, odometer.delta) == (1.0, 0.5)
    assert (odometer.accountant.epsilon, odometer.accountant.delta) == (1.0, 0.5)


def test_sums_and_conversions_are_rounded_up() -> None:
    """ln((α-1)/α) - (ln δ + ln α)/(α-1) at forty digits, at every order."""
    assert module._up(np.array([1.0, -1.0])).tolist() == [1 + 2**-52, -1 + 2**-53]
    found = module._conversion(1e-5)
    orders = module._ORDERS
    assert (len(orders), orders[0], orders[-1]) == (96, 1.01, pytest.approx(1 + 1e5, rel=1e-12))
    with mpmath.workdps(40):
        for order, value in zip(orders, found, strict=True):
            a = mpmath.mpf(float(order))
            exact = mpmath.log((a - 1) / a) - (mpmath.log(mpmath.mpf(1e-5)) + mpmath.log(a)) / (
                a - 1
            )
            assert 0 <= mpmath.mpf(value) - exact <= abs(exact) * mpmath.mpf(2) ** -51
    one = Odometer(epsilon=9.0, delta=1e-5)
    one.spend(ROUND)
    with mpmath.workdps(40):
        for order, value in zip(orders, one._spent, strict=True):
            exact = mpmath.mpf(float(order)) / 8
            assert 0 <= mpmath.mpf(value) - exact <= exact * 6 * mpmath.mpf(2) ** -52


def test_a_round_of_a_kind_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    made = module._divergences

    def noted(guarantee: Guarantee) -> Any:
        asked.append(guarantee.notion)
        return made(guarantee)

    monkeypatch.setattr(module, "_divergences", noted)
    odometer = Odometer(epsilon=100.0, delta=1e-5)
    for noise in (2.0, 3.0, 2.0, 3.0):
        odometer.spend({**ROUND, "noise_multiplier": noise})
    assert len(asked) == 2
    with pytest.raises(InvalidInput) as caught:
        odometer.spend({"approx": [1, 0.1], "adjacency": "add-remove"})
    assert str(caught.value) == (
        f"expected a round with a finite Rényi divergence; got {ApproxDP(1, 0.1).notion}; "
        "account for it with dpcalc.Accountant"
    )


def test_rounds_of_new_parameters_ask_for_no_integrals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client more or less in every round: one formula for all orders, and near what is exact."""
    noises = [1.0 + 0.01 * number for number in range(20)]
    step = {"mechanism": "poisson-subsampled-gaussian", "rate": 0.01, "adjacency": "add-remove"}
    exact = sum(
        np.array(
            [mechanisms.poisson_subsampled_gaussian(noise, 0.01, "add-remove").renyi(order)
             for order in module._ORDERS[20:40:5].tolist()]
        )
        for noise in noises
    )  # fmt: skip

    def refused(*_: object) -> float:
        raise AssertionError("an integral")

    monkeypatch.setitem(DominatedMechanism.renyi.__globals__, "renyi_divergence", refused)
    odometer = Odometer(epsilon=8.0, delta=1e-5)
    for noise in noises:
        odometer.spend({**step, "noise_multiplier": noise})
    np.testing.assert_allclose(odometer._spent[20:40:5], exact, rtol=1e-4)
    assert (odometer.rounds, len(odometer.accountant.releases)) == (20, 20)


def test_kinds_at_hand_do_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEPT", 3)
    odometer, once = (Odometer(epsilon=100.0, delta=1e-5) for _ in range(2))
    for noise in (2.0, 3.0, 4.0, 5.0, 6.0, 2.0):
        last = odometer.spend({**ROUND, "noise_multiplier": noise})
    assert len(odometer._known) == 3
    for noise in (3.0, 4.0, 5.0, 6.0):
        once.spend({**ROUND, "noise_multiplier": noise})
    assert once.spend(ROUND, 2) == pytest.approx(last, rel=1e-13)
    assert odometer.accountant.epsilon_spent() == once.accountant.epsilon_spent()


def test_a_trail_says_what_it_is_of_and_what_every_line_spent(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    odometer = Odometer(epsilon=8.0, delta=1e-5, trail=path)
    spent = [odometer.spend(ROUND, 3), odometer.spend({**ROUND, "noise_multiplier": 5.0})]
    odometer.close()
    odometer.close()
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for line in lines:
        assert len(line.pop("sha256")) == 64
    about = {
        "format": "dpcalc odometer", "dpcalc": dpcalc.__version__, "epsilon": 8.0, "delta": 1e-5,
    }  # fmt: skip
    assert lines == [
        about,
        {"round": 3, "count": 3, "release": ROUND, "epsilon": spent[0]},
        {
            "round": 4,
            "count": 1,
            "release": {**ROUND, "noise_multiplier": 5.0},
            "epsilon": spent[1],
        },
    ]
    for other in ({"epsilon": 9.0, "delta": 1e-5}, {"epsilon": 8.0, "delta": 1e-6}):
        with pytest.raises(InvalidInput) as caught:
            Odometer(**other, trail=path)
        assert str(caught.value) == (
            f"expected a trail of {about | other}; got {about} in {str(path)!r}"
        )
    with Odometer(epsilon=8.0, delta=1e-5, trail=path) as again:  # freed by the refusals
        assert (again.epsilon, again.rounds) == (spent[1], 4)


def test_an_odometer_whose_trail_is_closed_goes_on_without_it(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    odometer = Odometer(epsilon=8.0, delta=1e-5, trail=path)
    odometer.spend(ROUND)
    odometer.close()
    before = path.read_bytes()
    assert odometer.spend(ROUND) == odometer.epsilon
    assert odometer.rounds == 2
    assert path.read_bytes() == before


def test_a_trail_takes_tables_alone(tmp_path: Path) -> None:
    with Odometer(epsilon=5, delta=1e-6, trail=tmp_path / "trail") as odometer:
        with pytest.raises(InvalidInput, match="a trail holds tables"):
            odometer.spend(GDP(0.1))  # type: ignore[arg-type]
        assert odometer.rounds == 0
        assert odometer.spend({"mechanism": "gaussian", "noise_multiplier": 2}) > 0
