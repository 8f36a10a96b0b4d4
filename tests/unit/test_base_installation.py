"""Without the extras: one sentence, before any work, with a command that installs what is missing."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpcalc import extras
from dpcalc.audits.suite.catalogue import audit_of, keys
from dpcalc.cli.main import main
from dpcalc.errors import DpcalcError, MissingExtra

LIBRARIES = (
    "networkx",
    "sklearn",
    "matplotlib",
    "dp_accounting",
    "flint",
    "distributed",
    "pyarrow",
    "zstandard",
)
OWN = ("dpcalc.estimators", "dpcalc.certificates", "dpcalc.cli", "dpcalc.execution")
"""Modules that may have been loaded while the libraries were there."""
DP_ADMM = "dp-admm --n-records 100 --rounds 3 --gradient-bound 1 --dual-start zero".split()
CLAIMS = """[[claim]]
theorem = 'penalty-perturbation'
attest = 'all'
[claim.parameters]
n_records = 10
n_nodes = 2
degree = 1
loss_weight = 1
regularization = 1
penalty = 1
noise_rate = 1
rounds = 1
"""
PLAN = "delta = 1e-6\n[[release]]\ngdp = 1\n"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """As if no extra were installed, in an empty folder."""
    for name in list(sys.modules):
        if name.split(".")[0] in LIBRARIES or name.startswith(OWN):
            monkeypatch.delitem(sys.modules, name)
    for name in LIBRARIES:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claims.toml").write_text(CLAIMS)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "theorems",
        "verify",
        "verify claims.toml",
        "compose plan.toml",
        f"epsilon {' '.join(DP_ADMM)} --sigma 1 --delta 1e-5",
        f"noise {' '.join(DP_ADMM)} --epsilon 1 --delta 1e-5",
        "calibrate gaussian --epsilon 1 --delta 1e-5",
        "convert --gdp 1 --to approx --delta 1e-5",
        "theorems dp-admm",
        "rate dual-averaging-rate --help",
    ],
)
def test_what_the_base_installation_promises_works(command: str, bare: Path) -> None:
    from dpcalc.cli.main import main as fresh

    with pytest.raises(SystemExit) as stopped:
        fresh(command.split())
    assert stopped.value.code in (0, 1)  # 1: a claim is refuted or a budget exceeded


@pytest.mark.parametrize(
    ("command", "library", "extra"),
    [
        ("run private-r-admm --epsilon 1 --delta 1e-6 --nodes 5 --graph ring", "networkx", "algorithms"),
        ("run dual-averaging --nodes 3 --graph star", "networkx", "algorithms"),
        ("reproduce chan2023-table-1", "matplotlib", "algorithms,plots"),
        ("verify claims.toml --audit", "networkx", "algorithms"),
        ("verify --audit", "networkx", "algorithms"),
        ("audit private-r-admm", "networkx", "algorithms"),
        ("audit estimators", "scikit-learn", "algorithms"),
        ("audit dp-admm --report audit.html", "matplotlib", "plots"),
        ("audit --ledger ledger.md", "networkx", "algorithms"),
        (" ".join(["epsilon", *DP_ADMM, "--sigma 1 --delta 1e-5 --plot x.png"]), "matplotlib", "plots"),
        ("compose plan.toml --plot x.png", "matplotlib", "plots"),
    ],
)  # fmt: skip
def test_a_command_asks_for_what_it_needs_before_it_works(
    bare: Path, capsys: pytest.CaptureFixture[str], command: str, library: str, extra: str
) -> None:
    before = sorted(bare.rglob("*"))
    with pytest.raises(SystemExit) as stopped:
        main(command.split())
    found = capsys.readouterr()
    assert stopped.value.code == 2
    assert found.out == ""
    assert found.err.count("\n") == 1
    assert f"[{extra}]" in found.err
    assert library in found.err
    assert "pip install" in found.err
    assert "defect" not in found.err
    assert [p for p in sorted(bare.rglob("*")) if p.name != "ledger.md"] == before


def _estimators() -> None:
    import dpcalc.estimators  # noqa: F401


def _star() -> None:
    from dpcalc.algorithms.problems.networks import star

    star(3)


def _event() -> None:
    from dpcalc.accountant import Accountant
    from dpcalc.interop.dp_accounting import event_of

    event_of(Accountant())


def _picture() -> None:
    from dpcalc.guarantees import GDP
    from dpcalc.report.profile import draw_profile

    draw_profile(GDP(1), Path("x.png"))


@pytest.mark.parametrize("ask", [_estimators, _star, _event, _picture])
def test_from_python_it_is_an_import_error_of_dpcalc(bare: Path, ask: Callable[[], None]) -> None:
    with pytest.raises(MissingExtra, match="pip install") as caught:
        ask()
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, DpcalcError)


@pytest.mark.parametrize("key", keys())
def test_an_audit_declares_the_libraries_that_it_needs(bare: Path, key: str) -> None:
    """Without them, either it says so at once, or every one of its settings can be made."""
    audit = audit_of(key)
    if audit.libraries:
        with pytest.raises(MissingExtra, match=key):
            audit.need_libraries()
        return
    for case in audit.cases:
        case.instance()


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"url": "file:///", "dir_info": {"editable": True}}, "-e '/[plots]'"),
        ({"url": "file:///", "dir_info": {}}, "install '/[plots]'"),
        ({"url": "file:///gone/dpcalc", "dir_info": {}}, "matplotlib>="),
        ({"url": "https://a.b/dpcalc.whl", "archive_info": {}}, "'dpcalc-privacy[plots] @ https://a.b/dpcalc.whl'"),
        ({"url": "https://a.b/c", "vcs_info": {"vcs": "git", "commit_id": "12ab"}}, "'dpcalc-privacy[plots] @ git+https://a.b/c@12ab'"),
        (None, "'dpcalc-privacy[plots]'"),
    ],
)  # fmt: skip
def test_the_command_is_that_of_the_installation(
    monkeypatch: pytest.MonkeyPatch, record: dict[str, Any] | None, words: str
) -> None:
    class Distribution:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if record is None else json.dumps(record)

    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Distribution())
    monkeypatch.setattr(
        importlib.metadata,
        "requires",
        lambda name: ["numpy>=1", "matplotlib>=3.8; extra == 'plots'"],
    )
    command = extras.install_command(["plots"])
    assert "-m pip install " in command
    assert command.endswith(words) or words in command


def test_a_checkout_that_was_never_installed_is_installed_from_its_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    root = Path(extras.__file__).parents[1]
    assert f"-e '{root}[algorithms]'" in extras.install_command(["algorithms"])
    assert (root / "pyproject.toml").is_file()


def test_the_interpreter_is_named_by_its_path_where_python_is_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/somewhere/else/python")
    assert extras.install_command(["plots"]).startswith(sys.executable)
    monkeypatch.setattr("shutil.which", lambda name: sys.executable)
    assert extras.install_command(["plots"]).startswith("python -m pip")


def test_asking_loads_nothing() -> None:
    script = (
        "import sys; from dpcalc.extras import need; need('networkx', 'sklearn', purpose='x'); "
        "print(sorted({'networkx', 'sklearn', 'numpy'} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
