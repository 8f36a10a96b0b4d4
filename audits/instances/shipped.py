"""A mechanism as a library ships it: one claim, one attack."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing import Claim, Target, features
from dpcalc.auditing.targets.target import Outputs
from dpcalc.errors import MissingExtra
from dpcalc.extras import install_command, need


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """A mechanism as a library ships it, and what the library says of it.

    Calling it gives the pair of target and claim, so ``dpcalc audit MODULE:SHIPPED`` attacks it.

    Attributes:
        title: one line.
        modules: without which it cannot run, the library's own first.
        pair: makes target and claim; called when the libraries are there.
        refuted: whether the claim is false and an attack must show it.
        runs: counted runs that decide.
        thread: where the mistake is known to the library's authors.
    """

    title: str
    modules: tuple[str, ...]
    pair: Callable[[], tuple[Target, Claim]]
    refuted: bool = False
    runs: int = 2000
    thread: str = ""

    def __call__(self) -> tuple[Target, Claim]:
        """Target and claim.

        Raises:
            MissingExtra: if a library is not installed or does not load beside the others, with a
                command that installs what does.
        """
        purpose = f"the audit of {self.title}"
        need(*self.modules, purpose=purpose)
        for module in self.modules:
            _load(module, purpose)
        return self.pair()


def _load(module: str, purpose: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{purpose} needs {module}, which is installed but does not load ({error}); try: "
            f"{install_command(['libraries'])}"
        ) from error


def random_state(generator: np.random.Generator) -> np.random.RandomState:
    """The same stream behind numpy's older interface, for libraries that ask for it."""
    return np.random.RandomState(generator.bit_generator)


def coarse(released: Outputs) -> NDArray[np.float64]:
    """1 for runs whose number is a multiple of 2^-53, else 0; a float between ½ and 1 always is."""
    return np.asarray(features(released)[:, 0] * 2.0**53 % 1.0 == 0.0, dtype=np.float64)
