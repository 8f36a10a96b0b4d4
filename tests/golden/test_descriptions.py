"""What every result tells of itself, and what it refuses, is what was written down when it is declared again.

Declarations run once, when a module is imported; here all of them run again, so that what reads them (the
decorator, kinds of parameters, conversions) is tested as much as what they say. If a text differs on
purpose: ``python -m tests.golden.descriptions`` writes it again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from dpcalc.errors import InvalidInput
from dpcalc.theorems.base import Result
from dpcalc.theorems.catalogue import keys, result
from dpcalc.theorems.parameters import Parameter, parameters
from tests.golden import last_release
from tests.golden.descriptions import FOLDER, recorded, told

_REFUSED = last_release.recorded()


@pytest.fixture
def declared_before() -> Iterator[dict[str, type[Result]]]:
    """The results as they were; meanwhile their modules are imported a second time."""
    before = {key: result(key) for key in keys()}
    folders = {kind.__module__.rpartition(".")[0] for kind in before.values()}
    again = [n for n in sys.modules if n in folders or n.rpartition(".")[0] in folders]
    with pytest.MonkeyPatch.context() as patch:
        for name in again:
            parent, _, own = name.rpartition(".")
            patch.setattr(sys.modules[parent], own, sys.modules[name], raising=False)
        for name in again:
            patch.delitem(sys.modules, name)
        yield before


@pytest.mark.parametrize("key", keys())
def test_every_declaration_tells_what_was_written_down(
    key: str, declared_before: dict[str, type[Result]]
) -> None:
    assert result(key) is not declared_before[key]
    assert told(result(key)) == recorded(key)


@pytest.mark.parametrize("key", keys())
def test_every_declaration_refuses_what_was_refused(
    key: str, declared_before: dict[str, type[Result]]
) -> None:
    assert result(key) is not declared_before[key]
    was, now = _REFUSED[key]["refused"], last_release.refused(key)
    assert not list(last_release.differences(was, now, key))


@pytest.mark.parametrize("key", keys())
def test_every_declaration_keeps_fractions_as_they_are_written(
    key: str, declared_before: dict[str, type[Result]]
) -> None:
    assert result(key) is not declared_before[key]
    for name, parameter in parameters(result(key)).items():
        if parameter.kind == "number":
            written = "4/3" if _above_one(parameter, name) else "1/3"
            found = parameter.convert(name, written)
            assert f"{found.numerator}/{found.denominator}" == written, name
            assert type(parameter.convert(name, float(found))) is float


def _above_one(parameter: Parameter, name: str) -> bool:
    try:
        parameter.convert(name, 0.5)
    except InvalidInput:
        return True
    return False


def test_every_result_is_written_down() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {*keys()}
