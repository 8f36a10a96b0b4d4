"""Google's dp-accounting event objects, read as guarantees and written from an accountant.

An event says what was done; its neighbouring relation is said apart, as in dp-accounting itself.
A noise multiplier is the noise over one record's largest norm, so replacing a record moves the sum by
twice that, sampled or not.
Needs the extra ``dp-accounting``.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from dpcalc import checks
from dpcalc.accountant import Accountant
from dpcalc.claims.named import rate_of, real
from dpcalc.claims.tables import as_real
from dpcalc.errors import InvalidInput, shortened
from dpcalc.extras import need
from dpcalc.guarantees import ZCDP, Guarantee, PureDP, compose
from dpcalc.guarantees import mechanisms as named
from dpcalc.guarantees.units import moved
from dpcalc.numerals import at_least, at_most
from dpcalc.numerics.precise import context, mpf, round_down, round_up
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = [
    "event_of",
    "guarantee_of",
]

_SAMPLED = (
    "Gaussian noise is the only mechanism whose sampling is supported; compose the unsampled one"
)


def guarantee_of(event: DpEvent, adjacency: Adjacency | str) -> Guarantee:
    """A certified guarantee of what an event describes.

    Args:
        event: a dp-accounting event, composed or not. Counts and sizes are whole numbers (7032.0 is
            one, 7031.25, "3" and True are none).
        adjacency: the neighbouring relation that all its events are read under, add-remove or
            replace-one.

    Raises:
        InvalidInput: for events that have no certified guarantee here, and for fields of a wrong
            type or range; the text names the event.
    """
    moved(adjacency)
    return compose(*_Reader(Adjacency(adjacency)).parts(event).items())


def event_of(accountant: Accountant, adjacency: Adjacency | str | None = None) -> DpEvent:
    """The dp-accounting event of everything an accountant has counted.

    `guarantee_of` reads it back under the same relation to the same guarantees, but for rounding:
    never to smaller ones.

    Args:
        accountant: what was spent.
        adjacency: the relation under which the event is going to be read; the accountant's own if
            its releases name one.

    Raises:
        InvalidInput: for releases that dp-accounting has no event for, and without a relation.
    """
    events = _events()
    relation = str(adjacency or accountant.adjacency)
    if accountant.releases:
        moved(relation)
    if accountant.adjacency not in ("", relation):
        raise InvalidInput(
            f"expected the adjacency of the accountant, {accountant.adjacency}; got {relation}"
        )
    composed = [
        events.SelfComposedDpEvent(_event(json.loads(spent.kind), relation), spent.count)
        for spent in accountant.releases
    ]
    return events.ComposedDpEvent(composed)


def _events() -> Any:
    need("dp_accounting", purpose="the exchange of events")
    from dp_accounting import dp_event

    return dp_event


_DEEPEST = 200
"""Events within events, at most; deeper ones are a mistake, or an event that contains itself."""


class _Reader:
    """Reads an event once, however often it stands within others."""

    def __init__(self, adjacency: Adjacency) -> None:
        self._events, self._adjacency = _events(), adjacency
        self._known: dict[
            int, tuple[object, Counter[Guarantee]]
        ] = {}  # holds events: ids stay theirs

    def parts(self, event: Any, depth: int = 0) -> Counter[Guarantee]:
        """What an event consists of, with how often each part is used."""
        if depth > _DEEPEST:
            raise InvalidInput(
                f"expected events nested at most {_DEEPEST} deep; got more; compose "
                "shallower ones, or check that none contains itself"
            )
        if id(event) not in self._known:
            self._known[id(event)] = event, self._read(event, depth)
        return self._known[id(event)][1]

    def _read(self, event: Any, depth: int) -> Counter[Guarantee]:
        e = self._events
        if isinstance(event, e.NoOpDpEvent):
            return Counter()
        if isinstance(event, e.ComposedDpEvent):
            if not isinstance(event.events, list | tuple):
                raise InvalidInput(f"expected a list of events; got {_shown(event)}")
            total: Counter[Guarantee] = Counter()
            for inner in event.events:
                total.update(self.parts(inner, depth + 1))
            return total
        try:
            if isinstance(event, e.SelfComposedDpEvent):
                times = checks.count("count", event.count, minimum=0)
                inner = self.parts(event.event, depth + 1)
                return Counter({part: times * n for part, n in inner.items() if times})
            return Counter({_single(event, e, self._adjacency): 1})
        except InvalidInput as error:
            text = str(error)
            raise InvalidInput(
                text if " DpEvent" in text else f"{text} (in the DpEvent {_shown(event)})"
            ) from error


def _shown(event: object) -> str:
    """The event's own fields; of events inside it the kind alone, since they may be millions."""
    names = [field.name for field in getattr(type(event), "__attrs_attrs__", ())]
    if not names:
        return shortened(repr(event))
    fields = ", ".join(f"{name}={_field(getattr(event, name))}" for name in names)
    return shortened(f"{type(event).__name__}({fields})")


