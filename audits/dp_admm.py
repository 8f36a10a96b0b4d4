"""Attack on DP-ADMM (shang2021).

Linear losses with opposite gradients make every distance as large as the proof allows, and a ridge
for g makes all laws Gaussian. Add-remove with n fixed compares a record with a zero one; replace-one
compares it with its opposite.

    as printed      u₀ = -(1/ρ)(Aᵀ)⁺∇f(x₀) decides y₁: one look tells the two inputs apart
    last iterate    of the printed form after T = 2 rounds: the exact law exceeds the claim
    replace-one     c/n in the proof, 2c/n in truth
    zero start      holds, and attacks come within 10 per cent of the certified ε
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from dpcalc.algorithms.dp_admm import DPADMM
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import copies
from dpcalc.algorithms.problems.losses import Linear
from dpcalc.algorithms.problems.records import Records, split
from dpcalc.algorithms.problems.regularisers import ridge
from dpcalc.auditing import Claim, Outcome, Target, World
from dpcalc.auditing.algorithm import algorithm_target
from dpcalc.audits.engine import bugs
from dpcalc.audits.engine.case import CAUGHT, Audit, Case, Exhibit, Role, Setting
from dpcalc.audits.engine.last_iterate import gaussian_release
from dpcalc.audits.engine.laws import separation
from dpcalc.audits.engine.neighbours import replacements, worst
from dpcalc.guarantees import GDP, ApproxDP, Guarantee
from dpcalc.theorems.gradient_admm.dp_admm import DPADMM as THEOREM
from dpcalc.vocabulary import Adjacency, Release

RECORDS = 10
DELTA = 1e-3
_ATTEST = ("gradient-bound", "public-parameters")
_ADD, _REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE


def theorem(
    rounds: int, epsilon: float, *, adjacency: Adjacency = _ADD, start: str = "zero"
) -> THEOREM:
    """The paper's theorem with the noise that it prescribes for (ε, 1e-3)."""
    draft = THEOREM(
        n_records=RECORDS,
        rounds=rounds,
        gradient_bound=1.0,
        sigma=1.0,
        adjacency=adjacency.value,
        dual_start=start,
        attest=_ATTEST,
    )
    return draft.prescribed(epsilon, DELTA)


def algorithm(
    kind: Any = DPADMM, *, rounds: int, sigma: Any, row_bound: float = 1.0, **settings: Any
) -> Any:
    """The algorithm on ten records whose gradients are constant."""
    rows = np.zeros((RECORDS, 2))
    rows[0, 0] = row_bound
    problem = CompositeProblem(
        records=split(rows, np.ones(RECORDS), row_bound=row_bound),
        loss=Linear(),
        regulariser=ridge(0.5),
        constraint=copies(2),
    )
    given = {"penalty": 1.0, "step_size": 0.01, "dual_start": "zero"} | settings
    return kind(problem, rounds=rounds, sigma=sigma, **given)


def neighbour(attacked: Any, adjacency: Adjacency) -> Records:
    """The worst neighbour found; a record without a gradient stands for an absent one."""
    records = attacked.problem.records
    scales = (0.0,) if adjacency == _ADD else (1.0, 0.5, 0.0)
    safe = replace(attacked, dual_start="zero")
    return worst(safe, replacements(records, scales=scales))[0]


def transcript_setting(
    kind: Any, start: str, adjacency: Adjacency, guarantee: Guarantee | None, *, epsilon: float
) -> Setting:
    """The whole transcript against the paper's claim, or against a guarantee of one's own."""
    rounds = 5
    paper = theorem(rounds, epsilon, adjacency=adjacency)
    attacked = algorithm(kind, rounds=rounds, sigma=paper.sigma, dual_start=start)
    proved = paper.certified().guarantee
    claimed = ApproxDP(epsilon, DELTA) if guarantee is None else guarantee
    target = algorithm_target(attacked, neighbour(attacked, adjacency), adjacency=adjacency)
    return Setting(
        target=target,
        claim=_claim(claimed, adjacency, Release.EVERY_ITERATE),
        certified=proved.epsilon(DELTA) if start != "printed" else None,
        note=f"{rounds} rounds, {RECORDS} records, sigma = {paper.sigma:.6g}, linear losses",
    )


def certified_setting(kind: Any, adjacency: Adjacency) -> Setting:
    """The zero start against the exact Gaussian curve."""
    curve = theorem(5, 1.0, adjacency=adjacency).certified().guarantee
    return transcript_setting(kind, "zero", adjacency, curve, epsilon=1.0)


