"""Files are written whole or not at all; what cannot be written is refused early or told last."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpcalc.cli._outputs import Writing, check_outputs
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput, OutputFailed
from dpcalc.files import check_output, remove_remains, write_atomically, write_text

unix = pytest.mark.skipif(os.name != "posix", reason="devices, permissions and limits of Unix")
OLD = "what was there"
ROOT = Path(__file__).parents[2]
CLAIM = """
[[claim]]
name = "number {0}"
theorem = "dp-admm"
epsilon = 50
delta = 1e-5
[claim.parameters]
n_records = 100
rounds = 5
gradient_bound = 1
sigma = 0.{0}
dual_start = "zero"
adjacency = "add-remove"
"""
CLAIMS = "".join(CLAIM.format(k) for k in range(1, 10))
"""Their report takes more than a kilobyte."""
RUN = ("run", "dp-admm", "--epsilon", "1", "--delta", "1e-6", "--rounds", "3")


def _left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _status(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


def test_a_file_is_replaced_whole_and_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    write_text(file, OLD)
    file.chmod(0o640)
    write_text(file, "δ")
    assert file.read_text(encoding="utf-8") == "δ"
    assert os.name != "posix" or file.stat().st_mode & 0o777 == 0o640
    assert _left(tmp_path) == {"report.json"}


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_what_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, failure: BaseException
) -> None:
    file = tmp_path / "report.json"
    file.write_text(OLD)
    expected = OutputFailed if isinstance(failure, OSError) else KeyboardInterrupt

    def half_of_it() -> None:
        with write_atomically(file) as out:
            out.write(b"half of")
            raise failure

    with pytest.raises(expected):
        half_of_it()
    assert file.read_text() == OLD
    assert _left(tmp_path) == {"report.json"}


def test_two_writers_never_share_a_temporary_file(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    with write_atomically(file) as first:
        first.write(b"first")
        with write_atomically(file) as second:
            second.write(b"second, longer")
        assert file.read_text() == "second, longer"
    assert file.read_text() == "first"


def test_the_content_is_on_the_disk_before_it_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    flush, rename = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (events.append("flush"), flush(fd))[1])
    monkeypatch.setattr(
        Path, "replace", lambda self, to: (events.append("rename"), rename(self, to))[1]
    )
    write_text(tmp_path / "a", "1")
    assert events[:2] == ["flush", "rename"]
    assert os.name != "posix" or events == ["flush", "rename", "flush"]  # the folder as well


@unix
def test_devices_and_links_stay_what_they_are(tmp_path: Path) -> None:
    write_text("/dev/null", "gone")
    assert Path("/dev/null").is_char_device()
    file, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(file)
    write_text(link, "through")
    assert link.is_symlink()
    assert file.read_text() == "through"
    with pytest.raises(OutputFailed, match="/dev/full"):
        write_text("/dev/full", "x" * 100_000)


def test_remains_of_killed_writers_are_removed_and_no_others(tmp_path: Path) -> None:
    file = tmp_path / "at.npz"
    for name in (".at.npz.0123456789abcdef.partial", ".other.npz.01.partial", "at.npz.lock"):
        (tmp_path / name).write_text("")
    remove_remains(file)
    assert _left(tmp_path) == {".other.npz.01.partial", "at.npz.lock"}


@pytest.mark.parametrize("name", ["nodir/x.json", "x" * 5000, "."])
def test_a_file_that_cannot_be_written_is_refused_with_its_option(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(InvalidInput, match="--report needs a file that can be written"):
        check_output(tmp_path / name, "--report")
    assert _left(tmp_path) == set()


def test_trying_a_file_neither_makes_nor_changes_it(tmp_path: Path) -> None:
    file = tmp_path / "x"
    check_output(file, "--out")
    assert _left(tmp_path) == set()
    file.write_text(OLD)
    check_output(file, "--out")
    assert file.read_text() == OLD


def test_outputs_need_files_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    with pytest.raises(InvalidInput, match="--plot and --out need files of their own"):
        check_outputs([("--out", file), ("--plot", tmp_path / "." / "x.csv")])
    file.write_text(OLD)
    with pytest.raises(InvalidInput, match="is read"):
        check_outputs([("--out", file)], inputs=[file])


def test_failures_are_told_together_and_last(tmp_path: Path) -> None:
    writing = Writing()
    assert writing.attempt(lambda: write_text(tmp_path / "a", "1"))
    writing.settle()
    for name in ("no/b", "no/c"):
        assert not writing.attempt(lambda name=name: write_text(tmp_path / name, "1"))
    with pytest.raises(OutputFailed, match=r"no/b.*no/c"):
        writing.settle()


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ((*RUN, "--out", "nodir/x.json"), "--out"),
        ((*RUN, "--checkpoint", "nodir/x.npz"), "--checkpoint"),
        (("verify", "--junit", "nodir/x.xml"), "--junit"),
        (("audit", "dp-admm", "--ledger", "nodir/x.md"), "--ledger"),
        (("audit", "dp-admm", "--report", "nodir/x.html"), "--report"),
        (("audit", "dp-admm", "--checkpoint", "nodir/x"), "--checkpoint"),
    ],
)
def test_nothing_is_computed_for_a_file_that_cannot_be_written(
    words: tuple[str, ...],
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("something was computed")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpcalc.training.prepared_run.prepare", computed)
    monkeypatch.setattr("dpcalc.claims.verdict.judge", computed)
    monkeypatch.setattr("dpcalc.audits.suite.ledger.entries", computed)
    monkeypatch.setattr("dpcalc.auditing.suite.run.carry_out", computed)
    assert _status(*words) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"dpcalc: {option} needs a file that can be written; got 'nodir/x")


@unix
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((*RUN, "--seed", "1", "--json"), '"certified"'),
        (("verify", "claims.toml", "--json"), '"verdict"'),
    ],
)
def test_a_full_disk_keeps_the_old_file_and_the_answer_is_printed(
    words: tuple[str, ...], told: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every file of the process is limited to a kilobyte, which no report fits into."""
    folder = tmp_path_factory.mktemp("claims")
    (folder / "claims.toml").write_text(CLAIMS)
    file = tmp_path / "found.json"
    file.write_text(OLD)
    option = "--out" if words[0] == "run" else "--junit"
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)); "
        "from dpcalc.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, *words, option, str(file)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 74, done.stderr
    assert told in done.stdout
    assert str(file) in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert file.read_text() == OLD
    assert _left(tmp_path) == {"found.json"}
