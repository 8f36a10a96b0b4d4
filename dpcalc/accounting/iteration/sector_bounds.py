"""What the last iterate of gradient ADMM reveals if A has one singular value, by multipliers.

Statement
    Up to `SEARCHED` iterations multipliers are searched for the number of iterations. Up to
    `EXTENDED` those of the longest search are continued as their inverses grow, evenly. Longer runs
    are cut into equal pieces, of which the first hides what the user's iteration does and the
    others whatever is left, in ``N² = |x|² + e|u|²``, in which no iteration expands:
    ``1/μ² = 1/(μ² of the first) + Σ 1/(λN²)``. More iterations than a bound counts are
    post-processing.
Source
    docs/theorems/amplification-by-iteration.md.
Rounding
    Sixty digits with the multipliers that a search in doubles finds.
"""

from __future__ import annotations

import math
from functools import lru_cache

from dpcalc.accounting.iteration.kernels import largest_eigenvalue
from dpcalc.accounting.iteration.multipliers import Multipliers, continued, good_multipliers
from dpcalc.accounting.iteration.sectors import Form, Sectors
from dpcalc.numerics.precise import Real, mpf

SEARCHED = 64
EXTENDED = 512
_ANCHORS = (2, 3, 4, 6, 11, 24, SEARCHED)
_TRUSTED = 48
"""Of the longest search, this many multipliers are continued; the first iterations' are different."""


def cost_after(sectors: Sectors, iterations: int) -> Real:
    """μ² of the last iterate after 2 or more iterations, in units of (ηΔ)² over the noise's square.

    Infinite if no multipliers were found.
    """
    if iterations > SEARCHED:
        return _long(sectors, iterations)
    forms = _proved(sectors, good_multipliers(sectors, iterations))
    return min((sectors.start(form) for form in forms), default=math.inf)


def cost_by_table(sectors: Sectors, iterations: int) -> Real:
    """The same from a few searches that serve all numbers of iterations."""
    if iterations > SEARCHED:
        return _long(sectors, iterations)
    return _table(sectors)[iterations - 2]


@lru_cache(maxsize=64)
def _table(sectors: Sectors) -> tuple[Real, ...]:
    best = [math.inf] * (SEARCHED - 1)
    for anchor in _ANCHORS:
        for k, form in enumerate(_proved(sectors, good_multipliers(sectors, anchor))):
            best[k] = min(best[k], sectors.start(form))
    for k in range(1, len(best)):
        best[k] = min(best[k], best[k - 1])
    return tuple(best)


@lru_cache(maxsize=256)
def _long(sectors: Sectors, iterations: int) -> Real:
    """More iterations than are searched."""
    forms = _extended(sectors)
    if not forms:
        return math.inf
    counted = forms[: iterations - 1]
    found = min(
        sectors.start(form) for form in (counted[-1], counted[min(len(counted), SEARCHED) - 2])
    )
    pieces = -(-iterations // (len(forms) + 1))
    if pieces == 1 or sectors.most > 1 or sectors.least < -1:
        return found
    piece = forms[iterations // pieces - 2]
    e = sectors.pull
    worst = largest_eigenvalue(piece.alpha, piece.gamma / mpf(e) ** 0.5, piece.kappa / e)
    left = max(worst, piece.ker) * (1 if sectors.wide else 1 / (1 + e))
    return min(1 / (1 / sectors.start(piece) + (pieces - 1) / left), found)


@lru_cache(maxsize=64)
def _extended(sectors: Sectors) -> tuple[Form, ...]:
    """The forms for up to `EXTENDED` iterations, fewer if the multipliers allow no more."""
    found = good_multipliers(sectors, SEARCHED)
    if found is None or sectors.most != 1:
        return _proved(sectors, found)
    kept = found[0][:_TRUSTED], found[1][: _TRUSTED - 1]
    longer = continued(kept, EXTENDED - 1)
    forms = _proved(sectors, (tuple(longer[0]), tuple(longer[1])))
    return forms if len(forms) >= SEARCHED else _proved(sectors, found)


def _proved(sectors: Sectors, multipliers: Multipliers | None) -> tuple[Form, ...]:
    """Q_2, Q_3, ... with these multipliers."""
    if multipliers is None:
        return ()
    return tuple(sectors.forms(*([mpf(t) for t in ts] for ts in multipliers)))
