"""Random compositions whose ends are certified: ``python -m tests.campaign.certified --store FILE``.

Each case is a line of FILE with its certificate, written when it is judged; the same command again
resumes where it was stopped, and ``--minutes 5`` ends a piece (status 3: there is more to do; 1: an
end is certainly wrong, or a certificate was refused by its checker). The counts of all cases in FILE
are printed. With ``--rare`` samples are rare, and alone.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import numpy as np

from dpcalc.certificates.certify import CERTIFIED, certify
from dpcalc.certificates.checker import check
from dpcalc.certificates.grammar import Refused
from dpcalc.errors import NumericalFailure
from dpcalc.guarantees import GDP, ApproxDP, Guarantee, PureDP, compose
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.mechanisms import (
    gaussian_without_replacement,
    laplace,
    poisson_subsampled_gaussian,
)

SEED, UNFINISHED = 2026, 3
WRONG = "certainly wrong"

Parts = list[tuple[Guarantee, int]]


def drawn(number: int) -> tuple[Parts, str, float]:
    """Rounds, their neighbouring relation and δ; the same for a number at any time."""
    rng = np.random.default_rng((SEED, number))
    adjacency = "add-remove" if rng.random() < 0.7 else "replace-one"

    def between(low: float, high: float) -> float:
        return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")

    def sampled() -> tuple[Guarantee, int]:
        sigma, rate = between(0.5, 8), between(1e-4, 0.5)
        return poisson_subsampled_gaussian(sigma, rate, adjacency), round(between(100, 1e6))

    kinds = [
        lambda: (GDP(between(0.01, 3)), round(between(1, 20))),
        lambda: (PureDP(between(0.01, 1)), round(between(1, 50))),
        lambda: (ApproxDP(between(0.01, 1), between(1e-12, 1e-8)), round(between(1, 10))),
        lambda: (laplace(between(1, 50), adjacency), round(between(1, 30))),
    ]
    parts: Parts = [sampled()] if rng.random() < 0.85 else []
    if not parts or rng.random() < 0.4:
        parts += [kinds[k]() for k in rng.choice(len(kinds), rng.integers(1, 3), replace=False)]
    return parts, adjacency, between(1e-12, 1e-2)


def drawn_rare(number: int) -> tuple[Parts, str, float]:
    """Rounds of rare samples of either kind, their neighbouring relation and δ."""
    rng = np.random.default_rng((SEED, 1, number))

    def between(low: float, high: float) -> float:
        return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")

    sigma, rate = between(0.5, 4), between(1e-8, 1e-4)
    rounds, delta = round(between(13, 1e6)), between(1e-12, 1e-6)
    adjacency = "add-remove" if rng.random() < 0.5 else "replace-one"
    if adjacency == "replace-one" and rng.random() < 0.5:
        return [(gaussian_without_replacement(sigma, 1, round(1 / rate)), rounds)], adjacency, delta
    return [(poisson_subsampled_gaussian(sigma, rate, adjacency), rounds)], adjacency, delta


def ends_of(total: Guarantee, delta: float) -> tuple[float, float | None]:
    """Of the engine's enclosure of ε; a closed form has an upper end alone."""
    if not isinstance(total, Composition):
        return total.epsilon(delta), None
    bracket = total.bracket(delta)
    return bracket.upper, bracket.lower


def judged(number: int, draw: Callable[[int], tuple[Parts, str, float]] = drawn) -> dict[str, Any]:
    """What became of a case: ``upper`` and ``lower``, ``refused`` by the checker, seconds."""
    parts, adjacency, delta = draw(number)
    try:
        upper, lower = ends_of(compose(*parts), delta)
    except NumericalFailure:
        return {"case": number, "upper": "refused by the engine", "lower": "", "refused": ""}
    begun = process_time()
    found = certify(parts, adjacency, delta, upper, lower)
    made, refused = process_time(), ""
    try:
        if found.certificate is not None:
            check(found.certificate)
    except Refused as reason:
        refused = str(reason)
    seconds = [round(made - begun, 2), round(process_time() - made, 2)]
    ends = {"upper": found.upper, "lower": found.lower, "refused": refused, "seconds": seconds}
    return {"case": number, **ends, "certificate": found.certificate}


def counts(cases: list[dict[str, Any]]) -> Counter[str]:
    """Of every end: certified, certainly wrong, no such end, undecided."""
    found: Counter[str] = Counter(cases=len(cases))
    for case in cases:
        for end in ("upper", "lower"):
            verdict = case[end]
            endings = ("no such end", "refused by the engine")
            kind = next((text for text in endings if verdict.endswith(text)), "not decided")
            kind = CERTIFIED if verdict == CERTIFIED else kind
            found[f"{end} ends: {WRONG if WRONG in verdict else kind}"] += bool(verdict)
        found["refused by the checker"] += bool(case["refused"])
    return found


def contradictions(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cases with an end that is certainly wrong, or a certificate that its checker refuses."""
    return [c for c in cases if c["refused"] or any(WRONG in c[end] for end in ("upper", "lower"))]


def main(arguments: list[str]) -> int:
    """Judge cases until there are enough, or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--rare", action="store_true")
    given = parser.parse_args(arguments)
    lines = given.store.read_text().splitlines() if given.store.exists() else []
    cases = [json.loads(line) for line in lines]
    known, end = {case["case"] for case in cases}, monotonic() + 60 * given.minutes
    left = [number for number in range(given.cases) if number not in known]
    with given.store.open("a") as store:
        while left and monotonic() < end:
            cases.append(judged(left.pop(0), drawn_rare if given.rare else drawn))
            store.write(json.dumps(cases[-1]) + "\n")
            store.flush()
    for name, count in sorted(counts(cases).items()):
        sys.stdout.write(f"{name}: {count}\n")
    made = [case["seconds"] for case in cases if "seconds" in case]
    if made:
        slowest = [max(column) for column in zip(*made, strict=True)]
        sys.stdout.write(f"slowest, processor seconds: {slowest[0]} made, {slowest[1]} checked\n")
    wrong = contradictions(cases)
    sys.stdout.write("".join(f"CONTRADICTION: {json.dumps(case)}\n" for case in wrong))
    return 1 if wrong else UNFINISHED if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
