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
    from dpcalc.theorems.base import Formula, Theorem

NOT_CERTIFIED = 3

Claimed = tuple[str, int, str]
"""A claim: the name of its file, its number there, its own name."""

NOTHING_PROVED = "not certified: no finite ε is proved"


def certify_option() -> click.Option:
    """--certify FILE; needs the extra certify."""
    return click.Option(
        ["--certify"],
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Write a certificate of ε to FILE, to be verified by: dpcalc check FILE. Exit status 3 "
        "if ε is not certified.",
    )


class Certificates:
    """The certificates of a verb's answers, all of them in one file.

    Args:
        path: the file; None if none is asked for, and then nothing is done.

    Raises:
        MissingExtra: if python-flint is not installed.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._found: list[Certified] = []
        if path is not None:
            need("flint", purpose="--certify")

    def add(
        self,
        record: dict[str, Any],
        ends: dict[str, Any],
        parts: Iterable[tuple[Guarantee, int]],
        adjacency: str,
        delta: float,
        formulas: Iterable[Formula] = (),
        claim: Claimed | None = None,
    ) -> None:
        """Certify an answer, and record the status of both ends.

        Args:
            record: gets a field ``certificate``.
            ends: ``epsilon``, and ``epsilon_lower`` if there is one.
            parts: guarantees with the number of rounds each describes.
            adjacency: the neighbouring relation, or "".
            delta: of the answer.
            formulas: of the theorem behind it, if there is one.
            claim: that the certificate is made for, if there is one.
        """
        if self._path is None:
            return
        from dpcalc.certificates.certify import CERTIFIED, certify
        from dpcalc.report.enclosures import PAIR, WORST_CASE

        lower = ends.get("epsilon_lower")
        found = certify(parts, adjacency, delta, ends["epsilon"], lower, formulas)
        found = found if claim is None else found.made_for(*claim)
        self._found.append(found)
        file = None if found.certificate is None else str(self._path)
        of_pairs = found.of_pairs or ends.get("epsilon_lower_of") == PAIR
        of_what = (PAIR if of_pairs else WORST_CASE) if found.lower == CERTIFIED else None
        record["certificate"] = {
            "file": file,
            "upper": found.upper,
            "lower": found.lower,
            "lower_of": of_what,
        }

    def add_guarantee(
        self,
        record: dict[str, Any],
        epsilon: float,
        guarantee: Guarantee,
        adjacency: str,
        delta: float,
        theorem: Theorem | None = None,
        claim: Claimed | None = None,
    ) -> None:
        """The same for the certified ε of one guarantee, with the lower end next to it."""
        if self._path is not None:
            from dpcalc.report.enclosures import enclosure

            ends = {"epsilon": epsilon, **enclosure(guarantee, delta)}
            formulas = theorem.symbolic() if theorem is not None else ()
            self.add(record, ends, [(guarantee, 1)], adjacency, delta, formulas, claim)

    def write(self, writing: Writing) -> int:
        """Write the file if anything is certified; the exit status."""
        path = self._path
        if path is None:
            return 0
        import json

        from dpcalc.certificates.certify import CERTIFIED, WRONG
        from dpcalc.files import write_text

        written = [each.certificate for each in self._found if each.certificate is not None]
        if written:
            content = written[0] if len(self._found) == 1 else written
            text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
            writing.attempt(lambda: write_text(path, text))
        wrong = any(each.lower.startswith(WRONG) for each in self._found)
        return NOT_CERTIFIED if wrong or any(each.upper != CERTIFIED for each in self._found) else 0


def print_certificate(record: dict[str, Any]) -> None:
    """For people: what is certified and how to verify it, then what is not."""
    if "certificate" not in record:
        return
    from dpcalc.report.text import console, escaped

    file = record["certificate"]["file"]
    first, *others = certificate_words(record["certificate"])
    verified = "" if file is None else f"; verify with: dpcalc check {file}"
    for line in (first + verified, *others):
        console().print(escaped(line))


def certificate_line(record: dict[str, Any]) -> str:
    """For a report: whether a certificate of an answer was made, and in which file it stands."""
    if "certificate" not in record:
        return "No certificate was made; --certify FILE makes one of what is proved."
    found = record["certificate"]
    if found["file"] is None:
        return f"No certificate was made: {found['upper'].removeprefix('not certified: ')}."
    words = "; ".join(certificate_words(found))
    return f"Certificate in {found['file']}: {words}; verify with: dpcalc check {found['file']}"


def print_certificates(records: Sequence[dict[str, Any]]) -> None:
    """For people: those of numbered answers, the numbers of which the same is said together."""
    from dpcalc.report.claim_notes import ranges
    from dpcalc.report.text import console, escaped, hanging

    groups: dict[tuple[str, ...], list[int]] = {}
    files = set()
    for number, record in enumerate(records, start=1):
        if "certificate" in record:
            groups.setdefault(certificate_words(record["certificate"]), []).append(number)
            files.add(record["certificate"]["file"])
    if not groups:
        return
    out = console()
    out.print("\n[bold]Certificates[/]")
    for words, numbers in groups.items():
        out.print(hanging(f"{ranges(numbers):>3}  ", escaped("; ".join(words))))
    for file in files - {None}:
        out.print(escaped(f"Verify with: dpcalc check {file}"))


def certificate_words(found: dict[str, Any]) -> tuple[str, ...]:
    """What is certified of an answer's ends, then what is not, of its field ``certificate``."""
    from dpcalc.certificates.certify import CERTIFIED
    from dpcalc.report.enclosures import PAIR

    words = []
    ends = [end for end in ("upper", "lower") if found[end] == CERTIFIED]
    if ends:
        which = "both ends" if len(ends) == 2 else f"the {ends[0]} end"
        of_what = " (lower end: of the dominating pair)" if found["lower_of"] == PAIR else ""
        words.append(f"{which} certified{of_what}")
    elif found["file"] is not None:
        words.append("a larger ε is certified")
    if not ends and found["upper"] == found["lower"]:
        return (*words, found["upper"])
    words += [f"{end} end {found[end]}" for end in ("upper", "lower") if found[end] != CERTIFIED]
    return tuple(words)
