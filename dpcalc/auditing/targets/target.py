"""What is attacked: a mechanism on two neighbouring inputs, and what is known about it.

A target needs only a function that returns the released values. Everything else makes the audit
stronger: a score of the adversary's, an exact log-likelihood ratio, tilted sampling, the noise that
was drawn, the declared looks at the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.targets.arguments import require_batches
from dpcalc.auditing.targets.data_access import DataAccess
from dpcalc.auditing.targets.exact_numbers import exact_numbers
from dpcalc.auditing.targets.sizes import sizes_of
from dpcalc.auditing.targets.unchanged import leaving_unchanged, require_different
from dpcalc.errors import InvalidInput, shortened
from dpcalc.transcript import Transcript
from dpcalc.vocabulary import Adjacency, AdjacencyName

Array = NDArray[np.float64]
Outputs = Any
"""What a batch of runs released: an array with runs first, or a `Transcript`."""

LOST = 1e300
"""What a released NaN counts as: far beyond every number that a mechanism releases."""


class World(StrEnum):
    """On which of the two neighbouring inputs the mechanism ran."""

    IN = "in"
    """The input with the differing record; for replace-one, the first of the two."""
    OUT = "out"
    """The input without it; for replace-one, the second."""

    @property
    def other(self) -> World:
        """The opposite one."""
        return World.OUT if self is World.IN else World.IN


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """The unit noise that a batch of runs must have drawn.

    Attributes:
        unit: in units of its scale; shape (runs, rounds, nodes, d), or (runs, looks, d) where
            looks at the data simply follow one another.
        law: what it should be a sample of.
        active: where noise was drawn at all, if not everywhere; shape of ``unit`` without d.
    """

    unit: Array
    law: Literal["gaussian", "exponential-norm"]
    active: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        unit = np.asarray(self.unit, dtype=np.float64)
        if unit.ndim not in (3, 4):
            raise InvalidInput(
                f"expected unit noise of shape (runs, rounds, nodes, d); got {unit.shape!r}"
            )
        active = None if self.active is None else np.asarray(self.active, dtype=np.bool_)
        if unit.ndim == 3:
            unit = unit[:, :, None, :]
            active = None if active is None else active[:, :, None]
        if active is not None:
            active = np.broadcast_to(active, unit.shape[:3])
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "active", active)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportanceSample:
    """Runs drawn from P, or from a law P_a that is moved away from the other world.

    Attributes:
        log_ratio: ln dP/dQ of every run, P the world's own law and Q the other world's; (runs,).
        log_tilt: ln dP_a/dP of every run; (runs,).
    """

    log_ratio: Array
    log_tilt: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplayDistances:
    """How far two replayed worlds are apart at every look, given one and the same history.

    Attributes:
        distance: ‖query on one input - query on the other‖; shape (runs, looks).
        claimed: the sensitivity that the proof uses, (looks,) or a number.
        label: what is released at every look, for the report; (looks,).
    """

    distance: Array
    claimed: Array | float
    label: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Target:
    """A mechanism on two neighbouring inputs.

    All callables are batched: the first axis is runs. Those that draw get a generator and must take
    all randomness from it.

    Attributes:
        name: for reports, one line.
        run: (world, generator, runs) -> what the runs released.
        adjacency: the relation of the two inputs.
        score: (released) -> one number per run, the larger the more it looks like the world IN.
            Left out, the log-ratio is the score; without one, a score is learnt from pilot runs.
        log_ratio: (released) -> exact ln(density in the world IN / density in the world OUT).
        tilted: (world, a, moved, generator, runs) -> runs for importance sampling: of P_a, every
            noise moved by a times the distance between the worlds, away from the other; or, if not
            ``moved``, of P itself. Either way with ln dP_a/dP.
        noise: (world, released) -> the unit noise that was drawn, if that was the world.
        shift: (generator, runs) -> distances of the two inputs' queries on replayed histories.
        largest_log_ratio: (generator) -> outcomes' |ln(p/q)|, as large as could be found.
        public: (world) -> parameters that the claim calls public, by name.
        accesses: the declared looks at the data.
        described: one line: which inputs, which adversary.
        sizes: entries of the input with the record and of that without it; None if not known.
    """

    name: str
    run: Callable[[World, np.random.Generator, int], Outputs]
    adjacency: Adjacency
    score: Callable[[Outputs], Array] | None = None
    log_ratio: Callable[[Outputs], Array] | None = None
    tilted: Callable[[World, float, bool, np.random.Generator, int], ImportanceSample] | None = None
    noise: Callable[[World, Outputs], Noise] | None = None
    shift: Callable[[np.random.Generator, int], ReplayDistances] | None = None
    largest_log_ratio: Callable[[np.random.Generator], Array] | None = None
    public: Callable[[World], Mapping[str, Any]] | None = None
    accesses: Sequence[DataAccess] = field(default=())
    described: str = ""
    sizes: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.adjacency not in list(Adjacency):
            raise InvalidInput(
                f"adjacency needs one of {', '.join(Adjacency)}; got adjacency={self.adjacency!r}"
            )
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        object.__setattr__(self, "name", " ".join(self.name.split()) or "mechanism")


def mechanism(
    release: Callable[[Any, np.random.Generator, int], Outputs],
    with_record: Any,
    without_record: Any,
    *,
    adjacency: Adjacency | AdjacencyName,
    name: str = "mechanism",
    score: Callable[[Outputs], Array] | None = None,
    log_ratio: Callable[[Outputs], Array] | None = None,
) -> Target:
    """A target made of one function and two inputs.

    Example::

        import numpy as np
        from dpcalc.auditing import mechanism
        def release(data, generator, runs):
            return data.sum() + generator.laplace(size=runs)
        target = mechanism(release, np.ones(11), np.ones(10), adjacency="add-remove")
        print(target.name)

    Args:
        release: (input, generator, runs) -> released values, runs first. It must take its
            randomness from the generator and leave the input as it is.
        with_record: the input of the world IN.
        without_record: the neighbouring input of the world OUT.
        adjacency: the relation of the two.
        name: for reports.
        score: see `Target`.
        log_ratio: see `Target`.

    Returns:
        What `audit` attacks, with its two worlds and what is known of them.

    Raises:
        InvalidInput: for an unknown adjacency, for equal inputs, under replace-one for different
            numbers of entries, and for a release that does not take the number of runs.
    """
    require_batches(release, name)
    require_different(with_record, without_record, name)
    inputs = {World.IN: with_record, World.OUT: without_record}
    on = {world: leaving_unchanged(release, given, name) for world, given in inputs.items()}
    return Target(
        name=name,
        run=lambda world, generator, runs: on[world](generator, runs),
        adjacency=adjacency,  # type: ignore[arg-type] # converted by Target
        score=score,
        log_ratio=log_ratio,
        sizes=sizes_of(with_record, without_record, adjacency, name),
    )


def features(outputs: Outputs) -> Array:
    """Everything that was released as one matrix of shape (runs, numbers).

    What is not finite counts as a number of its own: `LOST` for NaN, less for the infinities. A
    complex number is two numbers, and -0.0, which prints otherwise than 0.0, the largest below it.

    Raises:
        InvalidInput: if it is not numbers with runs first, each of them a double.
    """
    if isinstance(outputs, Transcript):
        parts = [outputs[name] for name in sorted(outputs.released)]
    elif isinstance(outputs, Mapping):
        for name in outputs:
            if not isinstance(name, str):
                raise InvalidInput(
                    f"expected words as names of what is released; got {shortened(repr(name))} of type "
                    f"{type(name).__name__}; name parts by words"
                )
        parts = [outputs[name] for name in sorted(outputs)]
    else:
        parts = [outputs]
    try:
        matrices = [_by_run(exact_numbers(part)) for part in parts]
        whole = matrices[0] if len(matrices) == 1 else np.concatenate(matrices, axis=1)
    except InvalidInput:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"expected numbers with runs as the first axis as what is released; got "
            f"{type(outputs).__name__} ({error}); give words and other objects numbers of their own"
        ) from error
    if not whole.shape[1]:
        raise InvalidInput(
            "expected at least one released number per run; got none; an empty release is private "
            "and needs no audit"
        )
    negative_zeros = np.signbit(whole) & (whole == 0)
    if negative_zeros.any():
        whole = np.where(negative_zeros, -np.finfo(np.float64).smallest_subnormal, whole)
    if np.isfinite(whole).all():
        return whole
    return np.nan_to_num(whole, nan=LOST, posinf=0.5 * LOST, neginf=-0.5 * LOST)


def _by_run(numbers: Array) -> Array:
    """Shape (runs, numbers); a number alone is no batch of runs."""
    if not numbers.ndim:
        raise TypeError("one number for all runs")
    return numbers.reshape(len(numbers), int(np.prod(numbers.shape[1:])))


def numbers_of(target: Target, outputs: Outputs, width: int | None = None) -> Array:
    """`features`, whose errors name the target.

    Args:
        target: what released them.
        outputs: what was released.
        width: how many numbers every run released so far.

    Raises:
        InvalidInput: as `features`, and for another number of them.
    """
    try:
        found = features(outputs)
    except InvalidInput as error:
        raise InvalidInput(f"target {target.name!r}: {error}") from error
    if width is not None and found.shape[1] != width:
        raise InvalidInput(
            f"expected as many numbers from every run of target {target.name!r}; got {width} in one "
            f"batch and {found.shape[1]} in another, which may give the record away; release a fixed "
            "number of values, padded"
        )
    return found
