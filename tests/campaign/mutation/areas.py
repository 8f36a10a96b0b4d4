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
        "dpcalc.training.sources",
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
    "tests/algorithms/test_data_files.py",
    "tests/algorithms/test_records.py",
)

NEAR = {
    "readers": (
        "tests/algorithms/test_data_files.py",
        "tests/algorithms/test_records.py",
        "tests/auditing/test_scores.py",
        "tests/golden/test_readings.py",
        "tests/unit/test_accountant.py",
        "tests/unit/test_accountant_at_the_edges.py",
        "tests/unit/test_archive.py",
        "tests/unit/test_calibrate_at_the_ends.py",
        "tests/unit/test_calibration_effort.py",
        "tests/unit/test_claims.py",
        "tests/unit/test_composition.py",
        "tests/unit/test_corners.py",
        "tests/unit/test_delimited.py",
        "tests/unit/test_interop.py",
        "tests/unit/test_kinds_of_numbers.py",
        "tests/unit/test_limits_of_tables.py",
        "tests/unit/test_misplaced.py",
        "tests/unit/test_numerals.py",
        "tests/unit/test_plans.py",
        "tests/unit/test_refusals.py",
        "tests/unit/test_relations_in_python.py",
        "tests/unit/test_rounds.py",
        "tests/unit/test_rule.py",
        "tests/unit/test_saved_accountant.py",
        "tests/unit/test_search_for_counts.py",
        "tests/unit/test_system_claims.py",
        "tests/unit/test_training_data.py",
    ),
    "guarantees": (
        "tests/golden/test_recorded_guarantees.py",
        "tests/property/test_random_selection.py",
        "tests/unit/test_calibration_effort.py",
        "tests/unit/test_compositions_at_their_limits.py",
        "tests/unit/test_composition.py",
        "tests/unit/test_enclosures.py",
        "tests/unit/test_guarantee_parts.py",
        "tests/unit/test_guarantee_limits.py",
        "tests/unit/test_guarantees.py",
        "tests/unit/test_exact_guarantees.py",
        "tests/unit/test_pure_composition.py",
        "tests/unit/test_renyi.py",
        "tests/unit/test_sums_at_their_limits.py",
        "tests/unit/test_tradeoff_curves.py",
        "tests/unit/test_units.py",
    ),
    "theorems": (
        "tests/oracles/convergence/test_formulas.py",
        "tests/golden/test_descriptions.py",
        "tests/golden/test_last_release.py",
        "tests/golden/test_readings.py",
        "tests/golden/test_theorems_everywhere.py",
        "tests/property/test_objective_perturbation.py",
        "tests/unit/test_answers_at_their_limits.py",
        "tests/unit/test_authoring.py",
        "tests/unit/test_conditions_and_prescriptions.py",
        "tests/unit/test_convergence_parts.py",
        "tests/unit/test_convergence_results.py",
        "tests/unit/test_utilities.py",
        "tests/unit/test_declarations.py",
        "tests/unit/test_degrees.py",
        "tests/unit/test_iteration_parts.py",
        "tests/unit/test_kernel_parts.py",
        "tests/unit/test_position_parts.py",
        "tests/unit/test_names_and_graphs.py",
        "tests/unit/test_objective_parts.py",
        "tests/unit/test_pieces_of_formulas.py",
        "tests/unit/test_pieces_of_results.py",
        "tests/unit/test_rates_and_their_formulas.py",
        "tests/unit/test_schedule.py",
    ),
    "answers": (
        "tests/algorithms/test_own_data.py",
        "tests/algorithms/test_data_files.py",
        "tests/algorithms/test_records.py",
        "tests/auditing/test_recorded.py",
        "tests/audits/test_audit_reports.py",
        "tests/audits/test_command_line.py",
        "tests/golden/test_descriptions.py",
        "tests/golden/test_readings.py",
        "tests/unit/test_answers_at_their_limits.py",
        "tests/unit/test_answers_in_python.py",
        "tests/unit/test_answers_off_the_beaten_track.py",
        "tests/unit/test_convergence_cli.py",
        "tests/unit/test_enclosures.py",
        "tests/unit/test_files_at_their_limits.py",
        "tests/unit/test_files_written.py",
        "tests/unit/test_json_answers.py",
        "tests/unit/test_missing_delta.py",
        "tests/unit/test_names_and_graphs.py",
        "tests/unit/test_odometer.py",
        "tests/unit/test_plans.py",
        "tests/unit/test_public_face.py",
        "tests/unit/test_answers_shown.py",
        "tests/unit/test_recorded_on_the_command_line.py",
        "tests/unit/test_relations_in_python.py",
        "tests/unit/test_reported_numbers.py",
        "tests/unit/test_rule.py",
        "tests/unit/test_settings.py",
        "tests/unit/test_tables_of_rates.py",
        "tests/unit/test_trail.py",
        "tests/unit/test_training_data.py",
    ),
}
"""Files of tests that are about an area: judging by these alone is fast, and the share a lower bound."""

ABOUT_SURROUNDINGS = (
    "base_installation",
    "drawing",
    "files_written",
    "help_and_lists",
    "pictures",
    "surroundings",
    "verify_on_the_screen",
)
"""Files of tests left out of a folder: they start processes, draw, or read the screen, and cost the most time."""

MEASURED = tuple(module for modules in AREAS.values() for module in modules)


def area(module: str) -> str | None:
    """The area that a module, a function or a mutant belongs to."""
    for name, modules in AREAS.items():
        if any(module == m or module.startswith(m + ".") for m in modules):
            return name
    return None
