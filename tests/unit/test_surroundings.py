"""Other threads, numpy's settings, threads of linear algebra, terminals and folders do not matter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from dpcalc.accountant import Accountant
from dpcalc.accounting.gaussian import gaussian_delta, gaussian_epsilon
from dpcalc.calibration import smallest_noise
from dpcalc.errors import DpcalcError
from dpcalc.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, compose
from dpcalc.guarantees import mechanisms as named
from dpcalc.numerics import products
from dpcalc.numerics.precise import DIGITS, context
from dpcalc.theorems.catalogue import keys, privacy_result
from dpcalc.vocabulary import Adjacency

THREADS = 8


# ---- threads


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads take turns after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def _hard(k: int) -> tuple[float, ...]:
    """Questions that need more than sixty digits: a root next to zero, a difference of tails."""
    mu = 1e-3 * (1 + k % 7)
    guarantee = GDP(mu)
    return (
        guarantee.delta(mu / 1e8),
        guarantee.epsilon(guarantee.delta(0.0) * (1 - 1e-12)),
        guarantee.tradeoff(1e-9),
        GDP(30.0 + k % 5).delta(1e3),
    )


def test_eight_threads_answer_as_one_does_and_leave_no_precision_behind(impatient: None) -> None:
    alone = [_hard(k) for k in range(35)]
    gaussian_delta.cache_clear()
    gaussian_epsilon.cache_clear()

    def asked(k: int) -> tuple[tuple[float, ...], int]:
        return _hard(k % 35), context().dps

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(asked, range(35 * 4)))
    assert [answer for answer, _ in found] == alone * 4
    assert {digits for _, digits in found} == {DIGITS}
    assert context().dps == DIGITS


def test_every_thread_has_a_context_of_its_own() -> None:
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(context).result()
    assert other is not context()
    assert other.convert(context().mpf(1) / 3) == context().mpf(1) / 3


# ---- numpy's error settings


MECHANISMS: dict[str, Callable[[], Guarantee]] = {
    "gaussian": lambda: GDP(1.0),
    "laplace": lambda: named.laplace(scale_over_sensitivity=0.5),
    "exponential-norm": lambda: named.exponential_norm(dimension=5, scale_over_sensitivity=1.0),
    "poisson": lambda: named.poisson_subsampled_gaussian(0.7, 0.01, adjacency=Adjacency.ADD_REMOVE),
    "poisson, replaced": lambda: named.poisson_subsampled_gaussian(
        0.7, 0.01, adjacency=Adjacency.REPLACE_ONE
    ),
    "without replacement": lambda: named.sampled_without_replacement(1.0, 0.01),
    "profile": lambda: named.from_profile([(0.1, 0.2), (1.0, 1e-3)]),
    "pure": lambda: PureDP(0.3),
    "approximate": lambda: ApproxDP(0.2, 1e-9),
    "zcdp": lambda: ZCDP(0.01),
}


def _answers_of(make: Callable[[], Guarantee]) -> list[object]:
    found: list[object] = []
    for count in (1, 30):
        guarantee = compose((make(), count))
        found += [_ask(guarantee.epsilon, 1e-7), _ask(guarantee.delta, 0.4)]
        found += [_ask(guarantee.renyi, 3.0)]
    return found


def _answers_of_theorem(key: str) -> list[object]:
    kind = privacy_result(key)
    given = dict(kind.example)
    if given.get("dimension") is not None:  # every round has a law of its own
        given["rounds"] = 4
    theorem = kind.from_parameters(given)
    found: list[object] = []
    for what in ("claimed", "certified", "attained"):
        bound = _ask(getattr(theorem, what))
        if hasattr(bound, "guarantee"):
            found += [_ask(bound.guarantee.epsilon, 1e-5), _ask(bound.guarantee.delta, 0.5)]
    if key in ("dp-admm", "penalty-perturbation", "noisy-gd"):
        found.append(_ask(lambda: smallest_noise(theorem, 1.0, 1e-5).noise_level()))
    return found


def _ask(question: Callable[..., object], *given: float) -> object:
    try:
        return question(*given)
    except DpcalcError as error:
        return str(error)


@pytest.mark.parametrize("name", MECHANISMS)
def test_strict_floating_point_settings_change_no_mechanism(name: str) -> None:
    expected = _answers_of(MECHANISMS[name])
    gaussian_delta.cache_clear()
    gaussian_epsilon.cache_clear()
    with np.errstate(all="raise"):
        assert _answers_of(MECHANISMS[name]) == expected


@pytest.mark.parametrize("key", keys(privacy=True))
@pytest.mark.few(8)
def test_strict_floating_point_settings_change_no_theorem(key: str) -> None:
    expected = _answers_of_theorem(key)
    with np.errstate(all="raise"):
        assert _answers_of_theorem(key) == expected


def test_strict_floating_point_settings_change_no_audit() -> None:
    from dpcalc.auditing.suite.run import carry_out
    from dpcalc.audits.suite.catalogue import audit_of

    def verdicts() -> list[object]:
        cases = audit_of("dp-admm").cases[:2]
        results = carry_out(cases, alpha=0.05, seed=3, runs=200, controls=False)
        return [(r.verdict.outcome, r.epsilon_lower, r.certified) for r in results]

    expected = verdicts()
    with np.errstate(all="raise"):
        assert verdicts() == expected


def test_the_callers_settings_are_left_as_they_were() -> None:
    with np.errstate(all="raise"):
        before = np.geterr()
        compose((MECHANISMS["poisson"](), 3)).epsilon(1e-6)
        assert np.geterr() == before


# ---- threads of linear algebra


def test_products_in_parts_are_the_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_WORK", 60)
    monkeypatch.setattr(products, "_COMPLEX_WORK", 30)
    monkeypatch.setattr(products, "_LENGTH", 7)
    rng = np.random.default_rng(0)
    # Whole numbers: every order of summation gives the same.
    left, right = rng.integers(-9, 9, (4, 50)).astype(float), rng.integers(-9, 9, (50, 3)) * 1.0
    complexes = right + 1j * rng.integers(-9, 9, right.shape)
    np.testing.assert_array_equal(products.product(left, right), left @ right)
    np.testing.assert_array_equal(products.product(left, complexes), left @ complexes)
    np.testing.assert_array_equal(products.product(left, right[:, 0]), left @ right[:, 0])
    np.testing.assert_array_equal(products.product(left[0], complexes), left[0] @ complexes)
    assert products.product(left[0], right[:, 0]) == left[0] @ right[:, 0]
    for n, k in ((50, 23), (23, 50), (7, 7), (8, 1), (1, 1)):
        one, other = left[0][:n], right[:k, 0]
        expected = np.convolve(one, other)
        np.testing.assert_array_equal(products.convolution(one, other), expected)


_CALLS_OF_OTHERS = """
import os, sys, time

