"""The budget of a published result: claimed, certified, attained, with the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dpcalc.answers.asked import delta_asked, instance_of, relation_asked
from dpcalc.claims.relations import Relation
from dpcalc.claims.verdict import surely_attained
from dpcalc.markup import html_table
from dpcalc.report.records import judged, with_attack_accuracy
from dpcalc.report.text import upper
from dpcalc.theorems.base import Bound, Scope, Theorem
from dpcalc.vocabulary import Release, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpcalc.guarantees import Guarantee


@dataclass(frozen=True, repr=False)
class Budget:
    """ε of an algorithm at δ, as claimed and as certified; ``float()`` of it is the certified ε.

    Example::

        import dpcalc
        found = dpcalc.epsilon("noisy-gd", delta=1e-5, **dict(dpcalc.theorem("noisy-gd").example))
        print(found.certified, found.verdict, found.reason)

    Attributes:
        theorem: the instance of the published result.
        delta: where the curve was read, in [0, 1).
        relation: the neighbouring relation, and who said it.
    """

    theorem: Theorem
    delta: float
    relation: Relation

    @cached_property
    def _proved(self) -> Bound:
        return self.theorem.certified()

    @cached_property
    def _record(self) -> dict[str, Any]:
        return judged(self.theorem, self._proved, self.delta, self.relation)

    @cached_property
    def _whole(self) -> dict[str, Any]:
        return with_attack_accuracy(self._record, self.guarantee, self.delta)

    def record(self) -> dict[str, Any]:
        """What ``dpcalc epsilon --json`` prints."""
        return dict(self._whole)

    @property
    def certified(self) -> float:
        """ε that is proved, an upper bound; infinite where nothing is."""
        return float(self._record["certified"]["epsilon"])

    @property
    def guarantee(self) -> Guarantee:
        """What is proved at every δ, to be composed with other releases."""
        return self._proved.guarantee

    @property
    def claimed(self) -> float | None:
        """ε by the paper's formula; None where its own conditions fail."""
        found = self._record["claimed"]["epsilon"]
        return None if found is None else float(found)

    @property
    def attained(self) -> float | None:
        """ε that some instance really leaks, a lower bound; None if none is known."""
        found = self.theorem.attained()
        return None if found is None else surely_attained(found.guarantee, self.delta)

    @property
    def verdict(self) -> Verdict | None:
        """What became of the claim; None where nothing is claimed."""
        found = self._record["verdict"]
        return None if found is None else Verdict(found)

    @property
    def reason(self) -> str:
        """Why, in one sentence."""
        return str(self._record["reason"])

    @property
    def release(self) -> Release:
        """What the adversary sees."""
        return self.theorem.release

    def __float__(self) -> float:
        return self.certified

    def _rows(self) -> list[tuple[str, str]]:
        verdict = self.verdict
        ratio = ""
        if self.claimed is not None and 0 < self.certified < math.inf:
            ratio = f" (claimed/certified = {self.claimed / self.certified:.4g})"
        return [
            ("theorem", self.theorem.key),
            ("δ", upper(self.delta)),
            ("claimed ε", "none" if self.claimed is None else upper(self.claimed)),
            ("certified ε", upper(self.certified)),
            ("verdict", "none" if verdict is None else f"{verdict.value}{ratio}"),
            ("neighbours", self._record["adjacency"] or "as the numbers given"),
            ("release", self.release.value),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<12} {value}" for name, value in self._rows())

    def __repr__(self) -> str:
        claimed = "none" if self.claimed is None else upper(self.claimed)
        return (
            f"Budget({self.theorem.key} at δ = {upper(self.delta)}: claimed ε = {claimed}, certified "
            f"ε = {upper(self.certified)}, {self.verdict or 'no claim'})"
        )

    def plot(self) -> Axes:
        """ε over δ, claimed, certified and attained, with this δ marked.

        Returns:
            The axes, of a figure of their own (``axes.figure.savefig("epsilon.pdf")``).

        Raises:
            InvalidInput: if nothing finite can be drawn.
            MissingExtra: without matplotlib.
        """
        from dpcalc.report.claims import claim_figure

        return claim_figure(self.theorem, delta=self.delta).axes[0]

    def _repr_html_(self) -> str:
        return html_table(self._rows())


def epsilon(
    theorem: Theorem | type[Theorem] | str, delta: float | None = None, **parameters: Any
) -> Budget:
    """What a paper claims of its algorithm next to what is certified.

    Example::

        import dpcalc
        found = dpcalc.epsilon(
            "dp-admm", delta=1e-5,
            n_records=32561, rounds=100, gradient_bound=1, sigma=0.01, dual_start="zero",
        )
        print(found.claimed, found.certified, found.verdict)

    Args:
        theorem: its key as the command line spells it, its class, or an instance.
        delta: in [0, 1); needed where no ε follows at 0.
        parameters: the theorem's own by name, and ``attest``, promises by key or "all"; of an
            instance, those to change.

    Returns:
        An answer whose ``float()`` is the certified ε, with ``claimed``, ``attained``, ``verdict``,
        ``reason`` and ``plot()``.

    Raises:
        InvalidInput: for unknown or missing parameters, and a missing δ.
        AssumptionViolated: if the parameters contradict what the certified bound needs.
    """
    instance = instance_of(theorem, parameters)
    instance.require(Scope.CERTIFIED)
    return Budget(instance, delta_asked(instance, delta), relation_asked(instance, parameters))
