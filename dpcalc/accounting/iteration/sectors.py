"""Gradient ADMM whose A has one singular value: what a difference of states costs, as a quadratic.

Statement
    Write a difference of two states as x and ``u = A⁺Δw/β``, w = λ - βAx. One iteration maps it to
    ``x⁺ = (φ + e(2ℓ - u))/(1 + e)`` along the rows of A (``x⁺ = φ`` in the kernel), ``u⁺ = ℓ - x⁺``,
    where ``⟨hx - φ, φ - lx⟩ >= 0`` for Hessians that give a gradient step the factors l to h, and
    ``⟨u - ℓ, ℓ - ru⟩ >= 0``, r = 0 for convex g. Noise moves (x, u) to (x + ξ, u - ξ). If
    ``Q_t(x, u)`` is what hiding a difference costs with t noises to come, then so is
    ``min_d c|d|² + M_t(x - d, u + d)`` with t + 1, M_t the largest ``Q_t(x⁺, u⁺)`` over φ and ℓ. With
    any multipliers of the two conditions the largest value is at most a quadratic form again.
Source
    docs/theorems/amplification-by-iteration.md; multipliers of quadratic conditions are the
    S-procedure (Yakubovich 1971).
Rounding
    In the arithmetic of what is given: doubles for searches, sixty digits for bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Form(NamedTuple):
    """``α|x|² + 2γ⟨x, u⟩ + κ|u|²`` along the rows of A, ``ker|x|²`` in its kernel."""

    alpha: Any
    gamma: Any
    kappa: Any
    ker: Any


class Answer(NamedTuple):
    """The worst reply, φ = px·x + pu·u and ℓ = lx·x + lu·u, and the shift d = dx·x + du·u before it.

    ``kerp`` and ``kerd`` are φ/x and d/x in the kernel of A.
    """

    px: Any
    pu: Any
    lx: Any
    lu: Any
    dx: Any
    du: Any
    kerp: Any
    kerd: Any


@dataclass(frozen=True, slots=True)
class Sectors:
    """Iterations of gradient ADMM, σ_min(A) = ‖A‖.

    Attributes:
        pull: e = ηβσ_min².
        cost: c, the square of what divides the noise along the rows of A: 1, or (1 + e)² if it is
            added to the gradient.
        least: l, the least factor of a gradient step.
        most: h, the largest.
        kept: r, from 0 to 1.
        wide: whether A has a kernel.
    """

    pull: Any
    cost: Any
    least: Any
    most: Any
    kept: Any
    wide: bool

    def start(self, form: Form) -> Any:
        """What the differing user's iteration costs, in units of (ηΔ)² over the noise's square."""
        row = self._row(form)
        return max(row, form.ker) if self.wide else row

    def _row(self, form: Form) -> Any:
        return (form.alpha - 2 * form.gamma + form.kappa) / (1 + self.pull) ** 2

    def forms(
        self, first: Sequence[Any], second: Sequence[Any], answers: list[Answer] | None = None
    ) -> Iterator[Form]:
        """Q_2, Q_3, ...; it ends early where a multiplier is too small.

        Args:
            first: multipliers of the gradient steps, from the last iteration back.
            second: those of the regulariser, one less: the last iteration needs none.
            answers: filled with the replies that are worst, if given.
        """
        s = 1 / (1 + self.pull)
        ceiling = self._ceiling(first[0], self.cost * s * s)
        ker = self._ceiling(first[0], 1) if self.wide else (0, 0)
        if ceiling is None or ker is None:
            return
        m, mk = ceiling[0], ker[0]
        form = Form(m, m, m + self.cost, mk / (1 + mk))
        if answers is not None:
            answers.append(Answer(ceiling[1], ceiling[1], 0, 0, 0, -1, ker[1], mk / (1 + mk)))
        yield form
        for t1, t2 in zip(first[1:], second, strict=False):
            found = self._before(form, t1, t2)
            if found is None:
                return
            form = found[0]
            if answers is not None:
                answers.append(found[1])
            yield form

    def _ceiling(self, t: Any, a: Any) -> tuple[Any, Any] | None:
        """sup_φ aφ² + t(h - φ)(φ - l), and where."""
        if not t > a:
            return None
        mean = (self.most + self.least) / 2
        at = t * mean / (t - a)
        return t * mean * at - t * self.most * self.least, at

    def _couplings(self, form: Form) -> tuple[Any, ...]:
        """The coefficients of Q(x⁺, u⁺) in φ², φℓ, φu, ℓ², ℓu and u²."""
        s = 1 / (1 + self.pull)
        swing = s * self.pull
        a, b = form.alpha - 2 * form.gamma + form.kappa, form.gamma - form.kappa
        mixed = 2 * a * swing + b
        ll = 4 * a * swing * swing + 4 * b * swing + form.kappa
        return a * s * s, s * mixed, -a * s * swing, ll, -swing * mixed, a * swing * swing

    def _before(self, form: Form, t1: Any, t2: Any) -> tuple[Form, Answer] | None:
        """The form with one noise and one iteration more, before them."""
        pp, pl, pu, ll, lu, uu = self._couplings(form)
        ker = self._ceiling(t1, form.ker) if self.wide else (0, 0)
        w1, w2 = t1 - pp, t2 - ll
        det = w1 * w2 - pl * pl
        if not (w1 > 0 and det > 0) or ker is None:
            return None
        x1 = t1 * (self.most + self.least) / 2
        u1, u2 = pu, lu + t2 * (1 + self.kept) / 2
        px, lx = x1 * w2 / det, x1 * pl / det
        pu, lu = (w2 * u1 + pl * u2) / det, (pl * u1 + w1 * u2) / det
        xx = x1 * px - t1 * self.most * self.least
        xu = x1 * pu
        top = u1 * pu + u2 * lu + uu - t2 * self.kept
        q = self.cost + xx - 2 * xu + top
        if not q > 0:
            return None
        gx, gu = xu - xx, top - xu
        mk = ker[0]
        reply = Answer(px, pu, lx, lu, -gx / q, -gu / q, ker[1], mk / (1 + mk))
        return Form(xx - gx * gx / q, xu - gx * gu / q, top - gu * gu / q, mk / (1 + mk)), reply

    def in_proportion(
        self, count: int, first: float, second: float
    ) -> tuple[list[Any], list[Any]] | None:
        """Multipliers this many times the least that are allowed; None if there are none such."""
        s = 1 / (1 + self.pull)
        t1s, t2s = [first * max(self.cost * s * s, 1.0 if self.wide else 0.0)], list[Any]()
        for form in self.forms(t1s, []):
            for _ in range(count - 1):
                pp, pl, _, ll, _, _ = self._couplings(form)
                t1s.append(first * max(pp, form.ker))
                t2s.append(second * max(ll + pl * pl / (t1s[-1] - pp), 1e-300))
                found = self._before(form, t1s[-1], t2s[-1])
                if found is None:
                    return None
                form = found[0]
        return t1s, t2s
