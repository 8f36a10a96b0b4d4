"""Runs for importance sampling, drawn from each world's own law and from one that is moved away."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc.auditing.sampling.runner import PURPOSES, Stage, generator, sizes
from dpcalc.auditing.targets.target import ImportanceSample, Target, World
from dpcalc.errors import InvalidInput
from dpcalc.execution.kept import Keeping, in_order_kept
from dpcalc.numerics.arithmetic import own_arithmetic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcalc.archive import Values
    from dpcalc.auditing.design import AuditDesign
    from dpcalc.store import Store

_Piece = tuple[int, bool, int, int]
"""Number of the world, whether it is moved, number of the batch, runs."""


def tilted_runs(
    target: Target,
    design: AuditDesign,
    seed: int,
    tilt: float,
    *,
    executor: Executor | None = None,
    store: Store | None = None,
) -> dict[World, tuple[ImportanceSample, ImportanceSample]]:
    """Untilted and tilted runs of each world: a quarter of the planned ones each.

    Args:
        target: what is attacked.
        design: how many runs, in batches of what size.
        seed: of the experiment.
        tilt: by how much they are moved.
        executor: who makes them; this process if left out.
        store: where they are kept.
    """
    if target.tilted is None:
        return {}
    each = sizes(max(design.tilted // 4, 1), design.batch)
    wanted: list[_Piece] = [
        (number, moved, batch, runs)
        for number in range(len(World))
        for moved in (False, True)
        for batch, runs in enumerate(each)
    ]
    keeping = Keeping(store=store, key=_key, pack=_packed, unpack=_unpacked)
    work = partial(_drawn, target, seed, tilt)
    made = in_order_kept(work, wanted, executor, keeping=keeping, what="tilted piece")
    found: dict[tuple[int, bool], list[ImportanceSample]] = {}
    for (number, moved, _, _), part in zip(wanted, made, strict=True):
        found.setdefault((number, moved), []).append(part)
    return {
        world: (_joined(found[number, False]), _joined(found[number, True]))
        for number, world in enumerate(World)
    }


def tilted_spread(target: Target, seed: int) -> float:
    """Mean of V = Σ‖d_t‖²/σ_t² over pilot runs: L has mean V/2 and variance V."""
    if target.tilted is None:
        return 0.0
    trial = target.tilted(World.IN, 1.0, True, generator(seed, Stage.PILOT, 2), 50)
    # ln dP_a/dP = a·L - (a + a²)V/2 at a = 1
    return float(np.mean(trial.log_ratio - trial.log_tilt))


@own_arithmetic
def _drawn(target: Target, seed: int, tilt: float, piece: _Piece) -> ImportanceSample:
    number, moved, batch, runs = piece
    if target.tilted is None:
        raise InvalidInput(f"expected tilted sampling; target {target.name!r} has none")
    draw = generator(seed, Stage.TILTED, number + PURPOSES * batch, int(moved))
    return target.tilted(list(World)[number], tilt, moved, draw, runs)


def _key(piece: _Piece) -> str:
    number, moved, batch, _ = piece
    return f"tilted/{list(World)[number].value}/{'moved' if moved else 'own'}/{batch}"


def _packed(answer: ImportanceSample) -> tuple[dict[str, Any], dict[str, Values]]:
    return {}, {"log_ratio": answer.log_ratio, "log_tilt": answer.log_tilt}


def _unpacked(_: Mapping[str, Any], arrays: Mapping[str, Values]) -> ImportanceSample:
    return ImportanceSample(log_ratio=arrays["log_ratio"], log_tilt=arrays["log_tilt"])


def _joined(parts: list[ImportanceSample]) -> ImportanceSample:
    return ImportanceSample(
        log_ratio=np.concatenate([part.log_ratio for part in parts]),
        log_tilt=np.concatenate([part.log_tilt for part in parts]),
    )
