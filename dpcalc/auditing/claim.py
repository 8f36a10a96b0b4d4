"""What is put to the test: a guarantee for one neighbouring relation and one kind of release."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, ApproxDP, Guarantee, PureDP
from dpcalc.guarantees.renyi import RenyiGuarantee
from dpcalc.numerals import spelt
from dpcalc.vocabulary import Adjacency, AdjacencyName, Release, ReleaseName
from dpcalc.wording import at_most


class Quantity(StrEnum):
    """The number that a claim bounds from above and evidence bounds from below."""

    EPSILON = "epsilon"
    """ε at the claim's δ."""
    MU = "mu"
    """μ of Gaussian differential privacy: the claim is the whole Gaussian curve."""
    RHO = "rho"
    """Rényi divergence over its order, at the worst order: ρ of zero-concentrated privacy."""

    @property
    def symbol(self) -> str:
        """Its letter."""
        return {"epsilon": "ε", "mu": "μ", "rho": "ρ"}[self.value]


_NOT_SAID: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A guarantee that somebody claims.

    A `GDP` guarantee claims the whole Gaussian curve and is refuted by any point above it. Any
    other guarantee is tested as (ε, δ) at the claim's own δ, a Rényi guarantee also by divergences.

    Example::

        from dpcalc import Claim
        print(Claim.of(epsilon=1, delta=1e-5, adjacency="add-remove"))

    Attributes:
        guarantee: what is claimed.
        delta: at which ε is stated; in [0, 1), 0 only where the guarantee has a finite ε there.
        adjacency: between which inputs.
        release: what the adversary is shown; every message if nobody says.
        name: for reports.
        release_taken: whether nobody said the release, so that the default was taken.
    """

    guarantee: Guarantee
    adjacency: Adjacency
    delta: float = 0.0
    release: Release = _NOT_SAID
    name: str = ""
    release_taken: bool = False

    def __post_init__(self) -> None:
        checks.delta(self.delta)
        if self.release is _NOT_SAID:
            object.__setattr__(self, "release", Release.EVERY_MESSAGE)
            object.__setattr__(self, "release_taken", True)
        for name, kind in (("adjacency", Adjacency), ("release", Release)):
            value = getattr(self, name)
            if value not in list(kind):
                known = ", ".join(kind)
                raise InvalidInput(f"{name} needs one of {known}; got {name}={value!r}")
            object.__setattr__(self, name, kind(value))
        if isinstance(self.guarantee, GDP | RenyiGuarantee) and self.delta == 0:
            raise InvalidInput(
                f"expected delta above 0 for a {self.guarantee.notion} claim, whose ε at δ = 0 is "
                "infinite; got delta=0"
            )
        object.__setattr__(self, "name", " ".join(self.name.split()))
        if not self.name:
            object.__setattr__(self, "name", self._described())

    @classmethod
    def of(
        cls,
        *,
        epsilon: float,
        delta: float = 0.0,
        adjacency: Adjacency | AdjacencyName,
        release: Release | ReleaseName | None = None,
        name: str = "",
    ) -> Self:
        """The claim of (ε, δ)-differential privacy, pure if δ is 0.

        Args:
            epsilon: 0 or above, finite.
            delta: in [0, 1).
            adjacency: between which inputs; there is no default, since a factor of two hangs on it.
            release: what the adversary is shown; every message if nobody says.
            name: for reports.
        """
        checks.non_negative("epsilon", epsilon)
        checks.delta(delta)
        guarantee = PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta)
        return cls(
            guarantee=guarantee,
            delta=delta,
            adjacency=adjacency,  # type: ignore[arg-type] # checked and converted above
            release=release,  # type: ignore[arg-type]
            name=name,
        )

    @property
    def epsilon(self) -> float:
        """The claimed ε at the claim's δ; infinite if nothing is claimed there."""
        return self.guarantee.epsilon(self.delta)

    @property
    def about(self) -> str:
        """Between which inputs and of which release, and whether somebody said the latter."""
        taken = " (the default; --release says another)" if self.release_taken else ""
        return f"{self.adjacency} and {self.release}{taken}"

    @property
    def is_curve(self) -> bool:
        """Whether the claim is a Gaussian curve, so that a bound on μ contradicts it."""
        return isinstance(self.guarantee, GDP)

    @property
    def is_renyi(self) -> bool:
        """Whether the claim bounds ρ; a Rényi curve of another shape is tested as ε at δ."""
        return isinstance(self.guarantee, RenyiGuarantee) and "rho" in self.guarantee.parameters()

    @property
    def quantity(self) -> Quantity:
        """The number in which the claim is made."""
        if self.is_curve:
            return Quantity.MU
        return Quantity.RHO if self.is_renyi else Quantity.EPSILON

    def bound(self, quantity: Quantity) -> float:
        """The claimed upper bound of a quantity.

        Args:
            quantity: ε, μ or ρ.

        Returns:
            0 or above.

        Raises:
            InvalidInput: if the claim says nothing about it.
        """
        if quantity is Quantity.EPSILON:
            return self.epsilon
        numbers = self.guarantee.parameters()
        if quantity not in numbers:
            raise InvalidInput(
                f"expected a claim about {quantity}; got a {self.guarantee.notion} claim"
            )
        return float(numbers[quantity])

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "notion": self.guarantee.notion,
            "numbers": dict(self.guarantee.parameters()),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency.value,
            "release": self.release.value,
            "release_basis": "default" if self.release_taken else "stated",
        }

    def _described(self) -> str:
        if self.is_curve:
            return f"{_shown(self.guarantee.parameters()['mu'])}-GDP"
        if isinstance(self.guarantee, PureDP):
            return f"{_shown(self.guarantee.bound)}-DP"
        if isinstance(self.guarantee, ApproxDP):
            return f"({_shown(self.guarantee.bound)}, {_shown(self.guarantee.failure)})-DP"
        if self.is_renyi:
            return f"{_shown(self.guarantee.parameters()['rho'])}-zCDP"
        return f"{self.guarantee.notion} curve"


def _shown(value: float) -> str:
    """A claimed number as it is where a few digits say it, else rounded up as in every report."""
    text = spelt(value)
    return text if float(text) == float(value) else at_most(value)
