"""A sweep's file: what is asked, which parameters are varied, and over what."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Any

from dpcalc.claims.tables import as_real, fields, read_toml
from dpcalc.errors import InvalidInput
from dpcalc.numerals import number
from dpcalc.sweep.ranges import MOST, check_whole, places

KINDS = ("theorem", "mechanism", "audit", "run")
"""What can be asked."""

_OUTER = ("epsilon", "delta", "seed", "runs", "case", "memory")
_COMMON = (*KINDS, "parameters", "attest", "tolerance", *_OUTER)

_INNER = ("data", "graph", "label", "nodes", "positive", "rounds", "row_bound", "schema")
"""What is easily looked for beside epsilon and seed."""

_FILES = ("data", "schema")
"""Fields of trainings that name files."""

TOLERANCE = 1e-3
"""By how much numbers may lie above the narrowest that dpcalc gives, relative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a file asks.

    Attributes:
        kind: one of `KINDS`.
        name: of the theorem, mechanism, audit or training method.
        axes: names that are varied, each with its values, in the order of the file.
        fixed: names that are not.
        joined: axes of rounded places of which some met, each with how many there were.
        attest: keys of promises, or "all".
        tolerance: see `TOLERANCE`.
    """

    kind: str
    name: str
    axes: Mapping[str, tuple[Any, ...]]
    fixed: Mapping[str, Any]
    joined: Mapping[str, int] = field(default_factory=dict)
    attest: Any = ()
    tolerance: float = TOLERANCE

    @property
    def count(self) -> int:
        """How many settings there are."""
        return math.prod(len(values) for values in self.axes.values())

    def points(self) -> list[dict[str, Any]]:
        """All settings of the axes; the last axis varies fastest."""
        return [
            dict(zip(self.axes, values, strict=True))
            for values in itertools.product(*self.axes.values())
        ]

    def plan(self) -> dict[str, Any]:
        """What decides the bits of the answers, ready for JSON."""
        return {
            "work": f"sweep {self.kind} {self.name}",
            "axes": {name: list(values) for name, values in self.axes.items()},
            "fixed": dict(self.fixed),
            "attest": self.attest,
            "tolerance": self.tolerance,
            **self._files(),
        }

    def _files(self) -> dict[str, Any]:
        """What the files of trainings hold, whose names alone may stay the same."""
        given = [*self.axes.items(), *((name, [value]) for name, value in self.fixed.items())]
        names = {str(v) for name, values in given if name in _FILES for v in values}
        paths = [Path(name) for name in sorted(names) if self.kind == "run"]
        held = {str(path): _digest(path) for path in paths if path.is_file()}
        return {"files": held} if held else {}


def read_sweep(path: Path) -> Sweep:
    """The sweep of a file.

    Raises:
        InvalidInput: if it cannot be read, or asks nothing that can be answered.
    """
    return sweep_of(read_toml(path), str(path))


def sweep_of(given_table: Mapping[str, Any], where: str = "a sweep") -> Sweep:
    """The sweep of a table with the fields of a file.

    Args:
        given_table: see `read_sweep`.
        where: what to call it in errors.

    Raises:
        InvalidInput: if it asks nothing that can be answered.
    """
    _check_outer(where, given_table)
    table = fields(where, given_table, _COMMON)
    kinds = [kind for kind in KINDS if kind in table]
    if len(kinds) != 1:
        raise InvalidInput(
            f"{where} needs exactly one of {', '.join(KINDS)}; got {', '.join(kinds) or 'none'}; try "
            'theorem = "dp-admm"'
        )
    if "memory" in table and kinds != ["audit"]:
        raise InvalidInput(
            f"memory bounds what runs of an audit release; {where} asks about a {kinds[0]}"
            + ("; its records are held in memory, try: dpcalc run --memory" * (kinds == ["run"]))
            + "; leave memory out"
        )
    if "attest" in table and kinds != ["theorem"]:
        raise InvalidInput(
            f"attest makes promises of a theorem; {where} asks about a {kinds[0]}; leave attest out"
        )
    if "tolerance" in table and kinds[0] in ("audit", "run"):
        raise InvalidInput(
            f"tolerance is how far answers about theorems and mechanisms may be above the narrowest; "
            f"{where} asks about a{'n audit' if kinds == ['audit'] else ' run'}; leave tolerance out"
        )
    given = dict(fields("[parameters]", table.get("parameters", {}), table.get("parameters", {})))
    outer = {n: table[n] for n in _OUTER if n in table}
    for name in given.keys() & outer.keys():
        raise InvalidInput(
            f"{name} is needed once; got it in [parameters] and above; leave out one"
        )
    values = {name: _values(name, value) for name, value in (given | outer).items()}
    axes = {name: found for name, found in values.items() if found is not None}
    ranges = {name: value for name, value in (given | outer).items() if isinstance(value, Mapping)}
    for name in ranges:
        check_whole(kinds[0], str(table[kinds[0]]), name, axes[name])
    sweep = Sweep(
        kind=kinds[0],
        name=str(table[kinds[0]]),
        axes=axes,
        fixed={name: value for name, value in (given | outer).items() if name not in axes},
        joined={n: v["count"] for n, v in ranges.items() if v["count"] != len(axes[n])},
        attest=table.get("attest", ()),
        tolerance=_tolerance(table.get("tolerance", TOLERANCE)),
    )
    if not 1 <= sweep.count <= MOST:
        raise InvalidInput(f"expected 1 to {MOST:,} settings; {where} has {sweep.count:,}")
    return sweep


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _check_outer(where: str, given: Mapping[str, Any]) -> None:
    """Refuse parameters of what is asked that stand above [parameters]."""
    for name in given:
        if name in _INNER:
            raise InvalidInput(
                f"{where}: {name} stands in [parameters]; got it above; move it there"
            )


def all_numbers(values: Iterable[Any]) -> bool:
    """Whether an axis has an order."""
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _tolerance(given: Any) -> float:
    tolerance = as_real("tolerance", given)
    if not 1e-9 <= tolerance <= 1:
        raise InvalidInput(f"tolerance needs a number from 1e-9 to 1; got {tolerance:g}; try 0.01")
    return tolerance


def _one(value: Any) -> Any:
    """The same for 1, 1.0 and "1", as parameters are read; true is no number."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError, ZeroDivisionError, OverflowError):
            return number(value)
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return value if plain else repr(value)


def _values(name: str, value: Any) -> tuple[Any, ...] | None:
    """The values of an axis; None for a single one."""
    if isinstance(value, Mapping):
        return places(name, value)
    if not isinstance(value, list):
        return None
    if not value:
        raise InvalidInput(f"{name} needs at least one value; got an empty list")
    plain = [tuple(v) if isinstance(v, list) else v for v in value]
    if len(set(map(_one, plain))) < len(plain):
        raise InvalidInput(f"expected different values of {name}; got one of them twice")
    return tuple(value)
