"""The figures and tables: what is drawn is what is written, and the noise is what is said."""

from __future__ import annotations

import csv
import json
import math
from concurrent.futures import Executor, Future
from dataclasses import replace

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.data.dataset import Dataset
from dpcalc.algorithms.problems.networks import ring
from dpcalc.reproduction.catalogue import chosen, experiment, names
from dpcalc.reproduction.drawing import draw
from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel, Table
from dpcalc.reproduction.network import (
    DELTA,
    EXPONENTIAL,
    dual,
    nodes,
    penalties,
    perturbed_penalty,
    privacy_curves,
    rate_table,
    recycled,
)
from dpcalc.reproduction.setup import ExperimentConfig, trace

PUBLISHED = {
    **{f"zhang2018-figure-{k}": True for k in (2, 3, 4)},
    **{f"zhang2019-figure-{k}": True for k in (3, 4, 5)},
    "zhang2018-figure-1": False,
    "zhang2019-figure-1": False,
    "zhang2019-figure-2": False,
    "shang2021-figure-1": True,
    "shang2021-figure-2": True,
    "shang2021-table-1": False,
    "liu2022-figure-1": True,
    "liu2022-figure-2": True,
    "chan2023-figure-1": True,
    "chan2023-figure-2": True,
    "chan2023-table-1": False,
    "chan2023-table-2": False,
    "cyffers2023-lasso": True,
}
"""Every figure and table of the five papers, and one by published code, and whether it is about a private method; a new one is, unless it says so here."""

SLOW = {f"zhang2018-figure-{k}" for k in (2, 3, 4)} | {f"zhang2019-figure-{k}" for k in (3, 4, 5)}
SLOW |= {"zhang2019-figure-1", "shang2021-figure-2", "liu2022-figure-2", "chan2023-figure-2"}

SHORTER = {"cyffers2023-lasso": {"STEPS": 20, "EPSILONS": (0.01, 0.1, 5.0), "LENGTHS": (5, 10, 20)}}
"""Constants of figures whose steps and budgets, and not their records, are what takes seconds."""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A CSV file of 440 records that a line nearly parts."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((440, 3)) / 3
    y = np.where(x @ [3.0, -2.0, 0.5] + 0.3 * rng.standard_normal(440) > 0, 1, -1)
    path = tmp_path_factory.mktemp("data") / "small.csv"
    lines = [
        ",".join(f"{v:.5f}" for v in row) + f",{label}" for row, label in zip(x, y, strict=True)
    ]
    path.write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    return path


def test_every_figure_and_table_is_there():
    assert set(names()) >= set(PUBLISHED)
    assert chosen("chan2023") == tuple(n for n in names() if n.startswith("chan2023"))
    assert chosen("all") == names()


@pytest.mark.parametrize("name", names())
def test_it_says_what_it_is(name):
    found = experiment(name)
    paper, _, number = name.partition("-")
    assert found.reference.startswith(paper)
    assert number.split("-")[0] in found.reference
    assert found.title
    assert found.choices  # every paper leaves something open
    assert [p.key for p in found.panels] == [chr(97 + k) for k in range(len(found.panels))]
    assert bool(found.panels) != ("table" in name)


def slow_ones_are_campaigns():
    return [
        pytest.param(name, marks=pytest.mark.campaign) if name in SLOW else name for name in names()
    ]


