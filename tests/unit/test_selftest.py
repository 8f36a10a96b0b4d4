"""``dpcalc selftest`` passes here, and names every function that is planted wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from dpcalc.accounting import composition
from dpcalc.cli.main import main
from dpcalc.selftest import CHECKS, answers, elementary, measurements, sums
from dpcalc.selftest.measurement import Measurement

FUNCTIONS = (
    "exp",
    "expm1",
    "log",
    "log1p",
    "sin",
    "cos",
    "sinh",
    "cosh",
    "tanh",
    "sqrt",
    "arctan2",
)


def slightly_wrong(function: Callable[..., Any]) -> Callable[..., Any]:
    """Off by fifty roundoffs: 5.6e-15."""

    def wrong(*given: Any, **more: Any) -> Any:
        return function(*given, **more) * (1 + 50 * 2.0**-53)

    return wrong


def failing(checks: Any) -> list[str]:
    return [m.name for m in (check() for check in checks) if not m.holds]


def test_every_assumption_holds_here() -> None:
    found = measurements()
    assert [m.name for m in found if not m.holds] == []
    assert len({m.name for m in found}) == len(found) == len(CHECKS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_false_elementary_function_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(np, name, slightly_wrong(getattr(np, name)))
    assert name in failing(elementary.ELEMENTARY)


def test_a_false_logarithm_of_the_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementary, "log1p", np.log1p)  # numpy's own loses tiny real parts
    assert failing(elementary.ELEMENTARY) == ["complex log1p (the engine's own)"]
    monkeypatch.undo()
    monkeypatch.setattr(elementary, "log1p", slightly_wrong(elementary.log1p))
    assert failing(elementary.ELEMENTARY) == ["complex log1p (the engine's own)"]


@pytest.mark.parametrize("name", ["erfcx", "ndtr", "kve"])
def test_a_false_special_function_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    true = getattr(scipy.special, name)
    scale = {"kve": lambda order: 1 + 1e-13 * (order == 1)}.get(name, lambda *_: 1 + 1e-13)
    monkeypatch.setattr(scipy.special, name, lambda *given: true(*given) * scale(given[0]))
    from dpcalc.selftest.special import SPECIAL

    assert [found for found in failing(SPECIAL) if name in found]


def test_a_false_transform_and_false_sums_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np.fft, "rfft", lambda x, rfft=np.fft.rfft: rfft(x).astype(np.complex64))
    monkeypatch.setattr(sums, "product", lambda a, b: a.astype(np.float32) @ b.astype(np.float32))
    monkeypatch.setattr(sums, "convolution", lambda a, b: np.convolve(a, b) * (1 + 1e-13))
    found = failing(sums.SUMS)
    assert found == ["matrix product", "convolution", "Fourier transform, over its norm"]


def test_a_bound_below_the_truth_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_low(parts: Any, epsilon: float) -> Any:
        found = composition.bracket_delta(parts, epsilon)
        return type(found)(found.lower * 0.9, found.upper * (1 - 1e-4), found.method)

    monkeypatch.setattr(answers, "bracket_delta", too_low)
    assert len(failing(answers.ANSWERS)) >= 2


def test_no_number_holds_nothing() -> None:
    assert not Measurement(name="x", range="", allowed=8.0, measured=float("nan")).holds


def test_the_verb_says_so_and_has_its_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stopped:
        main(["selftest"])
    out = capsys.readouterr().out
    assert not stopped.value.code
    assert "Every assumption holds on this machine." in out
    assert "FAILS" not in out
    assert max(map(len, out.splitlines())) <= 80
    monkeypatch.setattr(np, "expm1", slightly_wrong(np.expm1))
    with pytest.raises(SystemExit) as stopped:
        main(["selftest", "--json"])
    record = json.loads(capsys.readouterr().out)
    assert stopped.value.code == 1
    assert record["holds"] is False
    assert "expm1" in [m["assumption"] for m in record["assumptions"] if not m["holds"]]
