"""A claim about a theorem, read from a table of a claims file; errors say where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpcalc import checks
from dpcalc.claims.tables import as_real, fields
from dpcalc.claims.verdict import Claim
from dpcalc.errors import AssumptionViolated, InvalidInput, missing_delta, unknown_name
from dpcalc.theorems.base import Theorem
from dpcalc.theorems.catalogue import keys, privacy_result
from dpcalc.theorems.parameters import parameters


def claim_from(where: str, table: Mapping[str, Any]) -> Claim:
    """A claim from a table of a claims file; errors say where.

    Fields: name, theorem, parameters, epsilon, delta, attest ("all" or a list), ours (a reason for
    each value that the source of the claim does not give). Without the noise parameter the paper's
    prescription for (epsilon, delta) is used.
    """
    known = ("name", "theorem", "parameters", "epsilon", "delta", "attest", "ours")
    _refuse_misplaced(where, table, known)
    table = fields(where, table, known, ("theorem",))
    try:
        kind = privacy_result(table["theorem"])
        delta = checks.delta(as_real("delta", table.get("delta", 0.0)))
        epsilon = table.get("epsilon")
        if epsilon is not None:
            epsilon = float(checks.non_negative("epsilon", as_real("epsilon", epsilon)))
        given = parameter_table(table.get("parameters", {}))
        if "delta" not in table and _needs_delta(kind, given):
            raise missing_delta(kind.key, option="delta = 1e-6")
        theorem = _instance(kind, given, table.get("attest", []), epsilon, delta)
        return Claim(
            str(table.get("name", where)),
            theorem,
            epsilon,
            delta,
            states_adjacency="adjacency" in given,
            ours=ours_of(table.get("ours", {}), {*table, *theorem.inputs()}),
        )
    except (InvalidInput, AssumptionViolated) as error:
        raise InvalidInput(f"{where}: {error}") from error


def needs_delta(theorem: Theorem) -> bool:
    """Whether nothing is certified or claimed at δ = 0, and something is at a larger δ."""
    if theorem.certified().guarantee.needs_delta():
        return True
    try:
        return theorem.claimed().guarantee.needs_delta()
    except (InvalidInput, AssumptionViolated):
        return False


def _refuse_misplaced(where: str, table: Any, known: Sequence[str]) -> None:
    """Refuse a parameter of the theorem among the fields of the claim, with its place."""
    if not isinstance(table, Mapping) or table.get("theorem") not in keys():
        return
    own = parameters(privacy_result(table["theorem"]))
    for name in table:
        if name not in known and str(name).replace("-", "_") in own:
            raise InvalidInput(
                f"{where}: {name!r} is a parameter of {table['theorem']}; "
                "it goes into [claim.parameters]"
            )


def _needs_delta(kind: type[Theorem], given: Mapping[str, Any]) -> bool:
    """`needs_delta` for these parameters, with some noise where none is given."""
    noise = {} if kind.noise in {str(n).replace("-", "_") for n in given} else {kind.noise: 1.0}
    try:
        return needs_delta(kind.from_parameters({**noise, **given}))
    except (InvalidInput, AssumptionViolated):
        return False


def parameter_table(value: Any) -> dict[str, Any]:
    """The parameters of a theorem as a file gives them."""
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"parameters needs to be a table of name = value; got {value!r}; "
            "try [claim.parameters] with a line for each"
        )
    return dict(value)


def ours_of(given: Any, known: set[str]) -> dict[str, str]:
    """Reasons by parameter, for values that the source of a claim does not give."""
    if not isinstance(given, Mapping) or not all(isinstance(why, str) for why in given.values()):
        raise InvalidInput(
            f"ours needs to be a table of parameter = reason; got {given!r}; "
            'try [claim.ours] with a line such as rounds = "not given; 100 taken"'
        )
    for name in given:
        if name not in known:
            raise unknown_name("parameter in ours", name, known)
    return dict(given)


def _instance(
    kind: type[Theorem], given: dict[str, Any], attest: Any, epsilon: float | None, delta: float
) -> Theorem:
    prescribe = not {kind.noise, kind.noise.replace("_", "-")} & set(given)
    if not prescribe:
        return kind.from_parameters(given, attest)
    draft = kind.from_parameters({**given, kind.noise: 1.0}, attest)
    if epsilon is None:
        raise InvalidInput(
            f"the noise parameter {kind.noise} is needed, or epsilon to use the paper's "
            f"prescription; got neither; try {kind.noise} = {kind.example.get(kind.noise, 1)}"
        )
    return draft.prescribed(epsilon, delta)
