"""What a run was worth: utility next to budget, and how it is written down.

Utility looks at the data once more, without noise; it is for the person who holds the data and is
no part of what the budget covers.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.errors import InvalidInput
from dpcalc.files import write_text
from dpcalc.guarantees.composition import compose
from dpcalc.report import output as envelope
from dpcalc.report.records import budget as budget_record
from dpcalc.report.records import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.training.data import Split
    from dpcalc.training.plan import Plan
    from dpcalc.transcript import Transcript

Array = NDArray[np.float64]

GAPS = {"consensus_gap": "consensus gap", "feasibility_gap": "feasibility gap"}
"""How far a run is from agreement, by the name of its diagnostic."""


def record(plan: Plan, transcript: Transcript, data: Split) -> dict[str, Any]:
    """Budget, utility and settings of a finished run, ready for JSON."""
    found: dict[str, Any] = {
        "algorithm": plan.method.key,
        "data": {
            "source": data.source,
            "label": data.table.label or None,
            "classes": _classes(data.table.classes),
            "left_out": data.table.left_out,
            "train": len(data.train[1]),
            "test": len(data.test[1]),
            "features": data.train[0].shape[1],
        },
        "rounds": plan.algorithm.rounds,
        "runs": transcript.runs,
        "parameters": plan.method.inputs(),
        "utility": utility(plan, transcript, data),
        "weights": (weights := plan.method.weights(transcript)).tolist(),
        "coefficients": [data.coefficients(model) for model in weights],
        **standing(plan, transcript),
    }
    if plan.theorem is None or plan.budget is None:
        return found | {"budget": None, "claimed": None, "certified": NOTHING_CERTIFIED}
    delta = plan.budget.delta
    spent = budget_record(plan.theorem, delta, plan.relation)
    found["budget"] = {"epsilon": plan.budget.epsilon, "delta": delta}
    found |= {k: v for k, v in spent.items() if k != "inputs"}
    found["noise"] = {plan.theorem.noise: plan.theorem.noise_level()}
    if transcript.runs > 1:
        together = compose((plan.theorem.certified().guarantee, transcript.runs))
        found["certified"]["epsilon_of_all_runs"] = together.epsilon(delta)
    return found


NOTHING_CERTIFIED = {"epsilon": float("inf"), "delta": 0.0, "method": "the method adds no noise"}
"""What a run without noise is worth."""


def _classes(classes: tuple[str, str] | None) -> dict[str, str] | None:
    return None if classes is None else {"-1": classes[0], "+1": classes[1]}


def standing(plan: Plan, transcript: Transcript) -> dict[str, Any]:
    """Whether this is a private release, and why not."""
    if plan.theorem is None:
        return {"private_release": False, "private_release_reason": "the method adds no noise"}
    if transcript.experiment:
        return {"private_release": False, "private_release_reason": EXPERIMENT}
    return {"private_release": True}


EXPERIMENT = "experiment, not a private release: who knows the seed knows the noise"
"""Said of every run from a seed."""


def utility(plan: Plan, transcript: Transcript, data: Split) -> dict[str, list[float]]:
    """Measures of every run's released model."""
    weights = plan.method.weights(transcript)
    loss: Loss = plan.algorithm.problem.loss  # type: ignore[attr-defined] # every algorithm has one
    found = {"train_loss": mean_loss(loss, weights, *data.train).tolist()}
    unit = data.label_unit
    found["train_error"] = (unit * error(loss, weights, *data.train)).tolist()
    if len(data.test[1]):
        found["test_error"] = (unit * error(loss, weights, *data.test)).tolist()
        found["test_error_of_a_constant"] = [unit * constant_error(loss, data.test[1])]
    for name in GAPS:
        if name in transcript.diagnostics:
            found[name] = transcript.diagnostic(name)[:, -1].tolist()
    if "gradient_norm" in transcript.diagnostics:
        norms = transcript.diagnostic("gradient_norm")
        found["largest_gradient_norm"] = [float(np.nanmax(norms))]
    return found


def mean_loss(loss: Loss, weights: Array, features: Array, labels: Array) -> Array:
    """Mean loss per record; shape (runs,)."""
    return np.array([loss.value(_argument(loss, features @ w, labels)).mean() for w in weights])


def error(loss: Loss, weights: Array, features: Array, labels: Array) -> Array:
    """Share of wrong signs, or for a regression the root mean squared error; shape (runs,)."""
    scores = (features @ w for w in weights)
    if loss.of_margin or set(np.unique(labels)) == {-1.0, 1.0}:
        return np.array([np.mean(np.where(s >= 0, 1.0, -1.0) != labels) for s in scores])
    return np.array([np.sqrt(np.mean((s - labels) ** 2)) for s in scores])


def constant_error(loss: Loss, labels: Array) -> float:
    """The error of the best constant answer: what a model has to beat."""
    if loss.of_margin:
        return float(min(np.mean(labels > 0), np.mean(labels < 0)))
    return float(np.std(labels))


def _argument(loss: Loss, scores: Array, labels: Array) -> Array:
    return labels * scores if loss.of_margin else scores - labels


def write(path: str | Path, found: Mapping[str, Any], transcript: Transcript) -> None:
    """Write a run by the suffix of the file.

    .json    the record
    .csv     objective, consensus and the like after every measured round: looks at the data that
             the budget does not cover
    .npz     what was released, and nothing else: this may be published within the budget

    Raises:
        InvalidInput: for another suffix.
        OutputFailed: if the file cannot be written; what was there before is there still.
    """
    target = Path(path)
    check_suffix(target)
    if target.suffix == ".json":
        write_text(target, to_json(envelope.output("run", found)) + "\n")
    elif target.suffix == ".csv":
        write_text(target, _csv(transcript))
    else:
        replace(transcript, diagnostics={}).save(target)


def check_suffix(path: Path) -> None:
    """Refuse a file whose suffix says nothing, before anything is run for it."""
    if path.suffix not in (".json", ".csv", ".npz"):
        raise InvalidInput(
            f"a file ending in .json, .csv or .npz was needed; got out={str(path)!r}"
        )


def _csv(transcript: Transcript) -> str:
    series = {
        name: s.values
        for name, s in transcript.diagnostics.items()
        if s.values.ndim == 2 and s.values.dtype.kind == "f"
    }
    text = io.StringIO(newline="")
    out = csv.writer(text)
    out.writerow(["run", "round", *series])
    for run in range(transcript.runs):
        for t in range(transcript.rounds):
            row = [float(values[run, t]) for values in series.values()]
            if row and not np.isnan(row).any():
                out.writerow([run + 1, t + 1, *row])
    return text.getvalue()
