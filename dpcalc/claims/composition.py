"""A composition file: any list of releases with counts, one budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcalc import checks
from dpcalc.claims.mechanisms import as_real, release_from
from dpcalc.claims.tables import fields, read_toml, tables
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import Guarantee, compose


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
        """The guarantee of all releases together."""
        return compose([(r.guarantee, r.count) for r in self.releases])


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
        raise InvalidInput(f"{path} needs at least one [[release]] table, or rounds = 'file.csv'")
    releases, relations = [], set()
    for number, row in enumerate(rows, start=1):
        name = str(row.get("name", "")) if isinstance(row, Mapping) else ""
        where = f"release {number}" + (f" ({name})" if name else "")
        if not isinstance(row, Mapping):
            raise InvalidInput(f"{where} needs to be a table; got {row!r}")
        guarantee, count, relation = release_from(where, row)
        releases.append(Release(name or where, guarantee, count))
        relations |= {relation} - {""}
    if len(relations) > 1:
        raise InvalidInput(
            f"one neighbouring relation is needed for all releases; got {', '.join(sorted(relations))}"
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
