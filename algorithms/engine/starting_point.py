"""Where the runs of an algorithm without nodes of its own start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def starting_point(initial: ArrayLike | None, dimension: int) -> NDArray[np.float64]:
    """The given point, or zero.

    Args:
        initial: shape (dimension,), finite; zero if None.
        dimension: numbers of a point.

    Raises:
        InvalidInput: for another shape, and for numbers that are not finite.
    """
    start = np.asarray(np.zeros(dimension) if initial is None else initial, dtype=np.float64)
    if start.shape != (dimension,) or not np.isfinite(start).all():
        raise InvalidInput(f"initial needs {dimension} finite numbers; got shape={start.shape!r}")
    return start
