"""Did the counted runs draw the noise that their densities assume?"""

from __future__ import annotations

from collections.abc import Mapping

from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.noise.conformance import LEVEL, conformance
from dpcalc.auditing.targets.target import Noise, World


def check(noise: Mapping[World, Noise], *, level: float = LEVEL) -> Finding | None:
    """The noise tests on the first counted batch; None if no noise was shown."""
    if World.IN not in noise:
        return None
    report = conformance(noise[World.IN], noise.get(World.OUT), level=level)
    if not report.tests:
        return Finding(
            check="noise",
            severity=Severity.UNDECIDED,
            text=f"{report.vectors} noise vectors are too few to be tested",
            numbers=report.record(),
        )
    if report.passed:
        text = f"{len(report.tests)} tests of {report.vectors} noise vectors found nothing"
        return Finding(check="noise", severity=Severity.HOLDS, text=text, numbers=report.record())
    first = min(report.failed, key=lambda test: test.p_value)
    return Finding(
        check="noise",
        severity=Severity.PREMISE,
        text=f"the drawn noise is not what it is modelled as: {first.name}, {first.statistic} = "
        f"{first.value:.4g} (p = {first.p_value:.2g})",
        numbers=report.record(),
    )
