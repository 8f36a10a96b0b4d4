"""``--certify``: a certificate of what a verb answers, next to the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcalc.extras import need

if TYPE_CHECKING:
    from dpcalc.certificates.certify import Certified
    from dpcalc.cli._outputs import Writing
    from dpcalc.guarantees import Guarantee

certify_option = click.Option(
    ["--certify"],
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a certificate of ε to FILE; dpcalc check FILE verifies it. Exit status 3 if ε is not "
    "certified.",
)
"""Needs the extra certify."""

NOT_CERTIFIED = 3


def ready_to_certify(path: Path | None) -> None:
    """Refuse --certify before any work is done if its library is not there."""
    if path is not None:
        need("flint", purpose="--certify")


def certificate(
    record: dict[str, Any], parts: Iterable[tuple[Guarantee, int]], adjacency: str, delta: float
) -> Certified:
    """What can be certified of the ε and the lower end of an answer's record."""
    from dpcalc.certificates.certify import certify

    return certify(parts, adjacency, delta, record["epsilon"], record.get("epsilon_lower"))


def write_certificates(found: Sequence[Certified], path: Path, writing: Writing) -> int:
    """Write the certificates there are, one as it is and several as a list; the exit status."""
    import json

    from dpcalc.certificates.certify import CERTIFIED
    from dpcalc.files import write_text

    written = [each.certificate for each in found if each.certificate is not None]
    if written:
        content = written[0] if len(found) == 1 else written
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        writing.attempt(lambda: write_text(path, text))
    return 0 if all(each.upper == CERTIFIED for each in found) else NOT_CERTIFIED


def certificate_record(found: Certified, path: Path) -> dict[str, Any]:
    """For JSON: the file, if one was written, and what became of both ends."""
    file = None if found.certificate is None else str(path)
    return {"certificate": {"file": file, "upper": found.upper, "lower": found.lower}}


def print_certificate(record: dict[str, Any]) -> None:
    """For people: a line for each end that is not certified, or one for both."""
    from dpcalc.certificates.certify import CERTIFIED
    from dpcalc.report.text import console, escaped

    if "certificate" not in record:
        return
    out, found = console(), record["certificate"]
    ends = [end for end in ("upper", "lower") if found[end] == CERTIFIED]
    if ends:
        which = "both ends" if len(ends) == 2 else f"the {ends[0]} end"
        out.print(escaped(f"{which} certified; verify with: dpcalc check {found['file']}"))
    for end in ("upper", "lower"):
        if found[end] != CERTIFIED:
            out.print(escaped(f"{end} end {found[end]}"))
