"""Pairs each algorithm with the theorem that gives its privacy guarantee.

A `Method` is one algorithm with its public parameters; there is one file per method in ``methods``,
found by folder. `prepare` calibrates its noise to a budget through the theorem, on the safe side, and
`run` runs it on data. Nothing here computes a bound and nothing here draws noise.
"""