def _field(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"{len(value)} events"
    inside = hasattr(type(value), "__attrs_attrs__")
    return f"{type(value).__name__}(...)" if inside else shortened(repr(value))


def _single(event: Any, e: Any, adjacency: Adjacency) -> Guarantee:
    match type(event):
        case e.GaussianDpEvent:
            return named.gaussian(_noise(event), adjacency)
        case e.LaplaceDpEvent:
            return named.laplace(_noise(event), adjacency)
        case e.ZCDpEvent:
            return _zero_concentrated(event)
        case e.RandomizedResponseDpEvent:
            return _randomised_response(event, adjacency)
        case e.PoissonSampledDpEvent:
            rate = float(checks.probability("sampling_probability", event.sampling_probability))
            return named.poisson_subsampled_gaussian(_sampled(event, e), rate, adjacency)
        case e.SampledWithoutReplacementDpEvent:
            return _without_replacement(event, e, adjacency)
    raise InvalidInput(
        f"expected an event with a certified guarantee; got {_shown(event)}; known: Gaussian, "
        "Laplace, zCDP, randomised response, Gaussian sampled by Poisson or without replacement, "
        "compositions"
    )


def _noise(event: Any) -> float:
    return float(checks.positive("noise_multiplier", event.noise_multiplier))


def _sampled(event: Any, e: Any) -> float:
    """The noise multiplier of the Gaussian event that is sampled."""
    if not isinstance(event.event, e.GaussianDpEvent):
        raise InvalidInput(f"{_SAMPLED}; got {_shown(event)}")
    return _noise(event.event)


def _randomised_response(event: Any, adjacency: Adjacency) -> Guarantee:
    """The answer is drawn again, evenly from k buckets, with probability p: ln(1 + k(1-p)/p)."""
    _only_replacing(adjacency, "randomised response")
    chance = mpf(float(checks.probability("noise_parameter", event.noise_parameter)))
    buckets = checks.count("num_buckets", event.num_buckets)
    if buckets == 1 or chance == 1:
        return PureDP(0.0)
    if chance == 0:
        return PureDP(math.inf)
    return PureDP(round_up(context().log1p(buckets * (1 - chance) / chance)))


def _zero_concentrated(event: Any) -> Guarantee:
    if checks.non_negative("xi", event.xi) != 0:
        raise InvalidInput(f"expected zCDP with xi = 0; got {_shown(event)}")
    return ZCDP(float(checks.non_negative_or_infinite("rho", event.rho)))


def _without_replacement(event: Any, e: Any, adjacency: Adjacency) -> Guarantee:
    _only_replacing(adjacency, "sampling without replacement")
    size = checks.count("sample_size", event.sample_size)
    total = checks.count("source_dataset_size", event.source_dataset_size)
    return named.gaussian_without_replacement(_sampled(event, e), size, total)


def _only_replacing(adjacency: Adjacency, what: str) -> None:
    if adjacency != Adjacency.REPLACE_ONE:
        raise InvalidInput(f"{what} needs adjacency replace-one; got adjacency={adjacency.value!r}")


def _event(table: dict[str, Any], adjacency: str) -> Any:
    """The event of one release; its noise is over one record's norm, as dp-accounting has it."""
    e = _events()
    match table:
        case {"mechanism": "gaussian"}:
            return e.GaussianDpEvent(_multiplier("noise", table, adjacency))
        case {"mechanism": "laplace"}:
            return e.LaplaceDpEvent(_multiplier("scale", table, adjacency))
        case {"mechanism": "poisson-subsampled-gaussian"}:
            gaussian = e.GaussianDpEvent(_multiplier("noise", table, adjacency))
            return e.PoissonSampledDpEvent(min(1.0, at_least(rate_of(table))), gaussian)
        case {"mechanism": "gaussian-without-replacement"}:
            return e.SampledWithoutReplacementDpEvent(
                checks.count("population", real("population", table)),
                checks.count("sample", real("sample", table)),
                e.GaussianDpEvent(_multiplier("noise", table, adjacency)),
            )
        case {"gdp": 0.0} | {"pure": 0.0}:
            return e.NoOpDpEvent()
        case {"gdp": mu}:
            return e.GaussianDpEvent(round_down(moved(adjacency) / mpf(as_real("gdp", mu))))
        case {"zcdp": rho}:
            return e.ZCDpEvent(at_least(as_real("zcdp", rho)))
    raise InvalidInput(f"dp-accounting has no event for this release: {table!r}")


def _multiplier(kind: str, table: dict[str, Any], adjacency: str) -> float:
    """The noise over one record's norm, from either way to state it; never more than was stated."""
    if f"{kind}_multiplier" in table:
        return at_most(real(f"{kind}_multiplier", table))
    return round_down(moved(adjacency) * mpf(real(f"{kind}_over_sensitivity", table)))
