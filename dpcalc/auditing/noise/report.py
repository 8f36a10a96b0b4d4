"""What the noise tests found, and when densities may be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseTest:
    """One test of drawn noise.

    Attributes:
        name: what was looked at.
        p_value: probability of a statistic at least as far out, if the noise is as promised.
        statistic: the statistic, in words a reader can use.
        value: its value.
    """

    name: str
    p_value: float
    statistic: str
    value: float

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "p_value": self.p_value,
            "statistic": self.statistic,
            "value": self.value,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseReport:
    """All tests of one sample, together at one level.

    Attributes:
        tests: what was tested; empty if there was too little noise to test.
        level: probability that correct noise fails; every test gets its share.
        vectors: noise vectors looked at.
    """

    tests: tuple[NoiseTest, ...]
    level: float
    vectors: int

    @property
    def failed(self) -> tuple[NoiseTest, ...]:
        """Tests that correct noise passes, all of them together, but for ``level``."""
        return tuple(t for t in self.tests if t.p_value < self.level / len(self.tests))

    @property
    def passed(self) -> bool:
        """Whether something was tested and nothing failed."""
        return bool(self.tests) and not self.failed

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "passed": self.passed,
            "level": self.level,
            "vectors": self.vectors,
            "tests": [t.record() for t in self.tests],
            "failed": [t.name for t in self.failed],
        }
