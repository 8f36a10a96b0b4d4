"""Ctrl-C and errors within an integral in ball arithmetic end it, and are never lost."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from types import FrameType
from typing import Any

import pytest

pytest.importorskip("flint")
from flint import acb, arb

from dpcalc.certificates.balls import integral


@pytest.mark.parametrize("when", [1, 2, 7, 30])
def test_an_interrupt_within_an_integrand_ends_the_integral(when: int) -> None:
    calls = 0

    def bell(x: Any, analytic: bool) -> Any:
        nonlocal calls
        calls += 1
        if calls == when:
            os.kill(os.getpid(), signal.SIGINT)
        return (-x * x).exp()

    usual = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        integral(bell, acb(-5), acb(5))
    assert signal.getsignal(signal.SIGINT) is usual
    assert calls == when


def test_after_a_handler_that_returns_the_integral_is_complete() -> None:
    received: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        received.append(number)

    def bell(x: Any, analytic: bool) -> Any:
        if not received:
            os.kill(os.getpid(), signal.SIGINT)
        return (-x * x).exp()

    usual = signal.signal(signal.SIGINT, handler)
    try:
        found = integral(bell, acb(-5), acb(5))
    finally:
        signal.signal(signal.SIGINT, usual)
    assert found.real.overlaps(arb.pi().sqrt() * arb(5).erf())
    assert received == [signal.SIGINT]


@pytest.mark.parametrize(
    "kind", [ArithmeticError, KeyboardInterrupt, MemoryError, RuntimeError, TypeError, ValueError]
)
@pytest.mark.parametrize("when", [1, 2, 30])
def test_no_error_of_an_integrand_is_lost(when: int, kind: type[BaseException]) -> None:
    calls = 0

    def bell(x: Any, analytic: bool) -> Any:
        nonlocal calls
        calls += 1
        if calls == when:
            raise kind
        with contextlib.suppress(TypeError):
            ord("two")  # as any error that is caught, it would clear the one that waits
        return (-x * x).exp()

    with pytest.raises(kind):
        integral(bell, acb(-5), acb(5))
    assert calls == when


def test_other_threads_integrate_as_before() -> None:
    found: list[Any] = []
    thread = threading.Thread(
        target=lambda: found.append(integral(lambda x, analytic: x, acb(0), acb(2)))
    )
    thread.start()
    thread.join()
    assert found[0].real.overlaps(2)
