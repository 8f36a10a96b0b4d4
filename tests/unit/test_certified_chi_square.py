"""Rounds whose χ²-divergence is bounded, in balls: against linear programs, adversaries and the engine."""

from __future__ import annotations

import copy
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy.optimize import linprog

from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.certificates import chi_square, grids
from dpcalc.certificates.balls import precision
from dpcalc.certificates.batches import without_replacement
from dpcalc.certificates.certify import CERTIFIED, Certified, certify
from dpcalc.certificates.checker import check, digest
from dpcalc.certificates.grammar import Refused
from dpcalc.certificates.lattice import convolved, divergence, summed
from dpcalc.certificates.laws import Law, gaussian
from dpcalc.guarantees.composition import compose
from dpcalc.guarantees.sampled_replacement import SampledReplacement, sampled_gaussian
from tests.oracles import adaptive_sampling

MU, RATE, ROUNDS, DELTA = 1.0, 0.1, 12, 1e-3
LINE = [(1.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (0.6, 0.0), (-0.6, 0.0)]
RATIOS = np.exp(np.linspace(-2.5, 2.5, 201))


def _law() -> Law:
    return without_replacement(arb(MU), arb(RATE))


def _most_in_a_block(
    value: np.ndarray, deltas: np.ndarray, h: float, one: float, count: int
) -> np.ndarray:
    """E_Q V(rX) at e^-nh, ..., 1 by a linear program over what H may be at the lattice's points."""
    n = len(value) - 1
    r = np.exp(h * np.arange(-n, n + 1))
    v = np.append(value, r[n + 1 :] - 1 + r[n + 1 :] * value[:-1][::-1])
    slopes = np.concatenate([[v[0] / r[0]], np.diff(v) / np.diff(r), [1.0]])
    bends = np.diff(slopes)
    squared = (1 + one) ** count
    budget = squared - 1 + (math.exp(h) - 1) ** 2 / 4 * squared
    found = []
    for row in range(n + 1):
        k = r / r[row]
        places = np.abs(np.arange(2 * n + 1) - row)
        most = np.where(k >= 1, deltas[places], k * deltas[places])
        omega = k * (math.exp(h) - math.exp(-h))
        program = linprog(
            -bends * r[row],
            A_ub=[omega],
            b_ub=[budget],
            bounds=list(zip(np.zeros_like(most), most, strict=True)),
        )
        found.append(v[row] - program.fun)
    return np.array(found)


@pytest.mark.parametrize(("one", "count"), [(0.3, 1), (0.02, 3), (5.0, 2), (1e-4, 1)])
def test_a_block_adds_what_a_linear_program_does(one: float, count: int) -> None:
    rng, h, n = np.random.default_rng(7), 0.25, 7
    deltas = 0.3 * np.cumprod(rng.uniform(0.5, 0.95, 2 * n + 1))
    expected, value = np.zeros(n + 1), [arb(0)] * (n + 1)
    with precision(120):
        held = chi_square.weights([arb(x) for x in deltas], arb(h))
        most = chi_square.budget(arb(one), count, arb(h))
        for _ in range(3):
            expected = _most_in_a_block(expected, deltas, h, one, count)
            value = chi_square.with_a_block(value, held, most, arb(h))
            assert [float(x) for x in value] == pytest.approx(expected, rel=1e-7)


def test_what_bends_downwards_counts_as_straight() -> None:
    """Bounds of a convex function need not be convex; less would be lost than there is."""
    h, n = 0.25, 4
    with precision(120):
        bends = chi_square.curvatures([arb(x) for x in (0.0, 0.3, 0.3, 0.3, 0.4)], arb(h))
    assert all(bend >= 0 and bend.is_exact() for bend in bends)
    assert float(bends[1]) == 0 < float(bends[n])


def test_fewer_bits_never_give_less() -> None:
    h, deltas = "0.1", [0.2 * 0.8**k for k in range(41)]
    ends = {}
    for bits in (53, 600):
        with precision(bits):
            held = chi_square.weights([arb(x) for x in deltas], arb(h))
            most, value = chi_square.budget(arb("0.1"), 1, arb(h)), [arb(0)] * 21
            for _ in range(2):
                value = chi_square.with_a_block(value, held, most, arb(h))
            given = [arb(x) / 7 for x in range(1, 22)]
            ends[bits] = value, chi_square.curvatures(given, arb(h))
    for few, many in zip(ends[53], ends[600], strict=True):
        assert all(x.is_exact() and x >= y for x, y in zip(few, many, strict=True))


def test_what_is_known_in_part_counts_at_its_upper_end() -> None:
    """Balls so wide that their lower ends would be seen: of weights, masses, profiles and of χ²."""
    h, deltas = arb("0.1"), [0.2 * 0.8**k for k in range(41)]

    def after_a_block(known: list[arb], one: arb) -> list[arb]:
        held, most = chi_square.weights(known, h), chi_square.budget(one, 1, h)
        return chi_square.with_a_block([arb(0)] * 21, held, most, h)

    with precision(120):
        wide = after_a_block([arb(x, x / 10) for x in deltas], arb(0.1, 0.01))
        most = after_a_block([arb(1.09 * x) for x in deltas], arb(0.109))
        assert all(x.is_exact() and x >= y for x, y in zip(wide, most, strict=True))
        places = [h * j for j in range(5)]
        profile = chi_square.divergences(
            without_replacement(arb(1, 0.1), arb(RATE)), 1, places, h, 2, 1
        )
        more = chi_square.divergences(without_replacement(arb(1.09), arb(RATE)), 1, places, h, 2, 1)
        assert all(x.is_exact() and x >= y for x, y in zip(profile, more, strict=True))
        masses = [arb(x, 0.01) for x in (0.1, 0.2, 0.2, 0.2, 0.1)]
        fewer = [arb(x) for x in (0.1, 0.2, 0.2, 0.191, 0.091)]
        lost = chi_square.over_masses(masses, places, h)
        surely = chi_square.over_masses(fewer, places, h)
        assert all(x.is_exact() and x >= y for x, y in zip(lost, surely, strict=True))


def test_an_epsilon_known_in_part_counts_at_its_lower_end() -> None:
    """Next to one loss; where several may be above it or below, nothing is known."""
    masses, h = [arb(x) for x in (0.25, 0.25, 0.125, 0.25, 0.125)], arb(0.5)
    with precision(120):
        for middle, radius in ((0.5, 0.125), (0.75, 0.125), (1.0, 0.25), (1.5, 0.25)):
            (wide,) = chi_square.over_masses(masses, [arb(middle, radius)], h)
            (most,) = chi_square.over_masses(masses, [arb(middle - radius)], h)
            assert most <= wide < 1
        assert chi_square.over_masses(masses, [arb(0.75, 0.5)], h) == [1]


@pytest.mark.parametrize("place", [0, 2, 4])
def test_values_without_bound_are_refused(place: int) -> None:
    """They have no order among the others."""
    h, value = arb("0.1"), [arb(x) for x in (0.0, 0.01, 0.03, 0.1, 0.2)]
    value[place] = arb.nan()
    with precision(120):
        held, most = chi_square.weights([arb(0.1)] * 9, h), chi_square.budget(arb(0.01), 1, h)
        with pytest.raises(Refused):
            chi_square.with_a_block(value, held, most, h)


@cache
def _adversary(count: int) -> np.ndarray:
    choices = adaptive_sampling.rounds(MU, RATE, LINE, 41)
    return adaptive_sampling.reached(choices, count, RATIOS)


@pytest.mark.parametrize(
    ("count", "block", "parts"),
    [(12, 1, 0), (12, 2, 0), (7, 2, 0), (7, 3, 0), (12, 4, 1), (12, 5, 2), (7, 2, 1)],
)
def test_no_adversary_reaches_more(count: int, block: int, parts: int) -> None:
    """Who chooses in every round where records lie; by backward induction, from below."""
    reached = _adversary(count)
    spacing, within = 0.05 if block == 1 else 0.07, ["0.05", 60, parts, "0.01", 400, 600]
    with precision(160):
        chosen = str(spacing), 60, block, "0.01", 400, 600, within if parts else None
        value = chi_square.followed([(_law(), count)], *chosen)
        for k in range(41, 100, 6):
            eps = -math.log(RATIOS[k])
            bound = float(chi_square.at(value, arb(eps), arb(str(spacing))))
            assert reached[k] / RATIOS[k] <= bound
        quarter = float(chi_square.at(value, arb(0.25), arb(str(spacing))))
    assert quarter <= (1.4 if block == 1 else 1.8) * reached[90] / RATIOS[90]


def test_half_the_chi_square_would_be_caught() -> None:
    reached, law = _adversary(12), _law()
    with precision(160):
        planted = law._replace(chi_square=law.chi_square / 2)
        value = chi_square.followed([(planted, 12)], "0.05", 60, 1, "0.01", 2, 1)
        bound = float(chi_square.at(value, arb(0.5), arb("0.05")))
    assert reached[80] / RATIOS[80] > bound  # ε = 0.5


def test_a_round_is_as_far_as_its_means_are() -> None:
    """∫(P - Q)²/Q of the laws of the largest shift, by sums over a fine grid."""
    x = np.linspace(-12, 14, 400_001)
    p, q = (np.exp(-((x - m) ** 2) / 2) / math.sqrt(2 * math.pi) for m in (MU, 0.0))
    mixed = (1 - RATE) * q + RATE * p
    exact = float(((mixed - q) ** 2 / q).sum() * (x[1] - x[0]))
    assert float(_law().chi_square) == pytest.approx(exact, rel=1e-9)
    assert not gaussian(arb(1)).chi_square.is_finite()


def test_blocks_are_bounded_from_above_and_not_far() -> None:
    places, rounds = [0.0, 0.3, 0.9], 6
    pairs = compose((sampled_gaussian(MU, RATE), rounds))
    pairs = pairs.pairs() if hasattr(pairs, "pairs") else pairs
    with precision(160):
        step = arb("0.0025")
        asked = [arb(each) for each in places]
        found = chi_square.divergences(_law(), rounds, asked, step, 1200, 1600)
        total = summed([(_law(), rounds)], step, [1200], 1600)
        for eps, bound in zip(asked, found, strict=True):
            assert float(bound) == pytest.approx(float(divergence(total, eps, step)), rel=1e-12)
        on_it = [step * 20, step * 41]
        for eps, bound in zip(on_it, chi_square.over_masses(total, on_it, step), strict=True):
            assert float(bound) == pytest.approx(float(divergence(total, eps, step)), rel=1e-12)
    for eps, bound in zip(places, found, strict=True):
        with with_relative_width(1e-4):
            bracket = pairs.delta_bracket(eps)
        assert bracket.lower <= float(bound) <= bracket.upper * 1.01


@pytest.mark.parametrize("idle", [0, 3])
def test_sums_below_the_lattice_rise_to_it_and_those_above_are_infinite(idle: int) -> None:
    rng, reach = np.random.default_rng(5), 4
    a, b = (np.append(rng.uniform(size=9 - idle), np.zeros(idle)) for _ in range(2))
    sums = np.convolve(a, b)
    with precision(80):
        found = convolved([arb(x) for x in a], [arb(x) for x in b], reach)
    expected = [sums[:5].sum(), *sums[5:13]]
    assert [float(x) for x in found] == pytest.approx(expected, rel=1e-12)


def test_between_places_the_chord_counts() -> None:
    h, value = 0.5, [0.01, 0.05, 0.2]
    r = np.exp(-h * np.arange(3)[::-1])
    with precision(120):
        for eps in (0.0, 0.2, 0.5, 0.7, 0.999, 1.0, 1.3, 4.0):
            bound = float(chi_square.at([arb(x) for x in value], arb(eps), arb(h)))
            at = math.exp(-eps)
            below = value[0] * at / r[0]
            expected = math.exp(eps) * (float(np.interp(at, r, value)) if eps <= 1 else below)
            assert bound == pytest.approx(expected, rel=1e-12)
        far = chi_square.at([arb(x) for x in value], arb(1), arb("1e-400"))
        assert float(far) == pytest.approx(value[0])
        assert not chi_square.at([arb(x) for x in value], arb(-0.1), arb(h)).is_finite()


@cache
def _made() -> tuple[float, Certified]:
    part = sampled_gaussian(MU, RATE)
    upper = compose((part, ROUNDS)).epsilon(DELTA)
    return upper, certify([(part, ROUNDS)], "replace-one", DELTA, upper, upper / 2)


def test_the_reported_epsilon_is_certified() -> None:
    upper, found = _made()
    assert upper < 0.99 * compose((sampled_gaussian(MU, RATE), ROUNDS)).pairs().epsilon(DELTA)
    assert found.upper == CERTIFIED
    assert found.lower.startswith("not certified: the upper end follows from the rounds' χ²")
    assert found.certificate is not None
    assert found.certificate["lower"] is None
    how = found.certificate["upper"]["evidence"]["both"]
    assert how["method"] == "chi-square"
    engine = SampledReplacement(MU, RATE, ROUNDS).delta(upper)
    assert 0.9 * engine < float(how["enclosure"][1]) <= DELTA
    (proved,) = check(found.certificate)
    assert proved.startswith(f"δ({upper!r}) <= ")


def _edited(**changes: Any) -> dict[str, Any]:
    made = copy.deepcopy(_made()[1].certificate)
    assert made is not None
    release, how = made["releases"][0], made["upper"]["evidence"]["both"]
    for name, value in changes.items():
        where = next((table for table in (how, release, made["upper"]) if name in table), made)
        where[name] = value
    return {**made, "digest": digest(made)}


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": "0.9"},
        {"delta": "1e-4"},
        {"count": ROUNDS + 1},
        {"mu": "1.1"},
        {"rate": "0.11"},
        {"spacing": "0"},
        {"spacing": "-0.1"},
        {"spacing": "0.3"},
        {"reach": 1001},
        {"reach": 0},
        {"block": 0},
        {"block": ROUNDS + 1},
        {"block": 2},
        {"step": "0", "block": 2},
        {"points": 1},
        {"width": 60_001},
        {"enclosure": ["0", "1e-9"]},
        {"adjacency": "add-remove"},
    ],
    ids=str,
)
def test_an_edited_certificate_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        check(_edited(**changes))


