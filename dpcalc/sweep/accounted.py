"""Answers about theorems and mechanisms: claimed and certified ε of every setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcalc import checks
from dpcalc.accounting.composition.neighbours import neighbouring
from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.answers.asked import delta_asked
from dpcalc.claims.tables import as_real, fields
from dpcalc.errors import DpcalcError, InvalidInput, missing_delta
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.composition import Composition, compose
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.sweep.grid import all_numbers
from dpcalc.sweep.lines import answered

if TYPE_CHECKING:
    from dpcalc.guarantees import Guarantee
    from dpcalc.sweep.grid import Sweep
    from dpcalc.theorems.base import Theorem

_WITH_DELTA = "delta = 1e-6"

_ROUNDS_SHARE = ("gaussian-without-replacement",)
"""Mechanisms of which some numbers of rounds share what is computed for others."""

Ends = tuple[float, float]
"""What is not above the exact ε, and a certified ε."""

Row = dict[str, Any]
Point = dict[str, Any]


_WIDEST = 0.02
"""Relative width: wider enclosures may leave out bounds whose gain is more than a tolerance."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One setting with what can be said without numerical work.

    Attributes:
        bound: its certified ε, and what is not above the exact one; costs what a composition costs.
        row: columns that are known already; with ``refused`` if the setting makes no sense.
        place: where it stands along the line, the more private the larger.
    """

    bound: Callable[[], Ends]
    row: Row
    place: float


@own_arithmetic
def line(sweep: Sweep, axis: str | None, points: Sequence[Point]) -> list[Row]:
    """What is found for settings that differ in one number alone, in their own order.

    Args:
        sweep: what is asked.
        axis: the number in which they differ and along which ε never grows or never falls; None
            where nothing is shared.
        points: their values of the axes.
    """
    ask = _of_theorem if sweep.kind == "theorem" else _of_mechanism
    asked = [_asked(ask, sweep, axis, point) for point in points]
    settings = [number for number, one in enumerate(asked) if "refused" not in one.row]
    settings.sort(key=lambda number: asked[number].place)

    floors: dict[int, float] = {}

    def bound(number: int) -> float | None:
        try:
            with with_relative_width(min(sweep.tolerance / 2, _WIDEST)):
                floors[number], epsilon = asked[number].bound()
                return epsilon
        except DpcalcError as error:
            asked[number].row["refused"] = str(error)
            return None

    if axis is None:
        found = [bound(number) for number in settings]
    else:
        with neighbouring():
            found = answered(bound, settings, sweep.tolerance / 2, floors.__getitem__)
    for number, epsilon in zip(settings, found, strict=True):
        asked[number].row["certified"] = epsilon
    return [_ordered(one.row) for one in asked]


def _ordered(row: Row) -> Row:
    """Numbers first."""
    return dict(sorted(row.items(), key=lambda item: item[0] not in ("claimed", "certified")))


def shared_axis(sweep: Sweep) -> str | None:
    """The axis along which answers are shared; None without one.

    The rounds, where what is computed for some serves others and neighbouring noises differ by more
    than half the tolerance; else the noise of a theorem, else δ.
    """
    for name in _shareable(sweep):
        values = sweep.axes.get(name, ())
        if len(values) > 2 and all_numbers(values):
            return name
    return None


def _shareable(sweep: Sweep) -> tuple[str, ...]:
    if sweep.kind == "mechanism":
        return ("rounds", "delta") if sweep.name in _ROUNDS_SHARE else ("delta",)
    from dpcalc.theorems.catalogue import privacy_result

    kind = privacy_result(sweep.name)
    rounds = kind.rounds_share and not _dense(sweep.axes.get(kind.noise, ()), sweep.tolerance / 2)
    return ("rounds", kind.noise, "delta") if rounds else (kind.noise, "delta")


def _dense(values: Sequence[Any], tolerance: float) -> bool:
    """Whether neighbours differ by less than a tolerance, relative and on average."""
    if len(values) < 3 or not all_numbers(values) or min(values) <= 0:
        return False
    return math.log(max(values) / min(values)) < tolerance * (len(values) - 1)


def _asked(
    ask: Callable[[Sweep, str | None, Point], Asked],
    sweep: Sweep,
    axis: str | None,
    point: Point,
) -> Asked:
    try:
        return ask(sweep, axis, dict(sweep.fixed) | point)
    except DpcalcError as error:
        return Asked(lambda: (0.0, 0.0), {"refused": str(error)}, 0.0)


def _place(axis: str | None, given: Point) -> float:
    """Where a setting stands along the axis, the more private the larger."""
    if axis is None:
        return 0.0
    return -float(given[axis]) if axis == "rounds" else float(given[axis])


def _delta(given: Point) -> float | None:
    return checks.delta(as_real("delta", given.pop("delta"))) if "delta" in given else None


def _of_theorem(sweep: Sweep, axis: str | None, given: Point) -> Asked:
    from dpcalc.theorems.catalogue import privacy_result

    kind = privacy_result(sweep.name)
    place = _place(axis, given)
    said = _delta(given)
    if "epsilon" in given:
        raise InvalidInput("a sweep of a theorem answers with epsilon; leave it out of the file")
    promises = [sweep.attest] if isinstance(sweep.attest, str) else list(sweep.attest)
    theorem = kind.from_parameters(given, promises)
    delta = delta_asked(theorem, said, option=_WITH_DELTA)
    if axis == kind.noise and kind.noise_is_a_rate:
        place = -place
    row: Row = {"claimed": _claimed(theorem, delta)}
    return Asked(partial(_certified, theorem, delta), row | _about(theorem), place)


def _about(theorem: Theorem) -> Row:
    """What the answer is about: neighbours, release, and promises that it rests on."""
    from dpcalc.claims.relations import relation_of
    from dpcalc.theorems.statements import Scope

    missing = ", ".join(promise.key for promise in theorem.unattested(Scope.CERTIFIED))
    about = {"neighbours": relation_of(theorem, stated=True).name, "release": str(theorem.release)}
    return about | ({"if_promised": missing} if missing else {})


def _certified(theorem: Theorem, delta: float) -> Ends:
    from dpcalc.theorems.statements import Scope

    theorem.require(Scope.CERTIFIED)
    return _ends(theorem.certified().guarantee, delta)


def _ends(guarantee: Guarantee, delta: float) -> Ends:
    """`Guarantee.epsilon`, and the lower end of its enclosure where it comes with one."""
    if type(guarantee) in (BestOf, Composition):
        found = guarantee.bracket(delta)  # type: ignore[attr-defined] # of both
        return found.lower, found.upper
    return 0.0, guarantee.epsilon(delta)


def _claimed(theorem: Theorem, delta: float) -> float | None:
    from dpcalc.theorems.statements import Scope

    try:
        theorem.require(Scope.CLAIMED)
        return theorem.claimed().guarantee.epsilon(delta)
    except DpcalcError:
        return None


def _of_mechanism(sweep: Sweep, axis: str | None, given: Point) -> Asked:
    from dpcalc.claims.mechanisms import release_from

    _check_fields(sweep.name, given)
    place = _place(axis, given)
    delta = _delta(given) or 0.0
    if "rounds" in given:
        rounds = as_real("rounds", given.pop("rounds"))
        given["count"] = checks.count("rounds", rounds)
    found = release_from(sweep.name, {"mechanism": sweep.name, **given})
    if delta == 0 and found.guarantee.needs_delta():
        raise missing_delta(sweep.name, option=_WITH_DELTA)

    def bound() -> Ends:
        return _ends(compose((found.guarantee, found.count)), delta)

    return Asked(bound, {"neighbours": found.relation.name}, place)


def _check_fields(name: str, given: Point) -> None:
    """Refuse what a composition says of a release and a sweep says in another place."""
    from dpcalc.claims.named import mechanism

    if "count" in given:
        raise InvalidInput(
            f"{name}: unknown field 'count'; how often the mechanism is used is its rounds; try "
            f"rounds = {given['count']!r}"
        )
    fields(name, given, ("delta", "rounds", *mechanism(name).fields))
