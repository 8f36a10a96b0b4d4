"""A finished run in the terminal: utility next to budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc.claims.relations import Basis, Relation
from dpcalc.report.setting import risk_line
from dpcalc.report.text import (
    claimed_and_certified,
    console,
    escaped,
    lower,
    plain_table,
    print_marked,
    upper,
)
from dpcalc.theorems.catalogue import privacy_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_NAMES = {
    "train_loss": "mean loss on training records",
    "train_error": "error on training records",
    "test_error": "error on held-out records",
    "test_error_of_a_constant": "  of the best constant answer",
    "consensus_gap": "largest distance of a node from the mean",
    "feasibility_gap": "distance from the constraint",
}


def show(title: str, found: Mapping[str, Any], written: Sequence[Path]) -> None:
    """Print a run's record.

    Args:
        title: of the method.
        found: as `dpcalc.training.outcome.record` made it.
        written: files it went to.
    """
    out = console()
    data = found["data"]
    place = f" on {found['nodes']} nodes ({found['graph']})" if found["graph"] else ""
    out.print(f"[bold]{escaped(title)}[/]{escaped(place)}")
    out.print(
        f"{escaped(data['source'])}: {data['train']} to train on, {data['test']} held out, "
        f"{data['features']} features; {found['rounds']} rounds"
        + (f", {found['runs']} runs" if found["runs"] > 1 else "")
    )
    _show_budget(out, found)
    rows = [
        (name, *_summary(found["utility"][key], spread=found["runs"] > 1))
        for key, name in _NAMES.items()
        if key in found["utility"]
    ]
    columns = ("utility", "mean", "lowest", "highest") if found["runs"] > 1 else ("utility", "")
    out.print(plain_table(columns, rows))
    for note in found["notes"]:
        out.print(f"[yellow]{escaped(note)}[/]")
    if found.get("diagnosis"):
        out.print(f"[yellow]{escaped(_why(found))}[/]")
    if found["budget"] is not None and not found["private_release"]:
        seed = "" if found["seed"] is None else f"seed={found['seed']}: "
        out.print(
            f"[yellow]{seed}{found['private_release_reason']}; a real run leaves --seed out.[/]"
        )
    for path in written:
        out.print(f"written: {escaped(path)}")


_WHY = {
    "noise": "The same method without this noise has an error of {error}: at this budget the noise "
    "drowns these records. {helps} help.",
    "rounds": "It is no better without noise, but with twenty times the rounds and without noise it "
    "has an error of {error}: the rounds are too few, or the steps too short.",
    "settings": "It is no better without noise, with these rounds or more; the exact minimum on the "
    "same rows has an error of {error}: steps, penalties or weights keep the method from it.",
    "scaling": "It is no better without noise, with these rounds or more; a linear model on columns of "
    "equal spread has an error of {error}: the scaling hides what could be learnt. "
    "Give narrow public ranges of the columns: --scale COLUMN=LOW:HIGH, or --schema.",
    "data": "Nor is any linear model that was tried without noise (the best has an error of "
    "{error}): noise and budget are not to blame.",
}
"""What is said of a run that learnt nothing, by what is at fault."""


def _why(found: Mapping[str, Any]) -> str:
    """What keeps a run from learning, and what helps."""
    why = found["diagnosis"]
    ways = ["More records", "a larger ε"]
    if "rounds" in found["parameters"]:
        ways.append("fewer rounds")
    ranged = any(each["key"] == "public-ranges" for each in found.get("assumptions", ()))
    if ranged and found["parameters"].get("loss") == "huber":
        ways.append("a narrower public range of the label, in proportion to which noise is,")
    helps = f"{', '.join(ways[:-1])} or {ways[-1]}"
    text = _WHY[why["fault"]].format(error=f"{why['error']:.4g}", helps=helps)
    return f"No better than always giving the same answer. {text}"


def _show_budget(out: Any, found: Mapping[str, Any]) -> None:
    if found["budget"] is None:
        out.print("[bold red]No privacy:[/] this method adds no noise; ε = ∞.")
        return
    out.print(claimed_and_certified(found))
    certified = found["certified"]
    (name, level), *_ = found["noise"].items()
    safe = lower if privacy_result(found["theorem"]).noise_is_a_rate else upper  # more noise
    out.print(
        f"[dim]{name.replace('_', ' ')} = {safe(level)}, calibrated by {found['theorem']}; "
        f"released: {found['release']}[/]"
    )
    out.print(Relation(found["adjacency"] or "", Basis(found["adjacency_basis"])).sentence())
    if risk := risk_line(certified["attack_accuracy"], found["adjacency"]):
        out.print(risk)
    if "epsilon_of_all_runs" in certified and math.isfinite(certified["epsilon_of_all_runs"]):
        total = upper(certified["epsilon_of_all_runs"])
        out.print(f"Releasing all {found['runs']} runs would spend ε = {total}.")
    missing = [a for a in found["assumptions"] if a["state"] == "not attested"]
    if missing:
        out.print("It holds if you can promise:")
        print_marked(out, missing)


def _summary(values: Sequence[float], *, spread: bool) -> tuple[str, ...]:
    numbers = np.asarray(values, dtype=np.float64)
    texts = (f"{numbers.mean():.4g}", f"{numbers.min():.4g}", f"{numbers.max():.4g}")
    if not spread:
        return texts[:1]
    return texts if len(numbers) > 1 else (texts[0], "", "")
