"""``dpcalc verify`` as it is read: the exit status of the demonstration, and narrow terminals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpcalc
from dpcalc.auditing import Claim, Counts, audit_counts
from dpcalc.auditing.result import AuditResult
from dpcalc.claims.file import default_file, read_claims
from dpcalc.claims.verdict import Claim as Statement
from dpcalc.claims.verdict import judge
from dpcalc.cli.main import main
from dpcalc.report.attacks import print_attacks


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    def call(*arguments: str, columns: int = 80) -> tuple[int, str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as stopped:
            main(["verify", *arguments])
        return int(stopped.value.code or 0), capsys.readouterr().out

    return call


def test_the_demonstration_ends_well_and_says_so(verify: Any) -> None:
    status, out = verify()
    assert status == 0
    assert "REFUTED" in out
    assert "demonstration" in out.splitlines()[-2]
    assert verify("--json")[0] == 0


def test_strict_takes_the_demonstration_for_a_check(verify: Any) -> None:
    status, out = verify("--strict")
    assert status == 1
    assert "demonstration" not in out


def test_the_same_claims_in_a_file_of_ones_own_are_a_check(verify: Any, tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(default_file().read_text(encoding="utf-8"))
    status, out = verify(str(file))
    assert status == 1
    assert "demonstration" not in out


@pytest.mark.parametrize("columns", [60, 66, 72, 80, 100, 130])
def test_no_word_of_a_claim_is_broken_and_no_line_is_too_long(verify: Any, columns: int) -> None:
    _, out = verify(columns=columns)
    assert max(map(len, out.splitlines())) <= columns
    printed = set(out.split())
    for claim in read_claims(default_file()):
        assert set(claim.name.split()) <= printed
    assert {"REFUTED", "UNSUPPORTED", "LOOSE"} <= printed


def test_a_narrow_terminal_gets_a_block_per_claim(verify: Any) -> None:
    heads = [line for line in verify(columns=60)[1].splitlines() if "certified ε" in line]
    assert len(heads) == len(read_claims(default_file()))
    heads = [line for line in verify(columns=80)[1].splitlines() if "certified ε" in line]
    assert len(heads) == 1


def test_a_name_without_spaces_is_folded_rather_than_cut(verify: Any, tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    text = default_file().read_text(encoding="utf-8")
    file.write_text(text.replace('zhang2018, fig. 2, penalty perturbation"', "x" * 200 + '"'))
    for columns in (60, 80):
        _, out = verify(str(file), columns=columns)
        folded = [word for word in out.split() if len(word) > 4 and not word.strip("x")]
        assert sum(map(len, folded)) == 200
        assert max(map(len, out.splitlines())) <= columns


@pytest.mark.parametrize("columns", [60, 80])
def test_reasons_of_attacks_hang_under_their_number(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    theorem = dpcalc.theorem("dp-admm")
    claim = Statement("ours", theorem.from_parameters(theorem.example), 1.0, 1e-5)
    attacked = Claim.of(epsilon=1, delta=1e-5, adjacency="replace-one")
    verdict = audit_counts(attacked, Counts.of(95, 5, 5, 95), alpha=0.05)
    print_attacks([judge(claim)], [AuditResult(key="a", title="a", role="", verdict=verdict)])
    lines = capsys.readouterr().out.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("  1  ε ≥ "))
    reason = [line.rstrip() for line in lines[first:] if line.strip()]
    assert len(reason) > 1
    assert all(line.startswith("     ") for line in reason[1:])
    assert "claimed ε = 1 " in " ".join(" ".join(reason).split())


def test_verdicts_are_there_before_certificates_and_a_terminal_sees_them_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpcalc.cli import _certify

    file = tmp_path / "claims.toml"
    file.write_text(
        '[[claim]]\nname = "one"\nepsilon = 1\n[[claim.release]]\npure = 0.5\n'
        '[[claim]]\nname = "two"\nepsilon = 1\n[[claim.release]]\npure = 0.7\n'
    )
    seen: list[str] = []
    add = _certify.Certificates.add_guarantee

    def watched(*given: Any) -> None:
        seen.append(capsys.readouterr().out)
        add(*given)

    monkeypatch.setattr(_certify.Certificates, "add_guarantee", watched)
    words = ["verify", str(file), "--certify", str(tmp_path / "two.json")]
    for terminal in (False, True):
        monkeypatch.setenv("FORCE_COLOR" if terminal else "NO_COLOR", "1")
        seen.clear()
        with pytest.raises(SystemExit):
            main(words)
        said = capsys.readouterr()
        assert "LOOSE 2" in seen[0]
        assert "both ends certified" in said.out
        assert ("certifying claims" in said.err) == terminal
