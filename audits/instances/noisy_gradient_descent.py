"""The worst noisy gradient descent known for each theorem's parameters.

Curvatures are chosen among the smallest and the largest allowed and, where 1/η is allowed, the one
that makes a step forget what came before: the record's own step, so that earlier noise hides nothing,
or the others'. Lipschitz losses have bounded gradients, so there only linear ones are taken, or
quadratics on a domain that is searched for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing import Target
from dpcalc.audits.instances.noisy_steps import (
    Descent,
    chosen,
    gaussian_target,
    scored_target,
    strongest,
)

Array = NDArray[np.float64]

MOST_STEPS = 50_000
"""Beyond these an instance is not simulated."""
MOST_ORDERS = 1500
"""Beyond these laws a mixture is not computed."""


def target(theorem: Any) -> Target | None:
    """The instance of a theorem; None if it would take too long."""
    return _MADE[theorem.key](theorem)


def _factors(theorem: Any) -> list[float]:
    """What a step can multiply by: at the smallest and the largest curvature, and 0 if between."""
    eta = theorem.step_size
    ends = [1 - eta * theorem.curvature(), 1 - eta * theorem.smoothness]
    return [*ends, 0.0] if min(ends) <= 0 <= max(ends) else ends


def _named(theorem: Any) -> dict[str, Any]:
    return {"name": theorem.key, "adjacency": theorem.adjacency}


def full_batch(theorem: Any) -> Target | None:
    """Noisy-gd: the record counts in every step, all curvatures alike."""
    if theorem.steps > MOST_STEPS:
        return None
    eta, steps = theorem.step_size, theorem.steps
    settings = [
        Descent(
            factors=np.full(steps, factor),
            uses=np.full(steps, eta * theorem.sensitivity / theorem.n_records / 2),
            noise=eta * theorem.sigma,
        )
        for factor in _factors(theorem)
    ]
    return gaussian_target(strongest(settings), **_named(theorem))


def cyclic(theorem: Any) -> Target | None:
    """Noisy-cgd: batches in a fixed or a random order, on the whole line."""
    batches, passes = theorem.n_batches, theorem.passes
    steps = batches * passes
    random = theorem.order != "fixed"
    if steps > MOST_STEPS or (random and batches > MOST_ORDERS):
        return None
    last = batches if theorem.position is None else theorem.position
    settings = [
        _cyclic(theorem, [last - 1] * passes, own, other)
        for other in _factors(theorem)
        for own in (_factors(theorem) if not random else [other])
    ]
    best = strongest(settings)
    if not random:
        return gaussian_target(best, **_named(theorem))
    jump = float(best.uses.max())
    orders = np.tile(jump * np.eye(batches), passes)
    if theorem.order == "shuffled-once" or passes == 1:
        mixed = Descent(
            factors=best.factors, uses=best.uses, noise=best.noise, drawn=chosen(orders)
        )
        return gaussian_target(mixed, orders=orders, **_named(theorem))
    drawn = Descent(
        factors=best.factors,
        uses=best.uses,
        noise=best.noise,
        drawn=_reshuffled(jump, batches, passes),
    )
    return scored_target(drawn, **_named(theorem))


def in_turn_within(theorem: Any) -> Target | None:
    """Noisy-cgd-constrained: the same on a bounded interval, curvature as small as allowed."""
    batches, passes = theorem.n_batches, theorem.passes
    if batches * passes > MOST_STEPS:
        return None
    last = batches if theorem.position is None else theorem.position
    factor = 1 - theorem.step_size * theorem.curvature()
    free = _cyclic(theorem, [last - 1] * passes, factor, factor)
    drawn = None
    if theorem.order == "shuffled-once":
        drawn = chosen(np.tile(free.uses.max() * np.eye(batches), passes))
    elif theorem.order == "reshuffled":
        drawn = _reshuffled(float(free.uses.max()), batches, passes)
    held = Descent(
        factors=free.factors,
        uses=free.uses,
        noise=free.noise,
        radius=theorem.diameter / 2,
        drawn=drawn,
    )
    return scored_target(held, **_named(theorem))


def sampled(theorem: Any) -> Target | None:
    """Noisy-sgd and its forms on a bounded domain: a batch drawn in every step, on a line.

    On an interval losses are Lipschitz; without one only the record's change is bounded.
    """
    steps, share = theorem.steps, theorem.batch_size / theorem.n_records
    if steps > MOST_STEPS:
        return None
    eta, curvature = theorem.step_size, theorem.curvature()
    diameter = getattr(theorem, "diameter", None)
    slope = theorem.lipschitz - curvature * (diameter or 0.0) / 2
    jump = eta * max(slope, 0.0) / theorem.batch_size

    def drawn(generator: np.random.Generator, runs: int) -> Array:
        return jump * (generator.random((runs, steps)) < share)

    made = Descent(
        factors=np.full(steps, 1 - eta * curvature),
        uses=np.full(steps, jump),
        noise=eta * theorem.sigma,
        radius=None if diameter is None else diameter / 2,
        drawn=None if share == 1 else drawn,
    )
    if share == 1 and diameter is None:
        return gaussian_target(made, **_named(theorem))
    return scored_target(made, **_named(theorem))


def one_pass(theorem: Any) -> Target | None:
    """Pnsgd: linear losses, the record's step points one way or the other."""
    if theorem.n_records > MOST_STEPS:
        return None
    return gaussian_target(_walk(theorem), **_named(theorem))


