"""The page of attained over certified: its settings, its shares, its form."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcalc.cli.main import main
from dpcalc.report import tightness
from dpcalc.report.tightness import DELTAS, Row, page, settings, share
from dpcalc.theorems.catalogue import keys, privacy_result

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("key", keys(privacy=True))
def test_every_result_has_four_different_settings(key: str) -> None:
    kind = privacy_result(key)
    example = kind.from_parameters(kind.example)
    found = list(settings(example))
    assert found[0] == ("example", example)
    assert len({name for name, _ in found}) == 4
    assert found[1][1].noise_level() != found[2][1].noise_level()


def test_shares_are_those_of_an_exact_bound_and_never_above_one() -> None:
    kind = privacy_result("noisy-gd")
    for _, theorem in settings(kind.from_parameters(kind.example)):
        for delta in DELTAS:
            found = share(theorem, delta)
            assert found is not None
            assert 1 - 1e-12 < found <= 1
    loose = privacy_result("pnsgd")
    found = share(loose.from_parameters(loose.example), 1e-6)
    assert found is not None
    assert 0.99 < found < 0.999
    none = privacy_result("noisy-sgd-constrained")
    averages = {**none.example, "release": "average-of-iterates"}
    assert share(none.from_parameters(averages), 1e-6) is None


def test_a_result_is_near_only_if_it_is_in_all_settings() -> None:
    rows = [
        Row("a", "example", (1 - 1e-15, 0.95, 0.9)),
        Row("a", "half the noise", (0.91, 0.92, 0.93)),
        Row("b", "example", (0.95, 0.95, 0.95)),
        Row("b", "half the noise", (0.95, 0.8999, 0.95)),
        Row("c", "example", None),
    ]
    text = page(rows)
    assert "At least 0.9 everywhere: 1 of 3 results (`a`)." in text
    assert "| [a](theorems/a.md) | example | 1.000 | 0.950 | 0.900 |" in text
    assert "| 0.899 |" in text
    assert "no instance" in text


def test_the_command_writes_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tightness, "keys", lambda privacy: ["noisy-gd"])
    path = tmp_path / "page.md"
    with pytest.raises(SystemExit) as stopped:
        main(["theorems", "--tightness", str(path)])
    assert not stopped.value.code
    assert path.read_text(encoding="utf-8").count("noisy-gd](") == 4
    for words in (
        ["dp-admm", "--tightness", str(path)],
        ["--tightness", str(tmp_path / "no" / "x")],
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["theorems", *words])
        assert stopped.value.code == 2
    assert "--tightness" in capsys.readouterr().err


def test_the_page_in_the_documentation_has_every_result() -> None:
    text = (DOCS / "tightness.md").read_text(encoding="utf-8")
    for key in keys(privacy=True):
        assert text.count(f"[{key}](theorems/{key}.md)") == 4, key
