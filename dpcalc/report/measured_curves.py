"""Privacy against utility, measured: the error of trainings over the ε that they spend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpcalc
from dpcalc.errors import InvalidInput
from dpcalc.numerals import spelt
from dpcalc.pictures.curves import Curve, Picture
from dpcalc.report.answer_files import read_answer

MEASURES = {
    "test_error": "error on held-out records",
    "train_error": "error on training records",
    "train_loss": "mean loss on training records",
}
"""What a training measures, the first unless another is asked for."""

CONSTANT = "the best constant answer"
NO_NOISE = "without noise"


@dataclass(frozen=True, slots=True)
class Trained:
    """Trainings in one setting.

    Attributes:
        line: what they have in common with others of a curve.
        epsilon: what one of them spends, certified; infinite without noise.
        values: the measure of each.
    """

    line: str
    epsilon: float
    values: tuple[float, ...]


def picture_of(
    trained: Iterable[Trained], measure: str, *, delta: str, constant: float | None = None
) -> Picture:
    """Means over certified ε, with lowest and highest; trainings without noise as a level.

    Args:
        trained: the settings; those of one line whose ε agrees to nine digits count together.
        measure: one of `MEASURES`.
        delta: of the budgets, as text.
        constant: the measure of the best constant answer, drawn as a level.

    Raises:
        InvalidInput: if none of the trainings has a finite ε.
    """
    lines: dict[str, dict[float, list[float]]] = {}
    for one in trained:
        places = lines.setdefault(one.line, {})
        x = next((x for x in places if math.isclose(x, one.epsilon, rel_tol=1e-9)), one.epsilon)
        places.setdefault(x, []).extend(one.values)
    spent = [x for places in lines.values() for x in places if 0 < x < math.inf]
    if not spent:
        raise InvalidInput("expected trainings with a finite ε to draw; got none")
    ends = (min(spent), max(spent))
    curves = [_curve(line, places) for line, places in lines.items() if _finite(places)]
    for line, places in lines.items():
        if math.inf in places:
            found = places[math.inf]
            curves.append(_level(f"{line} {NO_NOISE}", ends, sum(found) / len(found)))
    if constant is not None:
        curves.append(_level(CONSTANT, ends, constant))
    label = f"certified ε at δ = {delta}"
    return Picture("epsilon", measure, tuple(curves), x_label=label, y_label=MEASURES[measure])


def _finite(places: Mapping[float, Sequence[float]]) -> list[float]:
    return sorted(x for x in places if 0 < x < math.inf)


def _curve(line: str, places: Mapping[float, Sequence[float]]) -> Curve:
    found = [(x, places[x]) for x in _finite(places)]
    points = tuple((x, sum(values) / len(values)) for x, values in found)
    several = any(len(values) > 1 for _, values in found)
    ranges = tuple((min(values), max(values)) for _, values in found) if several else ()
    return Curve(line, points, ranges)


def _level(name: str, ends: tuple[float, float], value: float) -> Curve:
    return Curve(name, tuple((x, value) for x in dict.fromkeys(ends)), level=True)


def read_runs(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """The answers of ``dpcalc run`` in files.

    Raises:
        InvalidInput: for another file, and for runs that cannot stand in one picture: different
            records, different δ, or different neighbours.
    """
    tip = "; try: dpcalc run METHOD ... --out run.json"
    found = [read_answer(path, "run", "utility", needed="dpcalc run", tip=tip) for path in paths]
    for name, of in (("records", _records), ("δ", _delta), ("neighbours", _neighbours)):
        values = {of(run): path for run, path in zip(found, paths, strict=True) if of(run)}
        if len(values) > 1:
            (one, first), (other, second) = list(values.items())[:2]
            raise InvalidInput(
                f"expected runs with the same {name}; {str(first)!r} has {one}, "
                f"{str(second)!r} has {other}"
            )
    return found


def _records(run: Mapping[str, Any]) -> str:
    data = run["data"]
    return f"{data['source']}, {data['train']} to train on, {data['test']} held out"


def _neighbours(run: Mapping[str, Any]) -> str:
    return str(run.get("adjacency") or "")


def _delta(run: Mapping[str, Any]) -> str:
    return "" if run["budget"] is None else spelt(float(run["budget"]["delta"]))


def runs_picture(runs: Sequence[Mapping[str, Any]], measure: str) -> Picture:
    """The picture of runs that `read_runs` has read."""
    for run in runs:
        if measure not in run["utility"]:
            has = ", ".join(name for name in MEASURES if name in run["utility"])
            raise InvalidInput(
                f"--measure {measure} is not in a run of {run['algorithm']}; try {has}"
            )
    trained = [
        Trained(
            str(run["algorithm"]),
            float(run["certified"]["epsilon"]),
            tuple(map(float, run["utility"][measure])),
        )
        for run in runs
    ]
    delta = next((found for run in runs if (found := _delta(run))), "")
    constants = [run["utility"].get(f"{measure}_of_a_constant") for run in runs]
    constant = next((float(found[0]) for found in constants if found), None)
    return picture_of(trained, measure, delta=delta, constant=constant)


def runs_note(runs: Sequence[Mapping[str, Any]]) -> str:
    """For the foot of the picture: records, methods, releases, neighbours and version."""
    methods = dict.fromkeys(_method(run) for run in runs)
    neighbours = next((found for run in runs if (found := _neighbours(run))), "")
    said = f" Neighbours: {neighbours}." if neighbours else ""
    return (
        f"{_records(runs[0])}. {'; '.join(methods)}.{said} Points: means of a setting's runs, bars: "
        f"lowest to highest. dpcalc {dpcalc.__version__}."
    )


def _method(run: Mapping[str, Any]) -> str:
    if run["budget"] is None:
        return f"{run['algorithm']}: no noise"
    return f"{run['algorithm']}: certified by {run['theorem']}, release {run['release']}"