@pytest.mark.parametrize("name", slow_ones_are_campaigns())
def test_it_is_computed_written_and_drawn(name, small, tmp_path, monkeypatch):
    found = experiment(name)
    for constant, value in SHORTER.get(name, {}).items():
        monkeypatch.setitem(found.compute.__globals__, constant, value)
    outcome = found.compute(ExperimentConfig(data=small))
    check_outcome(found, outcome, private=PUBLISHED.get(name, True))
    outcome.write_csv(tmp_path / "it.csv")
    rows = list(csv.DictReader((tmp_path / "it.csv").read_text().splitlines()))
    assert rows
    if found.panels:
        assert {r["panel"] for r in rows} == {p.key for p in found.panels}
        assert all(math.isfinite(float(r["mean"])) for r in rows)
    draw(found, outcome, [tmp_path / "it.png", tmp_path / "it.svg"])
    assert (tmp_path / "it.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (tmp_path / "it.svg").read_text()


class AtOnce(Executor):
    """Does the work here as it is given, packed and unpacked as for a worker."""

    def __init__(self):
        self.count = 0

    def submit(self, function, /, *given, **named):
        self.count += 1
        future = Future()
        future.set_result(function(*given, **named))
        return future


def in_parts():
    """One that takes a second every time; all in campaigns."""
    quick = ("shang2021-figure-1",)
    return [
        name if name in quick else pytest.param(name, marks=pytest.mark.campaign)
        for name in names()
        if experiment(name).in_parts
    ]


@pytest.mark.parametrize("name", in_parts())
def test_parts_made_by_others_are_the_figure(name, small):
    """Every number, whoever makes it; curves, least values and calibrations are all parts."""
    found, others = experiment(name), AtOnce()
    alone = found.compute(ExperimentConfig(data=small))
    shared = found.compute(ExperimentConfig(data=small, executor=others))
    assert others.count > len(found.panels)
    assert shared.notes == alone.notes
    for ours, theirs in zip(alone.curves, shared.curves, strict=True):
        assert np.array_equal(np.asarray(ours.x), np.asarray(theirs.x))
        assert np.array_equal(np.asarray(ours.y), np.asarray(theirs.y), equal_nan=True)
        for word in ("panel", "name", "noise", "epsilon", "noisy_rounds"):
            assert getattr(ours, word) == getattr(theirs, word)


def check_outcome(found, outcome, *, private):
    if not found.panels:
        assert outcome.table is not None
        assert all(len(row) == len(outcome.table.columns) for row in outcome.table.rows)
        return
    kinds = {curve.noise for curve in outcome.curves}
    under = "; ".join(outcome.notes)
    assert "columns" in under
    assert "T = " in under
    assert "noise" in under
    assert ("replaced" in under or "added or removed" in under) or not private
    if private:
        assert "certified" in kinds
        assert kinds & {"printed", "theory"}
    for curve in outcome.curves:
        x, mean, low, high = curve.statistics()
        assert len(x) > 0
        assert (low <= mean * (1 + 1e-12) + 1e-12).all()
        assert (mean <= high * (1 + 1e-12) + 1e-12).all()


def test_under_a_picture_of_a_network_stand_its_rounds_and_its_noise(small):
    on = nodes(ExperimentConfig(data=small), ring(4))
    noisy = "; ".join(on.setting("50 or as named", EXPONENTIAL))
    assert "3 columns on 4 nodes; ρ = 0.22, T = 50 or as named; exponential-norm noise" in noisy
    assert noisy.endswith("as printed or certified; one record replaced, every iterate released")
    exact = "; ".join(on.setting("7", "", ridges="0.1 to 1"))
    assert exact.endswith("ρ = 0.1 to 1, T = 7; no noise")


def test_the_records_of_adult_are_counted_before_they_are_parted(tmp_path):
    rows = [
        f"{20 + k}, Private, {k}, HS-grad, 9, Never-married, Sales, Own-child, White, Male, 0, 0, "
        f"40, United-States, {'>50K' if k % 3 else '<=50K'}"
        for k in range(40)
    ]
    (tmp_path / "adult.data").write_text("\n".join(rows[:25]) + "\n")
    test = ["|1x3 Cross validator", *(f"{row}." for row in rows[25:])]
    (tmp_path / "adult.test").write_text("\n".join(test) + "\n")
    split = ExperimentConfig(data=tmp_path).split("adult", train=30)
    assert split.source == "UCI Adult, 40 records"
    assert len(split.train[1]) == 30


@pytest.mark.parametrize(
    "contender",
    [
        dual("ADMM", 6, 0.7),
        perturbed_penalty("PP", 6, 0.7, 1.05),
        recycled("R-ADMM", 6, 0.7, 1.0, 0.5),
        recycled("MR-ADMM", 5, 0.7, 1.05, 0.5),
    ],
    ids=lambda c: c.name,
)
@pytest.mark.few(2)
def test_a_contender_runs_the_algorithm_that_its_theorem_covers(contender, small):
    """Rates times sensitivities of the algorithm's own accesses: at most the certified sum."""
    on = nodes(ExperimentConfig(data=small), ring(4))
    instance = contender.calibrated(on, 2.0)
    assert instance.certified().guarantee.epsilon(DELTA) <= 2.0
    rates = rate_table(instance, contender.noisy, 4)
    algorithm = load(contender.key)(
        on.problem, rounds=contender.rounds, noise_rate=rates, **contender.algorithm
    )
    by_node = dict.fromkeys(range(4), 0.0)
    general = dict.fromkeys(range(4), 0.0)
    for access in algorithm.data_accesses():
        noise = access.noise.rate * access.sensitivity
        by_node[access.node] += noise
        general[access.node] += noise + math.log1p(access.curvature_change / access.curvature_floor)
    beta = instance.certified().numbers["beta"]
    assert max(by_node.values()) <= beta * (1 + 1e-9)
    assert beta <= max(general.values()) * (1 + 1e-9)
    assert len(algorithm.data_accesses()) == 4 * contender.noisy


def test_budgets_along_the_rounds_end_at_the_whole_runs(small):
    on = nodes(ExperimentConfig(data=small), ring(4))
    contender = perturbed_penalty("PP", 12, 0.7, 1.05)
    claimed, certified = privacy_curves(on, contender, "3.0:1.01", "a")
    whole = contender.instance(on, "3.0:1.01")
    assert claimed.y[-1] == whole.claimed().numbers["beta"]
    # Budgets along the rounds share contours: both are bounds, a thousandth apart at most.
    assert certified.y[-1] == pytest.approx(whole.certified().guarantee.epsilon(DELTA), rel=1e-3)
    assert list(claimed.x) == [1, 5, 10, 12]
    assert claimed.y == sorted(claimed.y)


def test_penalties_are_those_of_the_schedule():
    np.testing.assert_allclose(penalties(0.5, 1.1, 3)[:, 0], [0.5, 0.55, 0.605])


def test_following_a_run_measures_what_was_asked_for(small):
    on = nodes(ExperimentConfig(data=small), ring(4))
    algorithm = load("r-admm")(on.problem, rounds=7, penalty=1.0)
    rounds, found = trace(
        ExperimentConfig(seed=1), algorithm, {"loss": on.average_loss}, runs=2, every=3
    )
    assert rounds.tolist() == [3, 6, 7]
    whole = algorithm.run(1, runs=2, diagnostics=True).diagnostic("average_loss")
    np.testing.assert_array_equal(found["loss"], whole[:, rounds - 1])


def test_convergence_is_the_first_iteration_like_the_fifth_after_it():
    from dpcalc.reproduction.figures.chan2023_table_1 import converged

    rng = np.random.default_rng(0)
    level = np.concatenate([np.arange(20.0, 0, -2), np.zeros(20)])
    found = converged(level + 0.01 * rng.standard_normal((100, 30)))
    assert found in (11, 12, 13)  # a test at 95 % may go on for an iteration or two


def test_the_midpoint_and_contraction_of_table_1():
    """Values from a hand computation at 30 digits of lemma 7.6."""
    from dpcalc.reproduction.figures._elastic_net import RADII, setting

    expected = {0.5: 0.9473684, 0.3: 0.9148813, 0.15: 0.8571429, 0.1: 0.7992312}
    for radius in RADII:
        assert setting(radius).contraction == pytest.approx(expected[radius], abs=1e-7)
    assert setting(0.5).step_size == pytest.approx(1.753086, abs=1e-6)


def test_pictures_do_not_change_with_the_order_of_time(tmp_path):
    """The same outcome gives the same file."""
    found = Experiment(
        reference="a, figure 1",
        title="t",
        compute=lambda _: Outcome(),
        panels=(Panel(key="a", title="p", x="x", y="y", log_y=True, ours=True),),
    )
    curve = Curve(panel="a", name="c", x=[1, 2], y=[[1.0, 2.0], [2.0, 3.0]], epsilon=math.inf)
    other = replace(curve, name="c, certified", noise="certified", epsilon=1.0)
    outcome = Outcome(curves=[curve, other], notes=("n",))
    draw(found, outcome, [tmp_path / "1.svg"])
    draw(found, outcome, [tmp_path / "2.svg"])
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()
    table = Outcome(table=Table(columns=("a", "b"), rows=((1, 0.5),)))
    draw(replace(found, panels=()), table, [tmp_path / "t.png"])


def test_the_verb_lists_and_writes(run, tmp_path):
    status, out, _ = run("reproduce")
    assert status == 0
    assert all(name in out for name in names())
    assert [r["name"] for r in json.loads(run("reproduce", "--json")[1])["experiments"]] == list(
        names()
    )
    status, out, _ = run("reproduce", "shang2021-table-1", "--out", tmp_path / "new", "--json")
    assert status == 0
    (record,) = json.loads(out)["experiments"]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == [
        "shang2021-table-1.csv",
        "shang2021-table-1.png",
    ]
    assert record["choices"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("reproduce zhang2018-figure-9", "zhang20"),
        ("reproduce zhang2018-figure-1 --data no/such", "no/such"),
        ("reproduce zhang2018-figure-1 --format gif", "png"),
        ("reproduce zhang2018-figure-1 --quik", "--quick"),
    ],
)
def test_errors_are_one_line_and_status_two(run, line, words):
    status, _, err = run(*line.split())
    assert status == 2
    assert err.count("\n") == 1
    assert words in err


