"""Mutation testing on a random sample: how many small changes of the code do the tests notice?

``python tests/campaign/mutation.py --sample 60 --seed 1 --only dpcalc.numerics`` copies the checkout
to a temporary folder, lets mutmut write every mutant of the measured packages, runs the tests once to
see which functions each reaches, then the tests that reach each mutant of a seeded sample, shortest
first, and prints how many mutants died. A survivor that changes nothing a user could notice is listed,
with the reason, in ``mutation_survivors.toml`` beside this file; any other is a missing test.

Every mutant runs in a child of a process that has imported everything and run no test: caches filled
by honest code would hide it. What runs at import only is therefore not measured. Tests that fail in
the copy with honest code are left out.
Needs ``pip install 'mutmut==3.8.*'``; minutes to hours, so it is no part of a normal test run.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import os
import pkgutil
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import ndiff
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REGISTER = Path(__file__).with_name("mutation_survivors.toml")
HOOKS = Path(__file__).with_name("mutation_hooks.py")

MEASURED = (
    "dpcalc.numerics",
    "dpcalc.guarantees",
    "dpcalc.checks",
    "dpcalc.calibration",
    "dpcalc.accounting",
    "dpcalc.theorems",
    "dpcalc.claims",
    "dpcalc.interop",
    "dpcalc.accountant",
    "dpcalc.delimited",
    "dpcalc.numerals",
    "dpcalc.sealed",
    "dpcalc.archive",
    "dpcalc.auditing.observations",
    "dpcalc.auditing.scores",
    "dpcalc.training.data",
)
"""What a wrong answer could come from: numbers, bounds, theorems and readers."""

TESTS = (
    "tests/unit",
    "tests/golden/test_values.py",
    "tests/contracts",
    "tests/property",
    "tests/auditing/test_scores.py",
    "tests/algorithms/test_records_and_data.py",
)
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

_MARK = re.compile(r"def (x[^ (]*__mutmut_\d+)\(")
_WORDS = re.compile(r"XX|[\"'][A-Z ]{4,}[\"']")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant and what became of it.

    Attributes:
        name: as mutmut writes it.
        state: killed, survived or no tests.
        removed: the changed lines as they were.
        added: as they are in the mutant.
    """

    name: str
    state: str
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def wording(self) -> bool:
        """Whether only the text of a message differs."""
        return bool(_WORDS.search(" ".join(self.added))) and not _WORDS.search(
            " ".join(self.removed)
        )


def prepare(folder: Path) -> None:
    """A copy of the checkout without links, its mutants, and what every test reaches."""
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "venv", "__pycache__", "*.egg-info", "mutants"
    )
    shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)
    patterns = [m.replace(".", "/") + tail for m in MEASURED for tail in (".py", "/*")]
    everything = [p.name for p in folder.iterdir() if p.name != "tests"]
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(
            SETTINGS.format(
                patterns=", ".join(f'"{p}"' for p in patterns),
                everything=", ".join(f'"{p}"' for p in everything),
            )
        )
    hooks = HOOKS.read_text("utf-8").partition("from __future__ import annotations\n")[2]
    with (folder / "tests" / "conftest.py").open("a", encoding="utf-8") as file:
        file.write(hooks)
    subprocess.run([sys.executable, "-c", GENERATE], cwd=folder, check=True, capture_output=True)
    copy = folder / "mutants"
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "MUTATION_STATISTICS": str(folder / "statistics.jsonl"),
    }
    command = [sys.executable, "-m", "pytest", *OPTIONS, *TESTS]
    subprocess.run(command, cwd=copy, env=environment, check=False, capture_output=True)


def names(copy: Path) -> list[str]:
    """All mutants of the measured modules."""
    found = []
    for path in sorted(copy.glob("dpcalc/**/*.py")):
        module = str(path.relative_to(copy))[:-3].replace("/", ".").removesuffix(".__init__")
        if any(module == m or module.startswith(m + ".") for m in MEASURED):
            found += [f"{module}.{name}" for name in _MARK.findall(path.read_text("utf-8"))]
    return found


