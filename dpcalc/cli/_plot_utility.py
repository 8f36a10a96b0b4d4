"""``dpcalc plot RESULT``: the bound of a utility result over a parameter, or over the budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._options import StrictCommand
from dpcalc.cli._plotting import (
    axis_of,
    axis_options,
    delta_options,
    file_options,
    files_of,
    finish,
)
from dpcalc.cli._theorem_verb import example_of, in_lines
from dpcalc.errors import InvalidInput, missing_delta

if TYPE_CHECKING:
    from dpcalc.report.utility_curves import Accounted
    from dpcalc.theorems.base import Result, Theorem

Options = Callable[[type["Result"]], list[click.Parameter]]


def utility_command(key: str, options: Options) -> click.Command:
    """The command of one result, with the options of its parameters.

    Args:
        key: of the result.
        options: the options of a result's parameters.
    """
    from dpcalc.report.theorem_curves import variables
    from dpcalc.report.utility_curves import ACCOUNTED
    from dpcalc.theorems.catalogue import privacy_result, result

    kind, accounted = result(key), ACCOUNTED.get(key)
    replaced = () if accounted is None else ("epsilon", "delta", *accounted.budget)
    params = [p for p in options(kind) if p.name not in replaced]
    varied = "What is varied: a parameter."
    if accounted is not None:
        names = {p.name for p in params}
        theorem = privacy_result(accounted.theorem)
        more = [p for p in options(theorem) if p.name not in names | {*accounted.names}]
        params += [*more, *delta_options()]
        varied = (
            f"What is varied: ε of the budget, with the noise that {theorem.key} asks for; or a "
            "parameter."
        )

    def names_of(ctx: click.Context) -> list[str]:
        del ctx
        return [*(["epsilon"] if accounted else []), *variables(kind)]

    return StrictCommand(
        name=key,
        callback=lambda **given: _run(key, accounted, **given),
        params=[
            *params,
            *axis_options(
                varied, None, words="epsilon|NAME" if accounted else "NAME", names=names_of
            ),
            *file_options(),
        ],
        help=f"{kind.title}: the bound as a curve.\n\n{kind.reference}.\n\n{in_lines(kind.statement)}"
        f"\n\n{_example(kind)}",
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _example(kind: type[Result]) -> str:
    """A picture of the bound over a number of the result's example."""
    from dpcalc.theorems.parameters import parameters

    known = parameters(kind)
    numbers = [n for n in kind.example if known[n].kind in ("number", "count", "schedule")]
    name = "sigma" if "sigma" in numbers else numbers[-1]
    middle = float(str(kind.example[name]).partition(":")[0])
    ends = [f"--over {name.replace('_', '-')}", f"--from {middle / 2:g}", f"--to {2 * middle:g}"]
    return example_of(f"dpcalc plot {kind.key}", kind, name, [*ends, "--out bound.svg"])


def _run(key: str, accounted: Accounted | None, **given: Any) -> None:
    from dpcalc.report.setting import inputs_note
    from dpcalc.report.theorem_curves import variable
    from dpcalc.report.utility_curves import utility_over, utility_over_epsilon
    from dpcalc.theorems.catalogue import result

    kind: Any = result(key)
    files = files_of(given)
    over = str(given["over"]).replace("-", "_")
    against_budget = over == "epsilon" and accounted is not None
    if not against_budget:
        variable(kind, over, "epsilon or " if accounted else "")
    axis = axis_of(given)
    attest = given.pop("attest")
    given = {name: value for name, value in given.items() if value is not None}
    if accounted is None or not against_budget:
        own = _own(kind, given)
        if own.get(axis.name) is not None:
            option = "--" + axis.name.replace("_", "-")
            raise InvalidInput(f"{option} is what the picture varies; leave it out")
        instance = kind.from_parameters({**own, axis.name: axis.high}, attest, as_options=True)
        whole = variable(kind, axis.name, "")
        picture = utility_over(instance, axis.name, axis.places(whole=whole))
        note = inputs_note(instance, skipped={axis.name})
    else:
        delta = given.pop("delta", None)
        theorem, instance = _both(kind, accounted, given, attest)
        if not delta and theorem.certified().guarantee.needs_delta():
            raise missing_delta(theorem.key)
        picture = utility_over_epsilon(instance, theorem, axis.places(), delta or 0.0)
        note = _note(instance, theorem, delta or 0.0)
    finish(picture, files, title=kind.title, setting=note, about={"theorem": key})


def _own(kind: type[Result], given: dict[str, Any]) -> dict[str, Any]:
    from dpcalc.theorems.parameters import parameters

    return {name: value for name, value in given.items() if name in parameters(kind)}


def _both(
    kind: Any, accounted: Accounted, given: dict[str, Any], attest: tuple[str, ...]
) -> tuple[Theorem, Any]:
    """The privacy result and the utility result with the parameters that they share."""
    from dpcalc.theorems.catalogue import privacy_result
    from dpcalc.theorems.parameters import parameters

    theorem = privacy_result(accounted.theorem)
    if theorem.noise in given:
        raise InvalidInput(
            f"--{theorem.noise.replace('_', '-')} follows from the budget; got "
            f"{given[theorem.noise]}; leave it out"
        )
    shared = {name: given[accounted.names.get(name, name)] for name in parameters(theorem)
              if accounted.names.get(name, name) in given}  # fmt: skip
    privacy = theorem.from_parameters(
        {**shared, theorem.noise: 1.0}, _promises(theorem, attest), as_options=True
    )
    own = {n: value for n, value in _own(kind, given).items() if n not in accounted.budget}
    own |= {theorem.noise: 1.0}
    return privacy, kind.from_parameters(own, _promises(kind, attest), as_options=True)


def _promises(kind: type[Result], attest: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the promises made that a result knows."""
    known = {a.key for a in kind.assumptions if a.promised} | {"all"}
    return tuple(key for given in attest for key in given.split(",") if key.strip() in known)


def _note(instance: Any, theorem: Theorem, delta: float) -> str:
    from dpcalc.report.setting import inputs_note, setting_note

    bound = inputs_note(instance, skipped={theorem.noise})
    return (
        f"{bound} Claimed: with the printed noise for ε; certified, attained: with the least that "
        f"is certified by {setting_note(theorem, varied='epsilon', delta=delta)}"
    )