def last_iterate_setting(kind: Any, start: str, rounds: int) -> Setting:
    """(x_T, y_T) alone against the paper's (1, 1e-3), by the exact law."""
    sigma = theorem(rounds, 1.0).sigma
    attacked = algorithm(kind, rounds=rounds, sigma=sigma, dual_start=start)
    other = neighbour(attacked, _ADD)
    laws = last_laws(attacked, other)
    mu = separation(*laws)[0]
    pair = {World.IN: attacked, World.OUT: attacked.on(other)}
    target = gaussian_release(
        lambda world, generator, runs: pair[world].run(
            generator, runs=runs, release=Release.LAST_ITERATE
        ),
        lambda released: np.concatenate([released["x"], released["y"]], axis=1),
        *([law] for law in laws),
        name=attacked.key,
        adjacency=_ADD,
        described="the last (x, y) of linear losses, whose law is Gaussian",
    )
    exact = GDP(mu).epsilon(DELTA) if mu < np.inf else np.inf
    return Setting(
        target=target,
        claim=_claim(ApproxDP(1.0, DELTA), _ADD, Release.LAST_ITERATE),
        certified=exact,
        note=f"{rounds} rounds; exact mu of the last iterate {mu:.6g}, epsilon {exact:.6g}",
    )


def last_laws(attacked: Any, other: Records) -> tuple[Any, Any]:
    """The laws of (x_T, y_T) in both worlds."""
    return (
        attacked.last_iterate_law().marginal("x", "y"),
        attacked.last_iterate_law(records=other).marginal("x", "y"),
    )


def exact_last_iterates(kind: Any, _: int) -> list[tuple[float, ...]]:
    """T, exact δ(1) of the last iterate from the printed and from the zero start, claimed δ."""
    rows = []
    for rounds in (1, 2, 3, 5, 10, 20):
        sigma = theorem(rounds, 1.0).sigma
        deltas = []
        for start in ("printed", "zero"):
            attacked = algorithm(kind, rounds=rounds, sigma=sigma, dual_start=start)
            mu = separation(*last_laws(attacked, neighbour(attacked, _ADD)))[0]
            deltas.append(GDP(mu).delta(1.0))
        rows.append((float(rounds), *deltas, DELTA))
    return rows


MOST_ROUNDS = 500
"""Beyond these a claim's instance is not simulated."""


def instance(claimed: THEOREM, claim: Claim) -> Setting | None:
    """Ten records with the theorem's Δ/σ, rounds and start: the law depends on nothing else."""
    if claimed.rounds > MOST_ROUNDS:
        return None
    sigma = claimed.sigma * claimed.n_records / RECORDS / claimed.gradient_bound
    start = {"data": "printed"}.get(claimed.dual_start, claimed.dual_start)
    attacked = algorithm(rounds=claimed.rounds, sigma=sigma, dual_start=start)
    adjacency = Adjacency(claimed.adjacency)
    other = neighbour(attacked, adjacency)
    return Setting(
        target=algorithm_target(attacked, other, adjacency=adjacency),
        claim=claim,
        note=f"{RECORDS} records with the same noise multiplier",
    )


# ---- planted bugs


@cache
def _correct(kind: Any = DPADMM) -> tuple[Any, Records, Target, Claim, float]:
    """The zero start, add-remove, with its certified curve."""
    paper = theorem(5, 1.0)
    attacked = algorithm(kind, rounds=5, sigma=paper.sigma)
    other = neighbour(attacked, _ADD)
    target = algorithm_target(attacked, other, adjacency=_ADD)
    proved = paper.certified().guarantee
    return attacked, other, target, _claim(proved, _ADD, Release.EVERY_ITERATE), paper.sigma


def less_noise(kind: Any, times: float | None) -> Setting:
    """σ·times is drawn; σ² in place of σ if times is left out."""
    attacked, other, target, claim, sigma = _correct(kind)
    drawn = sigma**2 if times is None else sigma * times
    return Setting(target=bugs.drawn_by(target, replace(attacked, sigma=drawn), other), claim=claim)


def one_round_charged(kind: Any) -> Setting:
    """μ of one round is sold as that of the whole run."""
    _, _, target, claim, sigma = _correct(kind)
    return Setting(
        target=target,
        claim=_claim(GDP(1 / RECORDS / sigma), _ADD, claim.release),
        note="the guarantee of one of five rounds",
    )


def decaying_noise(kind: Any) -> Setting:
    """Noise that shrinks from round to round, accounted for at its first value."""
    _, other, _, claim, sigma = _correct(kind)
    attacked = algorithm(kind, rounds=5, sigma=sigma * 0.6 ** np.arange(5.0))
    return Setting(target=algorithm_target(attacked, other, adjacency=_ADD), claim=claim)


def clipped_mean(kind: Any) -> Setting:
    """The mean gradient is clipped instead of every record's: a long record passes whole."""
    _, _, _, claim, sigma = _correct(kind)
    attacked = algorithm(kind, rounds=5, sigma=sigma, row_bound=3.0)
    other = neighbour(attacked, _ADD)
    return Setting(target=algorithm_target(attacked, other, adjacency=_ADD), claim=claim)


