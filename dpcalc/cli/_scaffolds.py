"""What `dpcalc new` writes: for every kind its files, each from a template, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_TESTS = "python -m pytest tests/"
_OF_IT = " -k '$key or $module'"
_READ = "read docs/adding-a-paper.md: recorded answers, and a row in docs/papers.md"


@dataclass(frozen=True, slots=True)
class Scaffold:
    """Files and commands, $key, $module and $family standing for parts of names.

    Attributes:
        what: one line for help and documents.
        files: where each file goes, and its template.
        following: commands to try, in order, and what to read.
        checkout: whether the files are part of dpcalc itself.
    """

    what: str
    files: Mapping[str, str]
    following: tuple[str, ...]
    checkout: bool = True


SCAFFOLDS: Mapping[str, Scaffold] = {
    "claim": Scaffold(
        "a claims file with a table of rounds",
        {"$key.toml": "claim.toml", "$key.csv": "claim.csv"},
        ("dpcalc verify $folder$key.toml",),
        checkout=False,
    ),
    "plan": Scaffold(
        "releases to compose under a budget",
        {"$key.toml": "plan.toml"},
        ("dpcalc compose $folder$key.toml",),
        checkout=False,
    ),
    "audit": Scaffold(
        "an attack on a function of your own",
        {"$module.py": "audit.py.txt"},
        ("dpcalc audit $module:target --claim eps=1 --runs 20000 --seed 1",),
        checkout=False,
    ),
    "theorem": Scaffold(
        "a published privacy result, its audit, its page and its tests",
        {
            "dpcalc/theorems/$family/__init__.py": "package.py.txt",
            "dpcalc/theorems/$family/$module.py": "theorem.py.txt",
            "audits/$module.py": "theorem_audit.py.txt",
            "docs/theorems/$key.md": "theorem.md",
            "tests/unit/test_$module.py": "test_theorem.py.txt",
        },
        (
            "dpcalc epsilon $key --sensitivity 1 --rounds 10 --sigma 8 --delta 1e-5",
            "python -m dpcalc.theorems.stub && ruff format dpcalc/theorems",
            "dpcalc audit $key --bugs",
            _TESTS + "contracts tests/audits tests/unit/test_$module.py" + _OF_IT,
            _READ,
        ),
    ),
    "convergence": Scaffold(
        "a published result on convergence, its page and its tests",
        {
            "dpcalc/theorems/convergence/$module.py": "convergence.py.txt",
            "docs/theorems/$key.md": "convergence.md",
            "tests/unit/test_$module.py": "test_convergence.py.txt",
        },
        (
            "dpcalc rate $key --strong-convexity 0.1 --smoothness 1 --distance 2 --rounds 10",
            "python -m dpcalc.theorems.stub && ruff format dpcalc/theorems",
            _TESTS + "unit/test_convergence_results.py tests/unit/test_$module.py" + _OF_IT,
            _READ,
        ),
    ),
    "algorithm": Scaffold(
        "what a paper runs, with its density and its accesses to the data, and a test",
        {
            "algorithms/$module.py": "algorithm.py.txt",
            "tests/algorithms/test_$module.py": "test_algorithm.py.txt",
        },
        (
            _TESTS + "algorithms" + _OF_IT,
            "dpcalc new method $key, so that it can be run for a budget",
        ),
    ),
    "method": Scaffold(
        "calibration and training: an algorithm and a theorem of one name, and a test",
        {
            "dpcalc/training/methods/$module.py": "method.py.txt",
            "tests/algorithms/test_${module}_method.py": "test_method.py.txt",
        },
        (
            "dpcalc new theorem $key and dpcalc new algorithm $key, where they are not there yet",
            "dpcalc run $key --epsilon 1 --delta 1e-5 --seed 1",
            _TESTS + "algorithms" + _OF_IT,
        ),
    ),
    "figure": Scaffold(
        "a figure or table of a paper, recomputed, and a test",
        {
            "dpcalc/reproduction/figures/$module.py": "figure.py.txt",
            "tests/algorithms/test_$module.py": "test_figure.py.txt",
        },
        (
            "dpcalc reproduce $key",
            _TESTS + "algorithms" + _OF_IT,
        ),
    ),
}
