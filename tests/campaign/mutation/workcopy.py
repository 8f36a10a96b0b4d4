"""A copy of the checkout with every mutant in it, and which functions each test reaches there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import monotonic

from tests.campaign.mutation.areas import ABOUT_SURROUNDINGS, AREAS, area

ROOT = Path(__file__).resolve().parents[3]
HOOKS = Path(__file__).with_name("hooks.py")
OPTIONS = ("-q", "--tb=no", "-p", "no:cacheprovider", "--benchmark-disable")

SETTINGS = """
[tool.mutmut]
source_paths = ["dpcalc"]
only_mutate = [{patterns}]
also_copy = [{everything}]
"""

GENERATE = """
from pathlib import Path
from mutmut import __main__ as mutmut
mutmut.set_mutant_under_test("mutant_generation")
Path("mutants").mkdir()
mutmut.copy_src_dir()
mutmut.copy_also_copy_files()
mutmut.setup_source_paths()
mutmut.store_lines_covered_by_tests()
mutmut.create_mutants(2)
"""

_FILES_AT_ONCE = 4

_MARK = re.compile(r"def (x[^ (]*__mutmut_\d+)\(")


def prepare(folder: Path, areas: Sequence[str]) -> Path:
    """A copy of the checkout without links, and mutants of some areas; the folder that holds them."""
    copy, complete = folder / "mutants", folder / "complete"
    if complete.exists():
        filled = complete.read_text("utf-8").split()
        if not {*areas} <= {*filled}:
            raise SystemExit(
                f"{folder} has mutants of {', '.join(filled)} only; take another folder"
            )
        return copy
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "venv", "__pycache__", "*.egg-info", "mutants"
    )
    shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)
    modules = [module for chosen in areas for module in AREAS[chosen]]
    patterns = [m.replace(".", "/") + tail for m in modules for tail in (".py", "/*")]
    everything = [p.name for p in folder.iterdir() if p.name != "tests"]
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(
            SETTINGS.format(
                patterns=", ".join(f'"{p}"' for p in patterns),
                everything=", ".join(f'"{p}"' for p in everything),
            )
        )
    subprocess.run([sys.executable, "-c", GENERATE], cwd=folder, check=True, capture_output=True)
    (folder / "reached").mkdir()
    complete.write_text(" ".join(areas), "utf-8")
    return copy


def renew_tests(copy: Path) -> None:
    """The checkout's tests as they are now, with the hooks in the settings."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=ignored, dirs_exist_ok=True)
    hooks = HOOKS.read_text("utf-8").partition("from __future__ import annotations\n")[2]
    with (copy / "tests" / "conftest.py").open("a", encoding="utf-8") as file:
        file.write(hooks)


def _record(folder: Path, name: str) -> Path:
    """Where it stands what a file of tests reaches, by the name and the text of the file."""
    digest = hashlib.sha256((ROOT / name).read_bytes()).hexdigest()[:16]
    return folder / "reached" / f"{name.replace('/', '.')}.{digest}.jsonl"


def _files(tests: Sequence[str]) -> list[str]:
    """Files of tests: those that are named, and of a folder all but those about surroundings."""
    found = []
    for test in tests:
        path = ROOT / test
        inside = [] if path.is_file() else sorted(path.glob("test_*.py"))
        named = [path] if path.is_file() else []
        found += named + [p for p in inside if p.stem[len("test_") :] not in ABOUT_SURROUNDINGS]
    return [str(path.relative_to(ROOT)) for path in found]


def measure_reach(folder: Path, tests: Sequence[str], until: float) -> bool:
    """Run the files of tests once, with honest code; whether that is done before a time."""
    copy, statistics = folder / "mutants", folder / "reached"
    while missing := [name for name in _files(tests) if not _record(folder, name).exists()]:
        if monotonic() > until:
            return False
        together = missing[:_FILES_AT_ONCE]
        for unfinished in statistics.glob("*.unfinished"):
            unfinished.unlink()
        environment = {
            **os.environ,
            "PYTHONPATH": str(copy),
            "MUTATION_STATISTICS": str(statistics),
        }
        others = "--continue-on-collection-errors"  # of files that need a newer library
        command = [sys.executable, "-m", "pytest", *OPTIONS, others, *together]
        subprocess.run(command, cwd=copy, env=environment, check=False, capture_output=True)
        for name in together:
            found = statistics / f"{name.replace('/', '.')}.unfinished"
            found.touch()  # a file of which nothing runs reaches nothing
            found.rename(_record(folder, name))
    return True


def reached(folder: Path, tests: Sequence[str]) -> dict[str, list[tuple[float, str]]]:
    """The tests that reach a function and pass, with their seconds.

    Of every file first the test that reaches the fewest functions, which is most likely about this
    one; then the second of every file, and so on: tests of one file notice the same things.
    """
    found: dict[str, set[tuple[int, float, str]]] = {}
    failed = set()
    for name in _files(tests):
        for line in _record(folder, name).read_text("utf-8").splitlines():
            entry = json.loads(line)
            if not entry["passed"]:
                failed.add(entry["test"])
            for function in entry["functions"]:
                test = len(entry["functions"]), entry["seconds"], entry["test"]
                found.setdefault(function, set()).add(test)
    return {f: _in_turn(t for t in of if t[2] not in failed) for f, of in found.items()}


def _in_turn(tests: Iterable[tuple[int, float, str]]) -> list[tuple[float, str]]:
    turns: Counter[str] = Counter()
    found = []
    for reach, seconds, test in sorted(tests):
        file = test.partition("::")[0]
        turns[file] += 1
        found.append((turns[file], reach, seconds, test))
    return [(seconds, test) for _, _, seconds, test in sorted(found)]


def edition(folder: Path, tests: list[tuple[float, str]]) -> str:
    """What tells these tests, as they stand, from others."""
    files = {test.partition("::")[0] for _, test in tests}
    parts = [_record(folder, name).name for name in files] + [test for _, test in tests]
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:16]


def mutants(copy: Path) -> dict[str, list[str]]:
    """The names of all mutants, by area."""
    found: dict[str, list[str]] = {}
    for path in sorted(copy.glob("dpcalc/**/*.py")):
        module = str(path.relative_to(copy))[:-3].replace("/", ".").removesuffix(".__init__")
        where = area(module)
        if where:
            names = [f"{module}.{name}" for name in _MARK.findall(path.read_text("utf-8"))]
            found.setdefault(where, []).extend(names)
    return found
