"""Membership inference on the scikit-learn estimators: the adversary sees the fitted model alone.

    loss threshold   the record's loss under the model: low if it was trained on
    shadow models    the adversary trains models of both kinds and compares the likelihoods of the
                     records' margins under two Gaussians fitted to them
    one run          one fit on many canaries, every one with a label by its own coin

Settings are the worst known: losses that are linear near the start, so that the canary's gradient
keeps its full norm, and steps so short that the last weights are the sum of all noisy gradients. Then
ADMM's weights show all that the transcript does. On a network half of the noise in the weights is
other nodes', which the budget does not count on: a black box cannot get nearer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing import Claim, Outcome, Target, World
from dpcalc.auditing.recorded import audit_canaries
from dpcalc.auditing.suite.case import DETECTED, Audit, Case, ClaimSource, Instance, SupportingTable
from dpcalc.vocabulary import Adjacency, Release

Array = NDArray[np.float64]

EPSILON, DELTA = 4.0, 1e-3
RECORDS, FEATURES = 6, 2
SHADOWS = 150
"""Shadow models of each kind."""

_KINDS: dict[str, dict[str, Any]] = {
    "ADMMClassifier": {
        "delta": DELTA,
        "loss": "smoothed-hinge",
        "rounds": 3,
        "accelerated": False,
        "l1": 0.0,
        "l2": 1e-3,
        "step_size": 0.01,
        "penalty": 0.01,
    },
    "AveragingClassifier": {"delta": DELTA, "rounds": 20, "proximal": 1000.0, "ridge": 5e-4},
    "NetworkClassifier": {"delta": 0.0, "rounds": 1, "penalty": 10.0, "ridge": 1e-3},
}
"""Estimators under attack, with settings that keep what one record did visible."""


def made(kind: str, epsilon: float, seed: int, **more: Any) -> Any:
    """The estimator, not yet fitted."""
    import dpcalc.estimators

    settings = _KINDS[kind] | {"epsilon": epsilon, "random_state": seed, "fit_intercept": False}
    return getattr(dpcalc.estimators, kind)(**settings | more)


def fitted(kind: str, X: Array, y: Array, seed: int, epsilon: float, **more: Any) -> Array:
    """Weights of one fit."""
    return np.ravel(made(kind, epsilon, seed, **more).fit(X, y).coef_)


def data(canary: tuple[float, ...]) -> tuple[Array, Array]:
    """Records without features, one of either label, and the canary in front: (features, label)."""
    X = np.zeros((RECORDS, FEATURES))
    X[0] = canary[:-1]
    y = np.resize([1.0, -1.0], RECORDS)
    y[0] = canary[-1]
    return X, y


@cache
def worst_pair(kind: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The canary and its replacement whose models, noise being equal, are furthest apart."""
    axis = np.eye(FEATURES)[0]
    diagonal = np.full(FEATURES, FEATURES**-0.5)
    canaries = [
        (*(sign * scale * direction), label)
        for direction in (axis, diagonal)
        for sign in (1.0, -1.0)
        for scale in (1.0, 0.5)
        for label in (1.0, -1.0)
    ]
    models = {c: fitted(kind, *data(c), 1, EPSILON) for c in canaries}
    first = canaries[0]
    second = max(canaries, key=lambda c: float(np.linalg.norm(models[c] - models[first])))
    return first, second


def target(kind: str, attack: str, *, spent: float = EPSILON) -> Target:
    """Fits on the worst pair, scored by the loss or by shadow models."""
    pair = dict(zip(World, worst_pair(kind), strict=True))

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        X, y = data(pair[world])
        seeds = generator.integers(2**31, size=runs)
        return np.stack([fitted(kind, X, y, int(seed), spent) for seed in seeds])

    attacked = Target(name=kind, run=run, adjacency=Adjacency.REPLACE_ONE)
    scores = {"loss": loss_score, "shadow": shadow_score}
    return replace(attacked, score=scores[attack](attacked, pair))


def loss_score(_: Target, pair: dict[World, tuple[float, ...]]) -> Callable[[Array], Array]:
    """Minus the logistic loss of the canary."""

    def score(models: Array) -> Array:
        return np.asarray(-np.logaddexp(0.0, -_margin(models, pair[World.IN])))

    return score


