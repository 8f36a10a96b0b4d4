"""What figures 3 to 5 of zhang2019 share: the problem, and curves with their certified matches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.reproduction.experiment import Curve, Panel
from dpcalc.reproduction.network import ComparedMethod, NetworkProblem, nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcalc.reproduction.network import Part
    from dpcalc.reproduction.setup import ExperimentConfig

ROUNDS = 50
NOISES = ("printed", "certified")


def network_of_figures(config: ExperimentConfig) -> NetworkProblem:
    """Five nodes, 40,000 training records of Adult."""
    from dpcalc.algorithms.problems.networks import erdos_renyi

    train = 40_000 if config.has_data("adult") else None
    return nodes(config, erdos_renyi(5, 0.6, 4), train=train)


def without_noise(on: NetworkProblem, panels: str) -> list[Curve]:
    """Conventional ADMM without noise: the green curve of the paper."""
    x, found = on.run("decentralised-admm", rounds=ROUNDS, penalty=1.0)
    return [Curve(panel=panel, name="ADMM without noise", x=x, y=found["loss"]) for panel in panels]


def matched_curves(contender: ComparedMethod, alpha: float, panel: str) -> list[Part]:
    """With the printed noise, and with certified noise for the ε that the paper claims."""
    return [
        partial(_matched, contender=contender, alpha=alpha, panel=panel, noise=noise)
        for noise in NOISES
    ]


def _matched(
    on: NetworkProblem, contender: ComparedMethod, alpha: float, panel: str, noise: str
) -> tuple[Curve, NDArray[np.float64]]:
    printed = contender.instance(on, alpha)
    if noise == "printed":
        return contender.curves(on, printed, panel=panel, noise=noise)
    calibrated = contender.calibrated(on, printed.claimed().numbers["beta"])
    return contender.curves(on, calibrated, panel=panel, noise=noise, suffix=", certified")


def error_curves(
    panel: str, x: Sequence[float], found: Sequence[NDArray[np.float64]], name: str
) -> list[Curve]:
    """Held-out errors at the end against a parameter; printed and certified noise in turn."""
    return [
        Curve(
            panel=panel,
            name=name if noise == "printed" else f"{name}, certified",
            x=x,
            y=np.stack(found[number :: len(NOISES)], axis=1),
            noise=noise,
        )
        for number, noise in enumerate(NOISES)
    ]


def loss_panel(key: str, title: str, *, ours: bool = False) -> Panel:
    """Average loss along the rounds."""
    return Panel(key=key, title=title, x="round t", y="average loss", log_y=True, ours=ours)


def error_panel(key: str, x: str, *, log_x: bool = False) -> Panel:
    """Classification error on held-out records."""
    title = "classification error"
    return Panel(key=key, title=title, x=x, y="error on held-out records", log_x=log_x)


def privacy_panel(key: str, title: str) -> Panel:
    """Privacy along the rounds."""
    y = "P(t); dashed: certified ε at δ=1e-6"
    return Panel(key=key, title=title, x="round t", y=y, log_y=True)
