"""Guarantees, mechanisms, compositions and conversions by name, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcalc import compose, group, mechanisms
from dpcalc.calibration import smallest_noise
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, ClaimedCurve, Guarantee, PureDP, WorstOf
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.best_count import BestCount
from dpcalc.guarantees.conversion import rho_for, to_gdp, to_pure, to_rdp, to_zcdp
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.guarantees.objective_perturbation import moved_noise
from dpcalc.guarantees.profile import PrivacyProfile
from dpcalc.guarantees.selection import RandomSelection, stop_for
from dpcalc.theorems.catalogue import privacy_result

Plain = dict[str, Any]
Made = Callable[[], Any]

_INF = math.inf
_POINTS = {2: 0.125, 4: 0.25, 16: 2.0}
_PAIR = [0.25, 0.5, 0.25], [0.5, 0.375, 0.125]
_HALF_GONE = [0.5, 0.5], [0.0, 1.0]


def _laplace_density(middle: float) -> Callable[[Any], Any]:
    return lambda x: -(x - middle) - 2 * np.logaddexp(0, -(x - middle))


def _supplied(adjacency: str | None, *, symmetric: bool = False) -> Guarantee:
    return mechanisms.from_densities(
        _laplace_density(1.0),
        _laplace_density(0.0),
        support=(-30, 31),
        scale=1,
        outside=1e-12,
        symmetric=symmetric,
        adjacency=adjacency,
    )


def _instance(key: str, **changes: Any) -> Any:
    kind = privacy_result(key)
    return kind.from_parameters({**kind.example, **changes})


def _stepped(count: int) -> Guarantee:
    return GDP(1 + (math.log(count / 40)) ** 2)


CLOSED: dict[str, Made] = {
    "pure": lambda: PureDP(0.5),
    "pure, large": lambda: PureDP(40),
    "pure, nothing": lambda: PureDP(0),
    "pure, everything": lambda: PureDP(_INF),
    "approximate": lambda: ApproxDP(0.5, 2**-10),
    "approximate, sure failure": lambda: ApproxDP(0.5, 1),
    "approximate, only failure": lambda: ApproxDP(0, 2**-10),
    "approximate, infinite": lambda: ApproxDP(_INF, 2**-10),
    "gaussian": lambda: GDP(0.75),
    "gaussian, nothing": lambda: GDP(0),
    "gaussian, everything": lambda: GDP(_INF),
    "gaussian, relation": lambda: GDP(0.75).under("add-remove"),
    "zcdp": lambda: ZCDP(0.25),
    "zcdp, nothing": lambda: ZCDP(0),
    "zcdp, everything": lambda: ZCDP(_INF),
    "renyi points": lambda: RDP.from_points(_POINTS),
    "renyi points, infinite": lambda: RDP.from_points({2: 0.125, 4: _INF}),
    "renyi curve": lambda: RDP(lambda order: order / 8 + 1 / 16),
    "renyi, bounded": lambda: RDP(lambda order: min(order / 8, 1.0)),
    "claimed": lambda: ClaimedCurve(lambda d: math.sqrt(-math.log(d)) / 4, {"sigma": 2.0}),
    "profile": lambda: PrivacyProfile(lambda e: 0.5 * math.exp(-3 * e)),
    "profile, never small": lambda: PrivacyProfile(lambda _: 0.5),
    "profile, out of range": lambda: PrivacyProfile(lambda e: 2 - e),
    "worst": lambda: WorstOf(((3, GDP(0.5)), (5, GDP(0.75)), (7, PureDP(0.5)))),
    "group of gaussians": lambda: group(GDP(0.25), 3),
    "group of pure": lambda: group(PureDP(0.25), 3),
    "group of zcdp": lambda: group(ZCDP(0.25), 3),
    "group of one": lambda: group(ZCDP(0.25), 1),
    "group of approximate": lambda: group(ApproxDP(0.25, 2**-20), 3),
    "group of a profile": lambda: group(PrivacyProfile(lambda e: 0.5 * math.exp(-3 * e)), 2),
    "group of worst": lambda: group(WorstOf(((3, GDP(0.5)), (7, PureDP(0.5)))), 2),
    "mixture": lambda: GaussianMixture((0.5, 1.0), (0.25, 0.5)),
    "mixture, far apart": lambda: GaussianMixture((0.5, 40.0), (0.5, 0.5)),
    "best count": lambda: BestCount(_stepped, 10, 1, 200),
    "best count of few": lambda: BestCount(_stepped, 40, 38, 47),
    "random selection": lambda: RandomSelection(GDP(0.25), 0.125),
    "random selection, geometric": lambda: RandomSelection(PureDP(0.25), 0.125, "geometric"),
    "random selection of nothing": lambda: RandomSelection(PureDP(0), 0.125),
    "random selection, everything": lambda: RandomSelection(GDP(_INF), 0.125),
    "through renyi, bare": lambda: compose((RDP.from_points(_POINTS), 2), (ZCDP(0.125), 3)),
    "through renyi, everything": lambda: compose(ZCDP(0.125), PureDP(_INF)),
    "composed gaussians": lambda: compose((GDP(0.25), 4), GDP(0.5)),
    "composed zcdp": lambda: compose((ZCDP(0.25), 4), ZCDP(0.5)),
    "composed, relation": lambda: compose((GDP(0.25).under("replace-one"), 4), GDP(0.5)),
    "composed nothing": lambda: compose(),
    "composed none": lambda: compose((GDP(1), 0)),
    "composed worst": lambda: compose((WorstOf(((3, GDP(0.5)), (7, GDP(0.25)))), 2), GDP(1)),
    "composed worst, many": lambda: compose((WorstOf(((3, GDP(0.5)), (7, GDP(0.25)))), 300)),
    "gaussian mechanism": lambda: mechanisms.gaussian(2, "add-remove"),
    "gaussian mechanism, replaced": lambda: mechanisms.gaussian(2, "replace-one"),
    "gaussian mechanism, over sensitivity": lambda: mechanisms.gaussian(noise_over_sensitivity=2),
    "sampled, all": lambda: mechanisms.poisson_subsampled_gaussian(2, 1, "replace-one"),
    "without replacement, all": lambda: mechanisms.gaussian_without_replacement(2, 8, 8),
    "to gdp from pure": lambda: to_gdp(PureDP(0.5)),
    "to gdp from gdp": lambda: to_gdp(GDP(0.5)),
    "to zcdp from pure": lambda: to_zcdp(PureDP(0.5)),
    "to zcdp from gdp": lambda: to_zcdp(GDP(0.5)),
    "to zcdp from everything": lambda: to_zcdp(GDP(_INF)),
    "to zcdp from zcdp": lambda: to_zcdp(ZCDP(0.5)),
    "to pure": lambda: to_pure(mechanisms.laplace(2, "add-remove")),
    "to rdp from pure": lambda: to_rdp(PureDP(0.5)),
}
"""Guarantees that are answered in closed form or by a search over one number."""

ENCLOSED: dict[str, Made] = {
    "composed pure": lambda: compose((PureDP(0.125), 6), PureDP(0.5)),
    "composed approximate": lambda: compose((ApproxDP(0.125, 2**-20), 6), PureDP(0.5)),
    "composed approximate, two": lambda: compose(ApproxDP(0.125, 2**-20), ApproxDP(0.5, 2**-14)),
    "composed of all kinds": lambda: compose(
        (PureDP(0.25), 3), (ApproxDP(0.125, 2**-20), 1), GDP(0.5)
    ),
    "laplace": lambda: mechanisms.laplace(2, "add-remove"),
    "laplace, replaced": lambda: mechanisms.laplace(2, "replace-one"),
    "laplace, over sensitivity": lambda: mechanisms.laplace(scale_over_sensitivity=2),
    "laplace, twice": lambda: compose((mechanisms.laplace(2, "add-remove"), 2)),
    "exponential norm": lambda: mechanisms.exponential_norm(2, 3, "add-remove"),
    "exponential norm, line": lambda: mechanisms.exponential_norm(2, 1, "replace-one"),
    "moved noise": lambda: moved_noise(0.5, 1, 0.75),
    "moved noise, plane": lambda: moved_noise(0.5, 2, 0.75),
    "sampled": lambda: mechanisms.poisson_subsampled_gaussian(1, 0.125, "add-remove"),
    "sampled, replaced": lambda: mechanisms.poisson_subsampled_gaussian(1, 0.125, "replace-one"),
    "without replacement": lambda: mechanisms.gaussian_without_replacement(2, 2, 8),
    "finite": lambda: mechanisms.finite_distributions(*_PAIR, "add-remove"),
    "finite, either order": lambda: mechanisms.finite_distributions(*_PAIR, "replace-one"),
    "finite, revealing": lambda: mechanisms.finite_distributions(*_HALF_GONE, "add-remove"),
    "from points": lambda: mechanisms.from_profile([(0.5, 2**-10), (1, 2**-14)]),
    "densities": lambda: _supplied("add-remove"),
    "densities, either order": lambda: _supplied("replace-one"),
    "densities, symmetric": lambda: _supplied(None, symmetric=True),
    "best": lambda: BestOf((compose((PureDP(0.5), 2)), ZCDP(0.5), GDP(0.75))),
    "best of loose": lambda: BestOf((GDP(0.5), compose((PureDP(1.5), 2)))),
    "group of finite": lambda: group(mechanisms.finite_distributions(*_PAIR, "add-remove"), 2),
    "composed profile": lambda: compose((PrivacyProfile(lambda e: 0.125 * math.exp(-9 * e)), 1)),
    "through renyi": lambda: compose((RDP.from_points(_POINTS), 2), (GDP(0.25), 3)),
    "through renyi, failing": lambda: compose(
        (RDP.from_points(_POINTS), 2), (ApproxDP(0.25, 2**-20), 3), (ApproxDP(0.125, 2**-30), 1)
    ),
    "through renyi, some infinite": lambda: compose(
        ZCDP(0.125), mechanisms.finite_distributions([0.5, 0.5], [0.501, 0.499], "add-remove")
    ),
    "through renyi, rare": lambda: compose(
        ZCDP(0.125), mechanisms.from_profile([(0.25, 2**-20), (0.5, 2**-24)])
    ),
}
"""Guarantees whose answers are enclosures."""

REFUSED: dict[str, Made] = {
    "relation unknown": lambda: GDP(1).under("neighbours"),
    "relation contradicted": lambda: GDP(1).under("add-remove").under("replace-one"),
    "relations mixed": lambda: compose(GDP(1).under("add-remove"), GDP(1).under("replace-one")),
    "a number composed": lambda: compose(1.0),  # type: ignore[arg-type] # refused
    "half a pair composed": lambda: compose((GDP(1),)),  # type: ignore[arg-type] # refused
    "half a count": lambda: compose((GDP(1), 1.5)),  # type: ignore[arg-type] # refused
    "a negative count": lambda: compose((GDP(1), -1)),
    "a claim composed": lambda: compose(ClaimedCurve(lambda _: 1.0, {})),
    "nothing known composed": lambda: compose(ZCDP(1), group(ApproxDP(0.25, 0.125), 2)),
    "pure, negative": lambda: PureDP(-1),
    "approximate, above 1": lambda: ApproxDP(1, 2),
    "gaussian, negative": lambda: GDP(-1),
    "zcdp, no number": lambda: ZCDP(math.nan),
    "no orders": lambda: RDP.from_points({}),
    "order 1": lambda: RDP.from_points({1: 0.5}),
    "negative divergence": lambda: RDP.from_points({2: -0.5}),
    "group of a number": lambda: group(1.0, 2),  # type: ignore[arg-type] # refused
    "group of none": lambda: group(GDP(1), 0),
    "no adjacency": lambda: mechanisms.gaussian(2),
    "empty adjacency": lambda: mechanisms.gaussian(2, ""),  # type: ignore[arg-type] # refused
    "adjacency of functions": lambda: mechanisms.laplace(2, "neighbouring-functions"),
    "both multipliers": lambda: mechanisms.gaussian(2, "add-remove", noise_over_sensitivity=2),
    "neither multiplier": lambda: mechanisms.laplace(),
    "no noise": lambda: mechanisms.gaussian(0, "add-remove"),
    "no noise over sensitivity": lambda: mechanisms.gaussian(noise_over_sensitivity=0),
    "no scale": lambda: mechanisms.laplace(0, "add-remove"),
    "dimension 0": lambda: mechanisms.exponential_norm(2, 0, "add-remove"),
    "dimension too large": lambda: mechanisms.exponential_norm(2, 10**9, "add-remove"),
    "rate 0": lambda: mechanisms.poisson_subsampled_gaussian(1, 0, "add-remove"),
    "rate above 1": lambda: mechanisms.poisson_subsampled_gaussian(1, 2, "add-remove"),
    "rate without adjacency": lambda: mechanisms.poisson_subsampled_gaussian(1, 0.5),
    "sample too large": lambda: mechanisms.gaussian_without_replacement(1, 9, 8),
    "sample of none": lambda: mechanisms.gaussian_without_replacement(1, 0, 8),
    "population of none": lambda: mechanisms.gaussian_without_replacement(1, 1, 0),
    "no mu": lambda: mechanisms.sampled_without_replacement(0, 0.5),
    "distributions without order": lambda: mechanisms.finite_distributions(*_PAIR, None),  # type: ignore[arg-type] # refused
    "densities without order": lambda: _supplied(None),
    "noise that does not move": lambda: moved_noise(0, 1, 1),
    "selection that never stops": lambda: RandomSelection(GDP(1), 0),
    "selection at once": lambda: RandomSelection(GDP(1), 1),
    "selection by another law": lambda: RandomSelection(GDP(1), 0.5, "poisson"),
    "one run": lambda: stop_for(1),
    "pure from gaussian": lambda: to_pure(GDP(1)),
    "zcdp from approximate": lambda: to_zcdp(ApproxDP(1, 0.5)),
    "gdp from zcdp": lambda: to_gdp(ZCDP(1)),
    "rdp from approximate": lambda: to_rdp(ApproxDP(1, 0.5)),
    "order 1 asked": lambda: GDP(1).renyi(1),
    "delta 1 asked": lambda: GDP(1).epsilon(1),
    "negative epsilon asked": lambda: GDP(1).delta(-1),
    "rate 2 asked": lambda: GDP(1).tradeoff(2),
    "prior 2 asked": lambda: GDP(1).attack_accuracy(2),
    "worst at delta 1": lambda: WorstOf(((1, GDP(1)),)).worst(1),
    "noise for a word": lambda: smallest_noise("dp-admm", 1, 0.1),  # type: ignore[type-var] # refused
    "noise for nothing": lambda: smallest_noise(_instance("dp-admm"), 0, 0.1),
    "noise at delta 1": lambda: smallest_noise(_instance("dp-admm"), 1, 1),
    "noise without delta": lambda: smallest_noise(_instance("dp-admm"), 1),
    "noise that helps nothing": lambda: smallest_noise(
        _instance("dp-admm", dual_start="data"), 1, 2**-10
    ),
    "noise at other numbers": lambda: smallest_noise(
        _instance("gaussian-objective-perturbation", regularization=0.25), 0.01, 2**-10
    ),
}

NUMBERS: dict[str, Callable[[], Any]] = {
    "rho for a budget": lambda: [rho_for(0.5, 2**-10), rho_for(30, 2**-10)],
    "stop for runs": lambda: [stop_for(10), stop_for(10, "geometric"), stop_for(1.5)],
    "noise of dp-admm": lambda: smallest_noise(_instance("dp-admm"), 0.25, 2**-20).sigma,
    "noise of noisy-gd": lambda: smallest_noise(_instance("noisy-gd"), 4, 2**-20).sigma,
    "rate of noise": lambda: smallest_noise(
        _instance("penalty-perturbation", rounds=2, dimension=None), 2
    ).noise_level(),
    "rate of recycled noise": lambda: smallest_noise(
        _instance("recycled-admm", rounds=2, dimension=None), 0.5
    ).noise_level(),
    "bounds, best number": lambda: [
        BestCount(_stepped, start, 1, 200).best(lambda bound: bound.epsilon(0.01))
        for start in (1, 10, 40, 190)
    ],
}
