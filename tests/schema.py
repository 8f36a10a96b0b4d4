"""The JSON schema of answers, as a check that names the verb's own part of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from dpcalc.report import output as envelope


@cache
def _validator(part: str) -> Any:
    from jsonschema import Draft202012Validator

    schema = envelope.schema()
    return Draft202012Validator({"$defs": schema["$defs"], "$ref": f"#/$defs/{part}"})


def problems(record: Mapping[str, Any]) -> list[str]:
    """Where an answer departs from the schema, in words; empty if nowhere."""
    part = "failure" if "error" in record else f"verb-{record['verb']}"
    if part not in envelope.schema()["$defs"]:
        return [f"the schema has no {part}"]
    found = _validator(part).iter_errors(record)
    return [f"{part}: {error.json_path}: {error.message[:300]}" for error in found]
