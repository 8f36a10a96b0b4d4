"""Options for the fields of named mechanisms."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import click

from dpcalc.cli._options import NUMBER

_FIELDS = (
    ("noise_multiplier", "Noise standard deviation over one record's largest norm."),
    ("noise_over_sensitivity", "Instead: over the distance of two neighbours."),
    ("scale_multiplier", "Noise scale over one record's largest norm."),
    ("scale_over_sensitivity", "Instead: over the distance of two neighbours."),
    ("rate", "Probability with which a record is sampled."),
    ("sample", "Records sampled a round: the batch size."),
    ("population", "Records in all."),
    ("dimension", "Coordinates of the noise."),
)


EXAMPLES = {
    "gaussian": "--noise-multiplier 4",
    "laplace": "--scale-multiplier 4",
    "exponential-norm": "--scale-multiplier 4 --dimension 10",
    "randomised-response": "--each 0.1 --rounds 10",
    "poisson-subsampled-gaussian": "--noise-multiplier 1 --rate 0.01 --rounds 100",
    "gaussian-without-replacement": "--noise-multiplier 4 --sample 100 --population 1000 --rounds 10",
}
"""Typical fields of every mechanism that has options."""

_INSTEAD = {
    "noise_multiplier": ("noise_over_sensitivity",),
    "scale_multiplier": ("scale_over_sensitivity",),
    "rate": ("sample", "population"),
}
"""What may stand in the place of a field, all of it together."""

FIELD_OF = {"each": "epsilon"}
"""Options that are called otherwise than their field."""


def plain_mechanisms() -> list[str]:
    """The mechanisms whose fields are numbers, so that options can give them."""
    from dpcalc.claims.named import mechanism, mechanism_names

    return [name for name in mechanism_names() if not {"p", "points"} & {*mechanism(name).fields}]


def offered_mechanisms() -> list[str]:
    """What a shell offers of them, with the name that most people look for."""
    return [*plain_mechanisms(), "dp-sgd"]


def listed_mechanisms() -> str:
    """Their names for the help of a verb."""
    from dpcalc.claims.named import mechanism_key

    names = [f"{n} (dp-sgd)" if n == mechanism_key("dp-sgd") else n for n in plain_mechanisms()]
    return ", ".join(names)


def table_of(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A mechanism as a file describes it, from options."""
    fields = {FIELD_OF.get(key, key): value for key, value in given.items() if value is not None}
    return {"mechanism": name, **fields}


def missing_options(name: str, given: Mapping[str, Any]) -> list[str]:
    """The options without which a mechanism is not described.

    Args:
        name: of a mechanism that has options.
        given: values by the options' names, None for one that was left out.
    """
    words = [word for word in EXAMPLES[name].split() if word.startswith("--")]
    missing: list[str] = []
    for field in (word.removeprefix("--").replace("-", "_") for word in words):
        others = _INSTEAD.get(field, ())
        begun = any(given.get(other) is not None for other in others)
        needed = others if begun else (field,)
        if field != "rounds" and given.get(field) is None:
            missing += [other for other in needed if given.get(other) is None]
    return ["--" + field.replace("_", "-") for field in missing]


def each_option() -> click.Option:
    """--each, the field of randomised response that is called ε."""
    return click.Option(["--each"], type=NUMBER, help="ε of one round of randomised response.")


def field_options(names: Collection[str] | None = None) -> list[click.Option]:
    """Options of fields; of all of them if no names are given."""
    return [
        click.Option(["--" + name.replace("_", "-")], type=NUMBER, help=text)
        for name, text in _FIELDS
        if names is None or name in names
    ]
