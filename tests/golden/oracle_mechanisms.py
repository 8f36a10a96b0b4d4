"""δ(ε) of every named mechanism from its definition; no code of dpcalc is used.

Units: one record contributes at most 1 to a sum, so that a multiplier is the noise itself. Adding or
removing a record moves the sum by 1, replacing one by 2 (from v to -v).
Run as a script it writes the values of mechanisms.toml again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mpmath import mp, mpf

from tests.oracles import exact

DIGITS = 40


def moved(table: Mapping[str, Any]) -> int:
    return {"add-remove": 1, "replace-one": 2}[table["adjacency"]]


def gaussian(table: Mapping[str, Any], count: int, epsilon: Any) -> Any:
    mu = moved(table) / mpf(table["noise_multiplier"]) * mp.sqrt(count)
    return exact.gaussian_delta(mu, epsilon, DIGITS)


def laplace(table: Mapping[str, Any], count: int, epsilon: Any) -> Any:
    assert count == 1
    return exact.laplace_delta(moved(table) / mpf(table["scale_multiplier"]), epsilon)


def exponential_norm(table: Mapping[str, Any], count: int, epsilon: Any) -> Any:
    """Three dimensions, in spheroidal coordinates: ν = r₂ - r₁ and ξ = r₁ + r₂ over the distance."""
    assert count == 1
    assert table["dimension"] == 3
    a = moved(table) / mpf(table["scale_multiplier"])  # the loss is aν

    def over_sums(nu: Any) -> Any:
        """∫ (ξ² - ν²) e^{-aξ/2} dξ from 1, times e^{aν/2} - e^{ε - aν/2}."""
        k = a / 2
        square = mp.exp(-k) * (1 / k + 2 / k**2 + 2 / k**3)
        constant = mp.exp(-k) / k
        return (square - nu * nu * constant) * (mp.exp(k * nu) - mp.exp(epsilon - k * nu))

    return a**3 / 32 * mp.quad(over_sums, [mpf(epsilon) / a, 1])


def randomised_response(table: Mapping[str, Any], count: int, epsilon: Any) -> Any:
    return exact.equal_rounds_delta(mpf(table["epsilon"]), count, epsilon, DIGITS)


def poisson(table: Mapping[str, Any], count: int, epsilon: Any) -> Any:
    assert count == 1
    s, q, e = mpf(table["noise_multiplier"]), mpf(table["rate"]), mpf(epsilon)
    if moved(table) == 1:
        return max(exact.subsampled_gaussian_delta(s, q, e, remove=r) for r in (True, False))

    # (1-q)N(0) + qN(1) against (1-q)N(0) + qN(-1), whose ratio increases
    def ratio(x: Any) -> Any:
        up, down = (mp.exp((2 * y * x - 1) / (2 * s * s)) for y in (1, -1))
        return mp.log((1 - q + q * up) / (1 - q + q * down)) - e

    edge = mp.findroot(ratio, (mpf(0), mpf(50)), solver="anderson", tol=mpf(10) ** -60)
    tails = [mp.ncdf((y - edge) / s) for y in (0, 1, -1)]
    first, second = ((1 - q) * tails[0] + q * tails[k] for k in (1, 2))
    return first - mp.exp(e) * second


def without_replacement(table: Mapping[str, Any], count: int, epsilon: Any) -> Any:
    """γ times δ of the unsampled replacement at ln(1 + (e^ε - 1)/γ) (Balle, Barthe, Gaboardi 2018)."""
    assert count == 1
    share = mpf(table["sample"]) / table["population"]
    inner = mp.log1p(mp.expm1(mpf(epsilon)) / share)
    return share * exact.gaussian_delta(2 / mpf(table["noise_multiplier"]), inner, DIGITS)


def finite(table: Mapping[str, Any], count: int, epsilon: Any) -> Any:
    assert table["adjacency"] == "add-remove"
    p, q = table["p"], table["q"]
    return max(exact.finite_delta(a, b, count, epsilon) for a, b in ((p, q), (q, p)))


def approximate(bound: Any, failure: Any, epsilon: Any) -> Any:
    """Reveals with probability ``failure``, else randomised response."""
    rest = exact.equal_rounds_delta(mpf(bound), 1, epsilon, DIGITS)
    return mpf(failure) + (1 - mpf(failure)) * rest


def renyi(divergence: Callable[[Any], Any], epsilon: Any, order: Any) -> Any:
    """The δ that a divergence at one order gives (Canonne, Kamath and Steinke 2020)."""
    a = mpf(order)
    return mp.exp((a - 1) * (divergence(a) - epsilon)) / (a - 1) * (1 - 1 / a) ** a


def zcdp(rho: Any, epsilon: Any) -> Any:
    """The best order, where the derivative of the logarithm vanishes."""
    log_delta = lambda a: mp.log(renyi(lambda b: mpf(rho) * b, epsilon, a))  # noqa: E731
    best = mp.findroot(lambda a: mp.diff(log_delta, a), 1 + mpf(epsilon) / (2 * mpf(rho)))
    return mp.exp(log_delta(best))


MECHANISMS = {
    "gaussian": gaussian,
    "laplace": laplace,
    "exponential-norm": exponential_norm,
    "randomised-response": randomised_response,
    "poisson-subsampled-gaussian": poisson,
    "gaussian-without-replacement": without_replacement,
    "finite-distributions": finite,
}


def delta(table: Mapping[str, Any], count: int, epsilon: Any) -> Any:
    """δ(ε) of ``count`` releases of a table."""
    with mp.workdps(DIGITS):
        if "mechanism" in table and table["mechanism"] != "profile":
            return MECHANISMS[table["mechanism"]](table, count, mpf(epsilon))
        assert count == 1
        if table.get("mechanism") == "profile":  # what was given holds at the given points
            return {mpf(e): mpf(d) for e, d in table["points"]}[mpf(epsilon)]
        if "approx" in table:
            return approximate(*table["approx"], mpf(epsilon))
        if "pure" in table:
            return approximate(table["pure"], 0, mpf(epsilon))
        if "gdp" in table:
            return exact.gaussian_delta(mpf(table["gdp"]), mpf(epsilon), DIGITS)
        if "zcdp" in table:
            return zcdp(table["zcdp"], mpf(epsilon))
        ((order, divergence),) = table["rdp"].items()
        return renyi(lambda _: mpf(divergence), mpf(epsilon), order)


def epsilon_of(table: Mapping[str, Any], count: int, at: str) -> Any:
    """ε(δ), by bisection."""
    with mp.workdps(DIGITS):
        low, high = mpf("0.001"), mpf("0.001")
        while delta(table, count, high) > mpf(at):
            low, high = high, high + mpf(1) / 4
        for _ in range(90):
            middle = (low + high) / 2
            low, high = (middle, high) if delta(table, count, middle) > mpf(at) else (low, middle)
        return high


CASES: list[tuple[dict[str, Any], int, str]] = [
    *(
        ({"mechanism": "gaussian", "noise_multiplier": "1.6", "adjacency": relation}, 3, "1e-6")
        for relation in ("add-remove", "replace-one")
    ),
    *(
        ({"mechanism": "laplace", "scale_multiplier": "2.5", "adjacency": relation}, 1, "0.01")
        for relation in ("add-remove", "replace-one")
    ),
    *(
        (
            {
                "mechanism": "exponential-norm",
                "scale_multiplier": "1.5",
                "dimension": 3,
                "adjacency": relation,
            },
            1,
            "0.01",
        )
        for relation in ("add-remove", "replace-one")
    ),
    ({"mechanism": "randomised-response", "epsilon": "0.3"}, 9, "1e-3"),
    *(
        (
            {
                "mechanism": "poisson-subsampled-gaussian",
                "noise_multiplier": "0.8",
                "rate": "0.05",
                "adjacency": relation,
            },
            1,
            "1e-4",
        )
        for relation in ("add-remove", "replace-one")
    ),
    (
        {
            "mechanism": "gaussian-without-replacement",
            "noise_multiplier": "1.5",
            "sample": 10,
            "population": 200,
            "adjacency": "replace-one",
        },
        1,
        "1e-4",
    ),
    (
        {
            "mechanism": "finite-distributions",
            "p": [0.125, 0.25, 0.625],
            "q": [0.25, 0.5, 0.25],
            "adjacency": "add-remove",
        },
        3,
        "0.03",
    ),
    ({"pure": "0.7"}, 1, "0.01"),
    ({"approx": ["0.7", "1e-4"]}, 1, "0.01"),
    ({"gdp": "0.7"}, 1, "1e-6"),
    ({"zcdp": "0.1"}, 1, "1e-6"),
    ({"rdp": {"8": "0.3"}}, 1, "1e-6"),
]


def main() -> None:
    """Print the cases with their values."""
    import json
    import sys

    for table, count, at in CASES:
        fields = ", ".join(f"{name} = {json.dumps(value)}" for name, value in table.items())
        if "rdp" in table:
            fields = 'rdp = { 8 = "0.3" }'
        value = mp.nstr(epsilon_of(table, count, at), 25)
        sys.stdout.write(
            f'[[case]]\ntable = {{ {fields} }}\ncount = {count}\ndelta = "{at}"\n'
            f'epsilon = "{value}"\n\n'
        )


if __name__ == "__main__":
    main()
