"""Cells that were chosen for something else than quadrature, made narrow enough for it."""

from __future__ import annotations

import math

import numpy as np

from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.distribution import Reals
from dpcalc.errors import NumericalFailure

_WIDER = 1.05
"""Than `max_cell_width` at the middle, and quadrature is still right: its remainder there is less than
half of what is allowed, and grows with the twelfth power."""

_PLACES = 65
"""At which the width that is allowed within a cell is looked up."""

_MOST_CELLS = 200_000


def narrow_enough(pair: DensityPair, edges: Reals) -> Reals:
    """The edges, and more of them where cells are too wide for quadrature.

    Args:
        pair: the densities.
        edges: increasing, shape (n,).

    Raises:
        NumericalFailure: there is no room for as many.
    """
    middle = edges[:-1] + np.diff(edges) / 2
    wide = np.flatnonzero(np.diff(edges) > _WIDER * pair.max_cell_width(middle))
    pieces = [edges]
    for left, right in zip(edges[wide], edges[wide + 1], strict=True):
        widest = float(pair.max_cell_width(np.linspace(left, right, _PLACES)).min())
        if not (right - left) / widest < _MOST_CELLS:
            raise NumericalFailure(f"a density takes more than {_MOST_CELLS:,} cells")
        pieces.append(np.linspace(left, right, math.ceil((right - left) / widest) + 1))
    return np.unique(np.concatenate(pieces)) if len(pieces) > 1 else edges
