"""Pictures of an attack, each as SVG text that goes into a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing import World
from dpcalc.auditing.design import ANYTIME
from dpcalc.auditing.estimators import abstention, eprocess, hockey_stick, importance, rule_choice
from dpcalc.auditing.experiment import running_rule
from dpcalc.auditing.stages.sequential_curve_test import RunningCurve
from dpcalc.extras import need
from dpcalc.numerals import spelt
from dpcalc.pictures.svg import svg_text
from dpcalc.wording import confidence

if TYPE_CHECKING:
    from dpcalc.auditing.experiment import Experiment
    from dpcalc.auditing.result import AuditResult

Array = NDArray[np.float64]

_SIZE = (4.6, 3.3)
_OBSERVED, _CLAIMED, _CERTIFIED, _OTHER = "#1b6ca8", "#c0392b", "#2e7d32", "#8a6d00"
_EDGE = 1e-4  # rates beyond these are not drawn


def pictures(result: AuditResult) -> list[tuple[str, str]]:
    """(caption, SVG) of everything that can be drawn of an experiment."""
    experiment = result.experiment
    if experiment is None:
        return []
    drawn = [roc, bound_against_delta, e_process, histogram]
    found = [draw(result, experiment) for draw in drawn]
    return [*found, noise_quantiles(experiment)] if experiment.noise else found


def roc(result: AuditResult, experiment: Experiment) -> tuple[str, str]:
    """Error rates of all thresholds in normal-quantile axes, where Gaussian curves are straight."""
    from scipy.special import ndtri

    seen, claim = experiment.seen, result.verdict.claim
    order = np.argsort(-seen.score, kind="stable")
    is_in = seen.is_in[order]
    tpr = np.cumsum(is_in) / max(int(is_in.sum()), 1)
    fpr = np.cumsum(~is_in) / max(int((~is_in).sum()), 1)
    figure, axis = _axes()
    inside = np.flatnonzero((fpr > 0) & (fpr < 1) & (tpr > 0) & (tpr < 1))
    inside = (
        inside[np.unique(np.linspace(0, len(inside) - 1, 300).astype(int))]
        if inside.size
        else inside
    )
    axis.plot(ndtri(fpr[inside]), ndtri(tpr[inside]), color=_OBSERVED, lw=1.4, label="observed")
    rates = np.geomspace(_EDGE, 1 - _EDGE, 60)
    rates = np.unique(np.concatenate([rates, 1 - rates]))
    curves = [(claim.epsilon, claim.delta, "claimed", _CLAIMED, "-")]
    if claim.is_curve:
        most = 1 - np.array([claim.guarantee.tradeoff(float(x)) for x in rates])
        axis.plot(ndtri(rates), ndtri(_cut(most)), color=_CLAIMED, lw=1.4, label="claimed")
        curves = []
    if result.certified is not None:
        curves.append((result.certified, claim.delta, "certified (ε, δ)", _CERTIFIED, "--"))
    unseen = []
    for epsilon, delta, label, colour, style in curves:
        most = 1 - _region(rates, epsilon, delta)
        if not (most < 1 - _EDGE).any():  # also for an infinite ε
            unseen.append(label)
            continue
        axis.plot(ndtri(rates), ndtri(_cut(most)), color=colour, ls=style, lw=1.4, label=label)
    ticks = np.array([0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999])
    for side in (axis.xaxis, axis.yaxis):
        side.set_ticks(ndtri(ticks), [f"{t:g}" for t in ticks], fontsize=7)
    axis.set(xlim=ndtri([_EDGE, 1 - _EDGE]), ylim=ndtri([_EDGE, 1 - _EDGE]))
    axis.set(xlabel="false-positive rate", ylabel="true-positive rate")
    axis.legend(frameon=False, fontsize=8, loc="lower right")
    caption = (
        "Receiver operating characteristic of the counted runs, both axes in normal quantiles. An "
        "attack above the claimed curve contradicts it; what counts are the bounds, not this curve."
    )
    if unseen:
        names = " and ".join(unseen)
        caption += f" The region {names} allows every rate that is drawn, so it has no line."
    return caption, svg_text(figure)


def bound_against_delta(result: AuditResult, experiment: Experiment) -> tuple[str, str]:
    """Lower bounds of ε at many δ, next to the claim."""
    claim, share = result.verdict.claim, experiment.design.share
    least = min(claim.delta, 1e-6) if claim.delta > 0 else 1e-6
    deltas = np.geomspace(least, 0.2, 25)
    lines = _bounds(experiment, deltas, share)
    figure, axis = _axes()
    for name, values in lines.items():
        colour = _OTHER if name in ("error rates", *ANYTIME) else _OBSERVED
        axis.plot(deltas, values, color=colour, lw=1.4, label=f"lower bound, {name}")
    claimed = np.array([claim.guarantee.epsilon(float(d)) for d in deltas])
    shown = np.isfinite(claimed)
    if shown.any():
        axis.plot(deltas[shown], claimed[shown], color=_CLAIMED, lw=1.4, label="claimed")
    if result.certified is not None and math.isfinite(result.certified) and claim.delta > 0:
        axis.plot([claim.delta], [result.certified], "D", color=_CERTIFIED, ms=5, label="certified")
    if claim.delta > 0:
        axis.axvline(claim.delta, color="0.6", lw=0.8, ls=":")
    axis.set(xscale="log", xlabel="δ", ylabel="ε", ylim=(0, None))
    axis.legend(frameon=False, fontsize=8)
    caption = (
        f"Lower bounds of ε against δ, each valid by itself at confidence {confidence(share)}; the "
        "dotted line is the δ of the claim."
    )
    if experiment.stopped:
        caption += (
            " Bets ended the runs, so their number depends on what was seen and no other "
            "bound from them holds; --no-early-stop gives the tightest ones."
        )
    return caption, svg_text(figure)


def e_process(result: AuditResult, experiment: Experiment) -> tuple[str, str]:
    """Wealth of the bets on right answers, run by run."""
    claim, seen = result.verdict.claim, experiment.seen
    running = experiment.running.get("e-process")
    rule = running_rule(experiment.trial, claim, experiment.design)
    places = np.unique(np.linspace(1, seen.runs, min(200, seen.runs)).astype(int))
    says_in, says_out = seen.score > rule.upper, seen.score <= rule.lower
    right = np.cumsum((says_in & seen.is_in) | (says_out & ~seen.is_in))[places - 1]
    wrong = np.cumsum((says_in & ~seen.is_in) | (says_out & seen.is_in))[places - 1]
    if rule.abstains:
        epsilon = min(claim.epsilon, 700.0)
        wealth = eprocess.answers_log_wealth(
            right, wrong, places, epsilon=epsilon, delta=claim.delta
        )
    else:
        allowed = min(eprocess.allowed_accuracy(claim), 1 - 1e-12)
        wealth = eprocess.log_wealth(right, places, allowed)
    share = experiment.design.share
    figure, axis = _axes()
    curve = experiment.running.get("sequential-curve")
    if running is not None or curve is None:
        axis.plot(places, wealth / math.log(10), color=_OBSERVED, lw=1.4, label="e-process")
    if isinstance(curve, RunningCurve):
        after, grown = np.array(curve.path()).T
        axis.plot(after, grown / math.log(10), color=_OTHER, lw=1.4, label="sequential-curve")
    axis.axhline(-math.log10(share), color=_CLAIMED, lw=1.2, ls="--", label="refuted above")
    axis.set(xlabel="counted runs", ylabel="log₁₀ of the evidence against the claim")
    axis.legend(frameon=False, fontsize=8)
    part = "" if experiment.running else " It had no part in the verdict."
    caption = (
        "Evidence from right and wrong answers, valid whenever one stops: above the dashed line the "
        f"claim is refuted at α = {spelt(share, 3)}.{part}"
    )
    return caption, svg_text(figure)


def histogram(result: AuditResult, experiment: Experiment) -> tuple[str, str]:
    """Scores of both worlds; log-likelihood ratios where they are exact."""
    seen, epsilon = experiment.seen, result.verdict.claim.epsilon
    finite = np.isfinite(seen.score)
    figure, axis = _axes()
    edges = np.histogram_bin_edges(seen.score[finite], bins=60)
    for flag, label, colour in ((True, "with the record", _OBSERVED), (False, "without", _OTHER)):
        chosen = seen.score[(seen.is_in == flag) & finite]
        axis.hist(chosen, bins=edges, alpha=0.55, color=colour, label=label)
    if seen.exact and math.isfinite(epsilon):
        for place in (-epsilon, epsilon):
            axis.axvline(place, color=_CLAIMED, lw=1.2, ls="--")
    axis.set(xlabel="log-likelihood ratio" if seen.exact else "score", ylabel="counted runs")
    axis.legend(frameon=False, fontsize=8)
    lost = int((~finite).sum())
    text = "Exact log-likelihood ratios" if seen.exact else "The adversary's scores"
    text += " of the counted runs in both worlds"
    text += "; dashed: ±claimed ε." if seen.exact else "."
    text += f" {lost} runs gave the world away for certain." if lost else ""
    return text, svg_text(figure)


def noise_quantiles(experiment: Experiment) -> tuple[str, str]:
    """Quantiles of the drawn unit noise against those it should have."""
    from scipy.special import gammaincinv, ndtri

    noise = experiment.noise[World.IN]
    vectors = noise.unit.reshape(-1, noise.unit.shape[-1])
    if noise.active is not None:
        vectors = vectors[noise.active.reshape(-1)]
    gaussian = noise.law == "gaussian"
    values = np.sort(vectors.ravel() if gaussian else np.linalg.norm(vectors, axis=1))
    levels = (np.arange(len(values)) + 0.5) / len(values)
    ideal = ndtri(levels) if gaussian else gammaincinv(vectors.shape[1], levels)
    chosen = np.unique(np.linspace(0, len(values) - 1, min(150, len(values))).astype(int))
    figure, axis = _axes()
    axis.plot(ideal[chosen], values[chosen], ".", ms=3, color=_OBSERVED, label="drawn")
    ends = ideal[[0, -1]]
    axis.plot(ends, ends, color=_CLAIMED, lw=1, ls="--", label="as modelled")
    what = "coordinates" if gaussian else "norms"
    axis.set(xlabel=f"quantiles of modelled {what}", ylabel=f"quantiles of drawn {what}")
    axis.legend(frameon=False, fontsize=8)
    return (
        f"Drawn unit noise against its model ({noise.law}); off the diagonal no density counts.",
        svg_text(figure),
    )


def lines(columns: Sequence[str], rows: Sequence[Sequence[float]]) -> str:
    """A table's columns against its first one."""
    values = np.array(rows, dtype=np.float64)
    figure, axis = _axes()
    colours = (_OBSERVED, _CERTIFIED, _CLAIMED, _OTHER)
    for k in range(1, values.shape[1]):
        shown = np.isfinite(values[:, k])
        axis.plot(
            values[shown, 0],
            values[shown, k],
            "o-",
            ms=3,
            lw=1.3,
            color=colours[(k - 1) % 4],
            label=columns[k],
        )
    positive = values[:, 1:][np.isfinite(values[:, 1:])]
    if len(positive) and positive.min() > 0 and positive.max() > 50 * positive.min():
        axis.set_yscale("log")
    if values[:, 0].min() > 0 and values[:, 0].max() > 20 * values[:, 0].min():
        axis.set_xscale("log")
    axis.set_xlabel(columns[0])
    axis.legend(frameon=False, fontsize=8)
    return svg_text(figure)