def test_next_to_other_releases_it_is_refused() -> None:
    made = _edited()
    for other in ({"mechanism": "gaussian", "mu": "0.001", "count": 1}, made["releases"][0]):
        more = {**made, "releases": [*made["releases"], other]}
        with pytest.raises(Refused):
            check({**more, "digest": digest(more)})


def test_so_many_blocks_are_refused_at_once() -> None:
    with pytest.raises(Refused, match="201 blocks"):
        check(_edited(count=201))


def test_so_many_blocks_are_still_followed() -> None:
    with precision(60):
        most = chi_square.BLOCKS
        value = chi_square.followed([(_law(), most)], "0.5", 2, 1, "0.1", 2, 1)
    assert len(value) == 3
    assert all(0 < x < 1 for x in value)


def test_it_shows_no_lower_end() -> None:
    made = _edited()
    lower = {**made, "lower": {**made["upper"], "epsilon": "0.1"}, "upper": None}
    with pytest.raises(Refused, match="bound from above"):
        check({**lower, "digest": digest(lower)})


def test_where_blocks_are_too_coarse_a_slightly_larger_epsilon_is_certified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grids, "_PER_DEVIATION", (2.0,))
    upper = _made()[0]
    found = certify([(sampled_gaussian(MU, RATE), ROUNDS)], "replace-one", DELTA, upper)
    assert found.certificate is not None
    larger = found.certificate["upper"]["epsilon"]
    assert upper < float(larger) < 1.2 * upper
    assert found.upper.endswith(f"ε = {larger} is certified")
    assert check(found.certificate)


