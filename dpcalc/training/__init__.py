"""Where an algorithm meets the theorem that says what running it is worth.

A `Method` is one algorithm with its public parameters; there is one file per method in ``methods``,
found by folder. `plan` calibrates its noise to a budget through the theorem, on the safe side, and
`carry_out` runs it on data. Nothing here computes a bound and nothing here draws noise.
"""
