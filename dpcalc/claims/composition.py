"""A composition file: any list of releases with counts, one budget."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc import checks
from dpcalc.claims.mechanisms import Described, release_from, release_name
from dpcalc.claims.relations import Relation, checked, shared
from dpcalc.claims.rounds import read_rounds
from dpcalc.claims.tables import as_real, fields, read_toml, tables
from dpcalc.delimited import REMEMBERED, is_separator_note, lines, refuse_unless_text
from dpcalc.errors import InvalidInput, shortened
from dpcalc.guarantees import RDP, Guarantee, compose

if TYPE_CHECKING:
    from dpcalc.theorems.base import Theorem


@dataclass(frozen=True, slots=True)
class Release:
    """One line of a composition.

    Attributes:
        name: what to call it.
        guarantee: of one use.
        count: how often it is used.
        mechanism: whether it is a named mechanism, not a bare guarantee or a theorem.
        theorem: the instance of a theorem, if it is one.
        parameters: what the file says of it, by field; of a theorem its parameters.
    """

    name: str
    guarantee: Guarantee
    count: int
    mechanism: bool = False
    theorem: Theorem | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A composition with its budget.

    Attributes:
        releases: what is released, in order.
        delta: δ of the answer.
        epsilon: the budget, if one is given.
        relation: the neighbouring relation that all releases share.
        tables: tables of rounds that were read.
    """

    releases: tuple[Release, ...]
    delta: float
    epsilon: float | None
    relation: Relation
    tables: tuple[Path, ...] = ()

    def total(self) -> Guarantee:
        """The guarantee of all releases together.

        Raises:
            InvalidInput: if some cannot be composed, with the first that is to blame.
        """
        try:
            return compose(*((release.guarantee, count) for release, count in self.counted()))
        except InvalidInput as error:
            raise InvalidInput(f"{self._culprit()}: {error}") from error

    def counted(self) -> list[tuple[Release, int]]:
        """The releases in order, each with its count; equal rows of a table, one object, once."""
        each = Counter(map(id, self.releases))
        different = {id(release): release for release in self.releases}
        return [(release, release.count * each[key]) for key, release in different.items()]

    def _culprit(self) -> str:
        """The first release that cannot be composed with one whose loss is known."""
        for number, release in enumerate(self.releases, start=1):
            try:
                compose(release.guarantee, RDP.from_points({2.0: 1.0}))
            except InvalidInput:
                return f"release {number} ({release.name})"
        return "these releases together"


def read_plan(path: Path, notes: Sequence[str] = (), adjacency: str | None = None) -> Plan:
    """The composition that a TOML file describes.

    Fields: ``delta``, optionally ``epsilon`` (a budget) and ``adjacency`` (for all releases),
    ``[[release]]`` tables, and ``rounds``, a table of releases in delimited text (`claims.rounds`)
    with its ``notes``, the names of columns that are not read. ``path`` may be such a table itself
    (.csv, .tsv, .txt, unless it begins as TOML does).

    Args:
        path: the file.
        notes: columns of the table that are not read, besides those that the file names.
        adjacency: the neighbouring relation of all releases, if it is not left to the file.

    Raises:
        InvalidInput: for unreadable files, unknown fields and mixed neighbouring relations.
    """
    return plan_of(_content(path), path, notes, adjacency)


