"""Settings shared by all tests."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# Small products run many times over: threads of the linear algebra only wait for one another, the
# more so next to other test processes. It is read when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from mpmath import mp

settings.register_profile(
    "short",
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("DPCALC_HYPOTHESIS", "short"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--of-a-file",
        type=int,
        help="so many tests of every file, one case of each; tests named file::test are run whole",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What the marker ``few`` leaves of a grid is run every time, the rest is a campaign."""
    from tests.grids import campaigns, representatives

    for item in campaigns(items):
        item.add_marker("campaign")
    if of_a_file := config.getoption("--of-a-file", default=None):
        ran = [item for item in items if not item.get_closest_marker("campaign")]
        whole = [str(argument) for argument in config.args if "::" in str(argument)]
        items[:] = representatives(ran, of_a_file, whole)


@pytest.fixture
def fifty_digits() -> Iterator[None]:
    """Oracles carry fifty digits, also where numbers are only compared."""
    with mp.workdps(50):
        yield


@pytest.fixture(autouse=True, scope="session")
def _answers_follow_the_schema() -> Iterator[None]:
    """Every JSON answer that any test makes the command line print in this process is checked."""
    from dpcalc.report import output as module

    made = module.output

    def checked(verb: str | None, record: Mapping[str, Any]) -> dict[str, Any]:
        from dpcalc.report.records import to_json
        from tests.schema import problems

        answer = made(verb, record)
        assert problems(json.loads(to_json(answer))) == []
        return answer

    module.output = checked
    yield
    module.output = made


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command line in this process: words of a command -> exit status, output, errors."""
    from dpcalc.cli.main import main

    def call(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call
