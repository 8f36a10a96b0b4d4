"""The noise for a budget: what a paper prescribes next to the smallest that is certified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcalc import checks
from dpcalc.answers.asked import delta_asked, instance_of, kind_of, relation_asked
from dpcalc.calibration import smallest_noise
from dpcalc.claims.relations import Relation
from dpcalc.errors import DpcalcError, InvalidInput
from dpcalc.markup import html_table
from dpcalc.report.records import assumptions, bound, findings, instance_verdict
from dpcalc.report.setting import setting
from dpcalc.report.text import lower, upper
from dpcalc.theorems.base import Theorem
from dpcalc.theorems.parameters import parameters as parameters_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, repr=False)
class Noise:
    """The smallest certified noise for (ε, δ); ``float()`` of it is the noise parameter's value.

    Example::

        import dpcalc
        found = dpcalc.noise(
            "dp-admm", epsilon=1, delta=1e-5,
            n_records=32561, rounds=100, gradient_bound=1, dual_start="zero",
        )
        print(found.parameter, found.value, found.spent)

    Attributes:
        theorem: the instance with that noise.
        epsilon: ε of the budget.
        delta: δ of the budget.
        prescribed: the instance with the paper's noise; None if its formula gives none.
        why_none: the reason then, "" otherwise.
        relation: the neighbouring relation, and who said it.
    """

    theorem: Theorem
    epsilon: float
    delta: float
    prescribed: Theorem | None
    why_none: str
    relation: Relation

    @property
    def parameter(self) -> str:
        """Name of the theorem's noise parameter."""
        return self.theorem.noise

    @property
    def value(self) -> float:
        """Its value; the first one of a schedule."""
        return self.theorem.noise_level()

    @property
    def spent(self) -> float:
        """ε that is certified with this noise, at most that of the budget."""
        return self.theorem.certified().guarantee.epsilon(self.delta)

    def __float__(self) -> float:
        return self.value

    def record(self) -> dict[str, Any]:
        """What ``dpcalc noise --json`` prints."""
        found = self.theorem
        return {
            "theorem": found.key,
            "inputs": {k: v for k, v in found.inputs().items() if k != found.noise},
            **setting(found, self.relation),
            "budget": {"epsilon": self.epsilon, "delta": self.delta},
            "claimed": self._prescribed(),
            "certified": {**bound(found.certified(), self.delta), found.noise: self.value},
            "findings": findings(found),
            "assumptions": assumptions(found),
        }

    def _prescribed(self) -> dict[str, Any]:
        """The paper's noise, the ε it has and the verdict on it; or why there is none."""
        found, noise, delta = self.prescribed, self.parameter, self.delta
        if found is None:
            return {noise: None, "epsilon": None, "delta": delta, "reason": self.why_none}
        certified = found.certified().guarantee.epsilon(delta)
        return {
            noise: found.noise_level(),
            "epsilon": self.epsilon,
            "delta": delta,
            "certified_epsilon": certified,
            **instance_verdict(found, self.epsilon, certified, delta),
        }

    def _rows(self) -> list[tuple[str, str]]:
        safe = lower if self.theorem.noise_is_a_rate else upper
        paper = f"none: {self.why_none}"
        if self.prescribed is not None:
            certified = self.prescribed.certified().guarantee.epsilon(self.delta)
            paper = f"{safe(self.prescribed.noise_level(), 8)} (certified ε = {upper(certified)})"
        return [
            ("theorem", self.theorem.key),
            ("budget", f"ε = {upper(self.epsilon)}, δ = {upper(self.delta)}"),
            (f"smallest {self.parameter}", safe(self.value, 8)),
            ("prescribed", paper),
            ("neighbours", self.relation.name or "as the numbers given"),
            ("release", self.theorem.release.value),
        ]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self._rows())
        return "\n".join(f"{name:<{width}}  {value}" for name, value in self._rows())

    def __repr__(self) -> str:
        budget = f"({upper(self.epsilon)}, {upper(self.delta)})"
        return f"Noise({self.theorem.key} for {budget}: {self.parameter} = {self.value!r})"

    def _repr_html_(self) -> str:
        return html_table(self._rows())

    def plot(self, epsilons: Sequence[float] | None = None) -> Axes:
        """The noise over the budget: as the paper prescribes it, and the smallest certified.

        Args:
            epsilons: shape (n,), each above 0; 17 from a tenth to ten times the budget's if left
                out.

        Returns:
            The axes, of a figure of their own.

        Raises:
            InvalidInput: if no noise meets any of the budgets.
            MissingExtra: without matplotlib.
        """
        from dpcalc.pictures.drawing import figure_of
        from dpcalc.report.setting import setting_note
        from dpcalc.report.theorem_curves import noise_over_epsilon

        asked = [self.epsilon * 10 ** (k / 8 - 1) for k in range(17)]
        picture = noise_over_epsilon(
            self.theorem, asked if epsilons is None else epsilons, self.delta
        )
        note = setting_note(self.theorem, varied="epsilon", delta=self.delta)
        figure = figure_of(picture, title=self.theorem.title, setting=note, mark=self.epsilon)
        return figure.axes[0]


def noise(
    theorem: Theorem | type[Theorem] | str,
    epsilon: float,
    delta: float | None = None,
    **parameters: Any,
) -> Noise:
    """The smallest certified noise of a paper's algorithm for a budget.

    Example::

        import dpcalc
        found = dpcalc.noise(
            "dp-admm", epsilon=1, delta=1e-5,
            n_records=32561, rounds=100, gradient_bound=1, dual_start="zero",
        )
        print(found.parameter, found.value, found.spent)

    Args:
        theorem: its key as the command line spells it, its class, or an instance, whose noise is
            where the search starts.
        epsilon: ε of the budget, above 0.
        delta: δ of the budget, in [0, 1); needed where no ε follows at 0.
        parameters: the theorem's own by name but for the noise (a schedule gives the shape that is
            kept), and ``attest``; of an instance, those to change.

    Returns:
        An answer whose ``float()`` is the smallest certified noise, in the unit of the parameter that
        ``parameter`` names; ``prescribed`` is the paper's, ``spent`` the certified ε.

    Raises:
        Infeasible: if no noise meets the budget; the message says what to change.
        InvalidInput: for unknown or missing parameters, a noise that is given, a missing δ.
    """
    start = instance_of(theorem, _with_some_noise(theorem, parameters))
    return least_noise(start, epsilon, delta, relation_asked(start, parameters))


def least_noise(start: Theorem, epsilon: float, delta: float | None, relation: Relation) -> Noise:
    """The answer for an instance whose noise is where the search starts."""
    checks.positive("epsilon", epsilon)
    at = delta_asked(start, delta)
    found = smallest_noise(start, epsilon, at)
    prescribed: Theorem | None
    try:
        prescribed, why_none = start.prescribed(epsilon, at), ""
        prescribed.certified().guarantee.epsilon(at)
    except DpcalcError as error:
        prescribed, why_none = None, str(error)
    return Noise(found, epsilon, at, prescribed, why_none, relation)


def _with_some_noise(
    theorem: Theorem | type[Theorem] | str, given: dict[str, Any]
) -> dict[str, Any]:
    """The parameters with a noise to start from."""
    kind = kind_of(theorem)
    name = kind.noise
    if name in given and parameters_of(kind)[name].kind != "schedule":
        raise InvalidInput(f"{name} is what is looked for; got {given[name]!r}; leave it out")
    if name in given or isinstance(theorem, Theorem):
        return given
    return {**given, name: 1.0}
