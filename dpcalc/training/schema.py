"""Public facts about columns: the range of a number, the categories of a word.

    age = [18, 90]
    city = ["Bonn", "Ulm"]
    income = [0, 200_000]
    country = {categories = ["DE", "FR"], other = true}
    rent = {range = [0, 5000], decimal = ","}

Statement
    A number is clipped to its range and mapped onto [-1, 1]; a category becomes a column of zeros
    and ones, and so do all other values of a column, where they are said to be one category more.
    With p ranges and q lists of categories no row is longer than √(p + q), whatever the data are.
    Every entry is looked at alone, with public numbers, so that nothing is spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcalc.algorithms.problems.data.beyond import REST
from dpcalc.algorithms.problems.data.column_names import OTHER
from dpcalc.errors import InvalidInput, shortened, unknown_name
from dpcalc.training.facts import categories_of, each_once, mark_of, range_of, without_rest
from dpcalc.training.scaling import Range, Scaling

if TYPE_CHECKING:
    from pathlib import Path

    from dpcalc.algorithms.problems.data.dataset import Dataset

__all__ = ["REST", "Range", "Schema", "read_schema", "schema_of_options", "without_range"]


@dataclass(frozen=True, slots=True)
class Schema:
    """What is public about the columns of a table.

    Attributes:
        ranges: of numeric columns by name; `REST` stands for all that are not named.
        categories: of columns of words: the values each may have.
        other: columns of words that may have other values too, which are one more category.
        decimal: the decimal mark of numbers as text, "." or ",", by column; `REST` for all others.
    """

    ranges: Mapping[str, Range]
    categories: Mapping[str, tuple[str, ...]]
    other: frozenset[str] = frozenset()
    decimal: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Self:
        """A schema from two numbers or a list of words per column.

        Of a column that may have other words too, ``{"categories": [...], "other": True}``; of numbers
        with a decimal comma, ``{"range": [0, 1], "decimal": ","}``, with or without the range.

        Raises:
            InvalidInput: if a column has something else, or has yet to be filled in.
        """
        ranges: dict[str, Range] = {}
        categories, other, decimal = {}, set(), {}
        for name, fact in columns.items():
            if isinstance(fact, Mapping) and "decimal" in fact:
                found, decimal[name] = mark_of(name, fact)
                ranges |= {} if found is None else {name: found}
                continue
            if isinstance(fact, Mapping):
                categories[name] = categories_of(name, fact)
                other |= {name} if fact.get("other", False) else set()
                continue
            if isinstance(fact, Range):
                ranges[name] = fact
                continue
            listed = isinstance(fact, Iterable) and not isinstance(fact, str)
            given = list(fact) if listed else []
            if given and all(isinstance(value, str) for value in given):
                categories[name] = each_once(name, without_rest(name, given))
            else:
                ranges[name] = range_of(name, fact, given)
        return cls(ranges, categories, frozenset(other), decimal)

    def joined(self, other: Schema) -> Schema:
        """Both together.

        Raises:
            InvalidInput: if a column is in both.
        """
        mine = {*self.ranges, *self.categories}
        for name in (*other.ranges, *other.categories):
            if name in mine:
                raise InvalidInput(
                    f"expected one range or list of categories per column; got two for {name!r}; "
                    "leave one out"
                )
        return Schema(
            {**self.ranges, **other.ranges},
            {**self.categories, **other.categories},
            self.other | other.other,
            {**self.decimal, **other.decimal},
        )

    def __bool__(self) -> bool:
        """Whether anything is said."""
        return bool(self.ranges or self.categories or self.decimal)

    def scaled(self, data: Dataset, *, where: str = "the data") -> Dataset:
        """The table with every number on [-1, 1] and the row bound that follows.

        Labels that are numbers to predict are scaled as well.

        Args:
            data: as loaded with this schema's categories.
            where: what to call the table in an error.

        Raises:
            InvalidInput: if a numeric column has no range; names them all.
        """
        scaling = self.scaling(data.names, where=where)
        label = self.label_range(data, scaling, where=where)
        return replace(
            data,
            features=scaling.features(np.array(data.features)),
            labels=label.scaled(data.labels),
            clipped=None if data.of_classes else label.outside(data.labels),
            units=scaling.units(label),
            row_bound=scaling.row_bound,
        )

    def scaling(self, names: Sequence[str], *, where: str = "the data") -> Scaling:
        """What becomes of the numbers in columns of these names.

        Raises:
            InvalidInput: if two are called alike.
        """
        if len(set(names)) < len(names):
            raise InvalidInput(
                f"expected every column once; {where} has two that are called alike once "
                "categories have columns of their own; rename one"
            )
        zero_one = {f"{name}={value}" for name, known in self.categories.items() for value in known}
        zero_one |= {f"{name}={OTHER}" for name in self.other}
        rest = self.ranges.get(REST)
        return Scaling(
            names=tuple(names),
            ranges=tuple(None if n in zero_one else self.ranges.get(n, rest) for n in names),
            numeric=tuple(n for n in names if n not in zero_one),
            row_bound=math.sqrt(sum(n not in zero_one for n in names) + len(self.categories)),
        )

    def label_range(self, data: Dataset, scaling: Scaling, *, where: str = "the data") -> Range:
        """The range of the label, once every column is found to have one.

        Raises:
            InvalidInput: if a numeric column has no range; names them all.
        """
        self._check(data, scaling, where)
        return Range(-1.0, 1.0) if data.of_classes else self.ranges[data.label]

    def _check(self, data: Dataset, scaling: Scaling, where: str) -> None:
        numeric = scaling.numeric
        for name in self.ranges:
            if name not in (*numeric, data.label, REST):
                raise unknown_name(f"numeric column of {where}", name, list(numeric))
        missing = list(scaling.unknown)
        if not data.of_classes and data.label not in self.ranges:
            missing.append(data.label)
        if missing == [data.label]:
            raise InvalidInput(
                f"expected a public range of the numbers to predict; got none for {data.label!r} of "
                f"{where}; say it, --scale {data.label}=LOW:HIGH, or, of classes, which one becomes "
                "+1: --positive VALUE"
            )
        if missing:
            raise without_range(missing, where)


def without_range(missing: list[str], where: str) -> InvalidInput:
    """The error for numeric columns of which nothing public is known."""
    shown = ", ".join(repr(name) for name in missing[:_SHOWN])
    rest = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return InvalidInput(
        f"expected a public range for every numeric column of {where}, to scale it by; got none "
        f"for {shown}{rest}; give what is known without looking at the data: --scale "
        f"{missing[0]}=LOW:HIGH, or --schema FILE (dpcalc schema writes one to fill in); or, if "
        "the columns are scaled by public numbers already, say how long a row may be: --row-bound"
    )


_SHOWN = 6
"""Columns that an error lists."""


def read_schema(path: Path) -> Schema:
    """The schema of a TOML file.

    Raises:
        InvalidInput: if it cannot be read, or has yet to be filled in.
    """
    from dpcalc.claims.tables import read_toml

    return Schema.of(read_toml(path))


def schema_of_options(scale: Iterable[str], categories: Iterable[str]) -> Schema:
    """The schema of ``column=LOW:HIGH`` and ``column=A|B|C``.

    Raises:
        InvalidInput: if one is neither, or a column is there twice.
    """
    found = Schema({}, {})
    for text in scale:
        name, range_ = _scale(text)
        found = found.joined(Schema({name: range_}, {}))
    for text in categories:
        name, equals, tail = text.partition("=")
        words = [word.strip() for word in tail.split("|")]
        if not (name.strip() and equals and all(words)):
            raise InvalidInput(
                f"categories needs column=A|B|C; got categories={text!r}; name every value that "
                f"the column may have, and all others as one with {REST}, such as column=A|B|{REST}"
            )
        found = found.joined(_categories(name.strip(), words))
    return found


def _categories(name: str, words: list[str]) -> Schema:
    """The values of a column as the command line lists them, `REST` for all others."""
    if OTHER in words:
        raise InvalidInput(
            f"{OTHER!r} of column {name!r} can be all values that are not listed or one that is called "
            f"so; for all others write {REST}, such as {name}=A|B|{REST}; one that is called so is "
            f'listed in a schema: {{categories = ["{OTHER}"]}}'
        )
    others = words.count(REST)
    listed = [word for word in words if word != REST]
    if others > 1 or not listed:
        raise InvalidInput(
            f"column {name!r} needs a value to tell from all others, and {REST} for these once; got "
            f"{shortened('|'.join(words))!r}"
        )
    rest = frozenset({name} if others else ())
    return Schema({}, {name: each_once(name, listed)}, rest)


def _scale(text: str) -> tuple[str, Range]:
    from dpcalc.numerals import number

    name, _, tail = text.rpartition("=")
    low, colon, high = tail.partition(":")
    try:
        ends = [number(low), number(high)]
    except (ValueError, ZeroDivisionError):
        ends = []
    if not (name.strip() and colon and ends):
        raise InvalidInput(
            f"--scale needs COLUMN=LOW:HIGH, such as age=18:90; got {shortened(text)!r}"
        )
    return name.strip(), range_of(name.strip(), tail, ends)
