"""E5: one run of the mechanism with many independent canaries.

Statement
    m canaries are each included by their own fair coin; r of them are guessed, v rightly. Under
    (ε, δ)-DP, with q = e^ε/(1 + e^ε) and W ~ Bin(r, q),
    P(v or more right) <= P(W >= v) + 2mδ·max_{1<=i<=v} [P(W >= v-i) - P(W >= v)]/i.
    The first ε, scanning upward, at which this exceeds α is the lower bound.
Source
    Steinke, Nasr and Jagielski 2023, theorem 5.2.
Assumes
    Independent fair coins, not "exactly half of them"; r and the split into IN and OUT guesses
    fixed before any score is seen. Trying several r on the same scores raises false alarms from
    one in twenty to one in three.
Limits
    On a Gaussian mechanism it saturates far below the truth (53 per cent at ε = 4.4, m = 10⁴).
    Canaries that disturb one another make it looser still. With δ > 0 the p-value is too small near
    1 (m = r = 2, v = 1, ε = 2, δ = .01: .9864, and a mechanism attains .9871), so α above one half
    is refused; below, no mechanism exceeded it in 2,000 settings against `one_run_exact`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators.binomial import at_least
from dpcalc.auditing.estimators.one_run_power import smallest_response
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.auditing.targets.exact_numbers import exact_scores
from dpcalc.errors import AssumptionViolated, InvalidInput

Array = NDArray[np.float64]

_COARSE = 0.02  # the p-value varies on the scale of 1/√r, far above this
_LARGEST = 40.0
_SUSPICIOUS = 1e-6  # chance of so uneven a number of included canaries under fair coins


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses:
    """Right and wrong guesses about canaries.

    Attributes:
        canaries: m, all of them, guessed or not.
        guessed: r, fixed before the scores were seen.
        correct: v, how many guesses were right.
        guessed_in: how many of them say IN, of the canaries with the highest scores, where all others
            say OUT, of those with the lowest; None where every guess went by its canary alone.
    """

    canaries: int
    guessed: int
    correct: int
    guessed_in: int | None = None

    def __post_init__(self) -> None:
        checks.count("canaries", self.canaries)
        checks.count("guessed", self.guessed)
        checks.count("correct", self.correct, minimum=0)
        if not self.correct <= self.guessed <= self.canaries:
            raise InvalidInput(
                "expected correct <= guessed <= canaries; got "
                f"correct={self.correct}, guessed={self.guessed}, canaries={self.canaries}"
            )
        if self.guessed_in is not None:
            checks.count("guessed_in", self.guessed_in, minimum=0)
            if self.guessed_in > self.guessed:
                raise InvalidInput(
                    "expected at most as many guesses that say IN as guesses; got "
                    f"guessed_in={self.guessed_in}, guessed={self.guessed}"
                )


def guess(
    included: NDArray[np.bool_],
    scores: Array,
    *,
    guess_in: int,
    guess_out: int,
    fair_coins: bool,
    seed: int = 0,
) -> Guesses:
    """Guess IN for the canaries with the highest scores and OUT for those with the lowest.

    Args:
        included: whether each canary was used; shape (m,).
        scores: the larger, the more it looks used; shape (m,).
        guess_in: how many IN guesses, fixed before the scores were seen.
        guess_out: how many OUT guesses, fixed before.
        fair_coins: the caller's word that every canary had its own independent fair coin.
        seed: of the order in which equal scores stand. Their places in the arrays do not count: these
            tell who was included wherever the included are listed first or last.

    Raises:
        AssumptionViolated: without that word, or if the number of included canaries makes it
            incredible.
    """
    flags, values = np.asarray(included), exact_scores(scores)
    if flags.dtype != np.bool_ or flags.ndim != 1 or values.shape != flags.shape:
        raise InvalidInput(
            "expected one flag and one score per canary; got "
            f"shapes {flags.shape!r} and {values.shape!r}, dtype={flags.dtype!s}"
        )
    if np.isnan(values).any():
        raise InvalidInput("scores need to be numbers; got NaN")
    checks.count("guess_in", guess_in, minimum=0)
    checks.count("guess_out", guess_out, minimum=0)
    m = len(flags)
    if not 0 < guess_in + guess_out <= m:
        raise InvalidInput(
            f"expected between 1 and {m} guesses; got guess_in={guess_in}, guess_out={guess_out}"
        )
    require_coins(int(flags.sum()), m, fair_coins)
    shuffled = np.random.default_rng(seed).permutation(m)
    order = shuffled[np.argsort(values[shuffled], kind="stable")]
    right = int((~flags[order[:guess_out]]).sum()) + int(flags[order[m - guess_in :]].sum())
    return Guesses(canaries=m, guessed=guess_in + guess_out, correct=right, guessed_in=guess_in)


def p_value(guesses: Guesses, epsilon: Array, delta: float) -> Array:
    """The bound on the chance of this many right guesses under (ε, δ); shape of ``epsilon``."""
    checks.delta(delta)
    eps = np.atleast_1d(np.asarray(epsilon, dtype=np.float64))
    v, r = guesses.correct, guesses.guessed
    q = 1 / (1 + np.exp(-eps))
    beyond = at_least(v, r, q)
    if delta > 0 and v > 0:
        steps = np.arange(1, v + 1)
        tails = at_least((v - steps)[:, None], r, q[None, :])
        beyond = beyond + 2 * guesses.canaries * delta * (
            (tails - beyond[None, :]) / steps[:, None]
        ).max(axis=0)
    return np.asarray(np.minimum(beyond, 1.0).reshape(np.shape(epsilon)))


def epsilon_lower(guesses: Guesses, *, delta: float, alpha: float) -> float:
    """The lower bound of ε at δ; α at most one half if δ > 0."""
    if delta > 0 and alpha > 0.5:
        raise InvalidInput(f"expected alpha of at most one half with delta > 0; got {alpha!r}")
    if float(p_value(guesses, np.asarray(0.0), delta)) > alpha:
        return 0.0
    low = 0.0
    while low < _LARGEST:
        ahead = low + _COARSE * np.arange(1.0, 65.0)
        accepted = p_value(guesses, ahead, delta) > alpha
        if accepted.any():
            first = int(accepted.argmax())
            low, high = float(ahead[first] - _COARSE), float(ahead[first])
            break
        low = float(ahead[-1])
    else:
        return low
    for _ in range(40):
        middle = (low + high) / 2
        if float(p_value(guesses, np.asarray(middle), delta)) > alpha:
            high = middle
        else:
            low = middle
    return low


def detectable(guesses: Guesses, *, claimed: float, delta: float, alpha: float) -> float:
    """The ε that these guesses tell from the claimed one, 4 times in 5; see `one_run_power`."""

    def refutes(right: int) -> bool:
        seen = replace(guesses, correct=right)
        return bool(p_value(seen, np.asarray(claimed), delta) <= alpha)

    return smallest_response(
        refutes, guesses.canaries, guesses.guessed, guesses.guessed_in, claimed=claimed
    )


def evidence(guesses: Guesses, claim: Claim, *, alpha: float) -> Evidence:
    """The bound on ε at the claim's δ."""
    return Evidence(
        method="one-run",
        quantity=Quantity.EPSILON,
        lower=epsilon_lower(guesses, delta=claim.delta, alpha=alpha),
        alpha=alpha,
        delta=claim.delta,
        access=AdversaryAccess.ONE_RUN,
        runs=1,
        detectable=detectable(guesses, claimed=claim.epsilon, delta=claim.delta, alpha=alpha),
        reference="randomised response of every canary",
        counted=_counted(guesses),
        assumes=_ASSUMES,
    )


_ASSUMES = ("an independent fair coin per canary", "the number of guesses was fixed before")


def _counted(guesses: Guesses) -> dict[str, int]:
    counted = {
        "canaries": guesses.canaries,
        "guessed": guesses.guessed,
        "correct": guesses.correct,
    }
    return counted if guesses.guessed_in is None else counted | {"guessed_in": guesses.guessed_in}


def require_coins(
    included: int, number: int, fair_coins: bool, what: str = "canary", several: str = "canaries"
) -> None:
    """Refuse canaries or runs without the word that coins drew them, or an incredible number."""
    if not fair_coins:
        raise AssumptionViolated(
            f"expected an independent fair coin per {what}; got no word for it; including exactly "
            f"half of the {several} is not the same; pass fair_coins=True, --fair-coins on the command "
            "line, if every one had its own"
        )
    tail = 2 * min(
        float(at_least(included, number, 0.5)),
        float(at_least(number - included, number, 0.5)),
    )
    if tail < _SUSPICIOUS:
        raise AssumptionViolated(
            f"fair coins were promised; {included:,} of {number:,} {several} with the record have a "
            f"chance of {tail:.2g}; leave out fair_coins, --fair-coins on the command line, if the "
            f"number of each kind was chosen"
        )
