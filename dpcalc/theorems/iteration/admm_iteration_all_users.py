"""Amplification by iteration for gradient ADMM, all users.

Statement
    (α, 2αC·H_n/n)-RDP for every user if C·α(α-1) <= 1

    C bounds the Rényi divergence αC/t of a user followed by t iterations; the n users come in random
    order, or the run stops at random; H_n is the n-th harmonic number. C is the constant of the convex
    bound in iterations instead of pairs of them: 2(1 + ηβ‖A‖²)·max{1, 3/(2ηβ)}·(ηΔ)²/σ².
Source
    Chan, Xie and Zhao 2023, lemma 8.2, corollary 8.3
Certified
    Hockey-stick divergences are jointly convex, so ``δ(ε) <= (1/m)Σ_t δ_{μ_t}(ε)``, μ_t the bound for
    one user with t iterations, t uniform on 1..m: m = n for a permutation; for a stopping time
    uniform on r..n the worst user is the r-th, m = n - r + 1. No condition on α; the position may
    even be revealed.
Rounding
    Every term is an upper bound in double precision, the sum is rounded up.
"""

from __future__ import annotations

from typing import Literal

from dpcalc.accounting.iteration import Kernels
from dpcalc.accounting.iteration.position_mixture import blocks, mixed_down
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.numerics.kept import kept_within
from dpcalc.numerics.precise import context, mpf
from dpcalc.theorems.authoring import Numbers, Real, choice, count, finding, theorem
from dpcalc.theorems.averages import averaged
from dpcalc.theorems.base import Bound, Scope
from dpcalc.theorems.iteration._assumptions import CONVEX_PAPER, USERS
from dpcalc.theorems.iteration._gradient_admm import EXAMPLE, GradientADMM
from dpcalc.theorems.iteration._instances import single_use
from dpcalc.theorems.numbers import Digits
from dpcalc.theorems.parameters import weak_convexity
from dpcalc.theorems.positions import RANDOM_ORDER, WEAK_CONVEXITY, over_positions

_MOST_USERS = 20_000_000
_SEARCHED = (2, 3, 4, 6, 8, 12, 20, 32)
"""Iterations for which an instance is searched; in longer runs random walks are nearly as bad."""


@theorem(
    status="loose",
    example=EXAMPLE | {"sigma": 2, "users": 1000, "order": "permutation"},
)
class ADMMIterationAllUsers(GradientADMM):
    """Every user's guarantee when their order or the stopping time is random."""

    findings = (
        WEAK_CONVEXITY,
        finding(
            "For a stopping time uniform on the upper half the worst user has 1 to n/2 iterations, "
            "not 1 to n: averaging over 1..n is too small.",
            "proof fails",
            lambda t: t.order == "stopping" and t.first_stop() > 1,
        ),
        finding(
            "The constant C of the assumption is not identified with that of the convex bound in the "
            "source text; here a pair of iterations counts as two.",
            "loose",
        ),
    )
    assumptions = (*USERS, RANDOM_ORDER, *CONVEX_PAPER)

    weak_convexity: float = weak_convexity()
    users: int = count("users", "n")
    order: Literal["permutation", "stopping"] = choice(
        "what is random: the users' order, or the iteration after which to stop",
        default="permutation",
    )
    stop_from: int | None = count(
        "first possible stopping iteration, uniform from there to n (half of n unless given)",
        default=None,
    )

    passes: int = count("passes over all users, the random order kept", default=1)

    def _check_together(self) -> None:
        super()._check_together()
        if self.users > _MOST_USERS:
            raise InvalidInput(f"users needs at most {_MOST_USERS}; got users={self.users}")
        if self.passes > 1 and self.order != "permutation":
            raise InvalidInput(
                f"several passes go with --order permutation; got --order {self.order}"
            )
        if self.stop_from is not None and self.order != "stopping":
            raise InvalidInput("stop_from goes with --order stopping; got --order permutation")
        if self.stop_from is not None and self.stop_from > self.users:
            raise InvalidInput(
                f"stop_from needs to be at most users={self.users}; got stop_from={self.stop_from}"
            )

    def first_stop(self) -> int:
        """The first possible stopping iteration; 1 for a permutation."""
        if self.order == "permutation":
            return 1
        return self.stop_from if self.stop_from is not None else -(-self.users // 2)

    def positions(self) -> int:
        """m: the worst user's number of iterations is uniform on 1..m."""
        return self.users - self.first_stop() + 1

    def mu_with_left(self, iterations: int, kernels: Kernels) -> Real:
        """μ of a user with this many iterations left in the last pass, their own included."""
        if self.passes == 1:
            return self.mu_after(iterations, kernels, table=True)
        return self.mu_repeated(kernels, passes=self.passes, gap=self.users, tail=iterations)

    def paper_order_constant(self, x: Numbers) -> Real:
        """C of the assumption αC/t."""
        return 2 * self.paper_constant(x) * self.paper_unit(x)

    def claimed_divergence(self, x: Numbers) -> Real:
        """2C·H_n/n."""
        return 2 * self.paper_order_constant(x) * x.harmonic(x.users) / x.users

    def largest_order(self) -> float:
        """The largest α with Cα(α-1) <= 1."""
        constant = self.paper_order_constant(Digits(self))
        return float((1 + context().sqrt(1 + 4 / constant)) / 2)

    def own_numbers(self, x: Numbers) -> dict[str, Real]:
        """The largest order of the claim."""
        return {} if averaged(self) else {"largest_order": x.computed(mpf(self.largest_order()))}

    def certified(self) -> Bound:
        """The mixture of Gaussian profiles over the worst user's positions."""
        self.require(Scope.CERTIFIED)
        if averaged(self):
            return self.gaussian(self.composed_mu(Digits(self), self.passes))
        if self.passes == 1:
            unit, sigma = of_unit_noise(self.with_noise_level(1.0)), mpf(self.sigma)
            return over_positions(lambda left: unit[left] / sigma, self.positions())
        kernels = self.kernels()
        return over_positions(lambda left: self.mu_with_left(left, kernels), self.positions())

    def attained(self) -> Bound | None:
        """The mixture of what single users leak; the user's functions share a push that tells when.

        For a random stopping time g → 0 and f = 0, which suits all of them at once.
        """
        if self.passes > 1 or averaged(self):
            return None
        searched: dict[int, Real] = {}

        def mu(iterations: int) -> Real:
            if iterations == 1:
                return self.mu_local()
            walk = self.mu_attained(iterations)
            # An instance with more iterations leaks no more than the same one stopped earlier.
            at = next((k for k in _SEARCHED if k >= iterations), None)
            if self.order != "permutation" or at is None:
                return walk
            if at not in searched:
                searched[at] = context().sqrt(single_use(self, at))
            return max(walk, searched[at])

        mus, shares = mixed_down(mu, self.positions())
        method = "quadratics and random walks, the position revealed by a common push"
        return Bound(GaussianMixture(mus, shares), {"largest_mu": max(mus)}, method)


@kept_within(2**22)
def of_unit_noise(theorem: ADMMIterationAllUsers) -> dict[int, Real]:
    """μ by the iterations left, σ = 1; a search for the noise divides it by σ, as all bounds are."""
    kernels = theorem.kernels()
    firsts = (first for first, _ in blocks(theorem.positions()))
    return {first: theorem.mu_with_left(first, kernels) for first in firsts}
