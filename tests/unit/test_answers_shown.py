"""Answers in the shell, in a notebook and as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpcalc
from dpcalc.errors import InvalidInput
from dpcalc.theorems import DPADMM
from tests.unit.admm_setting import SETTING


def test_guarantees_are_short_in_a_notebook_and_on_the_screen() -> None:
    one = dpcalc.mechanisms.poisson_subsampled_gaussian(1.0, 0.01, "add-remove")
    total = dpcalc.compose((one, 1000), dpcalc.GDP(0.5))
    assert len(repr(total)) < 200
    assert "q = 0.01" in repr(total)
    assert "mu" in dpcalc.GDP(0.5)._repr_html_()


def _shown() -> dict[str, Any]:
    """Every kind of answer that a notebook shows."""
    from dpcalc.accountant import Accountant
    from dpcalc.auditing import Claim, Counts, audit_counts
    from dpcalc.claims.verdict import Claim as Statement
    from dpcalc.claims.verdict import judge
    from dpcalc.sweep import sweep_table

    theorem = DPADMM(sigma=0.01, **SETTING)
    step = {"mechanism": "gaussian", "noise_multiplier": 20}
    grid = {
        "mechanism": "gaussian",
        "delta": 1e-6,
        "parameters": {"rounds": [1, 10], "noise_multiplier": [2.0, 4.0, 8.0]},
    }
    return {
        "GDP": dpcalc.GDP(1),
        "Composition": dpcalc.compose((dpcalc.GDP(1), 3), dpcalc.PureDP(0.5)),
        "RDP": dpcalc.RDP.from_points({2: 0.1, 8: 0.4}),
        "Bound": theorem.certified(),
        "Budget": dpcalc.epsilon(theorem, 1e-5),
        "Noise": dpcalc.noise("dp-admm", epsilon=1, delta=1e-5, **SETTING),
        "Solution": dpcalc.calibrate("gaussian", epsilon=1, delta=1e-5),
        "Accountant": Accountant(1.0, 1e-6).spend(step, 3),
        "Judgement": judge(Statement("ours", theorem, 0.1, 1e-5)),
        "SweepTable": sweep_table(grid),
        "Verdict": audit_counts(
            Claim.of(epsilon=1, adjacency="replace-one"), Counts.of(95, 5, 5, 95), alpha=0.05
        ),
    }


SHOWN = (
    "GDP", "Composition", "RDP", "Bound", "Budget", "Noise", "Solution", "Accountant", "Judgement",
    "SweepTable", "Verdict",
)  # fmt: skip


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    return _shown()


@pytest.mark.parametrize("name", SHOWN)
def test_an_answer_is_short_in_the_shell_a_table_in_a_notebook_and_a_picture(
    name: str, answers: dict[str, Any]
) -> None:
    found = answers[name]
    assert type(found).__name__ == name
    text = repr(found)
    assert text.startswith(f"{name}(")
    assert len(text) < 200
    assert "<function" not in text
    assert found._repr_html_().startswith("<table>")
    axes = found.plot()
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    assert axes.lines
    assert dpcalc.__version__ in axes.figure.get_supxlabel()


def test_a_picture_shows_the_numbers_of_the_answer(answers: dict[str, Any]) -> None:
    for name in ("GDP", "Bound", "Accountant", "Judgement"):
        line = answers[name].plot().lines[0]
        of = answers[name]
        if name == "Accountant":
            of = of.total()
        if name == "Judgement":
            of = of.claim.guarantee
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True):
            assert y == of.epsilon(x)
    spot = answers["Judgement"].plot().lines[1]
    assert (spot.get_label(), *spot.get_xdata(), *spot.get_ydata()) == ("the claim", 1e-5, 0.1)


def test_a_bound_answers_like_its_guarantee(answers: dict[str, Any]) -> None:
    bound = answers["Bound"]
    assert bound.epsilon(1e-5) == bound.guarantee.epsilon(1e-5)
    assert bound.delta(0.2) == bound.guarantee.delta(0.2)


def test_the_noise_over_the_budget_is_that_of_each_budget(answers: dict[str, Any]) -> None:
    axes = answers["Noise"].plot([0.5, 1.0])
    (line,) = [line for line in axes.lines if line.get_label() == "certified"]
    for epsilon, noise in zip(line.get_xdata(), line.get_ydata(), strict=True):
        one = dpcalc.noise("dp-admm", epsilon=epsilon, delta=1e-5, **SETTING)
        assert noise == pytest.approx(one.value, rel=1e-11)


def test_a_table_of_a_sweep_is_the_one_of_the_command_line(
    answers: dict[str, Any], tmp_path: Path
) -> None:
    table = answers["SweepTable"]
    assert len(table) == 6
    table.write(tmp_path / "grid.csv")
    assert (tmp_path / "grid.csv").read_text().count("\n") == 7
    one = dpcalc.compose((dpcalc.mechanisms.gaussian(2.0, "add-remove"), 10)).epsilon(1e-6)
    (found,) = [r["certified"] for r in table if (r["rounds"], r["noise_multiplier"]) == (10, 2.0)]
    assert one <= found * (1 + 1e-12) <= one * (1 + 1e-3)
    with pytest.raises(InvalidInput, match="a column of the table"):
        table.column("sigma")


@pytest.mark.parametrize(
    ("ask", "there_is"),
    [
        (lambda many: dpcalc.GDP(1).epsilon(many), r"guarantee\.epsilons"),
        (lambda many: dpcalc.GDP(1).delta(many), r"guarantee\.deltas"),
        (lambda many: dpcalc.GDP(1).tradeoff(many), r"guarantee\.tradeoffs"),
    ],
)
def test_many_values_at_once_are_told_where_to_ask(ask: Any, there_is: str) -> None:
    import numpy as np

    for many in ([0.1, 0.2], np.array([0.1, 0.2]), (0.1,)):
        with pytest.raises(InvalidInput, match=there_is):
            ask(many)
    assert dpcalc.GDP(1).epsilons(np.array([1e-5, 1e-6])) == (
        dpcalc.GDP(1).epsilon(1e-5),
        dpcalc.GDP(1).epsilon(1e-6),
    )


@pytest.mark.parametrize("key", ["private-dual-averaging", "noisy-gd", "penalty-perturbation"])
def test_what_is_attained_is_the_lower_end(key: str) -> None:
    """Where the instance's ε is enclosed, the upper end may be more than anything leaks."""
    found = dpcalc.epsilon(key, delta=1e-6, **dict(dpcalc.theorem(key).example))
    instance = found.theorem.attained()
    assert instance is not None
    assert found.attained is not None
    assert found.attained < instance.guarantee.epsilon(1e-6)
    bracket = getattr(instance.guarantee, "bracket", None)
    if bracket is not None:
        assert found.attained == bracket(1e-6).lower