def one_pass_curved(theorem: Any) -> Target | None:
    """Pnsgd-strongly-convex: quadratics on an interval, as wide as tells the worlds apart best.

    A wide one leaves little of the gradient's bound to the record, a narrow one cuts the iterates
    off.
    """
    if theorem.n_records > MOST_STEPS:
        return None
    eta, n, own = theorem.step_size, theorem.n_records, theorem.n_records - theorem.steps_left()
    settings = []
    for curvature in {theorem.strong_convexity, theorem.smoothness}:
        factor = 1 - eta * curvature
        spread = eta * theorem.sigma / np.sqrt(max(1 - factor**2, 1 / n))
        for width in (0.25, 0.5, 1.0, 2.0, 3.0):
            slope = theorem.lipschitz - curvature * width * spread
            uses = np.zeros(n)
            uses[own] = eta * max(slope, 0.0)
            settings.append(
                Descent(
                    factors=np.full(n, factor),
                    uses=uses,
                    noise=eta * theorem.sigma,
                    radius=width * spread,
                )
            )
    return scored_target(max(settings, key=_seen_apart), **_named(theorem))


def all_in_one_pass(theorem: Any) -> Target | None:
    """Pnsgd-all-users: the first user who is sure to take part, the end left to chance.

    A second coordinate is pushed as far as the gradients' bound allows and tells how many steps were
    made. In a random order nothing tells the record's place, and linear losses do not depend on it.
    """
    n = theorem.n_records
    if theorem.order == "permutation":
        return gaussian_target(_walk(theorem), **_named(theorem)) if n <= MOST_STEPS else None
    first = theorem.first_stop()
    if n > MOST_STEPS or n + 1 - first > MOST_ORDERS:
        return None
    uses = np.zeros(n)
    uses[first - 1] = theorem.step_size * theorem.lipschitz
    stopped = Descent(
        factors=np.ones(n),
        uses=uses,
        noise=theorem.step_size * theorem.sigma,
        offset=theorem.step_size * theorem.lipschitz,
        stops=(first, n),
    )
    return gaussian_target(stopped, **_named(theorem))


def _walk(theorem: Any) -> Descent:
    """Linear losses: every step keeps what was there."""
    n = theorem.n_records
    uses = np.zeros(n)
    uses[(getattr(theorem, "position", None) or n) - 1] = theorem.step_size * theorem.lipschitz
    return Descent(factors=np.ones(n), uses=uses, noise=theorem.step_size * theorem.sigma)


def _cyclic(theorem: Any, places: list[int], own: float, other: float) -> Descent:
    """The record's batch at these places of the passes, its curvature and the others'."""
    at = np.arange(len(places)) * theorem.n_batches + np.array(places)
    factors = np.full(theorem.n_batches * theorem.passes, other)
    factors[at] = own
    uses = np.zeros(len(factors))
    uses[at] = theorem.step_size * theorem.sensitivity / theorem.batch_size / 2
    return Descent(factors=factors, uses=uses, noise=theorem.step_size * theorem.sigma)


def _reshuffled(
    jump: float, batches: int, passes: int
) -> Callable[[np.random.Generator, int], Array]:
    """A new place in every pass."""

    def drawn(generator: np.random.Generator, runs: int) -> Array:
        places = generator.integers(batches, size=(runs, passes))
        return (jump * np.eye(batches)[places]).reshape(runs, -1)

    return drawn


def _seen_apart(descent: Descent) -> float:
    """Distance of the worlds' means over their spread, on pilot runs that no bound uses."""
    from dpcalc.auditing import World

    first, second = (descent.run(world, np.random.default_rng(11), 400) for world in World)
    spread = np.sqrt((first.var() + second.var()) / 2)
    return float((first.mean() - second.mean()) / max(spread, 1e-300))


_MADE: dict[str, Callable[[Any], Target | None]] = {
    "noisy-gd": full_batch,
    "noisy-cgd": cyclic,
    "noisy-cgd-constrained": in_turn_within,
    "noisy-sgd": sampled,
    "noisy-sgd-constrained": sampled,
    "noisy-sgd-constrained-tradeoff": sampled,
    "pnsgd": one_pass,
    "pnsgd-strongly-convex": one_pass_curved,
    "pnsgd-all-users": all_in_one_pass,
}
KEYS = tuple(_MADE)
"""Theorems with an instance."""
