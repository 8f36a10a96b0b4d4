"""A release's files: built, checked, listed with their checksums, signed; and what a user checks.

build    wheel and sdist from a clean checkout into an empty folder; their metadata is checked, each is
         installed in an empty environment and tried away from the checkout, and SHA256SUMS lists them
sign     SHA256SUMS.sig with an SSH key (ssh-keygen of OpenSSH 8.2 or newer); needs no network
check    the files are those of SHA256SUMS, and the signature is of somebody listed as a signer
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUMS = "SHA256SUMS"
NAMESPACE = "dpcalc-release"
"""What signatures are for, so that one of something else under the same key is none of a release."""

TRIALS = (
    "verify",
    "selftest",
    "run dp-admm --epsilon 1 --delta 1e-6 --rounds 5 --runs 4 --runs-at-once 2 --workers 2 --seed 1",
)
"""Commands that the installed files have to carry out in an empty folder."""


class Refused(Exception):
    """What keeps a release from being made or believed."""


def _run(command: Sequence[str | Path], folder: Path = ROOT, stdin: bytes | None = None) -> str:
    """What a command prints.

    Raises:
        Refused: if it fails, with what it said.
    """
    found = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, check=False)
    text = (found.stdout + found.stderr).decode("utf-8", "replace")
    if found.returncode != 0:
        raise Refused(f"{' '.join(map(str, command))}\n{text}")
    return text


def version(root: Path = ROOT) -> str:
    """The version that the package has.

    Raises:
        Refused: if the citation or the changelog says another, or the changelog has changes left.
    """

    def first(pattern: str, file: str) -> str:
        found = re.search(pattern, (root / file).read_text("utf-8"), re.MULTILINE)
        return found[1] if found else "nothing"

    package = first(r'^__version__ = "(.+)"', "dpcalc/__init__.py")
    for file, pattern in (("CITATION.cff", r"^version: (.+)"), ("CHANGELOG.md", r"^## (\S+)")):
        if first(pattern, file) != package:
            raise Refused(
                f"{file} needs the version of dpcalc/__init__.py, {package}; "
                f"got {first(pattern, file)}"
            )
    return package


def build(dist: Path, tag: str | None) -> None:
    """Wheel and sdist, each installed and tried.

    Raises:
        Refused: for a changed checkout, versions that differ, a folder that holds something, or a
            file that does not work.
    """
    named = version()
    if tag not in (None, f"v{named}"):
        raise Refused(f"the tag needs to be v{named}, as the package says; got {tag}")
    if changed := _run(["git", "status", "--porcelain"]):
        raise Refused(f"a release needs a clean checkout; got changes:\n{changed}")
    dist.mkdir(parents=True, exist_ok=True)
    if any(dist.iterdir()):
        raise Refused(f"a release needs an empty folder; {dist} holds something")
    _run([sys.executable, "-m", "build", "--outdir", dist])
    files = sorted(path for path in dist.iterdir() if path.name != ".gitignore")
    _run([sys.executable, "-m", "twine", "check", "--strict", *files])
    for file in files:
        _try_installed(file)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (dist / SUMS).write_bytes("".join(lines).encode())


def _try_installed(file: Path) -> None:
    """Install a file in an empty environment and use it in an empty folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run([sys.executable, "-m", "venv", folder / "venv"])
        scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        _run([scripts / "python", "-m", "pip", "install", "--quiet", file])
        empty = folder / "empty"
        empty.mkdir()
        for command in TRIALS:
            _run([scripts / "dpcalc", *command.split()], empty)


def sign(dist: Path, key: Path) -> None:
    """Sign the list of checksums.

    Args:
        dist: what `build` filled.
        key: a private SSH key, or the public one of a key that an agent or a token holds.
    """
    check(dist)
    (dist / f"{SUMS}.sig").unlink(missing_ok=True)
    _run(["ssh-keygen", "-Y", "sign", "-f", key.resolve(), "-n", NAMESPACE, SUMS], dist)


def check(dist: Path, signers: Path | None = None, identity: str = "*") -> None:
    """Compare files with their checksums, and the list with its signature.

    Args:
        dist: the files, SHA256SUMS and, with ``signers``, SHA256SUMS.sig.
        signers: lines "NAME KEYTYPE KEY" of those who may sign; None asks for no signature.
        identity: the NAME whose signature it has to be.

    Raises:
        Refused: for a file that is not listed, missing or changed, or a signature that is none.
    """
    listed = (dist / SUMS).read_bytes()
    wanted = dict(reversed(line.split("  ", 1)) for line in listed.decode().splitlines())
    found = {path.name for path in dist.glob("*") if path.suffix in (".whl", ".gz")}
    if not wanted or found != set(wanted):
        raise Refused(f"{SUMS} lists {sorted(wanted)}; the folder holds {sorted(found)}")
    for name, digest in wanted.items():
        if hashlib.sha256((dist / name).read_bytes()).hexdigest() != digest:
            raise Refused(f"{name} is not the file that {SUMS} lists")
    if signers is not None:
        about = ["-f", signers.resolve(), "-I", identity, "-n", NAMESPACE, "-s", f"{SUMS}.sig"]
        _run(["ssh-keygen", "-Y", "verify", *about], dist, listed)


def main(arguments: Sequence[str]) -> int:
    """Do what the first word says; status 1 with the reason if it is refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("build", "sign", "check"):
        options = verbs.add_parser(verb)
        options.add_argument("--dist", type=Path, default=ROOT / "dist")
        if verb == "build":
            options.add_argument("--tag", help="refuse unless it is the version's")
        elif verb == "sign":
            options.add_argument("key", type=Path)
        else:
            options.add_argument("--signers", type=Path)
            options.add_argument("--identity", default="*")
    asked = parser.parse_args(arguments)
    if asked.verb == "check" and (asked.signers is None) != (asked.identity == "*"):
        parser.error("--signers and --identity go together")
    verb = {"build": build, "sign": sign, "check": check}[asked.verb]
    try:
        verb(**{name: value for name, value in vars(asked).items() if name != "verb"})
    except Refused as problem:
        print(f"refused: {problem}", file=sys.stderr)
        return 1
    print(f"{asked.verb}: done, {asked.dist}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
