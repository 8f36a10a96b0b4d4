"""Which neighbouring relation an answer is about, and who said so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpcalc.theorems.base import Theorem

DEFAULT = Adjacency.ADD_REMOVE.value
"""What a mechanism is read under where nobody says; every answer names it."""

_ALL = tuple(relation.value for relation in Adjacency)


class Basis(StrEnum):
    """Where a neighbouring relation comes from."""

    STATED = "stated"
    """The caller said it."""
    DEFAULT = "default"
    """Nobody said it; another one gives another answer."""
    ONLY = "only"
    """There is no other for this release."""
    NONE = "none"
    """Nobody said it, and the answer is the same under all."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A neighbouring relation and where it comes from.

    Attributes:
        name: as `Adjacency` spells it; "" if there is none.
        basis: who says so.
    """

    name: str
    basis: Basis

    def sentence(self, *, option: str = "--adjacency {}") -> str:
        """For people: the relation, and how to get another one.

        Args:
            option: how the other one is asked for, with {} in its place.
        """
        other = option.format(other_than(self.name)) if self.basis is Basis.DEFAULT else ""
        tail = {
            Basis.STATED: "",
            Basis.DEFAULT: f" (the default; {other} for the other)",
            Basis.ONLY: " (the only one here)",
            Basis.NONE: "",
        }[self.basis]
        if not self.name:
            return "neighbouring relation: that of the numbers given; none was said"
        return f"neighbouring relation: {self.name}, {Adjacency(self.name).difference}{tail}"

    def record(self) -> dict[str, str | None]:
        """For JSON: the relation, who said it, and what is protected."""
        unit = Adjacency(self.name).unit if self.name else None
        return {
            "adjacency": self.name or None,
            "adjacency_basis": self.basis.value,
            "unit": unit,
        }


NO_RELATION = Relation("", Basis.NONE)


def relation_of(theorem: Theorem, *, stated: bool) -> Relation:
    """The relation of an instance of a theorem.

    Args:
        theorem: the instance.
        stated: whether the caller said it, where the theorem leaves a choice.
    """
    from dpcalc.theorems.parameters import parameters

    name = str(getattr(theorem, "adjacency", ""))
    if not name:
        return NO_RELATION
    if "adjacency" not in parameters(type(theorem)):
        return Relation(name, Basis.ONLY)
    return Relation(name, Basis.STATED if stated else Basis.DEFAULT)


def checked(given: object) -> str:
    """The name of a relation, from a file or an option.

    Raises:
        InvalidInput: for an unknown one, with the nearest known.
    """
    if given not in _ALL:
        raise unknown_name("adjacency", given, _ALL)
    return str(given)


def other_than(name: str) -> str:
    """The other of the two relations about records."""
    return "add-remove" if name == Adjacency.REPLACE_ONE.value else "replace-one"


def resolved(
    stated: object, around: str, allowed: tuple[str, ...], *, default: str, needed: bool
) -> Relation:
    """The relation of one release.

    Args:
        stated: what the release says, None if nothing.
        around: what is said for all releases together, "" if nothing.
        allowed: the relations it can be read under; empty for any.
        default: the one to take where nothing is said; "" to refuse.
        needed: whether the answer depends on it.

    Raises:
        InvalidInput: for two that contradict each other, one that is not allowed, or none where
            there is no default.
    """
    own = "" if stated is None else checked(stated)
    if own and around and own != around:
        raise InvalidInput(
            f"one neighbouring relation is needed; got adjacency={own!r} here and {around!r} for all"
        )
    name = own or around
    if name and allowed and name not in allowed:
        raise InvalidInput(f"adjacency needs {' or '.join(allowed)}; got adjacency={name!r}")
    if name:
        return Relation(name, Basis.STATED)
    if len(allowed) == 1:
        return Relation(allowed[0], Basis.ONLY)
    if not needed:
        return NO_RELATION
    if not default:
        raise InvalidInput(
            f"the field 'adjacency' is needed ({' or '.join(allowed)}), since the answer depends on "
            "it; got none"
        )
    return Relation(default, Basis.DEFAULT)


def shared(relations: Iterable[tuple[Relation, str]], change: str) -> Relation:
    """The one relation of several releases.

    Args:
        relations: each with the release that it belongs to.
        change: how one is said for all of them.

    Raises:
        InvalidInput: if they differ, with who says which.
    """
    first: dict[str, tuple[Relation, str]] = {}
    for relation, where in relations:
        known = first.get(relation.name)
        if relation.name and (known is None or known[0].basis is Basis.DEFAULT):
            first[relation.name] = relation, where if known is None else known[1]
    if len(first) > 1:
        got = " and ".join(
            f"{name} ({where}{', by default' if relation.basis is Basis.DEFAULT else ''})"
            for name, (relation, where) in first.items()
        )
        silent = any(relation.basis is Basis.DEFAULT for relation, _ in first.values())
        why = (
            "; noise over one record's norm is worth half as much under replace-one, so nobody "
            "guesses"
            if silent
            else ""
        )
        raise InvalidInput(
            f"one neighbouring relation is needed for all releases; got {got}{why}; say it once: "
            f"{change}"
        )
    return next((relation for relation, _ in first.values()), NO_RELATION)