def repeated_seed(kind: Any) -> Setting:
    """All noise comes from one fixed seed."""
    _, _, target, claim, _ = _correct(kind)
    return Setting(target=bugs.one_seed(target), claim=claim)


def one_draw(kind: Any) -> Setting:
    """Noise is drawn once and used again in every round."""
    attacked, other, target, claim, _ = _correct(kind)
    return Setting(target=bugs.drawn_by(target, bugs.one_draw(attacked), other), claim=claim)


def fitted_step(kind: Any) -> Setting:
    """The step size is one over the data's largest curvature, called public."""
    attacked, other, target, claim, _ = _correct(kind)
    lengths = {
        World.IN: float(np.linalg.norm(attacked.problem.records.features)),
        World.OUT: float(np.linalg.norm(other.features)),
    }
    steps = {world: 1 / (1 + length) for world, length in lengths.items()}
    return Setting(target=bugs.fitted_parameter(target, "step_size", steps), claim=claim)


def _claim(guarantee: Guarantee, adjacency: Adjacency, release: Release) -> Claim:
    return Claim(guarantee=guarantee, delta=DELTA, adjacency=adjacency, release=release)


# ---- the cases


def cases(kind: Any) -> tuple[Case, ...]:
    """All cases for DP-ADMM, or for its accelerated form."""
    held, broken = (Outcome.NOT_REFUTED,), (Outcome.REFUTED,)
    paper, proved, bug = Role.PAPER, Role.CERTIFIED, Role.BUG
    make = partial(transcript_setting, kind)

    def case(key: str, title: str, role: Role, setting: Any, expected: Any, **more: Any) -> Case:
        return Case(key=key, title=title, role=role, setting=setting, expected=expected, **more)

    return (
        case(
            "as-printed",
            "dual start from the data, whole transcript, claimed (1, 1e-3)",
            paper,
            partial(make, "printed", _ADD, None, epsilon=1.0),
            broken,
        ),
        case(
            "last-iterate-as-printed",
            "dual start from the data, (x, y) after two rounds, claimed (1, 1e-3)",
            paper,
            partial(last_iterate_setting, kind, "printed", 2),
            broken,
            alpha=1e-6,
        ),
        case(
            "replace-one",
            "zero start, a record replaced, claimed (2, 1e-3) with sensitivity c/n",
            paper,
            partial(make, "zero", _REPLACE, None, epsilon=2.0),
            broken,
            alpha=1e-6,
            tilted=2000,
        ),
        case(
            "zero-start",
            "zero start, add-remove, the certified curve",
            proved,
            partial(certified_setting, kind, _ADD),
            held,
        ),
        case(
            "zero-start-replace-one",
            "zero start, replace-one, the certified curve",
            proved,
            partial(certified_setting, kind, _REPLACE),
            held,
        ),
        case(
            "noised-start",
            "noised or shared start, add-remove, claimed (1, 1e-3)",
            proved,
            partial(make, "shared", _ADD, None, epsilon=1.0),
            held,
        ),
        case(
            "last-iterate-zero-start",
            "zero start, (x, y) after ten rounds, claimed (1, 1e-3)",
            paper,
            partial(last_iterate_setting, kind, "zero", 10),
            held,
        ),
        *(
            case(key, title, bug, partial(setting, kind, *given), CAUGHT)
            for key, title, setting, given in _BUGS
        ),
    )


_BUGS: tuple[tuple[str, str, Any, tuple[Any, ...]], ...] = (
    ("half-the-noise", "half of the modelled noise is drawn", less_noise, (0.5,)),
    ("variance-for-deviation", "sigma squared is drawn in place of sigma", less_noise, (None,)),
    ("one-round-charged", "one round's budget sold as the run's", one_round_charged, ()),
    ("decaying-noise", "decaying noise accounted for at its first value", decaying_noise, ()),
    ("clipped-mean", "clipping after averaging", clipped_mean, ()),
    ("one-seed", "one seed for both worlds and all runs", repeated_seed, ()),
    ("one-draw", "noise drawn once and used again in every round", one_draw, ()),
    ("fitted-step", "a step size computed from the data", fitted_step, ()),
)

AUDIT = Audit(
    key="dp-admm",
    title="DP-ADMM",
    reference="shang2021, algorithm 2 and theorem 1",
    theorem="dp-admm",
    cases=cases(DPADMM),
    instance=instance,
    exhibits=(
        Exhibit(
            key="last-iterate",
            title="Exact δ(1) of the last iterate against the claimed 1e-3",
            columns=("rounds", "printed start", "zero start", "claimed"),
            rows=partial(exact_last_iterates, DPADMM),
            note="The printed start leaks in the first rounds; later ones wash it out here, and not "
            "for every regulariser.",
        ),
    ),
)