def calls_of_others():
    "How often the process's other threads were called, or interrupted."
    others = [name for name in os.listdir("/proc/self/task") if int(name) != os.getpid()]
    if not others:
        sys.exit("linear algebra has no threads of its own here")
    status = [open(f"/proc/self/task/{name}/status").read().splitlines() for name in others]
    return sum(int(line.split()[1]) for lines in status for line in lines if "ctxt_switches" in line)
"""


def _calls_of_others(script: str) -> int:
    """What ``script`` prints, in a process where linear algebra has threads that wait asleep."""
    if not Path("/proc/self/task").is_dir():
        pytest.skip("threads cannot be watched here")
    surroundings = {k: v for k, v in os.environ.items() if "NUM_THREADS" not in k}
    found = subprocess.run(
        [sys.executable, "-c", _CALLS_OF_OTHERS + script],
        capture_output=True, text=True, check=False,
        env=surroundings | {"OPENBLAS_NUM_THREADS": "4", "OPENBLAS_THREAD_TIMEOUT": "4"},
    )  # fmt: skip
    if "no threads of its own" in found.stderr:
        pytest.skip(found.stderr)
    return int(found.stdout)


def test_a_query_runs_on_the_thread_that_asks() -> None:
    """No other thread is called, however many linear algebra may use.

    The queries take long sums: a convolution of 8 rounds, thousands of atoms against thousands of
    nodes, hundreds of atoms against the nodes of rare events. Shared among threads, the first alone
    took 12 times its work, and the last 3 to 10 times.
    """
    script = """
from dpcalc.guarantees import ApproxDP, compose
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian
from dpcalc.vocabulary import Adjacency

def sampled(noise, rate, count):
    one = poisson_subsampled_gaussian(noise, rate, adjacency=Adjacency.ADD_REMOVE)
    return compose((one, count)).epsilon(1e-6)

