"""Whether the gaps at different noise differ: two-sample t-tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcalc.reproduction.experiment import Experiment, Outcome, Table
from dpcalc.reproduction.figures._elastic_net import CHOICES, gaps, setting

if TYPE_CHECKING:
    from dpcalc.reproduction.setup import ExperimentConfig

SIGMAS = (0.05, 0.1, 0.2, 0.5, 0.7)


def compute(config: ExperimentConfig) -> Outcome:
    """P-values of the last iteration's gaps, for every pair of noise levels."""
    from dataclasses import replace

    from scipy.stats import ttest_ind

    # Independent runs for every level: a common seed would correlate the samples.
    ends = [
        gaps(replace(config, seed=config.seed + k), setting(0.5), sigma)[1][:, -1]
        for k, sigma in enumerate(SIGMAS)
    ]
    rows = [
        (f"σ = {sigma:g}", *(_text(float(ttest_ind(a, b).pvalue)) for b in ends), f"{a.mean():.4g}")
        for sigma, a in zip(SIGMAS, ends, strict=True)
    ]
    columns = ("", *(f"{sigma:g}" for sigma in SIGMAS), "mean gap")
    return Outcome(
        table=Table(columns=columns, rows=tuple(rows)), notes=("iteration 50, 100 runs each",)
    )


def _text(p: float) -> str:
    return "1.00" if p == 1 else f"{p:.1e}"


EXPERIMENT = Experiment(
    reference="chan2023, table 2",
    title="p-values between noise levels",
    compute=compute,
    choices=(*CHOICES, "The printed p-values are lost in the source; it says all are significant."),
)
