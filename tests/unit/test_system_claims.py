"""Claims about lists of releases: verdicts against exact laws, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dpcalc.claims.file import read_claims
from dpcalc.claims.system import SystemClaim
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput

SYSTEM = "[[claim]]\nname = 'ours'\nepsilon = {epsilon}\ndelta = 1e-5\nadjacency = 'add-remove'\n"
SILENT = "[[claim]]\nepsilon = 1\ndelta = 1e-5\n"
GAUSSIANS = "[[claim.release]]\nmechanism = 'gaussian'\nnoise_multiplier = 2\ncount = 3\n"
DP_ADMM = (
    "[[claim.release]]\ntheorem = 'dp-admm'\n[claim.release.parameters]\nn_records = 1000\n"
    "rounds = 10\ngradient_bound = 1\nsigma = 1\ndual_start = 'zero'\n"
)


def exact(multiplier: float, rounds: int, delta: float) -> float:
    """ε of Gaussian rounds by the textbook formula (Balle and Wang 2018, theorem 8)."""
    mu = math.sqrt(rounds) / multiplier

    def excess(epsilon: float) -> float:
        tail = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(
            -mu / 2 - epsilon / mu
        )
        return float(tail - delta)

    return float(brentq(excess, 0, 50, xtol=1e-13))


def judged(folder: Path, text: str) -> Any:
    file = folder / "claims.toml"
    file.write_text(text)
    (claim,) = read_claims(file)
    assert isinstance(claim, SystemClaim)
    return claim.judged()


@pytest.mark.parametrize(
    ("factor", "verdict"), [(0.5, "REFUTED"), (0.999, "REFUTED"), (1.001, "HOLDS"), (2, "LOOSE")]
)
def test_the_verdict_is_that_of_the_exact_law(factor: float, verdict: str, tmp_path: Path) -> None:
    found = judged(tmp_path, SYSTEM.format(epsilon=factor * exact(2, 3, 1e-5)) + GAUSSIANS)
    assert found.verdict == verdict
    assert found.certified == pytest.approx(exact(2, 3, 1e-5), rel=1e-9)
    assert found.attained <= found.certified


def test_a_table_of_rounds_stands_next_to_the_claims(tmp_path: Path) -> None:
    (tmp_path / "rounds.csv").write_text("day,mechanism,noise_multiplier,count\n1,gaussian,2,3\n")
    text = SYSTEM.format(epsilon=10) + "rounds = 'rounds.csv'\nnotes = ['day']\n"
    found = judged(tmp_path, text)
    assert found.certified == pytest.approx(exact(2, 3, 1e-5), rel=1e-9)


def test_bare_guarantees_refute_nothing(tmp_path: Path) -> None:
    """Three releases that are 0.1-DP each may well leak nothing."""
    found = judged(
        tmp_path, SYSTEM.format(epsilon=0.1) + "[[claim.release]]\npure = 0.1\ncount = 3\n"
    )
    assert (found.verdict, found.attained) == ("UNSUPPORTED", None)
    found = judged(
        tmp_path, SYSTEM.format(epsilon=0.31) + "[[claim.release]]\npure = 0.1\ncount = 3\n"
    )
    assert found.verdict == "LOOSE"


def test_promises_of_theorems_in_the_list_have_to_be_made(tmp_path: Path) -> None:
    text = SYSTEM.format(epsilon=10) + DP_ADMM + "adjacency = 'add-remove'\n"
    found = judged(tmp_path, text)
    assert found.verdict == "UNSUPPORTED"
    assert "gradient-bound" in found.reason
    attested = text.replace("delta =", "attest = 'all'\ndelta =")
    found = judged(tmp_path, attested)
    assert found.verdict == "LOOSE"
    assert set(found.claim.promised()) == {"as-listed", "gradient-bound", "public-parameters"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SYSTEM.format(epsilon=1).replace("epsilon = 1\n", "") + GAUSSIANS, "'epsilon'"),
        (SYSTEM.format(epsilon=1) + "attest = ['smooth']\n" + GAUSSIANS, "no theorem"),
        (SYSTEM.format(epsilon=1) + "rounds = 'none.csv'\n", "none.csv"),
        (SYSTEM.format(epsilon=1) + "parameters = {}\n" + GAUSSIANS, "'parameters'"),
        (
            SYSTEM.format(epsilon=1).replace("delta = 1e-5\n", "") + GAUSSIANS,
            "delta above 0 is needed",
        ),
        (SYSTEM.format(epsilon=1) + GAUSSIANS.replace("count", "cont"), "'count'"),
        (SILENT + GAUSSIANS + DP_ADMM, "one neighbouring relation"),
        (SILENT, "or releases"),
        ("delta = 1e-5\n" + GAUSSIANS.replace("claim.", ""), "dpcalc compose"),
        (SILENT + GAUSSIANS.replace("count = 3", "count = 0"), "a count of 0 in every release"),
    ],
)
def test_what_is_refused(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=told):
        read_claims(file)


def test_through_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("claims.toml").write_text(SYSTEM.format(epsilon=1) + GAUSSIANS)
    with pytest.raises(SystemExit) as ended:
        main(["verify", "claims.toml", "--junit", "claims.xml", "--json"])
    assert ended.value.code == 1
    (claim,) = json.loads(capsys.readouterr().out)["claims"]
    assert (claim["theorem"], claim["release"]) == (None, "all listed releases")
    assert claim["inputs"] == {"releases": 3}
    assert "as-listed" in claim["attested"]
    assert 'failures="1"' in Path("claims.xml").read_text()
    with pytest.raises(SystemExit):
        main(["verify", "claims.toml", "--audit", "--runs", "20"])
    assert "no audit" in capsys.readouterr().out


def test_a_table_alone_is_no_claims_file(tmp_path: Path) -> None:
    table = tmp_path / "rounds.csv"
    table.write_text("mechanism,noise_multiplier\ngaussian,2\n")
    with pytest.raises(InvalidInput, match="dpcalc compose"):
        read_claims(table)