sampled(1.0, 0.16, 7), sampled(0.5, 2e-6, 1000)  # what is imported starts threads of its own
time.sleep(0.2)
before = calls_of_others()
sampled(1.0, 0.16, 8), sampled(0.5, 0.1, 5), sampled(1.0, 0.01, 1000), sampled(0.5, 1e-6, 1000)
compose((ApproxDP(0.1, 0.01), 40), (ApproxDP(0.2, 0.001), 30)).epsilon(0.6)
print(calls_of_others() - before)
"""
    assert _calls_of_others(script) == 0


_SHAPES = [
    (left, terms, right)
    for left in (1, 2, 33)
    for right in (1, 2, 33)
    for terms in (255, 2049, 20_000)
]


@pytest.mark.parametrize("kind", ["float", "complex"])
def test_products_of_all_shapes_stay_on_their_thread(kind: str) -> None:
    """Single rows and columns too, which numpy multiplies in another way than matrices."""
    script = f"""
import numpy as np
from dpcalc.numerics.products import convolution, product

time.sleep(0.2)
before = calls_of_others()
for left, terms, right in {_SHAPES}:
    one, other = np.ones((left, terms), {kind}), np.ones((right, terms), {kind}).T
    product(one, other), product(one, other[:, 0]), product(one[0], other), product(one[0], other[:, 0])
convolution(np.ones(20_000), np.ones(9_000))
time.sleep(0.2)
print(calls_of_others() - before)
"""
    assert _calls_of_others(script) == 0


def test_accountants_of_two_threads_do_not_disturb_each_other() -> None:
    """Each thread spends and asks on its own; what they find is what one thread finds alone."""

    def spent(noise: float) -> list[float]:
        accountant, found = Accountant(epsilon=9.0, delta=1e-6), []
        for _ in range(4):
            release = {"mechanism": "gaussian", "noise_over_sensitivity": noise}
            accountant = accountant.spend(release, 3).spend({"pure": 0.01 * noise}, 2)
            found += [accountant.epsilon_spent(), accountant.rounds_left({"pure": 0.1})]
        return found

    noises = [20.0, 31.0, 47.0, 53.0]
    alone = [spent(noise) for noise in noises]
    with ThreadPoolExecutor(len(noises)) as pool:
        assert list(pool.map(spent, noises)) == alone


SCREEN = "epsilon dp-admm --n-records 1000 --rounds 5 --gradient-bound 1 --sigma 1 --delta 1e-5 --dual-start zero"


@pytest.mark.skipif(os.name != "posix", reason="a terminal is imitated as Unix does it")
@pytest.mark.parametrize(
    ("settings", "colours", "bold"),
    [({}, True, True), ({"NO_COLOR": "1"}, False, True), ({"TERM": "dumb"}, False, False)],
    ids=["terminal", "NO_COLOR", "dumb"],
)
def test_colours_are_shown_where_they_are_wanted(
    settings: dict[str, str], colours: bool, bold: bool
) -> None:
    """Bold type is no colour; a dumb terminal gets plain text."""
    import pty

    ours, theirs = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    subprocess.run(
        [sys.executable, "-m", "dpcalc", *SCREEN.split()],
        stdout=theirs,
        env={**clean, "TERM": "xterm", "COLUMNS": "80", **settings},
        check=True,
    )
    os.close(theirs)
    shown = os.read(ours, 65_536).decode()
    os.close(ours)
    assert "certified" in shown
    codes = {code for group in re.findall(r"\x1b\[([\d;]*)m", shown) for code in group.split(";")}
    assert any(re.fullmatch("[39][0-7]", code) for code in codes) is colours
    assert bool(codes) is bold


def test_an_isolated_interpreter_without_a_temporary_folder_answers(tmp_path: Path) -> None:
    """-I hides the current folder and the user's packages; nothing is written to answer."""
    plan = tmp_path / "plan.toml"
    plan.write_text("delta = 1e-6\n[[release]]\npure = 0.1\ncount = 3\n")
    done = subprocess.run(
        [sys.executable, "-I", "-m", "dpcalc", "compose", str(plan), "--json"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "none"), "HOME": str(tmp_path / "nobody")},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["certified"]["epsilon"] <= 0.3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plan.toml"]