def _bounds(experiment: Experiment, deltas: Array, share: float) -> dict[str, Array]:
    """The strongest bound that the runs allow, and the one from right and wrong answers."""
    seen = experiment.seen
    found: dict[str, Array] = {}
    if experiment.stopped:  # nothing else holds of runs that ended so
        for method, bets in experiment.running.items():
            found[method] = np.array([bets.epsilon_lower(float(d)) for d in deltas])
    else:
        found["right answers"] = _from_answers(experiment, deltas, share)
    if experiment.tilted:
        found["importance sampling"] = _from_tilted_runs(experiment, deltas, share)
    elif seen.exact and experiment.noise and not experiment.stopped:
        inside = seen.scores_of(True)
        found["exact densities"] = np.array(
            [float(hockey_stick.chernoff(inside, delta=float(d), alpha=share)) for d in deltas]
        )
    return found


def _from_answers(experiment: Experiment, deltas: Array, share: float) -> Array:
    values = []
    for d in deltas:
        rule = rule_choice.choose_rule(
            experiment.trial, delta=float(d), alpha=share, counted=experiment.design.runs
        )
        found = rule.answers(experiment.seen)
        bound = abstention.epsilon_lower(
            found.right, found.wrong, found.runs, delta=float(d), alpha=share
        )
        values.append(float(bound))
    return np.array(values)


def _from_tilted_runs(experiment: Experiment, deltas: Array, share: float) -> Array:
    """In one direction, at half the share as in the verdict."""
    plain, moved = experiment.tilted[World.IN]
    tilt, spread, values = experiment.tilt, experiment.spread, []
    for d in deltas:
        largest = importance.largest_value(
            tilt, spread, importance.chosen_tilt(spread, float(d))[1]
        )
        bound = importance.epsilon_lower(
            plain, moved, delta=float(d), alpha=share / 2, largest=largest
        )
        values.append(float(bound))
    return np.array(values)


def _region(rates: Array, epsilon: float, delta: float) -> Array:
    """Least false-negative rate under (ε, δ)."""
    grown = math.exp(min(epsilon, 700.0))
    return np.maximum(0.0, np.maximum(1 - delta - grown * rates, (1 - delta - rates) / grown))


def _cut(values: Array) -> Array:
    return np.clip(values, 1e-9, 1 - 1e-9)


def _axes() -> tuple[Any, Any]:
    need("matplotlib", purpose="a report in HTML")
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    axis = figure.add_subplot()
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    return figure, axis
