"""The workers of a Dask cluster that is there already."""

from __future__ import annotations

import importlib
import platform
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import dpcalc
from dpcalc.errors import InvalidInput, WorkersLost
from dpcalc.extras import need

__all__ = [
    "cluster",
    "versions",
]

_PATIENCE = 10.0
"""Seconds in which a scheduler has to answer, and to have a worker."""


@contextmanager
def cluster(address: str, *, patience: float = _PATIENCE) -> Iterator[Executor]:
    """An executor on the cluster of a scheduler; the cluster stays when the block ends.

    Args:
        address: of the scheduler, such as ``tcp://127.0.0.1:8786``.
        patience: seconds in which the scheduler has to answer, and to have a worker.

    Raises:
        MissingExtra: if distributed is not installed.
        InvalidInput: if nobody answers at the address, or workers have other versions of what the
            numbers depend on.
    """
    need("distributed", purpose="a Dask cluster")
    distributed: Any = importlib.import_module("distributed")
    try:
        client = distributed.Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(
            f"expected the address of a Dask scheduler; nobody answered at {address!r} "
            f"({type(error).__name__}); start one with: dask scheduler"
        ) from error
    try:
        _check_workers(client, address, patience)
        executor = client.get_executor()
        executor.num_workers = sum(client.ncores().values())
        executor.alive = _Pulse(client, patience)
        yield executor
    finally:
        client.close(timeout=patience)


class _Pulse:
    """Whether a client has had its scheduler within a time; a broken line may be mended until then.

    Futures of a scheduler that is gone may stay pending for ever, so they cannot tell.
    """

    def __init__(self, client: Any, patience: float) -> None:
        self._client, self._patience = client, patience
        self._seen = time.monotonic()

    def __call__(self) -> bool:
        if self._client.status == "running":
            self._seen = time.monotonic()
        return time.monotonic() - self._seen <= self._patience


def _check_workers(client: Any, address: str, patience: float) -> None:
    """At least one worker, and all with the versions that are here."""
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError as error:
        raise InvalidInput(
            f"expected a worker; the scheduler at {address!r} has none; start one with: dask "
            f"worker {address}"
        ) from error
    here = versions()
    try:
        there: dict[str, dict[str, str]] = client.run(versions)
    except ImportError as error:
        raise InvalidInput(
            f"expected dpcalc {dpcalc.__version__} on every worker of {address!r}; {error}"
        ) from error
    except OSError as error:
        raise WorkersLost(f"the workers of {address!r} did not answer: {error}") from error
    for worker, held in there.items():
        other = [
            f"{name} {held.get(name)} instead of {here.get(name)}"
            for name in here | held
            if held.get(name) != here.get(name)
        ]
        if other:
            raise InvalidInput(
                f"expected the same versions everywhere, for the same numbers; worker {worker} "
                f"has {', '.join(other)}"
            )


def versions() -> dict[str, str]:
    """What numbers depend on beside the seed, where this runs."""
    found = {"dpcalc": dpcalc.__version__, "python": ".".join(platform.python_version_tuple()[:2])}
    compiled = ("numba",) if find_spec("numba") else ()
    return found | {name: version(name) for name in ("numpy", "scipy", "mpmath", *compiled)}
