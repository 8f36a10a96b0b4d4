"""Bad streams and narrow screens: no verdict is lost, no number broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpcalc.cli.main import main
from dpcalc.report.streams import printable, written
from dpcalc.report.text import lower, upper
from dpcalc.theorems.schedule import Schedule
from tests.unit.extreme_settings import CLAIM, DP


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


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="its status of a pipe is asked for")
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

    monkeypatch.setattr(budget, "judged", broken)
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