def test_places_reach_beyond_an_epsilon_that_few_rounds_spend() -> None:
    """A handful of large losses decides: many deviations of the whole lie below ε."""
    parts = [(sampled_gaussian(2.0, 0.01), 8)]
    upper = compose(*parts).epsilon(1e-5)
    with precision(64):
        law = without_replacement(arb(2), arb("0.01"))
        (coarse, _) = grids.blocks(law, 8, 1e-5, upper)
    spread = 6.5 * math.sqrt(2 * 8 * float(law.chi_square))
    assert spread < upper < float(coarse["spacing"]) * coarse["reach"]
    assert certify(parts, "replace-one", 1e-5, upper).upper == CERTIFIED


def test_no_smaller_epsilon_is_named_where_places_do_not_reach_far_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grids, "_BEYOND", 0.0)
    monkeypatch.setattr(grids, "_PER_DEVIATION", (2.0,))
    parts = [(sampled_gaussian(2.0, 0.01), 8)]
    found = certify(parts, "replace-one", 1e-5, compose(*parts).epsilon(1e-5))
    assert found.certificate is None
    assert found.upper == "not certified: no ε follows from the blocks that were tried"


def test_a_block_in_parts_is_bounded_by_the_smaller_of_two() -> None:
    """And parts with less χ² than they have would be caught."""
    sums, within = ("0.01", 400, 600), ["0.05", 60, 1, "0.01", 400, 600]
    with precision(160):
        whole = chi_square.followed([(_law(), 12)], "0.07", 60, 4, *sums)
        divided = chi_square.followed([(_law(), 12)], "0.07", 60, 4, *sums, within)
        less = chi_square.followed([(_law(), 12)], "0.07", 60, 4, *sums, ["0.05", 60, 4, *sums])
    assert all(x <= y for x, y in zip(divided, whole, strict=True))
    assert float(divided[40]) < 0.99 * float(whole[40])
    assert all(divided[k] < less[k] <= whole[k] for k in (30, 45, 60))


@pytest.mark.parametrize(
    "parts", [None, [], ["0.05", 60, 1], "0.05", ["0.05", 60, 5, "0.01", 4, 6]]
)
def test_parts_of_another_form_are_refused(parts: Any) -> None:
    how = {"method": "chi-square in parts", "precision": 160, "enclosure": ["0", "1e-9"]}
    fields = dict(zip(chi_square.FIELDS, ("0.07", 60, 4, "0.01", 400, 600), strict=True))
    made = _edited()
    made["upper"]["evidence"]["both"] = {**how, **fields, "parts": parts}
    with pytest.raises(Refused):
        check({**made, "digest": digest(made)})
