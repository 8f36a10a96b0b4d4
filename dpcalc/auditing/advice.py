"""What would decide a claim that an audit was too weak for.

More runs; the claim in another form, the density or fair coins where they tell as much with the runs
that there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators import (
    abstention,
    accuracy,
    hockey_stick,
    importance,
    one_run,
    one_run_exact,
    partly,
)
from dpcalc.auditing.estimators.binomial import SOUGHT
from dpcalc.auditing.estimators.reference_mechanisms import LAPLACE, RESPONSE, Outcomes
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.guarantees import GDP
from dpcalc.numerals import spelt
from dpcalc.wording import at_most

_MOST_RUNS = 10**8
_MOST_GUESSES = 10**5
_TELLING = 10  # right answers without a wrong one that are worth a word
_TILTED = 1000  # runs for importance sampling, unless the audit had fewer


@dataclass(frozen=True, slots=True, kw_only=True)
class Unused:
    """What could have been said of the runs and was not.

    Attributes:
        density: whether runs of a target were counted whose log-likelihood ratio is not given.
        coins: runs that would count if their worlds had been promised to be drawn by fair coins; 0
            where they are, or cannot be.
        scores: whether only counts were given of runs that had scores.
    """

    density: bool = False
    coins: int = 0
    scores: bool = False


def advice(claim: Claim, evidence: Evidence, detectable_ratio: float, unused: Unused) -> str:
    """What would decide the claim, a clause or several; empty if nothing is known to.

    Args:
        claim: what was tested.
        evidence: the method that came nearest.
        detectable_ratio: how many times the claimed value was to be noticed.
        unused: what could have been said of the runs.
    """
    if evidence.access is AdversaryAccess.ONE_RUN:
        return _of_one_run(claim, evidence, detectable_ratio)
    found = [
        _never_wrong(claim, evidence),
        _runs(claim, evidence, detectable_ratio),
        _other_form(claim, evidence, detectable_ratio),
        _density(claim, evidence, detectable_ratio) if unused.density else "",
        _coins(claim, evidence, detectable_ratio, 0 if _uneven(evidence) else unused.coins),
    ]
    if unused.scores and evidence.quantity is not Quantity.RHO:
        found.append("scores say more than counts")
    return "; ".join(clause for clause in found if clause)


def _of_one_run(claim: Claim, evidence: Evidence, detectable_ratio: float) -> str:
    """More guesses, and an α at which as many tell; one below mδ leaves nothing to tell."""
    if evidence.quantity is not Quantity.EPSILON or not 0 < claim.epsilon < math.inf:
        return ""
    guesses = one_run.Guesses(**evidence.counted)
    found = [_guesses(guesses, claim, evidence.alpha, detectable_ratio * claim.epsilon)]
    for alpha in (a for a in (1e-3, 0.01, 0.05) if a > evidence.alpha):
        seen = _seen_by(guesses, claim, alpha)
        if seen <= detectable_ratio * claim.epsilon:
            found.append(
                f"planned with --alpha {spelt(alpha)}, {guesses.guessed} guesses would notice ε "
                f"= {seen:.4g}"
            )
            break
    return "; ".join(clause for clause in found if clause)


def _seen_by(guesses: one_run.Guesses, claim: Claim, alpha: float) -> float:
    """The ε that this many guesses notice; infinite where that takes long to say."""
    if claim.delta > 0 and guesses.guessed > one_run_exact.MOST_FOR_CURVES:
        return math.inf
    plain = one_run_exact if claim.delta > 0 else one_run
    return plain.detectable(guesses, claimed=claim.epsilon, delta=claim.delta, alpha=alpha)


def _guesses(guesses: one_run.Guesses, claim: Claim, alpha: float, wanted: float) -> str:
    """How many guesses notice it, about the same share of the canaries."""

    def enough(number: int) -> bool:
        canaries = math.ceil(number * guesses.canaries / guesses.guessed)
        says_in = guesses.guessed_in
        if says_in is not None:
            says_in = round(number * says_in / guesses.guessed)
        more = one_run.Guesses(canaries=canaries, guessed=number, correct=0, guessed_in=says_in)
        return canaries * claim.delta < alpha and _seen_by(more, claim, alpha) <= wanted

    low, number = 0, 10
    while not enough(number):
        low, number = number, 2 * number
        if number > (one_run_exact.MOST_FOR_CURVES if claim.delta > 0 else _MOST_GUESSES):
            return ""
    while number - low > 0.05 * number:
        middle = (low + number) // 2
        low, number = (low, middle) if enough(middle) else (middle, number)
    share = "" if guesses.guessed == guesses.canaries else " of as many canaries for each"
    return f"{number:,} guesses{share} would be enough"


def _never_wrong(claim: Claim, evidence: Evidence) -> str:
    """What answers say that were all right: the inputs may be told apart for certain."""
    right, wrong = (evidence.counted.get(name) for name in ("right", "wrong"))
    if evidence.quantity is not Quantity.EPSILON or wrong != 0 or not right:
        return ""
    if right < _TELLING or not 0 < claim.epsilon < math.log(_MOST_RUNS):
        return ""
    answers = math.log(1 / evidence.alpha) / math.log1p(math.exp(-claim.epsilon))
    runs = math.ceil(answers * evidence.runs / right)
    step = 10 ** (len(str(runs)) - 2)
    return (
        f"none of {right:,} answers was wrong, and if that goes on about "
        f"{math.ceil(runs / step) * step:,} runs refute the claim"
    )


def _runs(claim: Claim, evidence: Evidence, detectable_ratio: float) -> str:
    """How many runs right answers need."""
    enough = _design(claim, evidence, detectable_ratio * claim.bound(evidence.quantity))
    if enough is None:
        return ""
    uneven = _uneven(evidence)
    low, runs = (0, 20) if uneven else (evidence.runs, max(2 * evidence.runs, 20))
    while not enough(runs):
        low, runs = runs, 2 * runs
        if runs > _MOST_RUNS:
            return ""
    while runs - low > 0.05 * runs:
        middle = (low + runs) // 2
        low, runs = (low, middle) if enough(middle) else (middle, runs)
    step = 10 ** (len(str(runs)) - 2)
    halves = ", half of them with the record," if uneven else ""
    return f"{math.ceil(runs / step) * step:,} runs{halves} would be enough"


def _uneven(evidence: Evidence) -> bool:
    """Whether so few runs of one kind were counted that its number limits what is seen."""
    cells = ("true_positives", "false_negatives", "false_positives", "true_negatives")
    if not all(name in evidence.counted for name in cells):
        return False
    tp, fn, fp, tn = (int(evidence.counted[name]) for name in cells)
    return max(tp + fn, fp + tn) > 2 * min(tp + fn, fp + tn)


def _design(claim: Claim, evidence: Evidence, wanted: float) -> Callable[[int], bool] | None:
    """Runs -> whether right answers would notice it; None for what is not counted so."""
    quantity, alpha, delta = evidence.quantity, evidence.alpha, claim.delta
    if quantity is Quantity.RHO or not 0 < wanted < math.inf:
        return None
    share = _telling(evidence) / evidence.runs
    if quantity is Quantity.EPSILON and evidence.reference.startswith(RESPONSE):
        given: dict[str, Any] = {"claim": claim, "alpha": alpha, "quantity": quantity}
        given["outcomes"] = _outcomes(evidence)
        if share == 1:
            return lambda runs: accuracy.noticed(runs=runs, **given) <= wanted
        given["learnt"] = evidence.counted["learnt"]
        return lambda runs: (
            accuracy.noticed(runs=runs, telling=round(share * runs), **given) <= wanted
        )
    if quantity is Quantity.EPSILON:
        terms = {"epsilon": wanted, "claimed": claim.epsilon, "delta": delta, "alpha": alpha}
        return lambda runs: abstention.notices(runs=runs, share=share, **terms)
    if share < 1:
        outcomes = Outcomes.FEW if evidence.reference.startswith(RESPONSE) else Outcomes.CONTINUOUS
        curve: dict[str, Any] = {"claimed": claim.bound(quantity), "alpha": alpha}
        curve |= {"outcomes": outcomes, "learnt": evidence.counted["learnt"]}
        return lambda runs: (
            partly.detectable(runs=runs, telling=round(share * runs), **curve) <= wanted
        )
    return lambda runs: (
        accuracy.detectable(runs=runs, claim=claim, alpha=alpha, quantity=quantity, power=SOUGHT)
        <= wanted
    )


def _telling(evidence: Evidence) -> int:
    """In how many runs the mechanism says something for which power is stated."""
    return int(evidence.counted.get("telling", evidence.runs))


def _outcomes(evidence: Evidence) -> Outcomes:
    """What outcomes the mechanism has for which power is stated; in doubt, those that ask for more."""
    if evidence.reference.startswith(RESPONSE):
        return Outcomes.DISCRETE if evidence.delta == 0 else Outcomes.FEW
    return Outcomes.CONTINUOUS if evidence.reference == LAPLACE else Outcomes.DISCRETE


def _other_form(claim: Claim, evidence: Evidence, detectable_ratio: float) -> str:
    """A Gaussian curve in place of one of its points, if as many runs decide that."""
    if evidence.quantity is not Quantity.EPSILON or claim.delta == 0 or not 0 < claim.epsilon < 100:
        return ""
    mu = float(gaussian_pair.mu_of(claim.epsilon, claim.delta))
    curve = replace(claim, guarantee=GDP(mu), name="")
    seen = accuracy.detectable(
        runs=evidence.runs,
        claim=curve,
        alpha=evidence.alpha,
        quantity=Quantity.MU,
        power=SOUGHT,
    )
    if (
        not seen < math.inf
        or gaussian_pair.epsilon_of(seen, claim.delta) > detectable_ratio * claim.epsilon
    ):
        return ""
    return (
        f"of a Gaussian mechanism --claim mu={at_most(mu)},delta={spelt(claim.delta)} can be tested, "
        f"where {evidence.runs:,} runs notice mu = {seen:.4g}"
    )


def _density(claim: Claim, evidence: Evidence, detectable_ratio: float) -> str:
    """Exact log-likelihood ratios, if they tell as much: from all runs, or from few tilted ones."""
    if not 0 < claim.epsilon < 100:
        return ""
    if claim.delta == 0:
        return "with an exact log_ratio, one outcome beyond the claim refutes it"
    terms = {"delta": claim.delta, "alpha": evidence.alpha / 2}
    runs, what = evidence.runs, "an exact log_ratio and the drawn noise"
    seen = hockey_stick.detectable(runs=max(runs // 2, 1), claimed=claim.epsilon, **terms)
    if seen > detectable_ratio * claim.epsilon:
        runs, what = min(runs, _TILTED), "tilted runs of Gaussian noise"
        seen = importance.detectable(runs=max(runs // 2, 1), claim=claim, alpha=evidence.alpha / 2)
    if seen > detectable_ratio * claim.epsilon:
        return ""
    return f"{what} would do: {runs:,} runs then notice ε = {seen:.4g}"


def _coins(claim: Claim, evidence: Evidence, detectable_ratio: float, runs: int) -> str:
    """Right answers, if every world was drawn by its own fair coin."""
    quantity = evidence.quantity
    if not runs or quantity is Quantity.RHO or not 0 < claim.bound(quantity) < math.inf:
        return ""
    terms: dict[str, Any] = {"claim": claim, "alpha": evidence.alpha, "quantity": quantity}
    if evidence.method == "clopper-pearson":
        seen = accuracy.detectable(runs=runs, **terms)
    else:
        seen = accuracy.noticed(runs=runs, outcomes=_outcomes(evidence), **terms)
    if seen > detectable_ratio * claim.bound(quantity):
        return ""
    return (
        "if every run's world was drawn by its own fair coin, --fair-coins would do: "
        f"{runs:,} runs then notice {quantity.symbol} = {seen:.4g}"
    )