def shadow_score(
    attacked: Target, pair: dict[World, tuple[float, ...]]
) -> Callable[[Array], Array]:
    """Log-likelihood ratio of both records' margins, by Gaussians fitted to shadow models."""

    def features(models: Array) -> Array:
        return np.stack([_margin(models, record) for record in pair.values()], axis=1)

    @cache
    def shadows() -> dict[World, tuple[Array, Array]]:
        found = {}
        for number, world in enumerate(World):
            seen = features(attacked.run(world, np.random.default_rng(900 + number), SHADOWS))
            ridge = 1e-9 * np.eye(2) * max(float(seen.var()), 1e-30)
            found[world] = seen.mean(axis=0), np.cov(seen.T) + ridge
        return found

    def score(models: Array) -> Array:
        seen, logs = features(models), []
        for mean, spread in shadows().values():
            gap = seen - mean
            square = np.einsum("ri,ij,rj->r", gap, np.linalg.pinv(spread), gap)
            logs.append(-square / 2 - np.linalg.slogdet(spread)[1] / 2)
        return np.asarray(logs[0] - logs[1])

    return score


def instance(kind: str, attack: str, spent: float = EPSILON) -> Instance:
    """One estimator under one attack, against what its fit certifies for the budget it was given."""
    model = made(kind, EPSILON, 1).fit(*data(worst_pair(kind)[0]))
    delta = _KINDS[kind]["delta"]
    guarantee = model.plan_.certified().guarantee
    return Instance(
        target=target(kind, attack, spent=spent),
        claim=Claim(
            guarantee=guarantee,
            delta=delta,
            adjacency=Adjacency.REPLACE_ONE,
            release=Release.LAST_ITERATE,
            name=f"budget ({EPSILON:g}, {delta:g})",
        ),
        certified=guarantee.epsilon(delta) if spent == EPSILON else None,
        note=f"{RECORDS} records, the fitted weights are all that is seen",
    )


def one_run(seed: int) -> list[tuple[float, ...]]:
    """ε of the budget, right guesses of how many, the lower bound from a single fit."""
    canaries, each, delta = 400, 40, 1e-5
    rows: list[tuple[float, ...]] = []
    for epsilon in (1.0, 4.0, 16.0, 64.0):
        coins = np.random.default_rng([seed, int(epsilon)]).random(canaries) < 0.5
        labels = np.where(coins, 1.0, -1.0)
        model = fitted("ADMMClassifier", np.eye(canaries), labels, seed, epsilon, delta=delta)
        claim = Claim.of(
            epsilon=epsilon,
            delta=delta,
            adjacency=Adjacency.REPLACE_ONE,
            release=Release.EVERY_MESSAGE,
        )
        verdict = audit_canaries(
            claim, coins, model, guess_in=each, guess_out=each, fair_coins=True
        )
        seen = verdict.evidence[0]
        rows.append((epsilon, float(seen.counted["correct"]), 2.0 * each, verdict.epsilon_lower))
    return rows


def _margin(models: Array, record: tuple[float, ...]) -> Array:
    x, label = np.array(record[:-1]), record[-1]
    return np.asarray(label * (models @ x))


def _case(
    key: str,
    title: str,
    role: ClaimSource,
    made: Any,
    expected: Any,
    *,
    only_on_request: bool = False,
) -> Case:
    return Case(
        key=key,
        title=title,
        role=role,
        instance=made,
        expected=expected,
        runs=1600 if only_on_request else 800,
        batch=400,
        # Laplace noise shows most in its tails, Gaussian noise in the middle.
        methods=("clopper-pearson", "accuracy") if only_on_request else None,
        only_on_request=only_on_request,
    )


_HELD = (Outcome.NOT_REFUTED,)

AUDIT = Audit(
    key="estimators",
    title="The scikit-learn estimators, black box",
    reference="membership inference by loss and by shadow models",
    theorem="dp-admm",
    libraries=("sklearn", "networkx"),
    cases=(
        *(
            _case(
                f"{kind.removesuffix('Classifier').lower()}-{attack}",
                f"{kind}, {'loss threshold' if attack == 'loss' else 'shadow models'}",
                ClaimSource.CERTIFIED,
                partial(instance, kind, attack),
                _HELD,
                only_on_request=kind == "NetworkClassifier",
            )
            for kind in _KINDS
            for attack in ("loss", "shadow")
        ),
        _case(
            "overspent",
            "ADMMClassifier fitted with 40 times the budget it is sold with",
            ClaimSource.BUG,
            partial(instance, "ADMMClassifier", "shadow", 40 * EPSILON),
            DETECTED,
        ),
    ),
    exhibits=(
        SupportingTable(
            key="one-run",
            title="One fit with 400 canaries: lower bound of ε at δ = 1e-5",
            columns=("budget ε", "right guesses", "guesses", "lower bound"),
            rows=one_run,
        ),
    ),
)
