"""Help and lists at 80 columns: examples that can be copied and that work."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dpcalc.audits.suite.catalogue import keys
from dpcalc.cli.main import main


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "80")

    def call(line: str) -> tuple[int, list[str]]:
        with pytest.raises(SystemExit) as stopped:
            main(line.split())
        return int(stopped.value.code or 0), capsys.readouterr().out.splitlines()

    return call


def test_the_claims_file_in_the_help_keeps_its_lines(shown: Any) -> None:
    assert '    rounds = "not given; 100 taken"' in shown("verify --help")[1]


def test_the_examples_in_the_help_of_theorems_work(shown: Any) -> None:
    lines = (line.strip() for line in shown("theorems --help")[1])
    examples = [x.removeprefix("dpcalc ") for x in lines if re.match(r"dpcalc theorems\b", x)]
    quick = [x for x in examples if "--tightness" not in x]
    assert len(quick) >= 2
    assert [shown(x)[0] for x in quick] == [0] * len(quick)


def test_names_of_audits_are_not_broken(shown: Any) -> None:
    first = {line.split()[0] for line in shown("audit")[1] if line.split()}
    assert set(keys()) <= first


def test_the_words_for_printed_statements_have_a_line_each(shown: Any) -> None:
    lines = [line.strip() for line in shown("theorems")[1]]
    for word in ("sound", "loose", "false for some settings"):
        assert any(re.match(rf"{word}  +(proved|some)", line) for line in lines)


@pytest.mark.parametrize(
    ("verb", "key"),
    [
        ("epsilon", "dp-admm"),
        ("noise", "recycled-admm"),
        ("rate", "m-admm-rate"),
        ("epsilon", "pnsgd"),
    ],
)
def test_the_help_of_a_theorem_has_an_example_that_runs(shown: Any, verb: str, key: str) -> None:
    text = "\n".join(line.strip() for line in shown(f"{verb} {key} --help")[1])
    (example,) = re.findall(rf"^Example:\n(dpcalc {verb} {key} (?:.*\\\n)*.*)$", text, re.MULTILINE)
    assert all(len(line) <= 80 for line in example.splitlines())
    assert shown(example.replace("\\\n", " ").removeprefix("dpcalc "))[0] == 0


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("cal", {"calibrate"}),
        ("epsilon dp-", {"dp-admm"}),
        ("epsilon dp-admm --dual-st", {"--dual-start"}),
        ("epsilon dp-admm --dual-start ", {"data", "zero", "noised"}),
        ("calibrate poi", {"poisson-subsampled-gaussian"}),
        ("calibrate gaussian --adjacency re", {"replace-one"}),
        ("convert --gdp 1 --to r", {"rdp", "risk"}),
        ("theorems noisy-sg", {"noisy-sgd", "noisy-sgd-constrained", "noisy-sgd-constrained-tradeoff"}),
        ("audit dp-a", {"dp-admm", "dp-acc-admm"}),
        ("reproduce shang2021-t", {"shang2021-table-1"}),
        ("new t", {"theorem"}),
    ],
)  # fmt: skip
def test_the_shell_is_offered_names_and_values(typed: str, offered: set[str]) -> None:
    from click.shell_completion import ShellComplete

    from dpcalc.cli.main import group

    *words, incomplete = typed.split(" ")
    found = ShellComplete(group, {}, "dpcalc", "_DPCALC_COMPLETE").get_completions(
        words, incomplete
    )
    assert {item.value for item in found} == offered
