"""Settings shared by all tests."""

from __future__ import annotations

import os

# Small products run many times over: threads of the linear algebra only wait for one another, the
# more so next to other test processes. It is read when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

settings.register_profile(
    "short",
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("DPCALC_HYPOTHESIS", "short"))
