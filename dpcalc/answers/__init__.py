"""What the verbs answer, as Python values: a budget, the noise for one, a mechanism solved for it.

`dpcalc.epsilon`, `noise` and `calibrate` are the verbs of the same names. An answer
says what it is about (release, neighbouring relation, δ), prints as a short table, and its
``record()`` is the JSON that the command line prints.
"""

from __future__ import annotations

from dpcalc.answers.budget import Budget, epsilon
from dpcalc.answers.calibrated import calibrate
from dpcalc.answers.least_noise import Noise, noise

__all__ = ["Budget", "Noise", "calibrate", "epsilon", "noise"]
