"""Certificates: true ones are verified, false and edited ones refused, and the bounds behind them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpc, mpf

from dpcalc.certificates import batches, checker, laws, outcomes, sampled
from dpcalc.certificates.balls import precision
from dpcalc.certificates.certify import certify
from dpcalc.certificates.contour import Chooser
from dpcalc.certificates.evidence import evidence
from dpcalc.certificates.laws import acb, arb
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.certificates.verdicts import Contradicted
from dpcalc.guarantees import GDP, compose
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian
from tests.unit.certificate_files import HEADLINE


def test_the_enclosure_holds_a_value_found_in_another_way() -> None:
    """δ at 6.187714385426877: total variation of the tilted law instead of a shifted contour."""
    how = evidence(HEADLINE, "upper", "6.187714385426877", "remove")
    least, most = map(Fraction, how["enclosure"])
    assert least < Fraction("9.9999391343977e-6") < Fraction("9.9999391344021e-6") < most
    assert how["nodes"] < 60


def test_an_end_on_the_wrong_side_is_contradicted() -> None:
    with pytest.raises(Contradicted):
        evidence(HEADLINE, "upper", "6.1877", "remove")
    with pytest.raises(Contradicted):
        evidence(HEADLINE, "lower", "6.1878", "remove")


def moment_by_quadrature(mu: float, q: float, z: mpc, above: bool, below: bool) -> mpc:
    def ratio(x: mpf, sign: int) -> mpf:
        return 1 - q + q * mp.exp(sign * mu * x - mpf(mu) ** 2 / 2)

    def integrand(x: mpf) -> mpc:
        p, r = ratio(x, 1) if above else mpf(1), ratio(x, -1) if below else mpf(1)
        return p * (p / r) ** z * mp.npdf(x)

    return mp.quad(integrand, [*range(-14, 30, 2)])


@pytest.mark.parametrize(("above", "below"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("z", [mpc(2.5, 0), mpc(0.7, 3), mpc(4, 40)])
def test_moments_of_sampled_gaussians_against_quadrature(z: mpc, above: bool, below: bool) -> None:
    with mp.workdps(25), precision(96):
        truth = moment_by_quadrature(0.8, 0.02, z, above, below)
        law = sampled.sampled(arb("0.8"), arb("0.02"), above, below)
        found = law.moment(acb(arb(str(z.real)), arb(str(z.imag))))
        assert found.rel_accuracy_bits() > 60
        assert abs(complex(found.real, found.imag) - complex(truth)) < 1e-12 * abs(truth)


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from([(1, 0), (0, 1), (1, 1)]),
    st.floats(0.2, 3),
    st.floats(0.001, 0.9),
    st.floats(0.1, 5),
    st.floats(0.5, 60),
    st.floats(0.02, 1.5),
)
def test_the_bound_beyond_a_height_holds_at_greater_heights(
    sides: tuple[int, int], mu: float, q: float, c: float, y: float, share: float
) -> None:
    with precision(64):
        law = sampled.sampled(arb(mu), arb(q), *sides)
        bound = law.beyond(arb(c), arb(y), arb(share / mu))
        for factor in (1, 1.3, 2, 7):
            value = abs(law.moment(acb(c, y * factor)))
            assert value.lower() <= bound.upper() or not value.is_finite()


@pytest.mark.parametrize("z", [mpc(2, 0), mpc(1.5, 3), mpc(4, 40)])
@pytest.mark.parametrize("mu", ["1.3", "0.2"])
def test_moments_without_replacement_against_quadrature(mu: str, z: mpc) -> None:
    q, m = mpf("0.05"), mpf(mu)

    def ratio(x: mpf) -> mpf:
        return 1 - q + q * mp.exp(m * x - m * m / 2)

    def moved(x: mpf) -> mpc:
        return mp.npdf(x) * (ratio(x) ** (1 + z) + ratio(x) ** -z - ratio(x) - 1)

    with mp.workdps(25), precision(96):
        truth = 1 + mp.quad(moved, [m / 2, *range(1, 15), 20])
        law = batches.without_replacement(arb(mu), arb("0.05"))
        found = law.moment(acb(arb(str(z.real)), arb(str(z.imag))))
        assert found.rel_accuracy_bits() > 60
        assert abs(complex(found.real, found.imag) - complex(truth)) < 1e-12 * abs(truth)
        for shift in ("0.1", "0.5", "1"):
            bound = law.beyond(arb(2), arb(9), arb(shift)).upper()
            assert all(abs(law.moment(acb(2, y)) - law.still) <= bound for y in (9, 12, 40, 300))


def test_one_round_without_replacement_by_the_theorem_on_amplification() -> None:
    """δ'(ln(1 + γ(e^ε - 1))) = γ δ(ε)."""
    gamma, mu, eps = arb("0.05"), arb("1.3"), arb("0.4")
    amplified = (1 + gamma * (eps.exp() - 1)).log()
    found = batches.without_replacement(mu, gamma).profile(amplified)
    assert found.overlaps(gamma * laws.gaussian(mu).profile(eps))


