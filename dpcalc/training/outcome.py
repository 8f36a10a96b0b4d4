"""The record of a finished run, budget next to utility, and how it is written down."""

from __future__ import annotations

import csv
import io
import math
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
from dpcalc.theorems.base import Scope
from dpcalc.training.metrics import utility

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dpcalc.training.data import Split
    from dpcalc.training.prepared_run import PreparedRun
    from dpcalc.transcript import Transcript

Array = NDArray[np.float64]


def record(prepared: PreparedRun, transcript: Transcript, data: Split) -> dict[str, Any]:
    """Budget, utility and settings of a finished run, ready for JSON."""
    measured = utility(prepared, transcript, data)
    found: dict[str, Any] = {
        "algorithm": prepared.method.key,
        "data": {
            "source": data.source,
            "label": data.table.label or None,
            "classes": _classes(data.table.classes),
            "left_out": data.table.left_out,
            "train": len(data.train[1]),
            "test": len(data.test[1]),
            "features": data.train[0].shape[1],
        },
        "rounds": prepared.algorithm.rounds,
        "runs": transcript.runs,
        "parameters": prepared.method.inputs(),
        "utility": measured,
        "weights": (weights := prepared.method.weights(transcript)).tolist(),
        "coefficients": [data.coefficients(model) for model in weights],
        "notes": [
            *prepared.method.notes(prepared.network),
            *([] if len(data.test[1]) else [NOTHING_HELD_OUT]),
            *_clipped(data),
            *_hardly_ahead(prepared, measured, data),
        ],
        **release_status(prepared, transcript),
    }
    if prepared.theorem is None or prepared.budget is None:
        return found | {"budget": None, "claimed": None, "certified": NOTHING_CERTIFIED}
    delta = prepared.budget.delta
    spent = budget_record(prepared.theorem, delta, prepared.relation)
    found["budget"] = {"epsilon": prepared.budget.epsilon, "delta": delta}
    found |= {k: v for k, v in spent.items() if k != "inputs"}
    found["assumptions"] = [*spent["assumptions"], *(promises := promises_of(data))]
    if found["verdict"] not in (None, "REFUTED"):
        found["provided"] = [*spent["provided"], *(each["key"] for each in promises)]
    found["noise"] = {prepared.theorem.noise: prepared.theorem.noise_level()}
    if transcript.runs > 1:
        together = compose((prepared.theorem.certified().guarantee, transcript.runs))
        found["certified"]["epsilon_of_all_runs"] = together.epsilon(delta)
    return found


NOTHING_HELD_OUT = (
    "Nothing was held out: errors are of the records that were trained on, and how accurate the model "
    "is on others is not known."
)
"""Said of every run without records to test with."""


def _hardly_ahead(prepared: PreparedRun, measured: Mapping[str, Any], data: Split) -> Iterator[str]:
    """What is known of a model of classes that is ahead of a constant by next to nothing."""
    count = len(data.test[1])
    if prepared.theorem is None or not count or not data.table.of_classes:
        return
    (constant,) = measured["test_error_of_a_constant"]
    ahead = constant - float(np.mean(measured["test_error"]))
    spread = math.sqrt(constant * (1 - constant) / count)
    if 0 < ahead < spread:
        yield HARDLY_AHEAD.format(round(ahead * count, 1), count, math.ceil(spread * count))


HARDLY_AHEAD = (
    "It is ahead of the best constant answer by {:g} of {} held-out records, which is less than one "
    "standard deviation of that over other records (up to {}): whether it learnt anything is not known."
)
"""Said of a private run that is better than a constant, but not clearly."""


def _clipped(data: Split) -> list[str]:
    """What is said of errors of numbers to predict, as a rule; only what is held out is counted."""
    if data.clipped is None:
        return []
    count, outside = len(data.clipped), np.count_nonzero(data.clipped)
    known = f": {outside} of {count} held-out labels lie outside it" if count else ""
    return [f"{CLIPPED}{known}."]


CLIPPED = (
    "Errors are of labels clipped to their public range, not of labels as they are in the file"
)
"""Said of every run whose labels have a range."""


def promises_of(data: Split) -> list[dict[str, str]]:
    """Assumptions on how rows were scaled, as those of a theorem are written down.

    They say what is done to any record; how many it was done to is no public number.
    """
    made = []
    if data.table.units is not None:
        made.append(("public-ranges", _RANGES))
    if data.row_bound != (1.0 if data.table.row_bound is None else data.table.row_bound):
        made.append(("public-row-bound", _ROW_BOUND.format(data.row_bound)))
    return [
        {"key": key, "text": text, "scope": Scope.BOTH.value, "state": "not attested"}
        for key, text in made
    ]


_RANGES = (
    "The ranges and categories of columns were set without a look at these records. Numbers outside "
    "their range are clipped to it."
)
_ROW_BOUND = (
    "The row bound {:g} was set without a look at these records. Longer rows are shortened to it."
)

NOTHING_CERTIFIED = {"epsilon": float("inf"), "delta": 0.0, "method": "the method adds no noise"}
"""The guarantee of a run without noise."""


def _classes(classes: tuple[str, str] | None) -> dict[str, str] | None:
    return None if classes is None else {"-1": classes[0], "+1": classes[1]}


def release_status(prepared: PreparedRun, transcript: Transcript) -> dict[str, Any]:
    """Whether this is a private release, and why not."""
    if prepared.theorem is None:
        return {"private_release": False, "private_release_reason": "the method adds no noise"}
    if transcript.experiment:
        return {"private_release": False, "private_release_reason": EXPERIMENT}
    return {"private_release": True}


EXPERIMENT = "experiment, not a private release: who knows the seed knows the noise"
"""Said of every run from a seed."""


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
        raise InvalidInput(f"expected a file ending in .json, .csv or .npz; got out={str(path)!r}")


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
