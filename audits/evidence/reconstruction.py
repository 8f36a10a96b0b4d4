"""Reconstruction: how much of one unknown record's direction the broadcasts give away.

The adversary knows everything but record 0. What the broadcasts imply as noise without that record is
the true noise plus the record's gradient, and the noise has mean zero, so its mean points along the
record. A private penalty hides this only for a while: the optimality condition is affine in it, the
noise has mean zero given the past, and so an instrument from the past estimates it.

Source: zhang2018, appendix E; section 6.2 for private penalties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.penalty_perturbation import PenaltyPerturbation
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.networks import complete
from dpcalc.algorithms.problems.records import split
from dpcalc.auditing.suite.case import SupportingTable
from dpcalc.audits.instances.objective_perturbation import Method, worst_pair

Array = NDArray[np.float64]

HORIZONS = (10, 30, 100, 300, 1000)
"""Rounds of one run after which the adversary looks."""
RUNS = 8
PENALTY = 0.8
"""What the adversary does not know."""


def with_public_penalty(
    method: Method,
    penalty: float,
    linear_rate: float,
    seed: int,
    *,
    horizons: Sequence[int] = HORIZONS,
) -> list[tuple[float, ...]]:
    """T, median and least cosine of the reconstructed with the true direction."""
    attacked, _, _ = worst_pair(method, penalty, linear_rate)
    longest = method.make(attacked.problem, penalty, linear_rate, max(horizons))
    records = longest.problem.records
    without = records.replaced(0, [0.0, 0.0], 1.0)
    implied = longest.implied_noise(longest.run(seed, runs=RUNS), without).unit[:, :, 0]
    rows: list[tuple[float, ...]] = []
    for rounds in horizons:
        cosine = _cosine(implied[:, :rounds].sum(axis=1), records)
        rows.append((float(rounds), float(np.median(cosine)), float(cosine.min())))
    return rows


def reconstruction(method: Method) -> SupportingTable:
    """The table of an audit whose adversary knows the penalty."""
    return SupportingTable(
        key="reconstruction",
        title="Cosine of the reconstructed with the true direction of the unknown record",
        columns=("noisy rounds K", "median", "worst of 8"),
        rows=partial(with_public_penalty, method, 1.0, 1.0),
    )


def with_private_penalty(
    seed: int, *, horizons: Sequence[int] = (20, 50, 200, 1000)
) -> list[tuple[float, ...]]:
    """T, the penalty, its estimate, and cosines with the estimate and with a wrong guess of it.

    With z_t the attacked node's distance from its neighbours before round t, and A_t + ηB_t what the
    optimality condition leaves without the record, η̂ = -Σ⟨z_t, A_t⟩/Σ⟨z_t, B_t⟩.
    """
    attacked = _three_nodes(max(horizons))
    records = attacked.problem.records
    transcript = attacked.run(seed, runs=RUNS)
    fixed, slope = _affine_in_penalty(attacked, transcript)
    told = np.concatenate([transcript["initial"][:, None], transcript["primal"]], axis=1)
    z = (told[:, :-1, :1] - told[:, :-1]).sum(axis=2)
    rows: list[tuple[float, ...]] = []
    for rounds in horizons:
        A, B, instrument = fixed[:, :rounds], slope[:, :rounds], z[:, :rounds]
        found = -(instrument * A).sum(axis=(1, 2)) / (instrument * B).sum(axis=(1, 2))
        known, guessed = (
            np.median(_cosine((A + np.reshape(eta, (-1, 1, 1)) * B).sum(axis=1), records))
            for eta in (found, np.full(1, 2 * PENALTY))
        )
        rows.append((float(rounds), PENALTY, float(np.median(found)), float(known), float(guessed)))
    return rows


def _affine_in_penalty(attacked: PenaltyPerturbation, transcript: Any) -> tuple[Array, Array]:
    """A_t and B_t at the attacked node, shape (runs, rounds, d), without its first record."""
    records = attacked.problem.records
    without = records.replaced(0, np.zeros(records.features.shape[1]), 1.0)
    rate = float(np.asarray(attacked.noise_rate).flat[0]) / PENALTY

    def left(penalty: float) -> Array:
        guess = replace(attacked, penalty=penalty, noise_rate=rate * penalty)
        return np.asarray(guess.implied_noise(transcript, without).unit[:, :, 0])

    first, second = left(1.0), left(2.0)
    return 2 * first - second, second - first


def _three_nodes(rounds: int) -> PenaltyPerturbation:
    """Twelve random records of five features on a triangle."""
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((12, 5))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    labels = np.where(generator.random(12) < 0.5, 1.0, -1.0)
    problem = ConsensusProblem(
        records=split(rows, labels, 3),
        network=complete(3),
        loss=Logistic(),
        loss_weight=4.0,
        ridge=0.3,
    )
    return PenaltyPerturbation(
        problem,
        rounds=rounds,
        penalty=PENALTY,
        dual_step=0.5,
        noise_rate=30.0,
        initial="random",
    )


def _cosine(implied: Array, records: Any) -> Array:
    """Of the summed implied noise with minus the gradient's direction y·x of record 0."""
    true = records.labels[0] * records.features[0]
    return np.asarray(-implied @ true / np.linalg.norm(implied, axis=1) / np.linalg.norm(true))
