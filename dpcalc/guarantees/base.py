"""What every privacy guarantee can answer."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

from dpcalc import checks
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.guarantees.as_share import delta_as_share
from dpcalc.markup import html_table
from dpcalc.numerics.arithmetic import OwnArithmetic
from dpcalc.numerics.precise import context, mpf, round_down, round_up
from dpcalc.numerics.search import minimise
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from dpcalc.accounting.enclosure import Bracket
    from dpcalc.accounting.losses.density_pair import PrivacyLoss

    Directions = tuple[tuple[tuple[PrivacyLoss, int], ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee(OwnArithmetic, ABC):
    """An upper bound on what a release reveals about one record; a frozen value.

    All answers are safe: `epsilon`, `delta`, `advantage` and `attack_accuracy` are never below,
    `tradeoff` never above the exact value of the bound that the guarantee states.

    Example::

        from dpcalc import GDP, compose
        total = compose((GDP(0.1), 100))
        print(total.epsilon(1e-6), total.attack_accuracy())

    Attributes:
        notion: the notion of privacy, as the command line spells it.
        adjacency: the neighbouring relation it holds under, None if nobody said; set by `under`. It
            is no part of what makes two guarantees equal.
    """

    notion: ClassVar[str]
    adjacency: Adjacency | None = field(default=None, compare=False, repr=False)

    def under(self, adjacency: Adjacency | str | None) -> Self:
        """The same guarantee, said to hold under a neighbouring relation; none says nothing.

        Guarantees under different relations are refused where they are composed.

        Args:
            adjacency: "add-remove", "replace-one" or "neighbouring-functions"; None says nothing.

        Returns:
            A copy; this one is unchanged.

        Raises:
            InvalidInput: for an unknown relation, and for one that contradicts its own.
        """
        if not adjacency or adjacency == self.adjacency:
            return self
        known = [relation.value for relation in Adjacency]
        if adjacency not in known:
            raise unknown_name("neighbouring relation", str(adjacency), known)
        if self.adjacency is not None:
            raise InvalidInput(
                f"expected a guarantee under {adjacency}; got one that holds under "
                f"{self.adjacency}; state its mechanism under {adjacency}"
            )
        return dataclasses.replace(self, adjacency=Adjacency(adjacency))

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """The smallest certified ε for which (ε, δ)-DP follows.

        Args:
            delta: in [0, 1).

        Returns:
            0 or above; infinite if no ε follows.

        Raises:
            InvalidInput: for a δ outside its range.
        """

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """The smallest certified δ for which (ε, δ)-DP follows.

        Args:
            epsilon: 0 or above; may be infinite.

        Returns:
            In [0, 1].

        Raises:
            InvalidInput: for an ε outside its range.
        """

    @abstractmethod
    def parameters(self) -> Mapping[str, float]:
        """The parameters under their field names, such as ``{"mu": 1.0}``."""

    def _repr_html_(self) -> str:
        """For notebooks: the notion and its parameters; no ε, which may take time."""
        rows = [("notion", self.notion), *((k, f"{v:.10g}") for k, v in self.parameters().items())]
        rows = rows if len(rows) > 1 else [*rows, ("release", repr(self))]
        return html_table([*rows, *([("neighbours", self.adjacency)] if self.adjacency else [])])

    def plot(self, deltas: Sequence[float] | None = None) -> Axes:
        """ε over δ.

        Args:
            deltas: shape (n,), where it is read, each in (0, 1); 23 from 1e-12 to 0.1 if left out.

        Returns:
            The axes, of a figure of their own (``axes.figure.savefig("epsilon.pdf")``).

        Raises:
            InvalidInput: if no ε is finite and above 0.
            MissingExtra: without matplotlib.
        """
        from dpcalc.pictures.answers import DELTAS, epsilon_axes

        under = f" Neighbours: {self.adjacency}." if self.adjacency else ""
        return epsilon_axes(
            {"certified": self.epsilon},
            title=self.notion,
            setting=f"{textwrap.shorten(repr(self), 300)}.{under}",
            deltas=DELTAS if deltas is None else deltas,
        )

    def needs_delta(self) -> bool:
        """Whether no ε follows at δ = 0, and one does at a larger δ."""
        return math.isinf(self.epsilon(0.0)) and math.isfinite(self.epsilon(0.5))

    def renyi(self, order: float) -> float:
        """An upper bound of the Rényi divergence of an order.

        Args:
            order: above 1, a real number.

        Returns:
            0 or above; infinite if none follows.

        Raises:
            InvalidInput: for an order of 1 or below.
        """
        checks.above_one("order", order)
        return math.inf

    def losses(self) -> Directions | None:
        """Privacy losses that dominate the release, where they are known.

        Guarantees that know their losses compose tightly with one another; the others compose
        through Rényi divergences.

        Returns:
            Losses with their numbers of rounds, once if both directions of the neighbouring
            relation have the same, else for the record present against absent and the reverse.
        """
        return None

    def tradeoff(self, false_positive_rate: float) -> float:
        """A lower bound of any attack's false-negative rate at a false-positive rate.

        Every (ε, δ(ε)) gives one: max(0, 1 - δ - e^ε·fpr, e^{-ε}(1 - δ - fpr)). ε is searched; an
        imperfect search costs tightness only.

        Args:
            false_positive_rate: share of false alarms, in [0, 1].

        Returns:
            Share of misses, in [0, 1].

        Raises:
            InvalidInput: for a rate outside its range.
        """
        fpr = checks.probability("false_positive_rate", false_positive_rate)

        def negative(log_epsilon: float) -> float:
            eps = math.expm1(log_epsilon)
            beyond = self.delta(eps)
            return -max(
                1 - beyond - math.exp(min(eps, 700.0)) * fpr, math.exp(-eps) * (1 - beyond - fpr)
            )

        best = -minimise(negative, 0.0, math.log1p(60.0))[1]
        return max(0.0, math.nextafter(best * (1 - 1e-14), -math.inf))

    def epsilons(self, deltas: Sequence[float]) -> tuple[float, ...]:
        """`epsilon` at each of several δ.

        Args:
            deltas: shape (n,), each in [0, 1); a list or an array.

        Returns:
            n values, in the same order.
        """
        return tuple(self.epsilon(delta) for delta in deltas)

    def deltas(self, epsilons: Sequence[float]) -> tuple[float, ...]:
        """`delta` at each of several ε.

        Args:
            epsilons: shape (n,), each 0 or above.

        Returns:
            n values, in the same order.
        """
        return tuple(self.delta(epsilon) for epsilon in epsilons)

    def tradeoffs(self, false_positive_rates: Sequence[float]) -> tuple[float, ...]:
        """`tradeoff` at each of several false-positive rates.

        Args:
            false_positive_rates: shape (n,), each in [0, 1].

        Returns:
            n values, in the same order.
        """
        return tuple(self.tradeoff(rate) for rate in false_positive_rates)

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """Enclosures of the trade-off curve that is stated; the method says where 1 - fpr is above.

        Args:
            false_positive_rates: shape (n,), each in [0, 1].

        Returns:
            n enclosures, in the same order.
        """
        from dpcalc.guarantees import tradeoff_ends as ends

        return ends.below_chance(self.tradeoffs(false_positive_rates), false_positive_rates)

    def advantage(self) -> float:
        """The largest possible true-positive rate minus false-positive rate of an attack: δ(0)."""
        return self.delta(0.0)

    def attack_accuracy(self, prior: float = 0.5) -> float:
        """The largest possible probability of guessing whether the record was used.

        Args:
            prior: the attacker's probability that it was, before seeing the release; in [0, 1].

        Returns:
            In [1/2, 1] for even odds.

        Raises:
            InvalidInput: for a prior outside its range.
        """
        prior = checks.probability("prior", prior)
        if prior in (0.0, 1.0):
            return 1.0
        rare, common = sorted((mpf(prior), 1 - mpf(prior)))
        odds = max(0.0, round_down(context().log(common / rare)))
        enclose = getattr(self, "delta_bracket", None)
        if enclose is None:
            delta = self.delta(odds)
        else:
            delta = delta_as_share(partial(enclose, odds), float(common / rare))
        return min(1.0, round_up(common + rare * mpf(delta)))

    def closed_group(self, size: int) -> Guarantee | None:
        """The guarantee for data sets that differ in ``size`` records, where it has a closed form.

        `dpcalc.guarantees.groups.group` asks this first.

        Args:
            size: records, 1 or above.

        Returns:
            None where there is no closed form.
        """
        return None

    def repeated(self, count: int) -> Guarantee | None:
        """What rounds of it and nothing else compose to, where more is known than their losses.

        Args:
            count: rounds, 2 or above.

        Returns:
            None where the losses are summed.
        """
        return None

    def post_processed(self) -> Guarantee:
        """The guarantee of anything computed from the release alone: the same."""
        return self
