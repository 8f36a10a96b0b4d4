"""Private dual averaging with b of q records drawn again every round, against brute force.

The oracle draws nothing and uses no code of dpcalc: it averages Gaussians over all subsets, cuts the
line into cells and sums (P - e^ε Q)₊ over all cells, which by data processing is at most δ(ε).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from mpmath import mpf
from scipy.special import ndtr

from dpcalc.calibration import smallest_noise
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.theorems.catalogue import privacy_result
from tests.oracles import exact

KIND = privacy_result("private-dual-averaging")


def _theorem(records: int, batch: int, rounds: int, sigma: float, adjacency: str) -> Any:
    return KIND.from_parameters(
        {
            "n_records": records, "rounds": rounds, "lipschitz": 1, "sigma": sigma,
            "sampling": "random-batch", "batch_size": batch, "adjacency": adjacency,
        }
    )  # fmt: skip


def _cells(gradients: tuple[float, ...], batch: int, sigma: float, edges: Any) -> Any:
    """Masses of one round's noisy mean over all batches."""
    means = [np.mean(chosen) for chosen in itertools.combinations(gradients, batch)]
    return np.mean([np.diff(ndtr((edges - m) / sigma)) for m in means], axis=0)


def _lower_delta(p: Any, q: Any, rounds: int, epsilon: float) -> float:
    for _ in range(rounds - 1):
        p, q = np.outer(p, p).ravel(), np.outer(q, q).ravel()
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def _neighbours(records: int, adjacency: str) -> Any:
    """All pairs of data sets of gradients -1, 0, 1, up to the order of records."""
    for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), records - 1):
        for one in (-1.0, 0.0, 1.0):
            if adjacency == "add-remove":
                yield (*others, one), others
                yield others, (*others, one)
            else:
                for two in {-1.0, 0.0, 1.0} - {one}:
                    yield (*others, one), (*others, two)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("records", "batch"), [(3, 2), (4, 2), (4, 3), (5, 1)])
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.few(5)
def test_no_data_leak_more_than_is_certified(
    adjacency: str, records: int, batch: int, rounds: int
) -> None:
    sigma, epsilon = 0.6, 0.4
    edges = np.concatenate([[-np.inf], np.linspace(-5, 5, 160), [np.inf]])
    worst = max(
        _lower_delta(
            _cells(d, batch, sigma, edges), _cells(e, batch, sigma, edges), rounds, epsilon
        )
        for d, e in _neighbours(records, adjacency)
    )
    certified = (
        _theorem(records, batch, rounds, sigma, adjacency).certified().guarantee.delta(epsilon)
    )
    assert worst <= certified
    assert certified <= worst * (1.01 if rounds == 1 else 1.3), (
        "the bound is not far from the worst"
    )


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_one_round_is_the_law_of_the_mixture(adjacency: str) -> None:
    records, batch, sigma, epsilon = 20, 4, 0.3, 0.7
    truth = exact.subsampled_gaussian_delta(batch * sigma / 2, batch / records, epsilon)
    theorem = _theorem(records, batch, 1, sigma, adjacency)
    certified = theorem.certified().guarantee.delta(epsilon)
    attained = theorem.attained().guarantee.delta(epsilon)
    assert mpf(certified) >= truth * (1 - mpf("1e-15"))
    assert certified == pytest.approx(float(truth), rel=1e-8)
    assert attained == pytest.approx(float(truth), rel=1e-8)


def test_a_batch_of_one_is_one_record_and_a_batch_of_all_is_the_full_batch() -> None:
    given = {"n_records": 10, "rounds": 5, "lipschitz": 1, "sigma": 1}

    def epsilon(**more: Any) -> float:
        return KIND.from_parameters({**given, **more}).certified().guarantee.epsilon(1e-5)

    assert epsilon(sampling="random-batch", batch_size=1) == epsilon(sampling="one")
    assert epsilon(sampling="random-batch", batch_size=10) == epsilon(sampling="full-batch")
    assert 2.74 < epsilon(sampling="random-batch", batch_size=3) < 2.75


@pytest.mark.parametrize("sampling", ["one", "full-batch"])
def test_a_batch_size_next_to_another_sampling_is_refused_with_both_readings(
    sampling: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = "epsilon private-dual-averaging --n-records 10 --rounds 5 --lipschitz 1 --sigma 1"
    with pytest.raises(SystemExit) as stopped:
        main([*arguments.split(), "--sampling", sampling, "--batch-size", "3", "--delta", "1e-5"])
    captured = capsys.readouterr()
    assert stopped.value.code == 2
    assert captured.out == ""
    for word in (f"sampling={sampling}", "batch_size=3", "mini-batch", "random-batch", "two ways"):
        assert word in captured.err


def test_a_batch_size_alone_is_refused() -> None:
    with pytest.raises(InvalidInput, match="random-batch"):
        KIND.from_parameters(
            {"n_records": 10, "rounds": 5, "lipschitz": 1, "sigma": 1, "batch_size": 3}
        )


def test_the_smaller_neighbour_can_draw_a_batch_too() -> None:
    with pytest.raises(InvalidInput, match="at most 9"):
        _theorem(10, 10, 5, 1.0, "add-remove")


def test_noise_is_found_for_random_batches() -> None:
    found = smallest_noise(_theorem(100, 10, 50, 1.0, "replace-one"), 1.0, 1e-5)
    assert found.certified().guarantee.epsilon(1e-5) <= 1
    less = found.replace(sigma=found.sigma * (1 - 1e-4))
    assert less.certified().guarantee.epsilon(1e-5) > 1
