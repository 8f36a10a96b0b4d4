"""What a release is signed with holds for its own files alone, and a version is one everywhere."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import dpcalc

ROOT = Path(__file__).parents[2]
CANNOT_SIGN = shutil.which("ssh-keygen") is None


@pytest.fixture(scope="module")
def release() -> Any:
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    files = {"a-1-py3-none-any.whl": b"wheel", "a-1.tar.gz": b"sdist"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items()]
    (folder / "SHA256SUMS").write_bytes("".join(lines).encode())
    return folder


def _key(folder: Path, name: str) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
    subprocess.run(command, check=True)
    return folder / name


def test_files_as_they_are_listed_pass(release: Any, dist: Path) -> None:
    release.check(dist)


@pytest.mark.parametrize("damage", ["changed", "missing", "another", "nothing listed"])
def test_other_files_are_refused(release: Any, dist: Path, damage: str) -> None:
    if damage == "changed":
        (dist / "a-1.tar.gz").write_bytes(b"sdisT")
    elif damage == "missing":
        (dist / "a-1.tar.gz").unlink()
    elif damage == "another":
        (dist / "b-1.tar.gz").write_bytes(b"sdist")
    else:
        (dist / "SHA256SUMS").write_bytes(b"")
    with pytest.raises(release.Refused):
        release.check(dist)


@pytest.mark.skipif(CANNOT_SIGN, reason="needs ssh-keygen")
def test_a_signature_is_of_one_signer_and_one_list(release: Any, dist: Path) -> None:
    mine, other = _key(dist.parent, "mine"), _key(dist.parent, "other")
    release.sign(dist, mine)
    signers = dist.parent / "signers"
    signers.write_text(f"me@example.org {mine.with_suffix('.pub').read_text()}")
    release.check(dist, signers, "me@example.org")
    with pytest.raises(release.Refused):
        release.check(dist, signers, "you@example.org")
    release.sign(dist, other)
    with pytest.raises(release.Refused):
        release.check(dist, signers, "me@example.org")
    release.sign(dist, mine)
    sums = dist / "SHA256SUMS"
    sums.write_bytes(sums.read_bytes() + b"\n".join(sums.read_bytes().splitlines()[:1]) + b"\n")
    with pytest.raises(release.Refused):
        release.check(dist, signers, "me@example.org")


@pytest.mark.skipif(CANNOT_SIGN, reason="needs ssh-keygen")
def test_a_signature_of_something_else_is_none_of_a_release(release: Any, dist: Path) -> None:
    key = _key(dist.parent, "mine")
    signers = dist.parent / "signers"
    signers.write_text(f"me@example.org {key.with_suffix('.pub').read_text()}")
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", "file", "SHA256SUMS"]
    subprocess.run(command, cwd=dist, check=True, capture_output=True)
    with pytest.raises(release.Refused):
        release.check(dist, signers, "me@example.org")


@pytest.mark.parametrize("wrong", ["CITATION.cff", "CHANGELOG.md"])
def test_a_version_is_the_same_everywhere(release: Any, tmp_path: Path, wrong: str) -> None:
    (tmp_path / "dpcalc").mkdir()
    files = {
        "dpcalc/__init__.py": '__version__ = "1.2.3"\n',
        "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.3\n",
        "CHANGELOG.md": "# Changelog\n\n## 1.2.3\n\n## 1.2.2\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert release.version(tmp_path) == "1.2.3"
    (tmp_path / wrong).write_text(files[wrong].replace("1.2.3", "Unreleased"))
    with pytest.raises(release.Refused, match=wrong):
        release.version(tmp_path)


def test_the_citation_has_the_version_of_the_package() -> None:
    assert f"\nversion: {dpcalc.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
