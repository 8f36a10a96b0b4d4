"""Mutation testing on a random sample: how many small changes of the code do the tests notice?

``python tests/campaign/mutation.py --sample 300 --seed 1`` copies the checkout to a temporary folder,
lets mutmut write every mutant of the measured packages, runs the tests that reach each mutant of a
seeded sample and prints how many died. A survivor that changes nothing a user could notice is
listed, with the reason, in ``mutation_survivors.toml`` beside this file; any other is a missing test.

Workers start from a process that has run no test: caches filled by honest code would hide mutants.
Needs ``pip install 'mutmut>=3.8'``; minutes to hours, so it is no part of a normal test run.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REGISTER = Path(__file__).with_name("mutation_survivors.toml")

MEASURED = (
    "dpcalc.numerics",
    "dpcalc.accounting",
    "dpcalc.guarantees",
    "dpcalc.theorems",
    "dpcalc.claims",
    "dpcalc.interop",
    "dpcalc.tables",
    "dpcalc.accountant",
    "dpcalc.auditing.observations",
)
"""What a wrong answer could come from: numbers, bounds, theorems and readers."""

SETTINGS = """
[tool.mutmut]
source_paths = ["dpcalc"]
only_mutate = [{patterns}]
also_copy = ["dpcalc", "algorithms", "audits", "docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "LICENSE", ".ci"]
pytest_add_cli_args = ["-p", "no:cacheprovider", "--benchmark-disable", "-q", "-x"]
pytest_add_cli_args_test_selection = ["tests/unit", "tests/golden", "tests/property", "tests/contracts", "tests/campaign"]
track_dependencies = false
use_setproctitle = false
process_isolation = "forkserver"
"""

_MARK = re.compile(r"def (x[^ (]*__mutmut_\d+)\(")
_WORDS = re.compile(r"XX|[\"'][A-Z ]{4,}[\"']")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant and what became of it.

    Attributes:
        name: mutmut's.
        state: killed, survived, timeout, no tests, ...
        removed: the changed lines as they were.
        added: as they are in the mutant.
    """

    name: str
    state: str
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def wording(self) -> bool:
        """Whether only the text of a message differs."""
        return bool(_WORDS.search(" ".join(self.added))) and not _WORDS.search(
            " ".join(self.removed)
        )


def prepare(folder: Path) -> None:
    """A copy of the checkout without links, with the settings of this campaign."""
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "venv", "__pycache__", "*.egg-info", "mutants"
    )
    shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)
    patterns = [m.replace(".", "/") + tail for m in MEASURED for tail in (".py", "/*")]
    settings = SETTINGS.format(patterns=", ".join(f'"{p}"' for p in patterns))
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(settings)


def names(folder: Path) -> list[str]:
    """All mutants of the measured modules."""
    found = []
    for path in sorted((folder / "mutants").glob("dpcalc/**/*.py")):
        module = str(path.relative_to(folder / "mutants"))[:-3].replace("/", ".")
        module = module.removesuffix(".__init__")
        if any(module == m or module.startswith(m + ".") for m in MEASURED):
            found += [f"{module}.{name}" for name in _MARK.findall(path.read_text("utf-8"))]
    return found


def mutmut(folder: Path, *arguments: str) -> str:
    """One call of mutmut in the copy; its output."""
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


def states(folder: Path, chosen: set[str]) -> dict[str, str]:
    """What became of the chosen mutants."""
    lines = (line.strip() for line in mutmut(folder, "results", "--all", "true").splitlines())
    pairs = (line.rsplit(": ", 1) for line in lines if ": " in line)
    return {name: state for name, state in pairs if name in chosen}


def looked_at(folder: Path, name: str, state: str) -> Mutant:
    """A mutant with its difference."""
    lines = mutmut(folder, "show", name).splitlines() if state != "killed" else []
    body = [line for line in lines if not line.startswith(("---", "+++"))]
    removed = tuple(line[1:].strip() for line in body if line.startswith("-"))
    added = tuple(line[1:].strip() for line in body if line.startswith("+"))
    return Mutant(name, state, removed, added)


def registered() -> set[tuple[str, str]]:
    """Changes, removed and added line, that no test can or need see."""
    with REGISTER.open("rb") as file:
        return {(entry["was"], entry["is"]) for entry in tomllib.load(file).get("survivor", [])}


def say(text: str) -> None:
    """A line of the report."""
    sys.stdout.write(text + "\n")


def main() -> int:
    """Run the campaign; status 1 if a survivor is neither wording nor registered."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a module's prefix")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="keep the copy here and go on with it")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="dpcalc-mutants-"))
    if not (folder / "mutants").exists():
        prepare(folder)
        mutmut(folder, "run", "--max-children", str(given.workers), "dpcalc.none.x_none__mutmut_0")
    all_names = [name for name in names(folder) if name.startswith(given.only)]
    random.Random(given.seed).shuffle(all_names)
    chosen = all_names[: given.sample]
    mutmut(folder, "run", "--max-children", str(given.workers), *chosen)
    found = [looked_at(folder, *item) for item in sorted(states(folder, set(chosen)).items())]
    counts, known = Counter(mutant.state for mutant in found), registered()
    alive = [m for m in found if m.state in ("survived", "no tests")]
    missed = [
        m for m in alive if not m.wording and (" ".join(m.removed), " ".join(m.added)) not in known
    ]
    say(f"{len(all_names)} mutants, {len(found)} in the sample: {dict(counts)}")
    relevant = len(found) - len(alive) + len(missed)
    say(f"noticed: {relevant - len(missed)} of {relevant} that change what a user could notice")
    for mutant in missed:
        say(f"\n{mutant.name} ({mutant.state})")
        say("\n".join(f"  - {line}" for line in mutant.removed))
        say("\n".join(f"  + {line}" for line in mutant.added))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
