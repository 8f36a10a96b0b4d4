"""A budget and a method for ``dpcalc run``."""

from __future__ import annotations

BUDGET = "--epsilon 1 --delta 1e-5".split()

R_ADMM = ["run", "private-r-admm", *BUDGET, "--rounds", "4", "--nodes", "3", "--seed", "1"]
