"""A target made of an algorithm that can be run, stepped and asked for densities.

Nothing of `dpcalc.algorithms` is imported: whatever has these methods can be attacked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.targets.data_access import DataAccess
from dpcalc.auditing.targets.target import (
    Array,
    ImportanceSample,
    Noise,
    Outputs,
    ReplayDistances,
    Target,
    World,
)
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.transcript import ROUNDS, RUNS, Series, Transcript
from dpcalc.vocabulary import Adjacency, AdjacencyName, Release, ReleaseName


class Algorithm(Protocol):
    """What `dpcalc.algorithms.engine.algorithm.Algorithm` offers and an audit uses."""

    key: str
    rounds: int
    full_release: Any
    released: Any

    def with_records(self, records: Any) -> Self:
        """The same algorithm on other data."""

    def run(self, rng: Any = None, *, runs: int = 1, release: Any = None) -> Transcript:
        """A batch of independent runs."""

    def start(self, rng: Any = None, *, runs: int = 1) -> Any:
        """The state before the first round."""

    def step(self, state: Any, *, nudge: Array | None = None) -> Any:
        """One more round, its unit noise moved by ``nudge``."""

    def normalised_distance(self, state: Any, records: Any) -> Array:
        """By how much more unit noise the next release implies under other records."""

    def implied_noise(self, transcript: Transcript, records: Any = None) -> Any:
        """The noise that must have been drawn."""

    def log_density(self, transcript: Transcript, records: Any = None) -> Array:
        """Exact log-density of the released arrays."""

    def data_accesses(self, adjacency: Adjacency | None = None) -> Sequence[DataAccess]:
        """The declared looks at the data."""


def algorithm_target(
    algorithm: Algorithm,
    neighbour: Any,
    *,
    adjacency: Adjacency | AdjacencyName,
    release: Release | ReleaseName | None = None,
    name: str = "",
    score: Callable[[Outputs], Array] | None = None,
    log_ratio: Callable[[Outputs], Array] | None = None,
    public: Callable[[World], Mapping[str, Any]] | None = None,
    described: str = "",
) -> Target:
    """Everything an audit can use of an algorithm and a neighbouring data set.

    Of a full release: the exact likelihood ratio, the drawn noise, replayed distances, and tilted
    sampling where the noise is added to a noiseless value. Of a last iterate: runs, and what the
    caller gives. What the algorithm cannot do is left out.

    Args:
        algorithm: on the data of the world IN.
        neighbour: the data of the world OUT.
        adjacency: the relation of the two.
        release: the full release if left out.
        name: the algorithm's key if left out.
        score: see `Target`; for releases without a density.
        log_ratio: an exact log-likelihood ratio, where the algorithm's own does not apply.
        public: see `Target`.
        described: see `Target`.
    """
    pair = {World.IN: algorithm, World.OUT: algorithm.with_records(neighbour)}
    full = release is None or Release(release) == algorithm.full_release
    probe = _probe(pair) if full else _Abilities()
    ratio = log_ratio
    if ratio is None and probe.density:
        ratio = _log_ratio(pair)
    relation = Adjacency(adjacency)
    looks = tuple(algorithm.data_accesses(relation))
    return Target(
        name=name or algorithm.key,
        run=lambda world, generator, runs: pair[world].run(generator, runs=runs, release=release),
        adjacency=relation,
        score=score,
        log_ratio=ratio,
        tilted=_tilted(pair) if probe.tilt and log_ratio is None else None,
        noise=_noise(pair) if probe.noise else None,
        shift=_shift(pair, looks) if probe.noise else None,
        public=public,
        accesses=looks,
        described=described,
    )


@dataclass(frozen=True, slots=True)
class _Abilities:
    """What an algorithm can be asked for."""

    density: bool = False
    noise: bool = False
    tilt: bool = False


Pair = Mapping[World, Algorithm]


def _probe(pair: Pair) -> _Abilities:
    """What one run with a fixed seed says the algorithm can do."""
    here, there = pair[World.IN], pair[World.OUT]
    trial = here.run(0, runs=1)
    try:
        here.log_density(trial)
        _density(there, trial)
    except AssumptionViolated:
        return _Abilities()
    try:
        law = here.implied_noise(trial).law
    except AssumptionViolated:
        return _Abilities(density=True)
    if law != "gaussian":  # the tilt's density ratio is that of a moved Gaussian
        return _Abilities(density=True, noise=True)
    try:
        _stepped(here, there, 0.0, np.random.default_rng(0), 1)
    except (AssumptionViolated, InvalidInput):
        return _Abilities(density=True, noise=True)
    return _Abilities(density=True, noise=True, tilt=True)


def _density(algorithm: Algorithm, transcript: Transcript) -> Array:
    """Log-density; minus infinity where the noiseless part of the release is impossible."""
    try:
        return np.asarray(algorithm.log_density(transcript))
    except InvalidInput:
        return np.full(transcript.runs, -np.inf)


def _log_ratio(pair: Pair) -> Callable[[Outputs], Array]:
    def ratio(transcript: Transcript) -> Array:
        p, q = (_density(pair[world], transcript) for world in World)
        lost = np.isneginf(p) & np.isneginf(q)
        with np.errstate(invalid="ignore"):
            return np.where(lost, 0.0, p - q)

    return ratio


def _noise(pair: Pair) -> Callable[[World, Outputs], Noise]:
    def drawn(world: World, transcript: Transcript) -> Noise:
        implied = pair[world].implied_noise(transcript)
        return Noise(unit=implied.unit, law=implied.law, active=implied.active)

    return drawn


def _shift(
    pair: Pair, looks: Sequence[DataAccess]
) -> Callable[[np.random.Generator, int], ReplayDistances]:
    """Replayed distances: the difference of the unit noises that one transcript implies."""

    def replayed(generator: np.random.Generator, runs: int) -> ReplayDistances:
        transcript = pair[World.IN].run(generator, runs=runs)
        here = pair[World.IN].implied_noise(transcript)
        there = pair[World.OUT].implied_noise(transcript)
        gap = np.linalg.norm(here.unit - there.unit, axis=-1)
        claimed, label = _claimed(looks, tuple(here.rounds), gap.shape[2])
        return ReplayDistances(
            distance=gap.reshape(len(gap), -1),
            claimed=claimed.reshape(-1),
            label=label,
        )

    return replayed


def _claimed(
    looks: Sequence[DataAccess], rounds: Sequence[int], nodes: int
) -> tuple[Array, tuple[str, ...]]:
    """Sensitivity over noise scale of every round and node, as the looks declare it."""
    claimed = np.full((len(rounds), nodes), np.inf)
    for look in looks:
        if look.round not in rounds:
            continue
        row = rounds.index(look.round)
        column = look.node if look.node is not None and look.node < nodes else slice(None)
        claimed[row, column] = look.sensitivity / _scale(look.noise)
    label = tuple(f"round {t}, node {i}" for t in rounds for i in range(nodes))
    return claimed, label


def _scale(noise: Any) -> float:
    if hasattr(noise, "sigma"):
        return float(noise.sigma)
    return 1 / float(noise.rate) if hasattr(noise, "rate") else 0.0


def _tilted(
    pair: Pair,
) -> Callable[[World, float, bool, np.random.Generator, int], ImportanceSample]:
    def draw(
        world: World, a: float, moved: bool, generator: np.random.Generator, runs: int
    ) -> ImportanceSample:
        here, there = pair[world], pair[world.other]
        transcript, spread = _stepped(here, there, a if moved else 0.0, generator, runs)
        ratio = here.log_density(transcript) - there.log_density(transcript)
        return ImportanceSample(log_ratio=ratio, log_tilt=a * ratio - (a + a**2) * spread / 2)

    return draw


def _stepped(
    here: Algorithm, there: Algorithm, a: float, generator: np.random.Generator, runs: int
) -> tuple[Transcript, Array]:
    """Runs whose every noise is moved by ``a`` gaps, and V = Σ‖gap‖² of each."""
    records = there.problem.records  # type: ignore[attr-defined] # every algorithm has a problem
    state = here.start(generator, runs=runs)
    kept: dict[str, list[NDArray[Any]]] = {}
    spread = np.zeros(runs)

    def keep(released: Mapping[str, NDArray[Any]]) -> None:
        for name, values in released.items():
            kept.setdefault(name, []).append(values)

    keep(state.released)
    for _ in range(here.rounds):
        gap = here.normalised_distance(state, records)
        spread = spread + np.square(gap).reshape(runs, -1).sum(axis=1)
        state = here.step(state, nudge=a * gap)
        keep(state.released)
    return _transcript(here, kept), spread


def _transcript(algorithm: Algorithm, kept: Mapping[str, list[NDArray[Any]]]) -> Transcript:
    """The full release of a run that was stepped by hand."""
    released = {}
    for name, caption in algorithm.released.items():
        if name not in kept:
            continue
        values = np.stack(kept[name], axis=1) if caption.each_round else kept[name][-1]
        axes = (RUNS, *((ROUNDS,) if caption.each_round else ()), *caption.axes)
        released[name] = Series(values=values, axes=axes, meaning=caption.meaning)
    return Transcript(
        algorithm=algorithm.key,
        release=algorithm.full_release,
        rounds=algorithm.rounds,
        released=released,
    )
