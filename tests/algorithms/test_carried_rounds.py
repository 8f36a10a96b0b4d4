"""Several rounds of dual averaging at once: the bits of one after the other, on any number of threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.engine import averaging_rounds as engine
from dpcalc.algorithms.engine.state import load_state
from dpcalc.algorithms.problems import carried, noise, normals
from dpcalc.algorithms.problems.averaging import AveragingProblem
from dpcalc.algorithms.problems.losses import Hinge, Huber, Logistic, SmoothedHinge, Squared
from dpcalc.algorithms.problems.networks import complete, ring
from dpcalc.algorithms.problems.noise import Streams, runs_together
from dpcalc.algorithms.problems.records import split
from dpcalc.algorithms.problems.regularisers import ElasticNet, ridge
from dpcalc.vocabulary import Release

NODES, RECORDS, ROUNDS = 6, 60, 140
WIDE, NARROW = 700, 11  # a generator for every run, and one for 62

pytestmark = pytest.mark.usefixtures("_compiled")


@pytest.fixture
def _compiled(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(engine, "_PAYS", 0)
    monkeypatch.setattr(carried, "_ALONE", 0)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")


def made(loss=None, *, d=NARROW, share=0.2, regulariser=None, network=None, rounds=ROUNDS):
    rng, loss = np.random.default_rng(5), loss or Hinge()
    features = rng.random((RECORDS, d)) * (rng.random((RECORDS, d)) < share)
    features[[0, -1]] = 0  # the first and the last row have no number at all
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1)
    signs = np.where(rng.random(RECORDS) < 0.5, 1.0, -1.0)
    problem = AveragingProblem(
        records=split(features, signs if loss.of_margin else rng.standard_normal(RECORDS), NODES),
        network=network or ring(NODES),
        loss=loss,
        regulariser=regulariser or ridge(0.03),
    )
    return load("private-dual-averaging")(
        problem,
        rounds=rounds,
        weights="linear",
        proximal=np.sqrt(np.arange(4, rounds + 4)),
        sigma=0.3,
    )


def stepped(algorithm, state, until):
    while state.round < until:
        state = algorithm.step(state)
    return state


def leapt(algorithm, state, until):
    before = 0
    while state.round < until:
        state, before = algorithm._leap(state, until), before + 1
    assert before <= 4, "rounds went one by one"
    return state


def same(one, other):
    assert one.round == other.round
    for name in ("memory", "released", "extra"):
        found, wanted = getattr(one, name), getattr(other, name)
        assert list(found) == list(wanted)
        for key, values in wanted.items():
            assert np.isfinite(values).all()
            np.testing.assert_array_equal(found[key], values)


def test_rounds_with_gradients_at_means_go_one_by_one():
    algorithm = replace(made(Huber(width=0.5)), gradients_at="averages")
    one = algorithm.start(3, runs=2)
    other = algorithm._leap(one, ROUNDS)
    assert other.round == 1
    same(other, algorithm.step(one))
    found = algorithm.run(3, runs=2, release=Release.LAST_ITERATE)["average"]
    np.testing.assert_array_equal(found, stepped(algorithm, one, ROUNDS).released["average"])


@pytest.mark.parametrize("share", [0.2, 0.9])
@pytest.mark.parametrize("regulariser", [ridge(0.03), ElasticNet(l1=0.02, l2=0.03)])
@pytest.mark.parametrize(
    "loss", [Hinge(), SmoothedHinge(width=0.3), Squared(scale=0.7), Huber(width=0.5)]
)
def test_rounds_at_once_are_rounds_one_by_one(loss, regulariser, share):
    algorithm = made(loss, share=share, regulariser=regulariser)
    begin = algorithm.start(3, runs=3)
    found = leapt(algorithm, begin, ROUNDS)
    same(found, stepped(algorithm, algorithm.start(3, runs=3), ROUNDS))
    assert np.abs(found.memory["x"]).max() > 0  # something happened at all


@pytest.mark.parametrize("network", [ring(NODES), complete(NODES)])
@pytest.mark.parametrize(("first", "runs"), [(0, 1), (60, 3), (61, 130), (124, 1), (62, 62)])
def test_runs_that_share_a_generator_have_their_own_numbers(first, runs, network):
    algorithm = made(network=network, rounds=70)
    assert runs_together(algorithm._draws(1)["noise"]) == 62
    starts = [algorithm.start(3, runs=runs, first_run=first) for _ in range(2)]
    same(leapt(algorithm, starts[0], 70), stepped(algorithm, starts[1], 70))


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("d", [WIDE, NARROW])
def test_every_number_of_threads_has_the_same_bits(d, threads, monkeypatch):
    algorithm, runs = made(d=d, rounds=70), 5 if d == WIDE else 200
    wanted = stepped(algorithm, algorithm.start(8, runs=runs, first_run=3), 70)
    used = []

    class Team(carried.Team):
        def share(self, work, parts):
            used.append((self.threads, parts))
            super().share(work, parts)

    monkeypatch.setattr(carried, "Team", Team)
    monkeypatch.setenv("NUMBA_NUM_THREADS", str(threads))
    same(leapt(algorithm, algorithm.start(8, runs=runs, first_run=3), 70), wanted)
    assert set(used) == {(threads, 5 if d == WIDE else 4)}


def test_little_work_stays_on_its_thread(monkeypatch):
    team, used, algorithm = carried.Team, [], made(rounds=5)
    monkeypatch.setattr(carried, "_ALONE", 10**9)
    monkeypatch.setattr(carried, "Team", lambda threads: used.append(threads) or team(threads))
    leapt(algorithm, algorithm.start(0, runs=200), 5)
    assert used == [1]


@pytest.mark.parametrize("d", [WIDE, NARROW])
def test_leaps_and_steps_mix(d):
    """Steps draw numbers ahead, which leaps then take; a state can be gone on from twice."""
    algorithm = made(d=d)
    state = start = algorithm.start(4, runs=2)
    for t in (1, 9, 10, 30, 63, 64, 65, 100, 128, 129, ROUNDS):
        state = (leapt if t % 2 else stepped)(algorithm, state, t)
        if t == 30:
            thirty = state
    wanted = stepped(algorithm, algorithm.start(4, runs=2), ROUNDS)
    same(state, wanted)
    same(leapt(algorithm, thirty, ROUNDS), wanted)
    same(leapt(algorithm, start, ROUNDS), wanted)


def test_few_rounds_at_once_where_messages_are_many(monkeypatch):
    algorithm = made()
    monkeypatch.setattr(carried, "_AT_ONCE", 2 * NODES * NARROW * 3)
    begin = algorithm.start(3, runs=2)
    state = algorithm._leap(begin, ROUNDS)
    assert state.round == 3
    same(state, stepped(algorithm, algorithm.start(3, runs=2), 3))
    assert algorithm._leap(begin, 2).round == 2  # and never farther than asked


def test_noise_of_a_real_run_is_drawn_by_its_own_generator():
    pytest.importorskip("randomgen")
    algorithm = made(rounds=70)
    one, other = (algorithm._begin(Streams(2**200 + 1, 3, 5, cryptographic=True)) for _ in range(2))
    same(leapt(algorithm, one, 70), stepped(algorithm, other, 70))


def test_numbers_that_are_not_numpys_are_not_drawn(monkeypatch):
    monkeypatch.setattr(normals, "_checked", lambda: normals._numpys)
    algorithm = made()
    assert algorithm._carried() is None
    assert algorithm._leap(algorithm.start(1), ROUNDS).round == 1


@pytest.mark.parametrize("d", [WIDE, NARROW])
def test_a_run_released_at_its_end_is_the_full_one(d):
    algorithm = made(d=d)
    full, last = (
        algorithm.run(5, runs=3, first_run=1, diagnostics=40, release=release)
        for release in (Release.EVERY_MESSAGE, Release.LAST_ITERATE)
    )
    assert set(last.released) == {"average"}
    np.testing.assert_array_equal(last["average"], full["average"])
    for name, series in full.diagnostics.items():
        np.testing.assert_array_equal(last.diagnostics[name].values, series.values)
        assert np.isfinite(series.values[:, [39, 79, 119, 139]]).all()


def test_rounds_that_somebody_looks_at_are_not_left_out():
    algorithm = made()
    seen = [s.round for s in algorithm.steps(algorithm.start(1), every=25)]
    assert set(seen) >= {25, 50, 75, 100, 125, 140}
    assert len(seen) < 12
    assert [s.round for s in algorithm.steps(algorithm.start(1))] == list(range(1, ROUNDS + 1))
    last = [s.round for s in algorithm.steps(algorithm.start(1), every=0)]
    assert len(last) <= 4
    assert last[-1] == ROUNDS


def test_an_interrupted_run_goes_on_from_what_was_saved(tmp_path):
    algorithm, file = made(), tmp_path / "run.sqlite"

    def stop(done, _):
        if done >= 70:
            raise KeyboardInterrupt

    for pace in ({"checkpoint_every": 35}, {"checkpoint_every": 1, "checkpoint_seconds": 1e9}):
        settings = {"runs": 2, "release": Release.LAST_ITERATE, "checkpoint": file, **pace}
        with pytest.raises(KeyboardInterrupt):
            algorithm.run(5, progress=stop, **settings)
        rounds = []
        resumed = algorithm.run(5, progress=lambda done, _: rounds.append(done), **settings)  # noqa: B023
        assert 70 < rounds[0] <= rounds[-1] == ROUNDS
        np.testing.assert_array_equal(resumed["average"], algorithm.run(5, runs=2)["average"])
        file.unlink()
    state = leapt(algorithm, algorithm.start(5, runs=2), 50)
    state.save(file)
    same(load_state(algorithm, file), stepped(algorithm, algorithm.start(5, runs=2), 50))


@pytest.mark.parametrize("name", engine._A_ROUND)
def test_whoever_changes_a_round_goes_round_by_round(name):
    """Planted mistakes, and methods of others, must not be passed over."""
    kind, calls = load("private-dual-averaging"), []

    def counted(self, *args, **kwargs):
        calls.append(name)
        return getattr(kind, name)(self, *args, **kwargs)

    algorithm = made(rounds=9)
    changed = type(kind.__name__, (kind,), {name: counted, "__slots__": ()})(
        algorithm.problem, rounds=9, weights="linear", proximal=algorithm.proximal, sigma=0.3
    )
    found = changed.run(1, release=Release.LAST_ITERATE)
    assert len(calls) >= 9
    np.testing.assert_array_equal(
        found["average"], algorithm.run(1, release=Release.LAST_ITERATE)["average"]
    )


def test_what_the_loop_does_not_know_goes_round_by_round():
    class Own(Hinge):
        __slots__ = ()

    class Net(ElasticNet):
        __slots__ = ()

    assert made()._carried() is not None
    for unknown in (made(Logistic()), made(Own()), made(regulariser=Net(l2=0.1)), made().alone(2)):
        assert unknown._loops() is not None
        assert unknown._carried() is None
    assert made(Logistic())._leap(made(Logistic()).start(1), ROUNDS).round == 1


def test_derivatives_are_those_of_the_losses():
    from dpcalc.algorithms.problems import carried_rounds

    m = np.concatenate([np.linspace(-3, 3, 601), [0.0, -0.0, 0.7, 1.0, 1 - 2**-53, np.nan]])
    for loss in (Hinge(), SmoothedHinge(width=0.3), Squared(scale=0.7), Huber(width=0.5)):
        kind, width = carried._plain(loss, carried_rounds)
        found = np.array([carried_rounds.derivative(kind, width, each) for each in m])
        np.testing.assert_array_equal(found, loss.derivative(m))


# ---- streams


@pytest.mark.parametrize("first", [0, 3])
def test_streams_hand_over_what_they_would_draw(first):
    kind = made()._draws(1)["noise"]
    one, other = (Streams(9, 65, first) for _ in range(2))
    wanted = [one.draw(kind, 0, t) for t in range(64)]
    generators = other.handed_over(kind, 0, 0, 5)
    assert len(generators) == 2
    whole = np.concatenate([g.standard_normal((5, 62, *kind.shape)) for g in generators], axis=1)
    np.testing.assert_array_equal(whole[:, first : first + 65], wanted[:5])
    np.testing.assert_array_equal(other.draw(kind, 0, 5), wanted[5])
    rest = other.several(kind, 0, 6, 3)
    assert 1 <= len(rest) <= 3
    np.testing.assert_array_equal(rest, wanted[6 : 6 + len(rest)])
    again = Streams(9, 65, first)
    again.handed_over(kind, 0, 0, 5)
    for source in (other, again):  # and back
        np.testing.assert_array_equal(source.draw(kind, 0, 2), wanted[2])


def test_streams_hand_over_no_number_twice():
    kind = made(d=WIDE)._draws(1)["noise"]
    source = Streams(9, 2)
    source.draw(kind, 0, 0)
    assert source._open[0]._end > 1
    assert source.handed_over(kind, 0, 1, 1) is None  # drawn ahead
    assert source.handed_over(kind, 0, 64, 65) is None  # other generators serve the last
    assert source.handed_over(kind, 0, 70, 3) is None  # not the first of its generators
    assert source.handed_over(kind, 0, 128, 64) is not None


def test_a_copy_of_a_real_run_is_refused_its_noise(monkeypatch):
    pytest.importorskip("randomgen")
    source = Streams(2**200, 1, cryptographic=True)
    monkeypatch.setattr(noise.os, "getpid", lambda: -1)
    for asked in (source.several, source.handed_over):
        with pytest.raises(noise.InvalidInput, match="drawn twice"):
            asked(made()._draws(1)["noise"], 0, 0, 1)
