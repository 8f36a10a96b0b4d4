"""Settings on the command line."""

from __future__ import annotations

RECYCLED = (
    "--n-records 8000 --n-nodes 5 --degree 3 --loss-weight 1750 --regularization 0.22 "
    "--penalty 1 --noise-rate 1 --rounds 25"
).split()

DP_ADMM = "--n-records 32561 --rounds 100 --gradient-bound 1 --dual-start zero".split()
