"""Options for the fields of named mechanisms."""

from __future__ import annotations

from collections.abc import Collection

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
