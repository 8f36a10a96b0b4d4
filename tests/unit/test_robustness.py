"""Extreme numbers, bad input and bad streams: an answer or one line, never a traceback."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.gaussian import (
    gaussian_delta,
    gaussian_delta_bounds,
    gaussian_epsilon,
    gaussian_mu,
)
from dpcalc.accounting.pure.binomial_sum import pure_delta, pure_epsilon
from dpcalc.accounting.pure.chernoff import delta_by_chernoff, epsilon_by_chernoff
from dpcalc.calibration import smallest_noise
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, PureDP, compose
from dpcalc.report.streams import printable, written
from dpcalc.report.text import lower, upper
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.theorems.schedule import Schedule
from tests.oracles import exact

DP = (
    "dp-admm --n-records 32561 --rounds 100 --gradient-bound 1 --dual-start zero --sigma 0.01 "
    "--delta 1e-5"
)
RA = (
    "recycled-admm --n-nodes 5 --loss-weight 1750 --regularization 0.22 --penalty 1 --degree 3 "
    "--n-records 8000 --delta 1e-6 --noise-rate 1 --rounds 25"
)
ITERATION = (
    "admm-iteration --sensitivity 1 --step-size 0.5 --penalty 1 --sigma 1 --iterations 101 "
    "--smoothness 2 --operator-norm 1 --min-singular-value 1 --square --delta 1e-5"
)
M_ADMM = (
    "m-admm-rate --graph complete:3 --penalty 1 --dual-step 0.5 --strong-convexity 0.01 "
    "--smoothness 0.01"
)


def changed(base: str, **options: object) -> list[str]:
    """A command line with other values for some options; None leaves one out."""
    words = base.split()
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
        if value is not None:
            words += [option, str(value)]
    return words


# Extreme numbers


@pytest.mark.parametrize(
    ("arguments", "least"),
    [
        (["epsilon", *changed(DP, sigma="1e-300")], "inf"),
        (["epsilon", *changed(DP, sigma="1e-320")], "inf"),
        (["epsilon", *changed(DP, sigma=1, gradient_bound="1e300")], "inf"),
        (["epsilon", *changed(DP, sigma=1, rounds="1e300")], 1.8e291),
        (["epsilon", *changed(RA, rounds="1e9")], 9e7),
        (["epsilon", *changed(RA, rounds="1e300")], 9e298),
        (["epsilon", *changed(RA, noise_rate="1e5")], 1.09e6),
        (["epsilon", *changed(RA, noise_rate="1e6", rounds=2)], 8.7e5),
        (["epsilon", *changed(RA, noise_rate="1e300")], 1.09e301),
        (["epsilon", *changed(RA, loss_weight="1e300")], 6e297),
        (["epsilon", *changed(RA, n_nodes="1e9")], 10.6),
        (["epsilon", *changed(ITERATION, sigma="1e-200", iterations=5)], "inf"),
    ],
)
def test_extreme_parameters_have_an_answer(run: Any, arguments: list[str], least: Any) -> None:
    status, out, err = run(*arguments, "--json")
    assert (status, err) == (0, "")
    epsilon = json.loads(out)["certified"]["epsilon"]
    assert epsilon == "inf" if least == "inf" else least <= epsilon <= least * 1.2
    assert run(*arguments)[0] == 0


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e300, 1e-5), (1e300, 1e-3), (1e-300, 1e-12), (1e-10, 1e-300)]
)
def test_noise_for_extreme_budgets_meets_them(run: Any, epsilon: float, delta: float) -> None:
    arguments = changed(DP, sigma=None, epsilon=epsilon, delta=delta)
    status, out, err = run("noise", *arguments, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)["certified"]
    assert found["epsilon"] <= epsilon
    mu = math.nextafter(found["mu"], 0)
    assert exact.gaussian_delta(mu * (1 - 1e-9), epsilon, 700) <= mpf(delta)
    assert exact.gaussian_delta(mu * (1 + 1e-9), epsilon, 700) > mpf(delta)


def test_calibration_reaches_noise_of_any_size(run: Any) -> None:
    arguments = changed(DP, sigma=None, gradient_bound="1e200", epsilon="1", delta="1e-5")
    found = json.loads(run("noise", *arguments, "--json")[1])["certified"]
    assert 0.999999 < found["epsilon"] <= 1
    assert found["sigma"] > 1e196


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--gdp 1e300 --to approx --delta 1e-5", {"epsilon": "inf", "delta": 1e-5}),
        ("--gdp 1 --to approx --epsilon 1e300", {"epsilon": 1e300, "delta": 5e-324}),
        ("--pure 0.1 --rounds 1e9 --to approx --delta 1e-6", {"epsilon": 5010849.339, "delta": 1e-6}),
        ("--pure 0.1 --to approx --delta -0", {"epsilon": 0.1, "delta": 0}),
    ],
)  # fmt: skip
def test_convert_far_out(run: Any, arguments: str, expected: dict[str, Any]) -> None:
    status, out, err = run("convert", *arguments.split(), "--json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    assert answer["adjacency"] is None
    assert answer["certified"] == {
        k: v if isinstance(v, str) else pytest.approx(v, rel=1e-9, abs=0)
        for k, v in expected.items()
    }
    assert "-0" not in run("convert", *arguments.split())[1].replace("e-0", "")


def test_rounds_beyond_counting_get_a_bound_that_says_it_is_weaker(run: Any) -> None:
    arguments = "convert --pure 0.1 --rounds 1e18 --to approx --delta 1e-6"
    answer = json.loads(run(*arguments.split(), "--json")[1])["certified"]
    mean = 1e18 * 0.1 * math.tanh(0.05)
    assert mean < answer["epsilon"] < mean * (1 + 1e-6)
    assert "weaker" in answer["method"]
    assert "weaker" in run(*arguments.split())[1]


@given(st.floats(-320, 308), st.floats(-320, 308))
@example(150.0, 299.699)
@settings(max_examples=60)
def test_gaussian_delta_over_the_whole_range(log_mu: float, log_epsilon: float) -> None:
    mu, epsilon = 10.0**log_mu, 10.0**log_epsilon
    if mu == 0:
        return
    found = gaussian_delta(mu, epsilon)
    assert 0 < found <= 1
    (bound,) = gaussian_delta_bounds(np.array([mu]), epsilon)
    with mp.workdps(750):
        a = mpf(epsilon) / mpf(mu) - mpf(mu) / 2
        near = abs(a) < 60
    if a > 60:
        assert found == 5e-324
    elif a < -60:
        assert found == 1.0
        assert bound == 1.0
    elif near and abs(log_mu) < 30:
        truth = exact.gaussian_delta(mu, epsilon, 300)
        assert mpf(found) >= truth
        assert found == 5e-324 or found <= float(truth) * (1 + 3e-16)
        assert mpf(float(bound)) >= truth


@pytest.mark.parametrize(
    ("mu", "delta"),
    [(1e150, 1e-5), (1e154, 0.5), (1e-12, 1e-13), (1e-300, 1e-310), (1e5, 1 - 1e-16), (30, 5e-324)],
)
def test_gaussian_epsilon_far_out_is_the_next_double_above(mu: float, delta: float) -> None:
    found = gaussian_epsilon(mu, delta)
    with mp.workdps(1500):
        assert exact.gaussian_delta(mu, found, 1500) <= mpf(delta)
        below = math.nextafter(math.nextafter(found, 0), 0)
        assert exact.gaussian_delta(mu, below, 1500) > mpf(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e300, 1e-5), (1e-300, 1e-12), (1e308, 5e-324)])
def test_gaussian_mu_far_out(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    above = math.nextafter(math.nextafter(mu, math.inf), math.inf)
    assert exact.gaussian_delta(mu, epsilon, 1500) <= mpf(delta)
    assert exact.gaussian_delta(above, epsilon, 1500) > mpf(delta)


@given(st.floats(1e-3, 3), st.integers(1, 50), st.floats(-12, -0.4))
@settings(max_examples=60)
def test_the_weaker_bound_encloses_the_exact_one(
    epsilon: float, count: int, log_delta: float
) -> None:
    delta = 10.0**log_delta
    strong, weak = (
        pure_epsilon({epsilon: count}, delta),
        epsilon_by_chernoff({epsilon: count}, delta),
    )
    assert weak.lower <= strong.upper * (1 + 1e-12)
    assert weak.upper >= strong.lower
    at = strong.upper / 2
    truth = exact.equal_rounds_delta(epsilon, count, at)
    bound = delta_by_chernoff({epsilon: count}, at)
    assert mpf(bound.lower) <= truth <= mpf(bound.upper)


@pytest.mark.parametrize(
    "rounds",
    [{0.1: 10**11}, {0.1: 10**18}, {1e-9: 10**18, 1e-8: 10**17}, {800.0: 10**200}, {1e300: 10**18},
     {5e-324: 10**18}, {1e-160: int(1e300)}, {1e298: 1, 2e297: 3}],
)  # fmt: skip
def test_any_number_of_rounds_has_an_enclosure(rounds: dict[float, int]) -> None:
    for delta in (5e-324, 1e-6, 0.7):
        found = pure_epsilon(rounds, delta)
        assert 0 <= found.lower <= found.upper
        total = sum(mpf(e) * n for e, n in rounds.items())
        if min(rounds) > 700 and delta < 0.5:  # such rounds reveal all but for e^-700
            assert found.upper >= total * (1 - mpf("1e-2"))
        back = pure_delta(rounds, found.upper)
        assert back.upper <= max(delta * (1 + 1e-9), 1e-8 if found.upper == 0 else 0)


# Bad input

BAD = [
    (["epsilon", *changed(DP, split=0)], "split needs a number above 0 and below 1; got 0"),
    (["epsilon", *changed(DP, split=1)], "got 1"),
    (["epsilon", *changed(DP, delta="1e-400")], "'1e-400'"),
    (["epsilon", *changed(DP, sigma="1/0")], "division by 0"),
    (["epsilon", *changed(DP, n_records="9" * 401)], "beyond the largest double"),
    (["epsilon", *changed(DP, n_records=None)], "also needs --n-records"),
    (["epsilon", *DP.split(), "--sigma", "3"], "--sigma is needed once; got 2"),
    (["epsilon", *DP.split(), "--sigma=3"], "--sigma is needed once; got 2"),
    (["epsilon", *DP.split(), "--attest", "luck"], "attestation"),
    (["epsilon", *DP.split(), "more"], "unexpected extra argument (more); see: dpcalc epsilon"),
    (["epsilon", "m-admm-rate"], "try: dpcalc rate m-admm-rate"),
    (["rate", "dp-admm"], "try: dpcalc epsilon dp-admm"),
    (["epsilon", "--foo"], "got '--foo'; see: dpcalc epsilon --help"),
    (["--foo"], "got '--foo'; see: dpcalc --help"),
    (["epsilon", *changed(RA, n_records="@")], "a file after the @"),
    (["noise", *changed(DP, epsilon=1)], "--sigma is what this verb finds; got 0.01"),
    (["rate", *changed(M_ADMM, strong_convexity="1e-300", smoothness="1e300")], "from 1e-50 to 1e50"),
    (["rate", *changed(M_ADMM, penalty="1e300", dual_step="1e300")], "from 1e-50 to 1e50"),
    ("rate recycled-admm-sample-complexity --reference-norm 1e300 --tolerance 1e-300 "
     "--failure-probability 0.05 --n-nodes 5 --constant 1".split(), "from 1e-50 to 1e50"),
    ("rate dual-averaging-rate --strong-convexity 0.0005 --subgradient-bound 1 --graph ring:2000 "
     "--rounds 1e9".split(), "rounds needs to be at most"),
    ("convert --gdp 1".split(), "dpcalc convert needs --to"),
    ("convert --to approx --gdp".split(), "--gdp needs a value"),
    ("convert --gdp 1 --to approx --epsilon 1 --delta 1e-5".split(), "got both"),
    ("convert --gdp 1 --to zcdp --fpr 0.1".split(), "--fpr is for --to tradeoff"),
    ("convert --gdp 1 --to zcdp --order 2".split(), "--order is for --to rdp"),
    ("convert --gdp 1 --to risk --delta 0.1".split(), "--delta is for --to approx"),
    ("convert --pure 1 --pure 2 --to approx".split(), "--pure is needed once; got 2"),
    ("convert --rdp 2:0.1 --rdp 2:0.2 --to approx --delta 1e-5".split(), "every order once"),
    ("compose".split(), "needs the argument FILE"),
    ("verify /proc/1/mem".split(), "/proc/1/mem"),
    ("verify /".split(), "readable TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_use_is_one_line(run: Any, arguments: list[str], message: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


CLAIM = "[[claim]]\ntheorem = 'dp-admm'\nepsilon = 1\ndelta = 1e-5\n"
CLAIMS = [
    (CLAIM + "parameters = 3", "parameters needs to be a table of name = value; got 3"),
    (CLAIM + "parameters = [1]", "parameters needs to be a table"),
    (CLAIM + "[claim.parameters]\nrounds = 1", "also needs n_records, gradient_bound;"),
    (CLAIM + "[claim.parameters]\nrounds = 1\ngradient_bound = 1\nn_records = " + "7" * 401,
     "n_records needs a whole number, 1 or above"),
    (CLAIM + "[claim.parameters]\nn_records = " + "7" * 5000, "not valid TOML"),
    (CLAIM + "[claim.parameters]\ndual-start = 'zero'\ndual_start = 'data'", "dual_start is needed once"),
    (CLAIM + "attest = 3\n[claim.parameters]\nrounds = 1\ngradient_bound = 1\nn_records = 9",
     "attest needs a list"),
    ("[[claim]]\ntheorem = 3", "the name of a theorem was needed; got 3"),
    ("[[claim]]\ntheorem = 'm-admm-rate'", "try: dpcalc rate m-admm-rate"),
    ("[claim]\ntheorem = 'dp-admm'", "got one [claim] table"),
    ("claim = 3", "got claim = 3"),
    ("claim = [1, 2]", "claim 1 needs to be a table of name = value; got 1"),
    ("[[claim]]\nepsilon = '1e-400'\ntheorem = 'dp-admm'", "epsilon needs a number"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), CLAIMS, ids=[m for _, m in CLAIMS])
def test_bad_claims_files_are_one_line(run: Any, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(text)
    status, out, err = run("verify", str(file))
    assert (status, out) == (2, "")
    assert message in err
    assert "--" not in err.replace("--no", "")
    assert err.count("\n") == 1


RELEASES = [
    ("[[release]]\ntheorem = 'dp-admm'\nparameters = 3", "need to be a table of name = value; got 3"),
    ("[[release]]\npure = 1\ncount = " + "7" * 401, "count needs a number"),
    ("[release]\npure = 1", "got one [release] table"),
    ("release = 3", "got release = 3"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), RELEASES, ids=[m for _, m in RELEASES])
def test_bad_releases_are_one_line(run: Any, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(text)
    status, out, err = run("compose", str(file))
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_two_claims_of_one_name_are_refused(run: Any, tmp_path: Path) -> None:
    parameters = "[claim.parameters]\nn_records = 9\nrounds = 1\ngradient_bound = 1\n"
    one = CLAIM.replace("[[claim]]", "[[claim]]\nname = 'mine'") + parameters
    file = tmp_path / "claims.toml"
    file.write_text(one + one)
    status, _, err = run("verify", str(file))
    assert status == 2
    assert "claim 2 (mine) needs a name of its own; got that of claim 1" in err


def test_a_file_with_a_byte_order_mark_is_read(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text("﻿delta = 1e-6\n[[release]]\npure = 1\n", encoding="utf-8")
    assert run("compose", str(file))[0] == 0


def test_a_table_that_is_no_table_says_where(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "penalties.txt"
    file.write_text("# penalties\n1\nabc\n")
    _, _, err = run("epsilon", *changed(RA, penalty=f"@{file}"))
    assert "penalties.txt" in err
    assert "got 'abc' in line 3" in err
    file.write_text("1\n2\n")
    _, _, err = run("epsilon", *changed(RA, penalty=f"@{file}"))
    assert "needs 1 or 25 rows (rounds) and 1 column (nodes); got 2 by 1" in err
    _, _, err = run("epsilon", *changed(RA, n_records=f"@{file}"))
    assert "one for each of the n_nodes=5 nodes; got 2" in err


@pytest.mark.parametrize(
    "call",
    [
        lambda: privacy_result(None),  # type: ignore[arg-type]
        lambda: compose(PureDP(1), 3),  # type: ignore[arg-type]
        lambda: privacy_result("dp-admm").from_parameters(3),  # type: ignore[arg-type]
        lambda: smallest_noise(None, 1, 1e-5),  # type: ignore[type-var]
        lambda: GDP(1).epsilon([1]),  # type: ignore[arg-type]
        lambda: GDP(1).delta([1]),  # type: ignore[arg-type]
        lambda: PureDP(1).epsilon([1]),  # type: ignore[arg-type]
        lambda: ZCDP(1).epsilon(None),  # type: ignore[arg-type]
        lambda: ApproxDP(1, []),  # type: ignore[arg-type]
        lambda: RDP.from_points(3),  # type: ignore[arg-type]
        lambda: compose((PureDP(1), "x")),  # type: ignore[list-item]
        lambda: GDP(10**400),
    ],
)
def test_wrong_types_are_invalid_input(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput):
        call()


def test_promises_all_at_once_or_in_a_list(run: Any) -> None:
    for given_ in (
        ["all"],
        ["gradient-bound,public-parameters"],
        ["gradient-bound", "public-parameters"],
    ):
        words = [x for key in given_ for x in ("--attest", key)]
        record = json.loads(run("epsilon", *DP.split(), *words, "--json")[1])
        assert {a["state"] for a in record["assumptions"]} <= {"attested", "holds"}


# Streams and terminals


def _process(arguments: str, **settings: Any) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **settings.pop("environment", {})}
    return subprocess.run(  # noqa: S602 # a shell is what pipes and redirects
        f"{sys.executable} -m dpcalc {arguments}",
        shell=True, capture_output=True, check=False, env=environment, **settings,
    )  # fmt: skip


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_any_encoding_will_do(encoding: str) -> None:
    found = _process("epsilon " + DP, environment={"PYTHONIOENCODING": encoding})
    assert (found.returncode, found.stderr) == (0, b"")
    text = found.stdout.decode(encoding)
    assert "epsilon" in text
    assert "sigma" in text
    assert text.isascii() or encoding != "ascii"


def test_a_closed_pipe_and_a_full_disk_are_no_verdict() -> None:
    left = _process("theorems --json | head -1; exit ${PIPESTATUS[0]}", executable="/bin/bash")
    assert left.returncode in (0, 141)
    assert left.stderr == b""
    if Path("/dev/full").exists():
        full = _process("theorems > /dev/full")
        assert full.returncode == 74
        assert full.stderr.count(b"\n") == 1


def test_a_defect_is_told_in_one_line(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpcalc.answers import budget

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(budget, "budget", broken)
    monkeypatch.delenv("DPCALC_DEBUG", raising=False)
    status, _, err = run("epsilon", *DP.split())
    assert status == 70
    assert err.count("\n") == 1
    assert "DPCALC_DEBUG=1" in err
    monkeypatch.setenv("DPCALC_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["epsilon", *DP.split()])


def test_control_characters_do_not_reach_the_terminal(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    parameters = "[claim.parameters]\nn_records = 9\nrounds = 1\ngradient_bound = 1\n"
    file.write_text(CLAIM.replace("[[claim]]", '[[claim]]\nname = "a\\u001b[31mb"') + parameters)
    _, out, _ = run("verify", str(file))
    assert "\x1b" not in out
    file.write_text('[[claim]]\nname = "a\\u001b[31mb"\n')
    _, _, err = run("verify", str(file))
    assert "\x1b" not in err
    assert printable("a\x1bb\n\x9b") == "a�b\n�"


def test_text_is_written_out_where_the_encoding_lacks_it() -> None:
    assert written("δ ≤ √ε é Ω", "ascii") == "delta <=  sqrtepsilon e Omega"
    assert written("δ é", "latin-1") == "delta é"
    assert written("δ é", "utf-8") == "δ é"


@pytest.mark.parametrize("columns", ["10", "40", "80", "120"])
def test_keys_and_numbers_are_never_broken(
    run: Any, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    from dpcalc.theorems.catalogue import keys

    monkeypatch.setenv("COLUMNS", columns)
    words = run("theorems")[1].split()
    assert [key for key in keys() if key not in words] == []
    text = run("epsilon", *DP.split())[1]
    assert "6.14232e-5" in text
    assert "…" not in text


def test_later_lines_of_a_finding_hang_below_its_first(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("epsilon", *DP.split())[1].split("Findings\n")[1].split("\n\nAssumptions")[0]
    assert all(line.startswith(("  • ", "    ")) for line in lines.splitlines())


def test_the_same_reason_is_told_once(run: Any, tmp_path: Path) -> None:
    parameters = "[claim.parameters]\nn_records = 9\nrounds = 1\ngradient_bound = 1\n"
    file = tmp_path / "claims.toml"
    file.write_text((CLAIM + parameters) * 5)
    _, out, _ = run("verify", str(file))
    assert out.count("an instance leaks") == 1
    assert "1-5  REFUTED" in out


def test_help_says_what_happens_without_an_option(run: Any) -> None:
    text = " ".join(run("epsilon", "dp-admm", "--help")[1].split()).replace("- ", "-")
    for default in ("replace-one", "data", "0.5", "0"):
        assert f"[default: {default}]" in text
    assert "(then ε = ∞)" in text
    assert "e.g. True" not in run("epsilon", "admm-iteration", "--help")[1]


def test_numbers_are_rounded_outward_and_written_as_people_do() -> None:
    assert upper(1e-6) == "1e-6"
    assert upper(1.2345678e-7) == "1.23457e-7"
    assert lower(1.2345678e-7) == "1.23456e-7"
    assert upper(-0.0) == "0"
    assert Schedule.of("x", 2).values == (2.0,)
