"""Results as authors leave them: signatures, pickles, imports, and the names they need."""

from __future__ import annotations

import ast
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpcalc.theorems
from dpcalc.theorems import authoring
from dpcalc.theorems.catalogue import keys, privacy_result, results
from dpcalc.theorems.parameters import parameters


@pytest.mark.parametrize("kind", [*results()], ids=lambda kind: kind.key)
def test_the_signature_that_is_shown_has_every_parameter(kind: Any) -> None:
    assert [*inspect.signature(kind).parameters] == [*parameters(kind), "attest"]


@pytest.mark.parametrize("key", keys(privacy=True))
def test_results_survive_pickling_with_their_claims(key: str) -> None:
    kind = privacy_result(key)
    made = kind.from_parameters(kind.example, "all")
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301 # made a line above


def test_claims_of_formulas_survive_pickling() -> None:
    made = dpcalc.theorems.DPADMM.from_parameters(dpcalc.theorems.DPADMM.example)
    claim = pickle.loads(pickle.dumps(made.claimed()))  # noqa: S301 # made a line above
    assert claim.guarantee.epsilon(1e-5) == made.claimed().guarantee.epsilon(1e-5)


def test_ten_names_are_offered_and_the_template_needs_no_other() -> None:
    assert len(authoring.__all__) == 10
    root = Path(dpcalc.theorems.__file__).parents[1]
    for path in (root / "cli/templates/theorem.py.txt", root / "theorems/gradient_admm/dp_admm.py"):
        text = path.read_text(encoding="utf-8").replace("$class_name", "Name")
        modules = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)]
        names = [a.name for n in modules if str(n.module).endswith("authoring") for a in n.names]
        assert names
        assert set(names) <= set(authoring.__all__)


def test_importing_a_result_loads_no_sympy_and_docstrings_may_be_stripped() -> None:
    script = (
        "import sys; from dpcalc.theorems import DPADMM; assert 'sympy' not in sys.modules; "
        "print(DPADMM.title, '|', DPADMM.reference)"
    )
    command = [sys.executable, "-OO", "-c", script]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    kind = dpcalc.theorems.DPADMM
    assert found.stdout.strip() == f"{kind.title} | {kind.reference}"
