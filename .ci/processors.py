"""The numerical tests as other processors compute: other linear algebra, fewer vector instructions.

OpenBLAS takes the kernels of OPENBLAS_CORETYPE, numpy leaves out the instructions named by
NPY_DISABLE_CPU_FEATURES. What this processor cannot do, and what it does by itself, which all tests
ran with, is skipped by name. The fewest instructions get every case, in two processes; those between
them and its own one case of six tests of every file, in one. As many processes as there are processors
run at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import scipy.linalg  # noqa: F401 - its OpenBLAS is asked too
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from threadpoolctl import threadpool_info

TESTS = [
    "tests/algorithms/test_composite_admm.py",
    "tests/algorithms/test_composite_laws.py",
    "tests/algorithms/test_losses_and_regularisers.py",
    "tests/algorithms/test_minimise.py",
    "tests/algorithms/test_network_admm.py",
    "tests/algorithms/test_network_convergence.py",
    "tests/algorithms/test_network_densities.py",
    "tests/unit/test_composition.py",
    "tests/unit/test_convergence_results.py",
    "tests/unit/test_utilities.py",
    "tests/unit/test_convolution.py",
    "tests/unit/test_modulus.py",
    "tests/unit/test_numerics.py",
    "tests/unit/test_selftest.py::test_every_assumption_holds_here",  # the others plant what is false
]
FOLDERS = ("algorithms", "unit")
KERNELS = {
    "Prescott": ("SSE3", "AVX-512 and AVX2"),
    "Haswell": ("AVX2", "AVX-512"),  # the wheels take the same on Zen
    "SkylakeX": ("AVX512F", ""),
}
"""Kernels of OpenBLAS: instructions without which they cannot run, and what numpy has not there."""


def features() -> set[str]:
    """Names of instruction sets of this processor, as Linux and as numpy call them."""
    found = {name for name, there in __cpu_features__.items() if there}
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        words = cpuinfo.read_text().upper().replace("PNI", "SSE3").split()
        found |= set(words)
    return found


def own_kernels() -> set[str]:
    """Kernels that numpy's and scipy's OpenBLAS take on this processor by themselves."""
    found = [each for each in threadpool_info() if each["internal_api"] == "openblas"]
    return {str(each["architecture"]) for each in found}


def settings() -> list[tuple[str, dict[str, str]]]:
    """Environment variables of every repetition, with what they stand for."""
    here = features()
    found: list[tuple[str, dict[str, str]]] = []
    # Newer numpy names levels, X86_V4 for AVX-512 and X86_V3 for AVX2; older ones the sets.
    usable = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    left_out = {
        "AVX-512": [name for name in usable if name.startswith(("AVX512", "X86_V4"))],
        "AVX-512 and AVX2": [n for n in usable if n.startswith(("AVX", "FMA3", "X86_V"))],
        "": [],
    }
    for kernel, (needed, without) in KERNELS.items():
        said: list[str] = []
        variables: dict[str, str] = {}
        if own_kernels() == {kernel} and not left_out[without]:
            print(f"skipped: OpenBLAS as on {kernel}, as it is here")
            continue
        if needed in here:
            said.append(f"OpenBLAS as on {kernel}")
            variables["OPENBLAS_CORETYPE"] = kernel
        else:
            print(f"skipped: OpenBLAS as on {kernel}, which needs {needed}")
        if left_out[without]:
            said.append(f"numpy without {without}")
            variables["NPY_DISABLE_CPU_FEATURES"] = " ".join(left_out[without])
        elif without:
            print(f"skipped: numpy without {without}, which it does not use here")
        if said:
            found.append((", ".join(said), variables))
    return found


def tested(what: str, variables: dict[str, str], tests: list[str]) -> int:
    """Run tests in one setting, and print together what came of it; pytest's status."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    print(f"\n{what}\n{done.stdout}", flush=True)
    return done.returncode


def main() -> int:
    """Run the tests once per setting; the number of processes that fail."""
    halves = [[test for test in TESTS if test.startswith(f"tests/{folder}/")] for folder in FOLDERS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        begun = [
            pool.submit(tested, what, variables, tests)
            for place, (what, variables) in enumerate(settings())
            for tests in ([["--of-a-file", "6", *TESTS]] if place else halves)
        ]
        return sum(each.result() != 0 for each in begun)


if __name__ == "__main__":
    sys.exit(main())
