"""A composition file: any list of releases with counts, one budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcalc import checks
from dpcalc.claims.mechanisms import release_from, release_name
from dpcalc.claims.tables import as_real, fields, read_toml, tables
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import RDP, Guarantee, compose


@dataclass(frozen=True, slots=True)
class Release:
    """One line of a composition.

    Attributes:
        name: what to call it.
        guarantee: what one use is worth.
        count: how often it is used.
    """

    name: str
    guarantee: Guarantee
    count: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A composition with its budget.

    Attributes:
        releases: what is released, in order.
        delta: δ of the answer.
        epsilon: the budget, if one is given.
        adjacency: the neighbouring relation that all releases share, "" if none names one.
    """

    releases: tuple[Release, ...]
    delta: float
    epsilon: float | None
    adjacency: str

    def total(self) -> Guarantee:
        """The guarantee of all releases together.

        Raises:
            InvalidInput: if some cannot be composed, with the first that is to blame.
        """
        try:
            return compose([(r.guarantee, r.count) for r in self.releases])
        except InvalidInput as error:
            raise InvalidInput(f"{self._culprit()}: {error}") from error

    def _culprit(self) -> str:
        """The first release that cannot be composed with one whose loss is known."""
        for number, release in enumerate(self.releases, start=1):
            try:
                compose([(release.guarantee, 1), (RDP.from_points({2.0: 1.0}), 1)])
            except InvalidInput:
                return f"release {number} ({release.name})"
        return "these releases together"


def read_plan(path: Path) -> Plan:
    """The composition that a TOML file describes.

    Fields: ``delta``, optionally ``epsilon`` (a budget), ``[[release]]`` tables, and ``rounds``, a
    CSV file with one release a row and the fields of a mechanism as columns. ``path`` may be such a
    CSV file itself.

    Raises:
        InvalidInput: for unreadable files, unknown fields and mixed neighbouring relations.
    """
    known = ("delta", "epsilon", "release", "rounds")
    content: Mapping[str, Any] = {"rounds": path.name}
    if path.suffix.lower() != ".csv":
        content = fields(str(path), read_toml(path), known)
    delta = checks.delta(as_real("delta", content.get("delta", 0.0)))
    epsilon = content.get("epsilon")
    if epsilon is not None:
        epsilon = checks.non_negative("epsilon", as_real("epsilon", epsilon))
    rows = list(tables("release", content["release"])) if "release" in content else []
    if "rounds" in content:
        rows += list(_table(path.parent / str(content["rounds"])))
    if not rows:
        raise InvalidInput(
            f"at least one [[release]] table, or rounds = 'file.csv', is needed; got none in {path}"
        )
    releases: list[Release] = []
    relations: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        name = str(row.get("name", "")) if isinstance(row, Mapping) else ""
        where = f"release {number}" + (f" ({name})" if name else "")
        if not isinstance(row, Mapping):
            raise InvalidInput(f"{where} needs to be a table of name = value; got {row!r}")
        guarantee, count, relation = release_from(where, row)
        releases.append(Release(name or release_name(row), guarantee, count))
        if relation:
            relations.setdefault(relation, f"{where}, {release_name(row)}" if not name else where)
    if len(relations) > 1:
        got = " and ".join(f"{relation} ({where})" for relation, where in relations.items())
        raise InvalidInput(
            f"one neighbouring relation is needed for all releases; got {got}; give all of them the "
            "same adjacency"
        )
    return Plan(tuple(releases), delta, epsilon, next(iter(relations), ""))


def _table(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a CSV file as tables, empty cells left out."""
    import pandas as pd

    try:
        frame = pd.read_csv(
            path, dtype=str, keep_default_na=False, comment="#", skipinitialspace=True
        )
    except FileNotFoundError:
        raise InvalidInput(f"rounds needs a readable CSV file; there is no {str(path)!r}") from None
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise InvalidInput(f"rounds needs a readable CSV file; {path}: {error}") from error
    for row in frame.to_dict("records"):
        yield {str(k).strip(): v.strip() for k, v in row.items() if str(v).strip()}
