"""Names that gave way to the field's own words do not come back as identifiers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RETIRED = {
    "Access": "DataAccess, AdversaryAccess",
    "Allocation": "Shifts",
    "AtomicLaw": "DiscreteLoss",
    "Attacked": "AuditResult",
    "CAUGHT": "DETECTED",
    "Candidate": "RankedTarget",
    "Caption": "ArrayDescription",
    "Common": "SharedHessian",
    "Contender": "ComparedMethod",
    "DeltaQuestion": "DeltaAt",
    "Dominated": "DominatedMechanism",
    "ENOUGH": "DEFAULT_DETECTABLE_RATIO",
    "EpsilonQuestion": "EpsilonAt",
    "Exhibit": "SupportingTable",
    "FailingRDP": "ApproximateRDP",
    "GAPS": "CONSENSUS_METRICS",
    "GaussianLaw": "GaussianLoss",
    "GaussianMixtureLaw": "GaussianMixtureLoss",
    "Ground": "ExperimentConfig",
    "HELPER": "NEIGHBOUR",
    "HastyProblem": "EarlyStoppedProblem",
    "Height": "Objective",
    "Inspect": "Inspector",
    "LaplaceLaw": "LaplaceLoss",
    "LossLaw": "LossDistribution",
    "PROBABILITIES": "TAIL_PROBABILITIES",
    "Question": "Query",
    "SNAP": "GRID_TOLERANCE",
    "SaddleTable": "SaddlePoints",
    "Shift": "ReplayDistances",
    "ShortRadius": "WrongRadius",
    "Sums": "LatticeSum",
    "SuppliedPair": "UserDensityPair",
    "Tilted": "TiltedDistribution, ImportanceSample",
    "Turns": "UserOrder",
    "TwoPointLaw": "RandomisedResponseLoss",
    "Visits": "Participation",
    "Watch": "RunOptions",
    "_FAINTEST": "_MIN_SIGNAL",
    "_FORGOTTEN": "_MIN_FACTOR",
    "_QUIETEST": "_MIN_NOISE",
    "_WhileFinite": "_FiniteLossRDP",
    "_steered": "_aligned",
    "_tangible": "with_density_or_atoms",
    "aiming_at": "with_relative_width",
    "bow": "curvature",
    "certain_loss": "constant_loss",
    "cheapest": "fewest_nodes",
    "cheapest_shifts": "optimal_shifts",
    "coarse_log_moment": "log_moment_bound",
    "constant_error": "baseline_error",
    "controlled": "run_controls",
    "crafted_log_ratios": "worst_log_ratios",
    "crossing": "invert_bound",
    "direct_delta": "lattice_sum",
    "direct_epsilon": "lattice_sum",
    "drawn_by": "run_by",
    "efforts": "refinements",
    "enclosing_laws": "upper_and_lower",
    "examined": "evaluate",
    "exhibited": "compute_table",
    "farthest": "max_distance",
    "hasty": "early_stopped",
    "impostor": "actual",
    "in_turn": "cyclic",
    "judge_canaries": "audit_canaries",
    "judge_counts": "audit_counts",
    "judge_guesses": "audit_guesses",
    "judge_scores": "audit_scores",
    "landmarks": "breakpoints",
    "law_above": "upper_above",
    "law_from_points": "loss_from_profile",
    "less_is_private": "noise_is_a_rate",
    "loss_named": "get_loss",
    "loudest": "max_noise",
    "moment_window": "moment_interval",
    "needed_network": "require_network",
    "noise_tolerance": "calibration_tolerance",
    "one_draw": "noise_reused",
    "one_seed": "seed_reused",
    "other_limit": "mr_admm_limit",
    "own_bound": "native_lower",
    "own_cells": "native_cells",
    "own_heads": "native_columns",
    "own_noise": "require_calibrated",
    "per_node": "by_node",
    "points_of": "sample_profile",
    "preview": "the upper end of an Estimate",
    "remedy": "suggestion",
    "renyi_while_finite": "renyi_given_finite",
    "revealing": "disclosure",
    "root_of_enclosed": "find_root",
    "rough_law": "coarse_upper",
    "sharpness": "signal_to_noise",
    "slope_and_bend": "derivatives",
    "slope_bound": "derivative_bound",
    "stalled": "m_admm_stalls",
    "supplied_pair": "from_user_densities",
    "surprising": "unexpected",
    "top_mass": "mass_at_supremum",
    "touched": "total_variation_bound",
    "unit_gap": "normalised_distance",
    "vouched": "attested",
    "widest_cell": "max_cell_width",
}


def _identifiers(text: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(text)):
        for field in ("id", "attr", "arg", "name", "asname"):
            found = getattr(node, field, None)
            if isinstance(found, str):
                yield found, getattr(node, "lineno", 0)


def _returned(text: str) -> list[str]:
    return [f"{n} in line {k}: {RETIRED[n]}" for n, k in _identifiers(text) if n in RETIRED]


@pytest.mark.parametrize("folder", ["dpcalc", "algorithms", "audits"])
def test_no_retired_name_returns(folder: str) -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (names := _returned(path.read_text()))
    }
    assert found == {}


@pytest.mark.parametrize(
    "text",
    ["Attacked = 1", "x.remedy()", "def hasty(): ...", "f(own_bound=1)", "import a.bow as bow"],
)
def test_a_name_that_returns_is_seen(text: str) -> None:
    assert len(_returned(text)) == 1