def statistics(folder: Path) -> dict[str, list[tuple[float, str]]]:
    """The tests that reach a function and pass, with their seconds, shortest first."""
    reached: dict[str, set[tuple[float, str]]] = {}
    failed = set()
    for path in folder.glob("stat*.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            entry = json.loads(line)
            if not entry["passed"]:
                failed.add(entry["test"])
            for function in entry["functions"]:
                reached.setdefault(function, set()).add((entry["seconds"], entry["test"]))
    return {f: sorted(t for t in tests if t[1] not in failed) for f, tests in reached.items()}


_CELLS: dict[str, list[tuple[list[Callable[..., Any]], dict[str, Any]]]] = {}


def _switchable(mutants: dict[str, Any], is_classmethod: bool = False) -> Callable[..., Any]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        owner, _, name = function.__qualname__.rpartition(".")
        key = f"{function.__module__}." + (f"xǁ{owner}ǁ{name}" if owner else f"x_{name}")
        cell = [function]
        _CELLS.setdefault(key, []).append((cell, mutants))

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            return cell[0](*given, **named)

        del call.__wrapped__  # the library asks for it where it wraps functions itself
        return call

    return decorate


def load(copy: Path) -> None:
    """Import the mutated library and the tests, running none."""
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    os.environ["PYTHONPATH"] = str(copy)
    from mutmut.mutation import trampoline

    trampoline.wrap_in_trampoline = _switchable
    import pytest

    for name in MEASURED:
        module = importlib.import_module(name)
        for inner in pkgutil.walk_packages(getattr(module, "__path__", []), name + "."):
            importlib.import_module(inner.name)
    pytest.main(["--collect-only", "-qq", *OPTIONS, *TESTS])


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    null = os.open(os.devnull, os.O_WRONLY)
    kept = os.dup(1), os.dup(2)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)


def survives(name: str, tests: list[tuple[float, str]]) -> bool:
    """Whether all tests pass with a mutant, in a child."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    code = 1
    try:
        limit = int(60 + 3 * sum(seconds for seconds, _ in tests))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        os.environ["MUTANT_UNDER_TEST"] = name
        for cell, mutants in _CELLS.get(name.partition("__mutmut_")[0], []):
            found = mutants[name.rpartition(".")[2]]
            cell[0] = getattr(found, "__func__", found)
        import pytest

        code = int(pytest.main(["-x", *OPTIONS, *(test for _, test in tests)]))
    finally:
        os._exit(code)


def within(tests: list[tuple[float, str]], budget: float) -> list[tuple[float, str]]:
    """The shortest tests that fit a budget in seconds, at least one."""
    kept, spent = [], 0.0
    for seconds, test in tests:
        spent += seconds
        if kept and spent > budget:
            break
        kept.append((seconds, test))
    return kept


def tried(copy: Path, name: str, tests: list[tuple[float, str]], budget: float) -> Mutant:
    """What becomes of a mutant."""
    if not tests:
        return Mutant(name, "no tests", *difference(copy, name))
    with _silent():
        alive = survives(name, within(tests, budget))
    return Mutant(name, "survived", *difference(copy, name)) if alive else Mutant(name, "killed")


def difference(copy: Path, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines of a function that a mutant removes and adds."""
    module, _, mutant = name.rpartition(".")
    path = copy / (module.replace(".", "/") + ".py")
    text = (path if path.exists() else path.with_suffix("") / "__init__.py").read_text("utf-8")

    def body(function: str) -> list[str]:
        start = re.search(rf"^( *)def {re.escape(function)}\(.*\n", text, re.MULTILINE)
        assert start is not None
        rest = text[start.end() :]
        end = re.search(rf"^ {{0,{len(start[1])}}}[^ )\n]", rest, re.MULTILINE)
        return rest[: end.start() if end else None].splitlines()

    lines = list(ndiff(body(mutant.partition("__mutmut_")[0] + "__mutmut_orig"), body(mutant)))
    removed = tuple(line[2:].strip() for line in lines if line.startswith("- "))
    return removed, tuple(line[2:].strip() for line in lines if line.startswith("+ "))


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
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests per mutant")
    parser.add_argument("--folder", type=Path, help="keep the copy here and go on with it")
    given = parser.parse_args()
    folder = (given.folder or Path(tempfile.mkdtemp(prefix="dpcalc-mutants-"))).resolve()
    copy = folder / "mutants"
    if not copy.exists():
        prepare(folder)
    all_names = [name for name in names(copy) if name.startswith(given.only)]
    random.Random(given.seed).shuffle(all_names)
    reached = statistics(folder)
    with _silent():
        load(copy)
    found = [
        tried(copy, name, reached.get(name.partition("__mutmut_")[0], []), given.budget)
        for name in all_names[: given.sample]
    ]
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
