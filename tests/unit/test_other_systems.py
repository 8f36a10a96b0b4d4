"""What Windows lacks or limits, taken away here: nothing rests on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpcalc.claims.tables import read_toml
from dpcalc.errors import InvalidInput
from dpcalc.execution import Processes
from dpcalc.files import write_text
from dpcalc.trail import open_trail

ROOT = Path(__file__).parents[2]


def test_no_module_needs_what_only_unix_has() -> None:
    """Every module of the package, without what Windows does not have; libraries see to themselves."""
    script = """
import importlib, os, pkgutil, signal, sys
for library in ("click", "cloudpickle", "filelock", "matplotlib.figure", "networkx", "numba",
                "pandas", "randomgen", "rich.console", "scipy.optimize", "sklearn.linear_model", "sympy"):
    importlib.import_module(library)
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "getuid", "geteuid", "setsid", "killpg", "sched_getaffinity", "mkfifo",
             "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "uname", "chown", "pread"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGALRM", "SIGKILL", "SIGHUP", "SIGUSR1", "setitimer", "alarm", "pthread_sigmask"):
    if hasattr(signal, name):
        delattr(signal, name)
import dpcalc
for found in pkgutil.walk_packages(dpcalc.__path__, "dpcalc."):
    if "__main__" in found.name or ".libraries" in found.name or ".cluster" in found.name:
        continue
    importlib.import_module(found.name)
from dpcalc.cli.main import main
main(["convert", "--gdp", "1", "--to", "approx", "--delta", "1e-5"])
"""
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert found.returncode == 0, found.stderr
    assert "epsilon = 4.3" in found.stdout


def test_a_folder_that_cannot_be_opened_is_not_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows refuses to open folders."""
    real = os.open

    def windows(path: str, flags: int, mode: int = 0o777) -> int:
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied")
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", windows)
    write_text(tmp_path / "answer.json", "δ")
    assert (tmp_path / "answer.json").read_bytes() == "δ".encode()


def test_a_replaced_file_needs_no_permissions_of_unix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There only the owner's right to write exists; a file opened elsewhere is told by name."""
    file = tmp_path / "answer.json"
    file.write_text("old")

    def held(self: Path, target: Path) -> Path:
        raise PermissionError(13, "being used by another process")

    monkeypatch.setattr(Path, "replace", held)
    with pytest.raises(OSError, match=r"answer\.json"):
        write_text(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_trail_keeps_its_bytes_whatever_ends_lines_are_written(tmp_path: Path) -> None:
    with open_trail(tmp_path / "spent") as (trail, _):
        trail.append({"epsilon": 1})
    assert b"\r" not in (tmp_path / "spent").read_bytes()


def test_more_processes_than_windows_waits_for_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(InvalidInput, match="at most 61 on Windows"):
        Processes(62)
    Processes(61).shutdown()


@pytest.mark.parametrize(("system", "said"), [("posix", "/dev/stdin"), ("nt", "is not read")])
def test_standard_input_is_named_where_it_has_a_name(
    system: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpcalc.claims.tables.NAMED_STREAMS", system == "posix")
    with pytest.raises(InvalidInput, match=said):
        read_toml(Path("-"))


def test_no_file_is_read_or_written_in_the_encoding_of_the_country(tmp_path: Path) -> None:
    """Python warns of every open without an encoding; ε is no character of code page 1252."""
    script = "from dpcalc.cli.main import main\nmain(['verify', 'claims.toml', '--json', '--junit', 'found.xml'])"
    (tmp_path / "claims.toml").write_text(
        '[[claim]]\nname = "ε of one run"\ntheorem = "dp-admm"\nepsilon = 1\ndelta = 1e-5\n'
        "[claim.parameters]\nn_records = 100\nrounds = 5\ngradient_bound = 1\nsigma = 1\n"
        'dual_start = "zero"\nadjacency = "add-remove"\n',
        encoding="utf-8",
    )
    found = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning:dpcalc",
         "-c", script],
        capture_output=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr.decode(errors="replace")
    assert "ε of one run" in (tmp_path / "found.xml").read_text(encoding="utf-8")
