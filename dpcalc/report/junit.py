"""Claims as test cases in JUnit's XML, which continuous integration reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from dpcalc.files import write_atomically


def write_junit(
    path: Path, records: Sequence[Mapping[str, Any]], *, suite: str, strict: bool = False
) -> None:
    """One test case per claim: a failure if refuted, skipped if unsupported.

    Args:
        path: the file.
        records: of judgements, with ``audit`` where the claim was attacked.
        suite: name of the claims file.
        strict: whether an unsupported claim is a failure too.
    """
    root = ET.Element("testsuites", name="dpcalc verify")
    cases = ET.SubElement(root, "testsuite", name=suite)
    counts = {"tests": 0, "failures": 0, "skipped": 0, "errors": 0}
    for record in records:
        case = ET.SubElement(
            cases, "testcase", classname=record["theorem"] or "releases", name=record["name"]
        )
        counts["tests"] += 1
        kind, message = _result(record, strict=strict)
        if kind is not None:
            counts["failures" if kind == "failure" else kind] += 1
            ET.SubElement(case, kind, message=message)
        out = ET.SubElement(case, "system-out")
        out.text = "\n".join(_lines(record))
    for element in (root, cases):
        for name, number in counts.items():
            element.set(name, str(number))
    ET.indent(root)
    with write_atomically(path) as file:
        ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _result(record: Mapping[str, Any], *, strict: bool) -> tuple[str | None, str]:
    if record["verdict"] == "REFUTED":
        return "failure", f"REFUTED: {record['reason']}"
    audit = record.get("audit")
    if audit is not None and audit["verdict"]["outcome"] == "REFUTED":
        return "failure", f"REFUTED by attack: {audit['verdict']['reason']}"
    if record["verdict"] == "UNSUPPORTED":
        return "failure" if strict else "skipped", f"UNSUPPORTED: {record['reason']}"
    return None, ""


def _lines(record: Mapping[str, Any]) -> list[str]:
    lines = [f"{record['verdict']}: {record['reason']}"]
    lines += [
        f"{name} epsilon {record[name]['epsilon']} at delta {record[name]['delta']}"
        for name in ("claimed", "certified", "attained")
    ]
    lines += [f"promised: {key}: {text}" for key, text in record["attested"].items()]
    lines += [f"not in the source: {name}: {why}" for name, why in record["ours"].items()]
    audit = record.get("audit")
    if audit is not None:
        verdict = audit["verdict"]
        lines.append(f"audit {verdict['outcome']}: {verdict['reason']}")
        lines.append(f"attack reaches epsilon {audit['attack']}; seed {verdict['seed']}")
    elif "audit" in record:
        lines.append("audit: none for these parameters")
    return lines
