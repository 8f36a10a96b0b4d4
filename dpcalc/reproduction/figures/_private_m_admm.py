"""What figures 2 to 4 of zhang2018 share: penalty perturbation against dual perturbation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from dpcalc.reproduction.experiment import Curve, Outcome, Panel
from dpcalc.reproduction.network import (
    DELTA,
    EXPONENTIAL,
    ComparedMethod,
    NetworkProblem,
    dual,
    perturbed_penalty,
    privacy_curves,
    recycled,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcalc.reproduction.network import Part

THETA = 0.5

CHOICES = (
    "C and ρ are not given: C/B = 1750/8000 and ρ = 0.22 as in zhang2019.",
    "The network is not given: a random one, for five nodes that of our zhang2019.",
    "The values of q₁ and q₂ are in lost legends: here 1.02 and 1.04, and 1.01.",
    "Dual perturbation in the paper's own unit: noise of rate α in the penalty term, η = θ.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A method of the figure with its noise rates.

    Attributes:
        contender: the method.
        noise_rate: "START:FACTOR".
    """

    contender: ComparedMethod
    noise_rate: str


def settings(start: float, rounds: int, *, full: bool) -> list[Setting]:
    """DVP with a constant and a falling noise, PP with one or two growths of the penalty."""

    def pp(q1: float, q2: float) -> Setting:
        kind = "DVP" if q1 == 1 else "PP"
        name = f"{kind} q₁={q1:g} q₂={q2:g}"
        return Setting(
            contender=perturbed_penalty(name, rounds, THETA, q1), noise_rate=f"{start!r}:{q2!r}"
        )

    fewer = [pp(1.0, 1.0), pp(1.0, 1.01), pp(1.04, 1.01)]
    return [*fewer, pp(1.02, 1.01)] if full else fewer


def shown(on: NetworkProblem, parts: Sequence[Part]) -> list[Curve]:
    """The curves of all parts."""
    return list(chain.from_iterable(on.all_of(parts)))


def as_printed(chosen: Sequence[Setting], panel: str) -> list[Part]:
    """Loss with the paper's noise, and with the certified noise of the budget the paper claims."""
    return [
        partial(_with_noise, one=one, panel=panel, noise=noise)
        for one in chosen
        for noise in ("printed", "certified")
    ]


def _with_noise(on: NetworkProblem, one: Setting, panel: str, noise: str) -> list[Curve]:
    method, printed = one.contender, one.contender.instance(on, one.noise_rate)
    if noise == "printed":
        return [method.curves(on, printed, panel=panel, noise=noise)[0]]
    claim = printed.claimed().numbers["beta"]
    calibrated = method.calibrated(on, claim, shape=one.noise_rate)
    return [method.curves(on, calibrated, panel=panel, noise=noise, suffix=", certified")[0]]


def budgets(chosen: Sequence[Setting], panel: str) -> list[Part]:
    """Privacy along the rounds."""
    return [
        partial(privacy_curves, contender=one.contender, noise_rate=one.noise_rate, panel=panel)
        for one in chosen
    ]


def at_equal_budget(epsilon: float, rounds: int, panel: str) -> list[Part]:
    """All methods at one certified ε, with ADMM stopped after as many noisy rounds as R-ADMM."""
    half = rounds // 2
    contenders = [
        dual(f"ADMM {rounds} noisy rounds", rounds, THETA),
        perturbed_penalty(f"PP q₁=1.04 {rounds} noisy rounds", rounds, THETA, 1.04),
        dual(f"ADMM {half} noisy rounds", half, THETA),
        dual(f"ADMM {half // 2} noisy rounds", half // 2, THETA),
        recycled(f"R-ADMM {half} noisy rounds", rounds, THETA, 1.0, 0.5),
    ]
    return [partial(_at_budget, one=one, epsilon=epsilon, panel=panel) for one in contenders]


def _at_budget(on: NetworkProblem, one: ComparedMethod, epsilon: float, panel: str) -> list[Curve]:
    calibrated = one.calibrated(on, epsilon, DELTA)
    return [one.curves(on, calibrated, panel=panel, noise="certified")[0]]


def loss_panel(key: str, title: str, *, ours: bool = False) -> Panel:
    """Average loss along the rounds."""
    return Panel(key=key, title=title, x="round t", y="average loss", log_y=True, ours=ours)


def privacy_panel(key: str, title: str) -> Panel:
    """Privacy along the rounds."""
    y = "P(t); dashed: certified ε at δ=1e-6"
    return Panel(key=key, title=title, x="round t", y=y, log_y=True)


def compared(on: NetworkProblem, rounds: int, *, full: bool) -> Outcome:
    """Losses, budgets, and losses at one certified budget, α(1) = 3: figures 3 and 4."""
    chosen = settings(3.0, rounds, full=full)
    parts = as_printed(chosen, "a") + budgets(chosen, "b") + at_equal_budget(3.0, rounds, "c")
    curves = shown(on, parts)
    return Outcome(curves=curves, notes=on.setting(f"{rounds} or as named", EXPONENTIAL))


def compared_panels() -> tuple[Panel, ...]:
    """Those of `compared`."""
    return (
        loss_panel("a", "accuracy"),
        privacy_panel("b", "privacy"),
        loss_panel("c", "all at certified (3, 1e-6)", ours=True),
    )
