"""Cost over the size of a problem. Long, so they carry the marker ``campaign``."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.networks import ring
from dpcalc.algorithms.problems.records import bounded_rows, split
from tests.benchmarks.timing import fastest

pytestmark = pytest.mark.campaign


def slope(sizes, times):
    """Exponent of the best power law through the points."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def timed_run(records, nodes, runs, features=40):
    rng = np.random.default_rng(0)
    x = bounded_rows(rng.standard_normal((records, features)), "rescale")
    y = np.where(rng.random(records) < 0.5, 1.0, -1.0)
    problem = ConsensusProblem(
        records=split(x, y, nodes), network=ring(nodes), loss=Logistic(), loss_weight=5.0, ridge=1.0
    )
    algorithm = load("private-r-admm")(problem, rounds=3, penalty=0.5, noise_rate=3.0)
    algorithm.run(0, runs=1)
    return fastest(lambda: algorithm.run(1, runs=runs), repeats=3)


@pytest.mark.parametrize("what", ["records", "runs", "nodes"])
def test_cost_grows_no_faster_than_linearly(what):
    """In records, in runs, and in nodes and edges at a fixed number of records per node."""
    sizes = [1, 2, 4, 8]
    times = [
        timed_run(
            records=20_000 * (k if what == "records" else 1) if what != "nodes" else 400 * 20 * k,
            nodes=20 * k if what == "nodes" else 4,
            runs=16 * (k if what == "runs" else 1),
        )
        for k in sizes
    ]
    exponent = slope(sizes, times)
    print(f"{what}: cost grows with exponent {exponent:.2f}")  # noqa: T201 - shown with -s
    assert exponent < 1.25


def test_a_thousand_nodes_and_a_million_records_fit_in_eight_gigabytes():
    """In a process of its own whose address space is capped."""
    import subprocess
    import sys

    code = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
import numpy as np
from dpcalc.algorithms import load
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.networks import erdos_renyi
from dpcalc.algorithms.problems.records import split
rng = np.random.default_rng(0)
x = rng.standard_normal((1_000_000, 105))
x /= np.linalg.norm(x, axis=1, keepdims=True)
y = np.where(x[:, 0] > 0, 1.0, -1.0)
records = split(x, y, 1000)
del x, y
p = ConsensusProblem(records=records, network=erdos_renyi(1000, 0.01, 0), loss=Logistic(),
                     loss_weight=100.0, ridge=1.0)
run = load("private-r-admm")(p, rounds=2, penalty=0.5, noise_rate=3.0).run(1, diagnostics=True)
assert np.isfinite(run["primal"]).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, "GB at most")
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    print(done.stdout)  # noqa: T201 - shown with -s
    assert done.returncode == 0, done.stderr
