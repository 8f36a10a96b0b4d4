"""What is measured, by area, and the tests that may notice."""

from __future__ import annotations

AREAS = {
    "numerics": ("dpcalc.numerics",),
    "accounting": ("dpcalc.accounting",),
    "guarantees": ("dpcalc.guarantees", "dpcalc.calibration"),
    "theorems": ("dpcalc.theorems",),
    "readers": (
        "dpcalc.checks",
        "dpcalc.claims",
        "dpcalc.interop",
        "dpcalc.accountant",
        "dpcalc.delimited",
        "dpcalc.numerals",
        "dpcalc.sealed",
        "dpcalc.archive",
        "dpcalc.auditing.sampling.observations",
        "dpcalc.auditing.scores",
        "dpcalc.training.data",
    ),
    "answers": (
        "dpcalc.answers",
        "dpcalc.odometer",
        "dpcalc.trail",
        "dpcalc.files",
        "dpcalc.errors",
        "dpcalc.report.records",
        "dpcalc.report.rates",
        "dpcalc.report.enclosures",
        "dpcalc.training.schema",
        "dpcalc.training.file_kinds",
        "dpcalc.training.graph",
        "dpcalc.cli._recorded",
    ),
}
"""Modules that a wrong answer could come from: numbers, bounds, theorems, readers of files, and what
the verbs and Python answer."""

TESTS = (
    "tests/unit",
    "tests/golden",
    "tests/contracts",
    "tests/property",
    "tests/oracles/convergence",
    "tests/auditing/test_scores.py",
    "tests/algorithms/test_records_and_data.py",
)

ABOUT_SURROUNDINGS = (
    "base_installation",
    "drawing",
    "files_written",
    "help_and_lists",
    "pictures",
    "surroundings",
    "verify_on_the_screen",
)
"""Files of tests left out: they start processes, draw, or read the screen, and cost the most time."""

MEASURED = tuple(module for modules in AREAS.values() for module in modules)


def area(module: str) -> str | None:
    """The area that a module, a function or a mutant belongs to."""
    for name, modules in AREAS.items():
        if any(module == m or module.startswith(m + ".") for m in modules):
            return name
    return None
