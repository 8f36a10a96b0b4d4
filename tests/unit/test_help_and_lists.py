"""Help and lists at 80 columns: examples that can be copied and that work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
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


def _verbs() -> list[str]:
    from click import Context

    from dpcalc.cli.main import group

    return group.list_commands(Context(group))


PAGES = [
    *_verbs(), "epsilon admm-iteration", "noise private-dual-averaging", "rate m-admm-rate",
    "run private-r-admm", "run dp-admm", "plot dp-sgd", "plot dp-admm-utility", "plot runs",
    "plot dp-admm", "epsilon dp-sgd", "epsilon gaussian-without-replacement",
]  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_help_fits_the_screen(shown: Any, page: str) -> None:
    lines = shown(f"{page} --help")[1]
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("verb", _verbs())
def test_help_names_its_examples_and_says_one_word_for_one_thing(shown: Any, verb: str) -> None:
    text = "\n".join(shown(f"{verb} --help")[1])
    assert re.search(r"^  Examples?\b", text, re.MULTILINE)
    for other in ("WHOLE NUMBER", "COUNT", "COMMAND [ARGS]", "unless said"):
        assert other not in text


LONG = (
    "reproduce zhang", "reproduce all", "theorems --tightness", "audit dp-admm",
    "audit mine:target", "audit --scores", "new theorem", "new plan plan", "plot dp-admm --", "selftest", "schema", "run dp-acc-admm",
    "sweep grid.toml --out grid.csv --workers", "new audit", "verify",
)  # fmt: skip
"""Examples that take long or need files; the pages of the site run these or their like."""

FILES = {
    "grid.toml": 'theorem = "noisy-gd"\ndelta = 1e-6\n[parameters]\nsensitivity = 1\nn_records = 9\n'
    "sigma = 1\nstep_size = 0.1\nsmoothness = 1\nstrong_convexity = 1\nsteps = [1, 2]\n",
    "plan.toml": "delta = 1e-6\n[[release]]\npure = 0.1\ncount = 3\n",
}


@pytest.mark.parametrize("verb", [v for v in _verbs() if v not in ("selftest", "schema")])
def test_the_examples_of_a_verb_run(
    shown: Any, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    help_ = "\n".join(shown(f"{verb} --help")[1]).replace("\\\n", " ")
    lines = [" ".join(x.split()) for x in help_.splitlines() if x.startswith("    dpcalc ")]
    commands = [part.removeprefix("dpcalc ") for line in lines for part in line.split(" && ")]
    assert commands
    for command in commands:
        if not command.startswith(LONG):
            assert shown(command)[0] == 0, command


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("cal", {"calibrate"}),
        ("epsilon dp-", {"dp-admm", "dp-sgd"}),
        ("calibrate dp", {"dp-sgd"}),
        ("calibrate f", set()),
        ("plot dp-admm --over ro", {"rounds"}),
        ("epsilon dp-admm --attest gra", {"gradient-bound"}),
        ("epsilon dp-admm --attest gradient-bound,p", {"gradient-bound,public-parameters"}),
        ("audit dp-admm --case noised", {"noised-start"}),
        ("audit --methods e-process,acc", {"e-process,accuracy"}),
        ("rate m-admm-rate --graph r", {"ring:5"}),
        ("run dp-admm --graph r", {"ring"}),
        ("run dp-admm --data a", {"adult", "a9a", "a8a", "a"}),
        ("epsilon dp-admm --dual-st", {"--dual-start"}),
        ("epsilon dp-admm --dual-start ", {"data", "zero", "noised"}),
        ("calibrate poi", {"poisson-subsampled-gaussian"}),
        ("calibrate gaussian --adjacency re", {"replace-one"}),
        ("convert --gdp 1 --to r", {"rdp", "risk"}),
        ("theorems noisy-sg", {"noisy-sgd", "noisy-sgd-constrained", "noisy-sgd-constrained-tradeoff"}),
        ("audit dp-a", {"dp-admm", "dp-acc-admm"}),
        ("reproduce shang2021-t", {"shang2021-table-1"}),
        ("new t", {"theorem"}),
        ("run dp-admm --dual-start s", {"shared"}),
        ("plot dp-sgd --over ra", {"rate"}),
        ("plot pois", {"poisson-subsampled-gaussian"}),
        ("plot dp-admm-utility --over eps", {"epsilon"}),
        ("plot runs --measure test", {"test_error"}),
        ("audit dp-admm --release ev", {"every-iterate", "every-message"}),
        ("audit dp-admm --theorem noisy-g", {"noisy-gd"}),
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


@pytest.mark.parametrize(
    ("shell", "ask"),
    [
        ("bash", "COMP_WORDS=(dpcalc epsilon dp); COMP_CWORD=2; "
                 "_dpcalc_completion dpcalc dp; printf '%s\\n' \"${COMPREPLY[@]}\""),
        ("fish", "complete -C 'dpcalc epsilon dp'"),
        ("zsh", None),
    ],
)  # fmt: skip
def test_the_script_for_a_shell_completes_there(shell: str, ask: str | None) -> None:
    """The lines of the page on completion, carried out by the shell itself."""
    program = shutil.which(shell)
    dpcalc = Path(sys.executable).with_name("dpcalc")
    if program is None or not dpcalc.exists():
        pytest.skip(f"{shell} or the installed command is not here")
    environment = {**os.environ, "PATH": f"{dpcalc.parent}{os.pathsep}{os.environ['PATH']}"}
    made = subprocess.run(
        [str(dpcalc)],
        env={**environment, "_DPCALC_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    script = [program, "-c", f"{made}\n{ask}"] if ask else [program, "-n", "-c", made]
    found = subprocess.run(
        script, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    if ask:
        assert {line.split("\t")[0] for line in found.stdout.splitlines()} == {"dp-admm", "dp-sgd"}
