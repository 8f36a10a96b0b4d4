"""Exact Gaussian laws of one-dimensional quadratic instances of gradient ADMM.

Statement
    With A = s, B = b, g = Gy²/2 and users' f = hx²/2, all numbers, one iteration is linear in x and
    ``ℓ = λ/(βs)``: ``ℓ⁺ = r(ℓ - x)``, ``x⁺ = ((1 - ηh)x + e(2r - 1)(ℓ - x))/(1 + e)``, e = ηβs²,
    r = G/(G + βb²). Two runs that differ in one user's gradient by a constant are Gaussian with equal
    covariances, so what (x, λ) reveals is exactly μ-GDP with ``μ² = dᵀC⁻¹d``.
Source
    The update equations; docs/theorems/amplification-by-iteration.md.
Rounding
    In whatever numbers are given: doubles (arrays among them) for searches, sixty digits for values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpcalc.numerics.precise import mpf


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some iterations: differences z ← Az + c, covariances C ← ACAᵀ + S.

    Attributes:
        linear: A by rows.
        shift: c.
        spread: S as (S_11, S_12, S_22).
    """

    linear: tuple[Any, Any, Any, Any]
    shift: tuple[Any, Any]
    spread: tuple[Any, Any, Any]

    def then(self, later: Stretch) -> Stretch:
        """This one, then a later one."""
        a, b, c, d = later.linear
        p, q, r, s = self.linear
        x, y = self.shift
        u, v, w = self.spread
        k, m, n = later.spread
        return Stretch(
            (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s),
            (a * x + b * y + later.shift[0], c * x + d * y + later.shift[1]),
            (
                a * a * u + 2 * a * b * v + b * b * w + k,
                a * c * u + (a * d + b * c) * v + b * d * w + m,
                c * c * u + 2 * c * d * v + d * d * w + n,
            ),
        )

    def repeated(self, count: int) -> Stretch:
        """This many times, by doubling."""
        found, square = Stretch((1, 0, 0, 1), (0, 0), (0, 0, 0)), self
        while count:
            if count & 1:
                found = found.then(square)
            square, count = square.then(square) if count > 1 else square, count >> 1
        return found

    def mu_squared(self) -> Any:
        """μ² of the end from a common start; of x alone if nothing else moves."""
        (x, y), (u, v, w) = self.shift, self.spread
        return (w * x * x - 2 * v * x * y + u * y * y) / (u * w - v * v)

    def surely_revealed(self) -> Any:
        """`mu_squared` in sixty digits, of x alone where too many of them cancel."""
        u, v, w = self.spread
        if u * w - v * v < u * w * mpf("1e-30"):
            return self.mu_squared_of_x()
        return self.mu_squared()

    def mu_squared_of_x(self) -> Any:
        """μ² of x alone."""
        return self.shift[0] ** 2 / self.spread[0]


@dataclass(frozen=True, slots=True)
class ScalarADMM:
    """One-dimensional gradient ADMM; users' curvatures may differ.

    Attributes:
        pull: e = ηβs²; 0 in the kernel of A, where x alone counts.
        kept: r, in (0, 1).
        step_sensitivity: how far the differing user's iteration moves x.
        noise: standard deviation of the noise that reaches x.
    """

    pull: Any
    kept: Any
    step_sensitivity: Any
    noise: Any

    def iteration(self, moved: Any, *, own: bool = False) -> Stretch:
        """One iteration; ``moved`` = 1 - ηh."""
        swing = self.pull * (2 * self.kept - 1)
        return Stretch(
            ((moved - swing) / (1 + self.pull), swing / (1 + self.pull), -self.kept, self.kept),
            (self.step_sensitivity if own else 0, 0),
            (self.noise * self.noise, 0, 0),
        )

    def run(
        self, early: Any, late: Any, *, switch: int, passes: int, gap: int, tail: int
    ) -> Stretch:
        """All iterations from the user's first on.

        Args:
            early: 1 - ηh of the user, and of the first ``switch`` users after it every time.
            late: that of the others.
            switch: at most gap - 1 and tail - 1.
            passes: iterations of the user.
            gap: iterations from one of the user's to the next.
            tail: iterations from the user's last to the end, both included.
        """
        begin = self.iteration(early, own=True).then(self.iteration(early).repeated(switch))
        rest = self.iteration(late)
        whole = begin.then(rest.repeated(gap - 1 - switch)).repeated(passes - 1)
        return whole.then(begin).then(rest.repeated(tail - 1 - switch))
