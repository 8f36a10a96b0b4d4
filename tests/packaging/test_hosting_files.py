"""Files that a host of repositories reads keep their published schemas, and run what they should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "check.yml"
RELEASE = ROOT / ".github" / "workflows" / "release.yml"


def _complaints(schema: str, file: Path) -> str:
    """What check-jsonschema says of a file; its schemas come with it, so nothing is fetched."""
    found = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if found.returncode == 0 else found.stdout + found.stderr


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-workflows", WORKFLOW),
        ("custom.github-workflows-require-timeout", WORKFLOW),
        ("vendor.github-workflows", RELEASE),
        ("custom.github-workflows-require-timeout", RELEASE),
        ("vendor.citation-file-format", ROOT / "CITATION.cff"),
    ],
)
def test_files_keep_their_schemas(schema: str, file: Path) -> None:
    assert _complaints(schema, file) == ""


def test_a_misspelt_key_of_the_workflow_is_seen(tmp_path: Path) -> None:
    wrong = tmp_path / "check.yml"
    wrong.write_text(WORKFLOW.read_text("utf-8").replace("runs-on:", "run-on:", 1))
    assert "run-on" in _complaints("vendor.github-workflows", wrong)


def test_the_workflow_runs_the_check_everywhere() -> None:
    text = WORKFLOW.read_text("utf-8")
    assert "bash .ci/run" in text
    for each in ("ubuntu", "macos", "windows", '"3.11"', '"3.12"', '"3.13"', '"3.14"'):
        assert each in text


def test_what_is_published_was_built_checked_and_attested_in_the_same_run() -> None:
    text = RELEASE.read_text("utf-8")
    steps = (
        "release.py build",
        "attest-build-provenance",
        "upload-artifact",
        "gh-action-pypi-publish",
    )
    assert sorted(steps, key=text.index) == [*steps]
    assert "password" not in text.replace("No password is kept", "")


def test_scripts_keep_their_line_feeds_where_a_checkout_would_change_them() -> None:
    assert "* text=auto eol=lf" in (ROOT / ".gitattributes").read_text("utf-8").splitlines()
    for script in (ROOT / ".ci").glob("*"):
        assert not script.is_file() or b"\r" not in script.read_bytes()
