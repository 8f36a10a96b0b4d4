"""Bad arguments and files of every kind: one line that says what was needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpcalc.calibration import smallest_noise
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, PureDP, compose
from dpcalc.theorems.catalogue import privacy_result
from tests.unit.extreme_settings import CLAIM, DP, RA, changed

M_ADMM = (
    "m-admm-rate --graph complete:3 --penalty 1 --dual-step 0.5 --strong-convexity 0.01 "
    "--smoothness 0.01"
)

BAD = [
    (["epsilon", *changed(DP, split=0)], "split needs a number strictly between 0 and 1; got split=0"),
    (["epsilon", *changed(DP, split=1)], "got split=1"),
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
    (["epsilon", "--foo"], "needs a name before '--foo'; got none; see: dpcalc epsilon --help"),
    (["--foo"], "got '--foo'; options of a verb come after it, dpcalc VERB --foo; see"),
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
    ("[[claim]]\ntheorem = 3", "expected the name of a theorem; got 3"),
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
