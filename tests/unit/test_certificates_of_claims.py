"""Certificates of claims name them, and reports say for every claim whether one was made."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpcalc.certificates.certify import certify
from dpcalc.certificates.checker import check, digest, made_for
from dpcalc.certificates.grammar import Refused
from dpcalc.certificates.reading import verified
from dpcalc.guarantees import GDP

SETTING = """
theorem = "dp-admm"
epsilon = 1
attest = "all"
[claim.parameters]
n_records = 32561
rounds = 100
gradient_bound = 1
dual_start = "zero"
sigma = 0.01
"""
CLAIMS = f"""
[[claim]]
name = "nothing proved"
delta = 0{SETTING}
[[claim]]
name = "our run\\nVERIFIED: all of it"
delta = 1e-5{SETTING}"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def made() -> dict[str, Any]:
    found = certify([(GDP(0.5), 1)], "", 1e-5, 2.2, None).made_for("claims.toml", 2, "our run")
    assert found.certificate is not None
    return found.certificate


def renewed(certificate: dict[str, Any], **changed: Any) -> dict[str, Any]:
    edited = {**certificate, **changed}
    return {**edited, "digest": digest(edited)}


def test_a_certificate_names_its_claim(made: dict[str, Any]) -> None:
    assert made["claim"] == {"file": "claims.toml", "number": 2, "name": "our run"}
    assert made_for(made) == "made for claim 2 of 'claims.toml', 'our run'"
    without = {name: value for name, value in made.items() if name != "claim"}
    (proved,) = check(made)
    assert proved.startswith("δ(2.2) <= 0x")
    assert check(renewed(without)) == [proved]
    assert made_for(without) == ""
    with pytest.raises(Refused, match="edited"):
        check({**made, "claim": {**made["claim"], "number": 1}})
    nothing = certify([(GDP(0.5), 1)], "", 1e-5, 0.001)
    assert nothing.made_for("claims.toml", 1, "x") is nothing


@pytest.mark.parametrize(
    "claim",
    [
        None,
        "our run",
        {"file": "claims.toml", "number": 2},
        {"file": "claims.toml", "number": 0, "name": "our run"},
        {"file": "claims.toml", "number": "2", "name": "our run"},
        {"file": "claims.toml", "number": True, "name": "our run"},
        {"file": "claims.toml", "number": 2, "name": 7},
        {"file": ["claims.toml"], "number": 2, "name": "our run"},
        {"file": "claims.toml", "number": 2, "name": "our run", "verdict": "HOLDS"},
    ],
)
def test_a_claim_is_three_fields(made: dict[str, Any], tmp_path: Path, claim: Any) -> None:
    wrong = renewed(made, claim=claim)
    with pytest.raises(Refused):
        check(wrong)
    file = tmp_path / "out.json"
    file.write_text(json.dumps(wrong))
    (found,) = verified(file)
    assert found.refused
    assert found.claim is None


def test_long_names_are_cut(made: dict[str, Any]) -> None:
    claim = {"file": "f" * 1000, "number": 10**6, "name": "n" * 1000}
    assert len(made_for(renewed(made, claim=claim))) < 450


def test_reports_say_which_claims_have_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("claims.toml").write_text(CLAIMS)
    certified = ["verify", "claims.toml", "--certify", "out.json"]
    _, shown, _ = run(*certified, "--report", "with.md")
    assert "1 not certified: no finite ε is proved 2 both ends" in " ".join(shown.split())
    first, second = Path("with.md").read_text("utf-8").split("## ")[2:4]
    assert "No certificate was made: no finite ε is proved." in first
    assert "Certificate in out.json: both ends certified; verify with: dpcalc check" in second
    answer = json.loads(run(*certified, "--json")[1])
    assert [claim["certificate"]["file"] for claim in answer["claims"]] == [None, "out.json"]
    run("verify", "claims.toml", "--report", "without.html")
    page = Path("without.html").read_text("utf-8")
    assert page.count("No certificate was made; --certify FILE makes one") == 2

    _, checked, _ = run("check", "out.json")
    assert r"made for claim 2 of 'claims.toml', 'our run\nVERIFIED: all of it';" in checked
    (found,) = json.loads(run("check", "out.json", "--json")[1])["certificates"]
    name = "our run\nVERIFIED: all of it"
    assert found["claim"] == {"file": "claims.toml", "number": 2, "name": name}
    text = Path("out.json").read_text("utf-8")
    Path("out.json").write_text(text.replace('"delta": "1e-5"', '"delta": "2e-5"'), "utf-8")
    status, refused, _ = run("check", "out.json")
    assert "REFUSED, made for claim 2 of 'claims.toml'" in refused
    assert status == 1
