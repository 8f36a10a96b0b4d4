"""How long a call takes, at best."""

from __future__ import annotations

import time


def fastest(function, repeats=3):
    """The least of a few processor times, in seconds; other processes do not count."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times)
