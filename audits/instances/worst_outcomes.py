"""Outcomes of a decentralised run that give the worlds away most.

Pure privacy bounds |ln(p/q)| everywhere, so one outcome is enough, and every outcome can happen. In a
noisy round the attacked node's broadcast decides how far the two worlds' noises are apart, and the
broadcasts before it, where they point; so both are chosen: the broadcast by the margins of the two
records, and the neighbour's broadcast before it such that the noise is long and lies along the gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.records import Records
from dpcalc.errors import AssumptionViolated
from dpcalc.transcript import ROUNDS, RUNS, Series, Transcript

Array = NDArray[np.float64]

ATTACKED, NEIGHBOUR = 0, 1
"""The node with the differing record 0, and the neighbour whose broadcasts steer it."""

MARGINS = np.array([-40.0, -6.0, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 40.0])
"""Of the two records at the attacked node's broadcast."""

_LONG = 1e5  # norm of the unit noise: any finite one stays below the supremum


def worst_log_ratios(attacked: Any, other: Records) -> Array:
    """|ln(p/q)| at crafted outcomes, one per pair of margins and direction.

    Args:
        attacked: a method of `NetworkADMM` with a random start, so that round 1 is steered as well.
        other: data of the world OUT, differing in record 0.

    Raises:
        AssumptionViolated: if the start is fixed or the two records are parallel.
    """
    if not (isinstance(attacked.initial, str) and attacked.initial == "random"):
        raise AssumptionViolated("expected initial='random' to craft outcomes of round 1")
    neighbour = attacked.with_records(other)
    points = _points(attacked.problem.records, other)
    noisy = len(attacked._noisy_rounds())  # noqa: SLF001 - outcomes are built round by round
    nodes, d = attacked.problem.nodes, attacked.problem.dimension
    ratios = []
    for sign in (1.0, -1.0):
        broadcasts = np.zeros((len(points), noisy + 1, nodes, d))
        broadcasts[:, 1:, ATTACKED] = points[:, None]
        for k in range(noisy):
            broadcasts[:, k, NEIGHBOUR] = _aligned(attacked, neighbour, broadcasts, k, sign)
        transcript = transcript_of(attacked, broadcasts)
        ratios.append(attacked.log_density(transcript) - neighbour.log_density(transcript))
    return np.abs(np.concatenate(ratios))


def _points(records: Records, other: Records) -> Array:
    """Broadcasts at which the two records have given margins, all pairs of `MARGINS`."""
    rows = np.stack([r.labels[0] * r.features[0] for r in (records, other)])
    if np.linalg.matrix_rank(rows, tol=1e-9) < 2:
        raise AssumptionViolated("expected two records that are not parallel to set both margins")
    pairs = np.stack(np.meshgrid(MARGINS, MARGINS), axis=-1).reshape(-1, 2)
    return np.asarray(pairs @ np.linalg.pinv(rows).T)


def _aligned(attacked: Any, neighbour: Any, broadcasts: Array, k: int, sign: float) -> Array:
    """The helper's broadcast before noisy round k that gives it long noise along the gap.

    The attacked node's noise in that round is an affine function of the broadcast.
    """
    d = broadcasts.shape[-1]
    probes = np.repeat(broadcasts[None], d + 1, axis=0)
    for j in range(d):
        probes[j + 1, :, k, NEIGHBOUR, j] += 1.0
    flat = probes.reshape(-1, *broadcasts.shape[1:])
    transcript = transcript_of(attacked, flat)
    unit = attacked.implied_noise(transcript).unit[:, k, ATTACKED]
    gap = (neighbour.implied_noise(transcript).unit[:, k, ATTACKED] - unit)[: len(broadcasts)]
    unit = unit.reshape(d + 1, len(broadcasts), d)
    slope = np.moveaxis(unit[1:] - unit[0], 0, -1)
    length = np.linalg.norm(gap, axis=1, keepdims=True)
    wanted = sign * _LONG * gap / np.where(length > 0, length, 1.0)
    move = np.linalg.solve(slope, (wanted - unit[0])[..., None])[..., 0]
    return np.asarray(broadcasts[:, k, NEIGHBOUR] + move)


def transcript_of(attacked: Any, broadcasts: Array) -> Transcript:
    """The transcript with given broadcasts, those of rounds without noise as they follow.

    Args:
        attacked: a method of `NetworkADMM`.
        broadcasts: f(0) and the broadcasts of noisy rounds; shape (runs, 1 + noisy rounds, nodes, d).
    """
    memory = attacked._memory(broadcasts[:, 0])  # noqa: SLF001 - the same steps as a run's
    primal, taken = [], 1
    for t in range(1, attacked.rounds + 1):
        now = attacked._recycled(t, memory)  # noqa: SLF001
        if now is None:
            now, taken = broadcasts[:, taken], taken + 1
        memory = attacked._follow(t, memory, now)  # noqa: SLF001
        primal.append(now)
    axes = ("nodes", "features")
    meaning = {name: caption.meaning for name, caption in attacked.released.items()}
    return Transcript(
        algorithm=attacked.key,
        release=attacked.full_release,
        rounds=attacked.rounds,
        released={
            "initial": Series(
                values=broadcasts[:, 0], axes=(RUNS, *axes), meaning=meaning["initial"]
            ),
            "primal": Series(
                values=np.stack(primal, axis=1),
                axes=(RUNS, ROUNDS, *axes),
                meaning=meaning["primal"],
            ),
        },
    )
