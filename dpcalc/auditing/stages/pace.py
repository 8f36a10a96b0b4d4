"""An audit with a limit of time: smaller batches and a shorter pilot for a slow target.

How long runs take is measured on some that are used for nothing else. Neither the size of batches nor
that of the pilot depends on what was released, so no bound is touched.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.sampling.looks import look
from dpcalc.auditing.targets.target import Target, World

if TYPE_CHECKING:
    from dpcalc.auditing.design import AuditDesign
    from dpcalc.store import Store

NAME = "time"
_FEWEST = 16  # runs of a batch
_SHORTEST = 40  # runs of a pilot
_BATCH = 0.05  # share of the time for one batch
_PILOT = 0.4  # share of what is left for the pilot
_NEAR = 1.05  # a limit exceeded by less is kept
_PACED = "paced"


def _now() -> float:
    return time.monotonic()


@dataclass(frozen=True, slots=True)
class Clock:
    """A limit of time and when it began.

    Attributes:
        seconds: the limit; None for none.
        begun: when the clock started.
    """

    seconds: float | None = None
    begun: float = field(default_factory=_now)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return _now() - self.begun

    def is_over(self, after: float = 0.0) -> bool:
        """Whether the limit will be exceeded after so many seconds more."""
        return self.seconds is not None and self.elapsed + after > self.seconds


def paced(
    design: AuditDesign, target: Target, clock: Clock, seed: int, store: Store | None
) -> tuple[AuditDesign, float]:
    """The design that fits the time that is left, and the seconds that its tilted runs will take.

    Args:
        design: without regard to time.
        target: what is attacked.
        clock: the limit.
        seed: of the experiment.
        store: where runs are kept; those that go on keep the sizes with which they began, with another
            limit too.
    """
    kept = None if store is None else store.read(_PACED)
    if kept is not None:
        return _sized(design, **kept[0])
    numbers: dict[str, Any] = {"batch": design.batch, "pilot": design.pilot, "tilted": 0.0}
    if clock.seconds is not None:
        batch, each = _measured(target, seed, design.batch, _BATCH * clock.seconds)
        fits = int(_PILOT * max(clock.seconds - clock.elapsed, 0.0) / each)
        pilot = min(design.pilot, max(fits, _SHORTEST))
        numbers = {"batch": batch, "pilot": pilot, "tilted": design.tilted * each}
    if store is not None:
        store.write(_PACED, numbers)
    return _sized(design, **numbers)


def _sized(design: AuditDesign, batch: int, pilot: int, tilted: float) -> tuple[AuditDesign, float]:
    return replace(design, batch=batch, pilot=pilot), tilted


def _measured(target: Target, seed: int, most: int, seconds: float) -> tuple[int, float]:
    """How many runs a batch may have, and the seconds that each of them takes."""
    size = min(_FEWEST, most)
    while True:
        begun = time.monotonic()
        look(target, World.IN, seed, 9, size)
        taken = time.monotonic() - begun
        if size == most or 2 * taken > seconds:
            return size, max(taken, 1e-9) / size
        size = min(2 * size, most)


def finding(
    clock: Clock, made: int, planned: int, *, sizes: tuple[int, int] | None = None
) -> Finding | None:
    """What to know where the time did not suffice for all; None where it did.

    Args:
        clock: the limit.
        made: counted runs; 0 where a check settled the claim.
        planned: those that the time was to suffice for.
        sizes: of batches and pilot, where they were made smaller.
    """
    seconds, taken = clock.seconds, clock.elapsed
    if seconds is None:
        return None
    texts = []
    if sizes is not None:
        texts.append(f"batches of {sizes[0]} runs and a pilot of {sizes[1]}, to end in time")
    if made < planned:
        texts.append(f"{made} of {planned} planned runs were counted in the {seconds:g} s given")
    if taken > _NEAR * seconds:
        least = "checks, a pilot, a batch and controls are made in any case"
        texts.append(f"all took {taken:.3g} s where {seconds:g} s were given: {least}")
    if not texts:
        return None
    numbers = {"made": made, "planned": planned, "seconds": seconds, "taken": taken}
    return Finding(check=NAME, severity=Severity.HOLDS, text="; ".join(texts), numbers=numbers)
