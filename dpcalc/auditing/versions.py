"""Versions of what an audit's numbers depend on."""

from __future__ import annotations

import platform


def versions() -> dict[str, str]:
    """What the numbers depend on beside the seed."""
    import numpy as np
    import scipy

    import dpcalc

    return {
        "dpcalc": dpcalc.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }
