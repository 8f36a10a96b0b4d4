"""Lower bounds on privacy loss, one published method per file.

Each file has the bound itself, batched over repetitions, and ``evidence``, which wraps one
repetition with everything a report needs. All follow one rule: for every ε fix a level-α test of
"(ε, δ) holds" and report the smallest ε that is not rejected, found by scanning upward. Then the
report exceeds the truth with probability at most α, whatever the shape of the p-values.
"""
