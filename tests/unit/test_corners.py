"""Values of inner functions against definitions that share no code with them."""

from __future__ import annotations

import hashlib
import itertools
import json
import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.losses import RandomisedResponseLoss
from dpcalc.accounting.losses.discretisation import coarse_upper
from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove, PoissonReplace
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.objective_perturbation import perturbed_update
from dpcalc.guarantees.pure import PureDP
from dpcalc.numerics import products
from dpcalc.sealed import opened, sealed
from dpcalc.theorems.catalogue import result


@pytest.mark.parametrize("sizes", [(1, 1), (3, 8), (8, 3), (7, 7), (9, 20), (20, 9), (16, 4)])
def test_a_convolution_in_parts_is_the_sum_of_products(
    sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole numbers, so that both are exact; parts of four."""
    monkeypatch.setattr(products, "_LENGTH", 4)
    one, other = (np.arange(1.0, n + 1) ** 2 for n in sizes)
    expected = [0.0] * (sum(sizes) - 1)
    for i, j in itertools.product(range(sizes[0]), range(sizes[1])):
        expected[i + j] += one[i] * other[j]
    assert products.convolution(one, other).tolist() == expected


def test_the_parts_of_a_convolution_are_as_long_as_one_thread_can_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lengths: list[int] = []
    plain = np.convolve

    def noted(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        lengths.append(min(len(a), len(b)))
        return plain(a, b)

    monkeypatch.setattr(np, "convolve", noted)
    products.convolution(np.ones(2**13 + 5), np.ones(2**13 + 1))
    assert lengths == [2**13, 1]


def test_a_sealed_record_is_written_as_documented() -> None:
    """Indented, letters as they are, infinity refused; the checksum by its definition."""
    content = {"b": 1.5, "name": "σ é", "a": [1, 2]}
    text = sealed("dpcalc test", 3, content)
    lines = text.splitlines()
    assert lines[:3] == ["{", '  "format": "dpcalc test",', '  "version": 3,']
    assert '"name": "σ é"' in text
    plain = '{"a":[1,2],"b":1.5,"format":"dpcalc test","name":"\\u03c3 \\u00e9","version":3}'
    assert json.loads(text)["sha256"] == hashlib.sha256(plain.encode()).hexdigest()
    assert opened(text, "dpcalc test", 3, ("b", "name", "a")) == content
    for bad in (math.inf, math.nan):
        with pytest.raises(ValueError, match="JSON compliant"):
            sealed("dpcalc test", 3, {"b": bad})


@pytest.mark.parametrize("epsilon", [0.01, 0.7, 3.0])
@pytest.mark.parametrize("c", [0.02, 1.0, 30.0])
def test_the_modulus_of_randomised_responses_is_bounded_over_every_interval(
    epsilon: float, c: float
) -> None:
    """Against |p e^{(c+iy)ε} + (1-p) e^{-(c+iy)ε}| with two hundred digits, and hardly above it."""
    rounds = 40
    tilted = RandomisedResponseLoss.of({epsilon: rounds}).tilted(c)
    edges = np.array([0.1, 0.11, 0.5, 1.4, 1.5, 3.0, 3.3, 3.31]) / epsilon
    bounds = tilted.log_modulus_bound(edges, 0)
    with mp.workdps(200):
        p = 1 / (1 + mp.exp(-mpf(epsilon)))

        def log_modulus(y: mpf) -> mpf:
            z = mp.mpc(c, y)
            moment = p * mp.exp(z * epsilon) + (1 - p) * mp.exp(-z * epsilon)
            whole = p * mp.exp(c * mpf(epsilon)) + (1 - p) * mp.exp(-c * mpf(epsilon))
            return rounds * mp.log(abs(moment) / whole)

        for k, bound in enumerate(bounds.tolist()):
            low, high = mpf(float(edges[k])), mpf(float(edges[k + 1]))
            inside = [low + (high - low) * j / 40 for j in range(41)]
            turn = mp.ceil(low * epsilon / mp.pi) * mp.pi / epsilon
            inside += [turn] if low <= turn <= high else []
            largest = max(map(log_modulus, inside))
            assert largest <= bound <= 0
            # it is attained at an end of the interval, or where the modulus is one again
            assert bound <= largest * mpf("0.999") + mpf("1e-100")


@pytest.mark.parametrize("kind", [PoissonRemove, PoissonAdd, PoissonReplace])
def test_a_rough_law_dominates_and_is_not_far_off(kind: type) -> None:
    """Its δ is above the exact one, from sixty-digit normal tails, by less than a fiftieth."""
    sigma, rate = 1.0, 0.1
    law = coarse_upper(kind(sigma, rate), 1e-20)
    assert law.infinite_mass == 1e-20
    assert 200 <= len(law.losses) <= 260
    with mp.workdps(40):
        q, up = mpf(rate), lambda x: mp.erfc(x / mp.sqrt(2)) / 2  # the upper tail of N(0, 1)
        for epsilon in (0.02, 0.1):
            level = mp.exp(mpf(epsilon))
            if kind is PoissonRemove:  # the set where 1 - q + q e^{x - 1/2} > e^ε
                x = mp.log((level - 1 + q) / q) + mpf(1) / 2
                truth = (1 - q) * up(x) + q * up(x - 1) - level * up(x)
            elif kind is PoissonAdd:  # the set where e^ε (1 - q + q e^{x - 1/2}) < 1
                x = mp.log((1 / level - 1 + q) / q) + mpf(1) / 2
                truth = 1 - up(x) - level * ((1 - q) * (1 - up(x)) + q * (1 - up(x - 1)))
            else:

                def loss(x: mpf) -> mpf:
                    top, low = (1 - q + q * mp.exp(s * x - mpf(1) / 2) for s in (1, -1))
                    return mp.log(top / low)

                x = mp.findroot(
                    lambda v, e=epsilon: loss(v) - e, (mpf(0), mpf(3)), solver="anderson"
                )
                truth = (1 - q) * up(x) + q * up(x - 1)
                truth -= level * ((1 - q) * up(x) + q * up(x + 1))
            found = law.delta(epsilon)[1]
            assert truth <= found <= truth * mpf("1.02") + mpf("1e-15")


def test_one_update_is_answered_by_the_law_of_its_relation() -> None:
    update = Update(bound=0.5, curvature=0.1, dimension=3, tied=False)
    add, replace = (perturbed_update(update, a, 9.0) for a in ("add-remove", "replace-one"))
    assert isinstance(add, DominatedMechanism)
    assert isinstance(replace, DominatedMechanism)
    assert (len(add.directions), len(replace.directions)) == (2, 1)
    for guarantee in (add, replace):
        assert guarantee.epsilon(0.0) == 9.0
        assert "a = 0.5, d = 3" in guarantee.described
    assert replace.epsilon(1e-6) > add.epsilon(1e-6)
    assert perturbed_update(
        Update(bound=1e9, curvature=0.1, dimension=3, tied=False), "add-remove", 2e9
    ) == PureDP(2e9)
    tiny = perturbed_update(
        Update(bound=1e-300, curvature=0.1, dimension=3, tied=False), "add-remove", 9.0
    )
    assert math.isfinite(tiny.epsilon(1e-6))


@pytest.mark.parametrize("step_size", [0.2, 1.9, 3.5])
@pytest.mark.parametrize("rounds", [2, 7])
def test_what_gradient_admm_attains_on_a_line_is_what_the_algorithm_does(
    step_size: float, rounds: int
) -> None:
    """The steps of the algorithm on two numbers, written out, for stiffness 0.1 to 10 times ν."""
    kind = result("gradient-admm-utility")
    instance = kind.from_parameters(
        {**kind.example, "sigma": 0.0, "rounds": rounds, "step_size": step_size}
    )
    eta, beta, a, r = step_size, instance.penalty, instance.matrix.norm, instance.distance  # type: ignore[attr-defined]
    nu, weight = instance.smoothness, instance.feasibility_weight  # type: ignore[attr-defined]
    if instance.gradient_bound is not None:  # type: ignore[attr-defined]
        nu = min(nu, instance.gradient_bound / r)  # type: ignore[attr-defined]
    best = -math.inf
    for k in (instance.smoothness * m for m in (0.1, 0.3, 1, 3, 10)):  # type: ignore[attr-defined]
        xs, ys, dual = [r], [], 0.0
        for _ in range(rounds):
            # y minimises k y²/2 + λy + β(ax - y)²/2; λ moves by its residual
            ys.append((beta * a * xs[-1] - dual) / (k + beta))
            dual -= beta * (a * xs[-1] - ys[-1])
            # x minimises the linearised ν x²/2 - λ a x + β(ax - y)²/2 + (x - x_t)²/2η
            xs.append(
                (xs[-1] / eta - nu * xs[-1] + a * (dual + beta * ys[-1])) / (1 / eta + beta * a * a)
            )
        if any(abs(x) >= r * (1 + 1e-9) for x in xs[1:]):
            continue
        y = sum(ys) / rounds
        best = max(
            best,
            min(
                nu / 2 * x**2 + k / 2 * y**2 + weight * abs(a * x - y)
                for x in (sum(xs[:-1]) / rounds, sum(xs[1:]) / rounds)
            ),
        )
    attained = instance.attained()  # type: ignore[attr-defined]
    if best == -math.inf:
        assert attained is None
        return
    assert attained is not None
    assert best * (1 - 3e-9) <= attained.value <= best
