"""One door to calibration: of a theorem's noise, or of the one field that a mechanism leaves open."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from dpcalc import checks
from dpcalc.answers.asked import instance_of, kind_of
from dpcalc.calibration import smallest_noise
from dpcalc.claims.solution import Solution
from dpcalc.claims.solve import solve
from dpcalc.errors import InvalidInput
from dpcalc.theorems.base import Theorem

AnyTheorem = TypeVar("AnyTheorem", bound=Theorem)


@overload
def calibrate(what: AnyTheorem, epsilon: float, delta: float = ...) -> AnyTheorem: ...


@overload
def calibrate(
    what: type[AnyTheorem], epsilon: float, delta: float = ..., **fields: Any
) -> AnyTheorem: ...


@overload
def calibrate(what: str, epsilon: float, delta: float = ..., **fields: Any) -> Solution: ...


def calibrate(
    what: Theorem | type[Theorem] | str, epsilon: float, delta: float = 0.0, **fields: Any
) -> Theorem | Solution:
    """The smallest noise, largest rate or batch, or most rounds for a budget.

    Example::

        import dpcalc
        found = dpcalc.calibrate(
            "poisson-subsampled-gaussian", epsilon=2, delta=1e-5,
            rate=0.01, rounds=10_000, adjacency="add-remove",
        )
        print(found.field, found.value)

    Args:
        what: a mechanism's name, with its ``fields`` but for the one to solve for (``rounds`` among
            them, and ``each``, ε of one round of randomised response); or a theorem's class with its
            parameters but for the noise; or an instance of one.
        epsilon: ε of the budget, above 0.
        delta: δ of the budget, in [0, 1).
        fields: see ``what``.

    Returns:
        Of a mechanism what was solved for; of a theorem its instance with the smallest noise.

    Raises:
        Infeasible: if nothing meets the budget.
        InvalidInput: unless exactly one field is left open.
    """
    if isinstance(what, str):
        return _mechanism(what, epsilon, delta, fields)
    if isinstance(what, Theorem):
        if fields:
            raise InvalidInput(
                f"an instance has its parameters; got {', '.join(fields)} besides; "
                "use instance.replace(...)"
            )
        return smallest_noise(what, epsilon, delta)
    kind = kind_of(what)
    return smallest_noise(instance_of(kind, {kind.noise: 1.0, **fields}), epsilon, delta)


def _mechanism(name: str, epsilon: float, delta: float, fields: dict[str, Any]) -> Solution:
    from dpcalc.claims.named import mechanism, mechanism_key
    from dpcalc.theorems.catalogue import keys

    name = mechanism_key(name)
    if name in keys(privacy=True):
        raise InvalidInput(
            f"expected a mechanism; {name} is a theorem; try dpcalc.noise({name!r}, ...)"
        )
    mechanism(name)
    rounds = fields.pop("rounds", None)
    if "each" in fields:
        fields["epsilon"] = fields.pop("each")
    count = None if rounds is None else checks.count("rounds", rounds)
    return solve({"mechanism": name, **fields}, count, epsilon, delta)
