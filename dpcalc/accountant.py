"""An accountant to which releases are added while a program runs.

    spent = Accountant(epsilon=8.0, delta=1e-6)
    step = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": 1.1, "rate": 0.01}
    spent = spent.spend(step, 1000)
    spent.epsilon_spent(), spent.rounds_left(step)

An accountant is a value: spending returns another one and costs next to nothing; numbers are
computed when asked for and remembered. Releases may be chosen in view of what was released before
(adaptive composition), as long as the list of possible worst cases is the one that is written down.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from dpcalc import checks
from dpcalc.claims.budget_search import most_rounds
from dpcalc.claims.mechanisms import guarantee_from, table_of
from dpcalc.claims.named import mechanism_key
from dpcalc.claims.solution import MOST_ROUNDS
from dpcalc.errors import InvalidInput, shortened
from dpcalc.guarantees import Guarantee, compose
from dpcalc.markup import html_table
from dpcalc.numerals import Written, plain, ratio, spelt
from dpcalc.sealed import opened, sealed
from dpcalc.wording import at_most, spelt_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "MOST_ROUNDS",
    "Accountant",
    "Spent",
]

_FORMAT = "dpcalc accountant"
_VERSION = 2
"""1 had no checksum, and noise multipliers of another unit."""

Description = Mapping[str, Any] | Guarantee
"""A release as a table, such as a composition file has, or as a guarantee."""


@dataclass(frozen=True, slots=True, repr=False)
class Accountant:
    """What has been released, and the budget it counts against.

    Example::

        from dpcalc import Accountant
        step = {"mechanism": "gaussian", "noise_multiplier": 20}
        spent = Accountant(epsilon=1, delta=1e-6).spend(step, 3)
        print(spent.epsilon_spent(), spent.rounds_left(step))

    Args:
        epsilon: the budget, 0 or above; infinite for none.
        delta: δ of the budget, in [0, 1).
        releases: what was spent so far; see `spend`.
    """

    epsilon: float = math.inf
    delta: float = 0.0
    releases: tuple[Spent, ...] = ()

    def __post_init__(self) -> None:
        epsilon = checks.non_negative_or_infinite("epsilon", self.epsilon)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", checks.delta(self.delta))

    def spend(self, release: Description, count: int = 1) -> Accountant:
        """The accountant after ``count`` more releases of one kind; this one is unchanged.

        Args:
            release: a guarantee, or a table with the fields of a composition file's release.
            count: how many, 0 or above.

        Returns:
            Another accountant; nothing is computed yet.

        Raises:
            InvalidInput: for a malformed release, or another neighbouring relation than before.
        """
        count = checks.count("count", count, minimum=0)
        kind, guarantee, relation = _read(release)
        if relation and self.adjacency and relation != self.adjacency:
            raise InvalidInput(
                f"one neighbouring relation is needed for all releases; got {relation} after "
                f"{self.adjacency}; a release without one is read as add-remove; say adjacency in all"
            )
        kinds = {spent.kind: spent for spent in self.releases}
        before = kinds[kind].count if kind in kinds else 0
        kinds[kind] = Spent(kind, guarantee, relation, before + count)
        return replace(self, releases=tuple(kinds.values()))

    @property
    def adjacency(self) -> str:
        """The neighbouring relation that the releases share, "" if none names one."""
        return next((spent.relation for spent in self.releases if spent.relation), "")

    @property
    def rounds(self) -> int:
        """How many releases there were."""
        return sum(spent.count for spent in self.releases)

    def _rows(self) -> list[tuple[str, str]]:
        budget = "none" if self.epsilon == math.inf else f"ε = {spelt(self.epsilon)}"
        return [
            ("budget", f"{budget}, δ = {spelt(self.delta)}"),
            ("rounds", f"{spelt_count(self.rounds)} of {_counted(len(self.releases), 'kind')}"),
            ("ε spent", at_most(self.epsilon_spent())),
            ("neighbours", self.adjacency or "as the numbers given"),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<12} {value}" for name, value in self._rows())

    def __repr__(self) -> str:
        """Budget and rounds; no ε, which may take time."""
        spent = f"{_counted(self.rounds, 'round')} of {_counted(len(self.releases), 'kind')}"
        return f"Accountant(epsilon={self.epsilon!r}, delta={self.delta!r}, spent: {spent})"

    def _repr_html_(self) -> str:
        return html_table(self._rows())

    def plot(self) -> Axes:
        """ε over δ of everything released, with the budget as a point.

        Returns:
            The axes, of a figure of their own.

        Raises:
            InvalidInput: if nothing finite and above 0 was spent.
            MissingExtra: without matplotlib.
        """
        from dpcalc.pictures.answers import epsilon_axes

        point = (self.delta, self.epsilon)
        limited = self.delta > 0 and 0 < self.epsilon < math.inf
        return epsilon_axes(
            {"certified": self.total().epsilon},
            title="Spent so far",
            setting=f"{_counted(self.rounds, 'round')}. Neighbours: "
            f"{self.adjacency or 'as the numbers given'}.",
            points={"the budget": point} if limited else {},
        )

    def total(self) -> Guarantee:
        """The guarantee of everything released."""
        return compose(*[(spent.guarantee, spent.count) for spent in self.releases])

    def epsilon_spent(self, delta: float | None = None) -> float:
        """A certified ε of everything released.

        Args:
            delta: in [0, 1); that of the budget if left out.

        Returns:
            0 or above; infinite if no ε follows.
        """
        return self.total().epsilon(self.delta if delta is None else checks.delta(delta))

    def epsilon_left(self) -> float:
        """The budget's ε minus what is spent, never below 0.

        Rounds cost less together than one by one, so more may fit than this number suggests: ask
        `rounds_left`.
        """
        return (
            max(0.0, self.epsilon - self.epsilon_spent()) if self.epsilon < math.inf else math.inf
        )

    def within_budget(self) -> bool:
        """Whether what is spent is certified to be within the budget."""
        return self.epsilon_spent() <= self.epsilon

    def rounds_left(self, release: Description) -> int:
        """The largest number of further releases of one kind found to stay within the budget.

        Args:
            release: a guarantee, or a table with the fields of a composition file's release.

        Returns:
            0 or above; at most `MOST_ROUNDS`, which is also the answer where nothing is spent.
        """
        guarantee = _read(release)[1]
        self.spend(release, 0)  # checks the neighbouring relation
        already = [(spent.guarantee, spent.count) for spent in self.releases]
        if self.epsilon == math.inf:
            return MOST_ROUNDS
        return most_rounds(
            lambda n: compose(*already, (guarantee, n)), self.epsilon, self.delta, minimum=0
        )

    def to_json(self) -> str:
        """The accountant as text; `from_json` gives an equal one back.

        Raises:
            InvalidInput: if a release was given as a guarantee that has no table, such as a
                function; give it as a table.
        """
        return sealed(_FORMAT, _VERSION, _content(self))

    @classmethod
    def from_json(cls, text: str) -> Accountant:
        """The accountant that `to_json` wrote, and nothing else.

        Raises:
            InvalidInput: if the text was cut, changed or damaged, or is of another version. A
                budget of no limit is an ``epsilon`` of null, never a missing one.
        """
        content = opened(text, _FORMAT, _VERSION, ("epsilon", "delta", "releases"))
        budget, delta, releases = content["epsilon"], content["delta"], content["releases"]
        if not isinstance(releases, list) or not all(isinstance(r, dict) for r in releases):
            raise InvalidInput(f"releases needs a list of tables; got {shortened(repr(releases))}")
        found = cls(math.inf if budget is None else budget, delta)
        for number, table in enumerate(releases, start=1):
            kind = {name: value for name, value in table.items() if name != "count"}
            count = table.get("count")
            if type(count) is not int:
                raise InvalidInput(f"release {number} needs a whole number as count; got {count!r}")
            found = found.spend(kind, count)
        if _content(found) != content:
            raise InvalidInput("expected every release once, as it is written; got it otherwise")
        return found


@dataclass(frozen=True, slots=True)
class Spent:
    """Releases of one kind.

    Attributes:
        kind: the release's table as JSON, its identity.
        guarantee: of one.
        relation: its neighbouring relation, "" if none.
        count: how many.
    """

    kind: str
    guarantee: Guarantee = field(compare=False)
    relation: str
    count: int


def _read(release: Description) -> tuple[str, Guarantee, str]:
    if isinstance(release, Guarantee):
        return json.dumps(table_of(release), sort_keys=True), release, ""
    if not isinstance(release, Mapping):
        raise InvalidInput(
            f"expected a guarantee, or a release table; got {shortened(repr(release))}; try "
            "{'mechanism': 'gaussian', 'noise_multiplier': 4}"
        )
    if "count" in release:
        raise InvalidInput(
            "expected a release table without count, since the count is an argument of "
            f"its own; got {release!r}"
        )
    guarantee, relation = guarantee_from("release", release)
    try:
        named = _by_its_name(release)
        saved = json.loads(json.dumps(named, allow_nan=False, default=_plainly))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"a release needs plain numbers, texts and lists: {error}") from None
    return json.dumps(saved, sort_keys=True), guarantee, relation


def _plainly(value: object) -> int | float | str:
    """A number of NumPy's or a fraction as JSON has it, text where no double is the number."""
    if not isinstance(value, Real):
        raise TypeError(f"{shortened(repr(value))} is none of these")
    top, bottom = ratio(value)
    exact = plain(value)
    return f"{top}/{bottom}" if isinstance(exact, Written) else exact


def _by_its_name(release: Mapping[str, Any]) -> dict[str, Any]:
    """The table with the first name of its mechanism, which may have others."""
    name = release.get("mechanism")
    return {**release, "mechanism": mechanism_key(name)} if isinstance(name, str) else dict(release)


def _content(accountant: Accountant) -> dict[str, Any]:
    """What is saved of an accountant."""
    return {
        "epsilon": accountant.epsilon if accountant.epsilon < math.inf else None,
        "delta": accountant.delta,
        "releases": [{**json.loads(s.kind), "count": s.count} for s in accountant.releases],
    }


def _counted(number: int, thing: str) -> str:
    return f"1 {thing}" if number == 1 else f"{number} {thing}s"