def test_one_round_of_laplace_against_its_atom_and_density() -> None:
    """(1 - e^{ε-b})/2 at the top atom, and the density ¼e^{(l-b)/2} of losses l between ε and b."""
    b, eps = mpf("0.7"), mpf("0.3")
    inner = mp.quad(lambda x: (1 - mp.exp(eps - x)) * mp.exp((x - b) / 2) / 4, [eps, b])
    truth = inner + (1 - mp.exp(eps - b)) / 2
    assert abs(float(laws.laplace(arb("0.7")).profile(arb("0.3"))) - float(truth)) < 1e-14
    assert laws.laplace(arb("0.7")).profile(arb("0.8")) == 0


def test_a_shift_beyond_the_strip_bounds_nothing() -> None:
    law = sampled.sampled(arb(1), arb("0.1"), 1, 0)
    assert not law.beyond(arb(1), arb(5), arb("1.6")).is_finite()
    assert not law.beyond(arb(1), arb(5), arb(0)).is_finite()


@pytest.mark.parametrize("y", [0.5, 3.0, 40.0, 1000.0])
def test_the_bound_of_laplace_holds_at_greater_heights(y: float) -> None:
    law = laws.laplace(arb("0.7"))
    bound = law.beyond(arb(2), arb(y), arb(0))
    assert all(abs(law.moment(acb(2, y * k / 8))) <= bound.upper() for k in range(8, 80))


@pytest.mark.parametrize("sides", [(1, 0), (0, 1), (1, 1)])
def test_one_sampled_round_against_quadrature(sides: tuple[int, int]) -> None:
    mu, q, grown = mpf("0.8"), mpf("0.2"), mp.exp(mpf("0.1"))

    def lost(x: mpf) -> mpf:
        up, down = (1 - q + q * mp.exp(sign * mu * x - mu * mu / 2) for sign in (1, -1))
        return ((up if sides[0] else 1) - grown * (down if sides[1] else 1)) * mp.npdf(x)

    with mp.workdps(25):
        corner = mp.findroot(lambda x: lost(x) / mp.npdf(x), (0, 1), solver="anderson")
        truth = mp.quad(lost, [corner, *(corner + k for k in range(1, 13))])
    found = sampled.sampled(arb("0.8"), arb("0.2"), *sides).profile(arb("0.1"))
    assert abs(float(found) - float(truth)) < 1e-12 * float(truth)


def test_sums_over_outcomes_and_the_smoothed_line_overlap() -> None:
    rounds = [(laws.approximate(arb("0.3"), arb("1e-7")), 12)]
    eps = arb("1.7")
    exact = outcomes.over_outcomes(rounds, eps)
    places = [arb(text) for text in ("2.5", "12", "6", "0.002")]
    line = checker.by_a_line(rounds, eps, checker.Line(*places, 4000, [arb(0)], [4001]))
    assert line.overlaps(exact)
    assert float(line.rad()) < 1e-4 * float(exact)


@pytest.mark.parametrize("share", [1 - 1e-9, 1 + 1e-9])
def test_an_end_that_is_off_by_a_billionth_is_contradicted(share: float) -> None:
    """One sampled round and a Gaussian composition have enclosures narrower than that."""
    for part in (poisson_subsampled_gaussian(1.0, 0.1, "add-remove"), GDP(1.25)):
        bracket = compose(part).bracket(1e-6) if part.notion != "gdp" else None
        upper = bracket.upper if bracket else part.epsilon(1e-6)
        end = {"upper": None, "lower": None, ("upper" if share < 1 else "lower"): upper * share}
        found = certify([(part, 1)], "add-remove", 1e-6, end["upper"] or upper, end["lower"])
        assert "certainly wrong" in (found.upper if share < 1 else found.lower)


def test_a_composition_that_is_off_by_a_billionth_is_contradicted() -> None:
    """The ε of 10,000 rounds to 1e-11, by the secant on narrow enclosures of ln δ."""
    with precision(128):
        rounds = rounds_of(HEADLINE["releases"], "add-remove", False)
        how = {"method": "line", "precision": 128, "enclosure": None}
        how |= Chooser(rounds, 6.18771).line(math.log(1e-20))

        def height(eps: float) -> float:
            return float((checker.enclosure(rounds, arb(eps), how) * 100_000).log())

        at = [6.187712, 6.187713]
        slope = (height(at[1]) - height(at[0])) / (at[1] - at[0])
        at.append(at[1] - height(at[1]) / slope)
    evidence(HEADLINE, "upper", repr(at[-1] * (1 + 1e-9)), "remove")
    with pytest.raises(Contradicted):
        evidence(HEADLINE, "upper", repr(at[-1] * (1 - 1e-9)), "remove")


def test_what_stays_at_zero_is_left_out() -> None:
    """Sixty batches, one in fifty with the record: without the mass at loss 0 a short line does.

    The ends for δ = 1e-6 are the engine's, which shares no code.
    """
    with precision(77):
        rounds = [(batches.without_replacement(arb("0.5"), arb("0.02")), 60)]
        places = arb("11.75"), arb(3), arb("19.75"), arb(0)
        line = checker.Line(*places, 84, [arb("0.7")], [85])
        high = checker.by_a_line(rounds, arb("0.4035902276097792"), line)
        low = checker.by_a_line(rounds, arb("0.4035905594920443"), line)
        assert arb("0.99999e-6") < low < arb("1e-6") < high < arb("1.00001e-6")
