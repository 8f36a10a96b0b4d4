"""The mean of all iterates is another release: its exact law, and verdicts on claims about it."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.accounting.iteration.average import Averaged
from dpcalc.claims.reading import claim_from
from dpcalc.claims.verdict import Verdict, judge
from dpcalc.errors import AssumptionViolated
from dpcalc.numerics.precise import mpf
from dpcalc.theorems.base import Scope
from dpcalc.theorems.catalogue import keys, privacy_result
from dpcalc.vocabulary import Release
from tests.oracles.noisy_descent import mean_mu_squared

AVERAGED = [
    key
    for key in keys(privacy=True)
    if privacy_result(key).releases[0] is Release.LAST_ITERATE  # what its paper bounds
]


def _instance(key: str, **changes: object) -> dict[str, object]:
    return {**privacy_result(key).example, "release": "average-of-iterates", **changes}


def test_every_result_on_last_iterates_can_be_asked_about_their_mean() -> None:
    assert len(AVERAGED) == 12
    for key in AVERAGED:
        assert Release.AVERAGE in privacy_result(key).releases


@pytest.mark.parametrize("key", AVERAGED)
def test_the_papers_claim_is_refused_and_own_uses_are_composed(key: str) -> None:
    kind = privacy_result(key)
    theorem = kind.from_parameters(_instance(key))
    with pytest.raises(AssumptionViolated, match="average of iterates"):
        theorem.claimed()
    bound = theorem.certified()
    assert "composition over all uses" in bound.method
    last = kind.from_parameters(kind.example).certified().guarantee
    for delta in (1e-9, 1e-5, 1e-2):
        assert bound.guarantee.epsilon(delta) >= last.epsilon(delta)
    attained = theorem.attained()
    if attained is not None:
        assert attained.numbers["mu"] <= bound.numbers["mu"]


def test_the_means_law_is_that_of_the_update_equations() -> None:
    """The best of a few patterns is found, and is the law of a real instance."""
    rng = np.random.default_rng(2)
    for _ in range(40):
        passes, gap, tail, lead = (int(rng.integers(1, 6)) for _ in range(4))
        least, most = sorted(rng.uniform(-1, 1, 2))
        law = Averaged(mpf(0.4), mpf(1.3), mpf(float(least)), mpf(float(most)))
        found = float(law.mu_squared(passes=passes, gap=gap, tail=tail, lead=lead))
        steps = lead + gap * (passes - 1) + tail
        uses = np.zeros(steps)
        uses[lead + gap * np.arange(passes)] = 0.4
        forget = min(max(least, 0.0), most)
        tried = []
        for switch in range(max(gap, tail)):
            since = np.arange(steps) - lead
            phase = np.where(since < gap * (passes - 1), since % gap, since - gap * (passes - 1))
            factors = np.where((phase > 0) & (phase <= switch), most, forget)
            if switch >= gap - 1 > 0:
                factors[uses > 0] = most
            factors[:lead] = forget
            tried.append(mean_mu_squared(factors, uses, 1.3))
        assert found == pytest.approx(max(tried), rel=1e-9)


def test_known_values() -> None:
    """A thousand steps: sqrt(3/n) for linear losses, sqrt(T) where every step forgets."""
    given = {"lipschitz": 0.5, "step_size": 1, "smoothness": 1, "sigma": 1, "n_records": 1000}
    one = privacy_result("pnsgd").from_parameters(
        {**given, "position": 1, "release": "average-of-iterates"}
    )
    assert one.attained().numbers["mu"] == pytest.approx(np.sqrt(3 / 1000), rel=1e-3)
    full = privacy_result("noisy-gd").from_parameters(
        {
            "sensitivity": 1, "n_records": 1, "steps": 1000, "step_size": 0.5, "smoothness": 2,
            "strong_convexity": 1, "sigma": 1, "release": "average-of-iterates",
        }
    )  # fmt: skip
    assert full.attained().numbers["mu"] == pytest.approx(np.sqrt(1000), rel=1e-12)
    assert full.certified().numbers["mu"] == pytest.approx(np.sqrt(1000), rel=1e-12)


def test_a_last_iterates_epsilon_claimed_for_the_mean_is_refuted() -> None:
    kind = privacy_result("noisy-gd")
    last = kind.from_parameters(kind.example).certified().guarantee.epsilon(1e-5)
    composed = kind.from_parameters(_instance("noisy-gd")).certified().guarantee.epsilon(1e-5)
    attained = kind.from_parameters(_instance("noisy-gd")).attained().guarantee.epsilon(1e-5)
    assert last < attained < composed

    def verdict(epsilon: float, release: str) -> Verdict:
        parameters = {**kind.example, "release": release}
        table = {
            "theorem": "noisy-gd", "epsilon": epsilon, "delta": 1e-5, "attest": "all",
            "parameters": parameters,
        }  # fmt: skip
        return judge(claim_from("claim", table)).verdict

    assert verdict(last, "last-iterate") is Verdict.HOLDS
    assert verdict(last, "average-of-iterates") is Verdict.REFUTED
    assert verdict((attained + composed) / 2, "average of iterates") is Verdict.UNSUPPORTED
    assert verdict(composed, "average-of-iterates") is Verdict.HOLDS
    assert verdict(3 * composed, "average-of-iterates") is Verdict.LOOSE


@pytest.mark.parametrize("key", ["noisy-gd", "noisy-cgd", "pnsgd", "admm-iteration"])
def test_no_instance_exceeds_the_composed_bound(key: str) -> None:
    kind = privacy_result(key)
    rng = np.random.default_rng(8)
    for _ in range(25):
        changes = {
            name: max(1, int(value * rng.uniform(0.05, 1.5))) if type(value) is int else value
            for name, value in kind.example.items()
        }
        changes["step_size"] = float(kind.example["step_size"] * rng.uniform(0.1, 1.9))
        if "position" in changes:
            changes["position"] = int(rng.integers(1, changes["n_records"] + 1))
        theorem = kind.from_parameters({**changes, "release": "average-of-iterates"})
        if theorem.violations(Scope.CERTIFIED):
            continue
        assert theorem.attained().numbers["mu"] <= theorem.certified().numbers["mu"]
