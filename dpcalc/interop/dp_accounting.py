"""Google's dp-accounting event objects, read as guarantees and written from an accountant.

An event says what was done; its neighbouring relation is said apart, as in dp-accounting itself.
A noise multiplier is the noise over one record's largest norm, so replacing a record moves the sum by
twice that, sampled or not.
Needs the extra ``dp-accounting``.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from dpcalc.accountant import Accountant
from dpcalc.errors import InvalidInput
from dpcalc.extras import need
from dpcalc.guarantees import ZCDP, Guarantee, PureDP, compose
from dpcalc.guarantees import mechanisms as named
from dpcalc.numerics.precise import context, mpf, round_up
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from dp_accounting import DpEvent

_SAMPLED = (
    "Gaussian noise is the only mechanism whose sampling is supported; compose the unsampled one"
)


def guarantee_of(event: DpEvent, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Guarantee:
    """A certified guarantee of what an event describes.

    Args:
        event: a dp-accounting event, composed or not.
        adjacency: the neighbouring relation that all its events are read under.

    Raises:
        InvalidInput: for events that have no certified guarantee here; the text names the event.
    """
    return compose(_parts(event, 1, Adjacency(adjacency)))


def event_of(accountant: Accountant) -> DpEvent:
    """The dp-accounting event of everything an accountant has counted.

    Raises:
        InvalidInput: for releases that dp-accounting has no event for.
    """
    events = _events()
    composed = [
        events.SelfComposedDpEvent(_event(json.loads(spent.kind)), spent.count)
        for spent in accountant.releases
    ]
    return events.ComposedDpEvent(composed)


def _events() -> Any:
    need("dp_accounting", purpose="the exchange of events")
    from dp_accounting import dp_event

    return dp_event


def _parts(event: Any, count: int, adjacency: Adjacency) -> list[tuple[Guarantee, int]]:
    """What an event consists of, with how often each part is used."""
    e = _events()
    if isinstance(event, e.NoOpDpEvent):
        return []
    if isinstance(event, e.ComposedDpEvent):
        return [part for inner in event.events for part in _parts(inner, count, adjacency)]
    if isinstance(event, e.SelfComposedDpEvent):
        return _parts(event.event, count * int(event.count), adjacency)
    return [(_single(event, e, adjacency), count)]


def _single(event: Any, e: Any, adjacency: Adjacency) -> Guarantee:
    match type(event):
        case e.GaussianDpEvent:
            return named.gaussian(float(event.noise_multiplier), adjacency)
        case e.LaplaceDpEvent:
            return named.laplace(float(event.noise_multiplier), adjacency)
        case e.ZCDpEvent:
            return _zero_concentrated(event)
        case e.RandomizedResponseDpEvent:
            return _randomised_response(event)
        case e.PoissonSampledDpEvent:
            sampled, rate = event.event, float(event.sampling_probability)
            if not isinstance(sampled, e.GaussianDpEvent):
                raise InvalidInput(f"{_SAMPLED}; got {event!r}")
            return named.poisson_subsampled_gaussian(
                float(sampled.noise_multiplier), rate, adjacency
            )
        case e.SampledWithoutReplacementDpEvent:
            return _without_replacement(event, e, adjacency)
    raise InvalidInput(
        f"an event with a certified guarantee was needed; got {event!r}; known: Gaussian, Laplace, "
        "zCDP, randomised response, Gaussian sampled by Poisson or without replacement, compositions"
    )


def _randomised_response(event: Any) -> Guarantee:
    """The answer is drawn anew, evenly from k buckets, with probability p: ln(1 + k(1-p)/p)."""
    chance, buckets = mpf(float(event.noise_parameter)), int(event.num_buckets)
    if buckets == 1 or chance == 1:
        return PureDP(0.0)
    if chance <= 0:
        return PureDP(math.inf)
    return PureDP(round_up(context().log1p(buckets * (1 - chance) / chance)))


def _zero_concentrated(event: Any) -> Guarantee:
    xi = float(getattr(event, "xi", 0.0))
    if xi != 0:
        raise InvalidInput(f"zCDP with xi = 0 was needed; got {event!r}")
    return ZCDP(float(event.rho))


def _without_replacement(event: Any, e: Any, adjacency: Adjacency) -> Guarantee:
    if adjacency != Adjacency.REPLACE_ONE:
        raise InvalidInput(
            "sampling without replacement needs adjacency replace-one; got "
            f"adjacency={adjacency.value!r}"
        )
    if not isinstance(event.event, e.GaussianDpEvent):
        raise InvalidInput(f"{_SAMPLED}; got {event!r}")
    size, total = int(event.sample_size), int(event.source_dataset_size)
    return named.gaussian_without_replacement(float(event.event.noise_multiplier), size, total)


def _event(table: dict[str, Any]) -> Any:
    e = _events()
    match table:
        case {"mechanism": "gaussian", "noise_multiplier": sigma}:
            return e.GaussianDpEvent(sigma)
        case {"mechanism": "laplace", "scale_multiplier": scale}:
            return e.LaplaceDpEvent(scale)
        case {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": sigma, "rate": rate}:
            return e.PoissonSampledDpEvent(rate, e.GaussianDpEvent(sigma))
        case {"mechanism": "gaussian-without-replacement", "noise_multiplier": sigma}:
            return e.SampledWithoutReplacementDpEvent(
                int(table["population"]), int(table.get("sample", 1)), e.GaussianDpEvent(sigma)
            )
        case {"gdp": mu}:
            return e.GaussianDpEvent(1 / mu)
        case {"zcdp": rho}:
            return e.ZCDpEvent(rho)
    raise InvalidInput(f"dp-accounting has no event for this release: {table!r}")
