"""The page of the comparison is made from what was measured, and from nothing else."""

from __future__ import annotations

import numpy as np
from click.testing import CliRunner

from dpcalc.algorithms.problems.builtin import classification
from dpcalc.estimators import comparison


def test_the_page_holds_means_and_spreads_of_the_cells_that_are_there():
    found = {
        "a9a | ADMMClassifier | 1": [0.84, 0.86],
        "a9a | majority class | 0.1": [0.7638],
        "ijcnn1 | NetworkClassifier | 10000": [0.92, 0.92],
    }
    lines = comparison.page(found, ("a9a", "ijcnn1"), tuple(comparison.COMPETITORS)).splitlines()
    assert "| ADMMClassifier |  |  | 0.8500 ± 0.0100 |  |  |  |" in lines
    assert "| majority class | " + " | ".join(["0.7638"] * 6) + " |" in lines
    assert "| NetworkClassifier |  |  |  |  |  | 0.9200 ± 0.0000 |" in lines
    assert not any(line.startswith("| noisy gradient descent") for line in lines)


def test_an_unknown_data_set_is_refused_with_the_known_ones(tmp_path):
    given = [str(tmp_path), "--out", str(tmp_path / "page.md"), "--only", "Adult"]
    refused = CliRunner().invoke(comparison.main, given)
    assert refused.exit_code == 2
    assert "'Adult' is not one of 'a9a', 'a8a', 'ijcnn1', 'adult'" in refused.output


def test_the_lead_is_that_of_the_best_means_with_its_standard_error():
    """Worked by hand: .85 less .84, and √(.02² + .04²), half the unbiased variances."""
    found = {
        "a9a | ADMMClassifier | 1": [0.83, 0.87],
        "a9a | NetworkClassifier | 1": [0.8, 0.8],
        "a9a | diffprivlib, C = 1 | 1": [0.80, 0.88],
        "a9a | diffprivlib, C = 0.01 | 1": [0.7, 0.7],
        "a9a | AveragingClassifier | 3": [0.9, 0.9],
    }
    rows = comparison.page(found, ("a9a", "ijcnn1"), tuple(comparison.COMPETITORS)).splitlines()
    assert "| best of ours less best peer |  |  | +0.0100 ± 0.0447 |  |  |  |" in rows


def test_competitors_learn_what_there_is():
    """Noisy descent and an estimator on the same records at a generous budget; the optimum as well."""
    records = classification(3000, 3)
    rows = (records.features / 2, records.labels)
    data = comparison.Problem(rows, rows)
    best = comparison.of_optimum(data, 1.0)[0]
    for accuracies in (comparison.of_descent, comparison.of_ours(comparison.ADMMClassifier)):
        found = accuracies(data, 1e4)
        assert found.shape == (comparison.RUNS,)
        assert np.abs(found - best).max() < 0.01
    assert comparison.of_majority(data, 1.0)[0] < best


def test_records_dealt_again_are_the_same_ones():
    records = classification(30, 3)
    rows = (records.features, records.labels)
    data = comparison.Problem((rows[0][:20], rows[1][:20]), (rows[0][20:], rows[1][20:]))
    other = comparison.dealt_again(data, 1)
    assert (len(other.train[1]), len(other.test[1]), other.runs) == (20, 10, 1)
    again = np.vstack([other.train[0], other.test[0]])
    assert not np.array_equal(again, rows[0])
    places = [np.flatnonzero((rows[0] == row).all(axis=1))[0] for row in again]
    assert sorted(places) == list(range(30))
    both = np.concatenate([other.train[1], other.test[1]])
    np.testing.assert_array_equal(both, rows[1][places])


def test_the_lead_on_other_splits_has_an_error_for_shared_records():
    """Worked by hand: leads of .01, .03 and .02; .01·√(1/3 + 16281/32561) = .0091."""
    ours, descent = (comparison.again(who) for who in comparison.COMPARED_AGAIN)
    found = {ours: [0.85, 0.86, 0.85], descent: [0.84, 0.83, 0.83]}
    text = " ".join(comparison.page(found, (), ()).split())
    assert "in 3 random orders" in text
    assert "a lead of +0.0200 with a standard deviation of 0.0100." in text
    assert "the standard error of the lead is 0.0091." in text
    assert "dealt again The records" not in comparison.page({}, (), ())