def test_real_files_are_found_by_name(tmp_path):
    """Small files with the names of the real ones; the rest is held out as they say."""
    (tmp_path / "a9a").write_text("+1 1:1 3:1\n-1 2:1\n+1 1:1\n")
    (tmp_path / "a9a.t").write_text("-1 2:1\n+1 1:1\n")
    config = ExperimentConfig(data=tmp_path)
    assert config.has_data("a9a")
    assert not config.has_data("ijcnn1")
    assert not config.has_data("adult")
    split = config.split("a9a")
    assert split.train[0].shape == (3, 123)
    assert split.test[0].shape == (2, 123)
    np.testing.assert_allclose(split.train[0].max(), 1 / math.sqrt(14))
    assert config.split("ijcnn1").train[0].shape[1] == 10  # generated


def test_what_no_file_has_is_fetched_if_asked_for(tmp_path, monkeypatch):
    """The fetcher is replaced: nothing is downloaded."""
    asked = []

    def fetched(name):
        asked.append(name)
        x = np.random.default_rng(0).random((50, 3))
        y = np.where(x[:, 0] > 0.5, 1.0, -1.0)
        return Dataset(features=x, labels=y, names=("a", "b", "c"), source=f"OpenML {name}")

    monkeypatch.setattr("dpcalc.training.data.load", fetched)
    (tmp_path / "a9a").write_text("+1 1:1 3:1\n-1 2:1\n+1 1:1\n")
    config = ExperimentConfig(data=tmp_path, fetch=True)
    assert config.has_data("adult")
    split = config.split("adult", train=40)
    assert (len(split.train[1]), len(split.test[1])) == (40, 10)
    assert split.source == "OpenML adult"
    assert asked == ["adult"]