def plan_of(
    content: Mapping[str, Any],
    path: Path,
    notes: Sequence[str] = (),
    adjacency: str | None = None,
) -> Plan:
    """The composition that the fields of a file describe; see `read_plan`.

    Args:
        content: the fields.
        path: of the file; tables of rounds are sought next to it.
        notes: columns of the table that are not read.
        adjacency: the neighbouring relation of all releases, if it is not left to the fields.
    """
    delta = checks.delta(as_real("delta", content.get("delta", 0.0)))
    epsilon = content.get("epsilon")
    if epsilon is not None:
        epsilon = float(checks.non_negative("epsilon", as_real("epsilon", epsilon)))
    releases: list[Release] = []
    relations: list[tuple[Relation, str]] = []
    around = _around(content.get("adjacency"), adjacency)
    known: dict[frozenset[tuple[str, Any]], Described] = {}
    read: dict[int, tuple[Mapping[str, Any], Release]] = {}
    for where, row in _rows(path, content, notes):
        if id(row) in read:  # of equal rows of a table, which are one object
            releases.append(read[id(row)][1])
            continue
        found = _described(where, row, around, known)
        name = str(row.get("name", ""))
        releases.append(_release(name or release_name(row), found, row))
        relations.append((found.relation, where if name else f"{where}, {release_name(row)}"))
        if len(read) < REMEMBERED:
            read[id(row)] = row, releases[-1]
    relation = shared(relations, "--adjacency replace-one, or adjacency at the top of the file")
    tables = (path.parent / str(content["rounds"]),) if "rounds" in content else ()
    return Plan(tuple(releases), delta, epsilon, relation, tables)


def _release(name: str, found: Described, row: Mapping[str, Any]) -> Release:
    said = {k: v for k, v in row.items() if k not in ("name", "count", "adjacency")}
    if found.theorem is not None:
        said = {"theorem": found.theorem.key, **found.theorem.inputs()}
    return Release(name, found.guarantee, found.count, found.mechanism, found.theorem, said)


def _described(
    where: str,
    row: Mapping[str, Any],
    around: str,
    known: dict[frozenset[tuple[str, Any]], Described],
) -> Described:
    """What a release is; rows of a table that differ in nothing but their names are read once."""
    if not all(isinstance(value, str) for value in row.values()):
        return release_from(where, row, around)
    key = frozenset((field, value) for field, value in row.items() if field != "name")
    if key not in known:
        known[key] = release_from(where, row, around)
    return known[key]


def _around(stated: object, option: str | None) -> str:
    """The relation that is said for all releases together, "" if none is."""
    own = "" if stated is None else checked(stated)
    if own and option and own != option:
        raise InvalidInput(
            f"one neighbouring relation is needed; got --adjacency {option} and adjacency = {own!r} "
            "in the file; leave out one"
        )
    return own or ("" if option is None else checked(option))


def _content(path: Path) -> Mapping[str, Any]:
    if path.suffix.lower() in (".csv", ".tsv", ".txt") and not _begins_as_toml(path):
        return {"rounds": path.name}
    refuse_unless_text(path)
    known = ("delta", "epsilon", "adjacency", "release", "rounds", "notes")
    return fields(str(path), read_toml(path, begun_by="dpcalc new plan NAME"), known)


def _begins_as_toml(path: Path) -> bool:
    """Whether the first line is one of TOML; no line of column names looks like that."""
    for _, line in lines(path):
        if line.strip() and not line.startswith("#"):
            began = re.match(r"\s*(\[\[?\s*\w|[\w-]+\s*=)", line) is not None
            return began and not is_separator_note(line)
    return False


def _rows(
    path: Path, content: Mapping[str, Any], notes: Sequence[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Where every release stands, and its table."""
    named = content.get("notes", [])
    if not isinstance(named, list) or not all(isinstance(note, str) for note in named):
        raise InvalidInput(f"notes needs a list of column names; got {named!r}")
    table = content.get("rounds", "")
    if not isinstance(table, str):
        raise InvalidInput(f"rounds needs the name of one table; got {shortened(repr(table))}")
    if (named or notes) and "rounds" not in content:
        raise InvalidInput("notes are columns of a table of rounds; got notes without rounds")
    if "release" not in content and "rounds" not in content:
        raise InvalidInput(
            f"at least one [[release]] table, or rounds = 'file.csv', is needed; got none in {path}"
        )
    for number, row in enumerate(
        tables("release", content["release"]) if "release" in content else (), start=1
    ):
        name = row.get("name") if isinstance(row, Mapping) else None
        where = f"release {number}" + (f" ({name})" if name else "")
        if not isinstance(row, Mapping):
            raise InvalidInput(f"{where} needs to be a table of name = value; got {row!r}")
        yield where, row
    if "rounds" in content:
        yield from read_rounds(path.parent / table, [*named, *notes])
