"""Mistakes planted in objective perturbation; every audit must catch them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.draws import Draw
from dpcalc.algorithms.problems.minimise import Minimum
from dpcalc.auditing.suite.case import Instance
from dpcalc.audits.bugs.generic import run_by
from dpcalc.audits.instances.objective_perturbation import (
    CURVED,
    NODES,
    STRONG,
    Method,
    bound,
    instance,
    worst_pair,
)
from dpcalc.guarantees import PureDP

Array = NDArray[np.float64]


def without_jacobian(method: Method) -> Instance:
    """The noise densities' ratio alone."""
    return instance(method, *CURVED, PureDP(2 * CURVED[1] * method.noisy))


def half_the_rounds(method: Method) -> Instance:
    """Every other noisy round is charged."""
    share = bound(method, *STRONG, rounds=max(method.noisy // 2, 1))
    return instance(method, *STRONG, PureDP(share.certified().guarantee.epsilon(0.0)))


def drawn_as(method: Method, draw: type[Draw]) -> Instance:
    """Noise of another law."""
    correct = instance(method, *STRONG)
    attacked, other, _ = worst_pair(method, *STRONG)
    kind = type(attacked)
    shape = (NODES, 2)
    actual_kind = type(
        kind.__name__,
        (kind,),
        {
            "_draws": lambda self, t: (
                {"noise": draw(shape)} if kind._draws(self, t) else {}  # noqa: SLF001 - planted
            ),
            "__slots__": (),
        },
    )
    given = {e.name: getattr(attacked, e.name) for e in fields(attacked) if e.init}
    actual = actual_kind(given.pop("problem"), **given)
    return Instance(
        target=run_by(correct.target, actual, other), claim=correct.claim, certified=None
    )


class LaplacePerCoordinate(Draw):
    """Independent Laplace coordinates in place of the exponential norm."""

    def fill(self, generator: np.random.Generator, out: NDArray[Any]) -> None:
        """Of scale one."""
        out[...] = generator.laplace(size=out.shape)


class WrongRadius(Draw):
    """A uniform direction with an exponential radius, as if d were one."""

    def fill(self, generator: np.random.Generator, out: NDArray[Any]) -> None:
        """Gamma(1) in place of Gamma(d)."""
        out[...] = generator.standard_normal(out.shape)
        radius = generator.standard_exponential(out.shape[:-1])
        out *= (radius / np.linalg.norm(out, axis=-1))[..., None]


class EarlyStoppedProblem(ConsensusProblem):
    """The inner problem is left after one cautious gradient step."""

    __slots__ = ()

    def minimisers(self, linear: Array, curvature: Array, start: Array) -> Minimum:
        """One step of length 0.7 over the largest curvature."""
        length = 0.7 / (curvature + self.node_ridge + 0.25)[:, None]
        points = start - length * (self.gradients(start) + linear + curvature[:, None] * start)
        left = self.gradients(points) + linear + curvature[:, None] * points
        return Minimum(points=points, gradient_norm=np.linalg.norm(left, axis=-1))


def early_stopped(method: Method) -> Instance:
    """An inner solver that stops early."""
    correct = instance(method, *STRONG)
    attacked, other, _ = worst_pair(method, *STRONG)
    p = attacked.problem
    problem = EarlyStoppedProblem(
        records=p.records,
        network=p.network,
        loss=p.loss,
        loss_weight=p.loss_weight,
        ridge=p.ridge,
    )
    target = run_by(correct.target, replace(attacked, problem=problem), other)
    return Instance(target=target, claim=correct.claim)
