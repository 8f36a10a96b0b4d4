"""The runs of an audit in a store, from which an interrupted audit resumes.

The part of a store belongs to one target, seed, batch size, set of methods, α and planned number of
runs: scores and rules are learnt for these. The number stays: a test that is looked at and then given
more runs raises false alarms more often than α.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpcalc.errors import InvalidInput
from dpcalc.store import Store, open_store, plan_of

if TYPE_CHECKING:
    from dpcalc.auditing.design import AuditDesign
    from dpcalc.auditing.targets.target import Target

_PLANNED, _JUDGED = "planned", "judged"


def saved_seed(checkpoint: str | os.PathLike[str]) -> int | None:
    """The seed of the runs in a checkpoint; None if there is no such file.

    Raises:
        InvalidInput: if the file holds something else.
    """
    plan = plan_of(checkpoint)
    if plan is None:
        return None
    seed = plan.get("seed")
    if not isinstance(seed, int):
        raise InvalidInput(
            f"expected a file of kept runs; got {str(checkpoint)!r}; name another file"
        )
    return seed


@contextlib.contextmanager
def kept_runs(
    checkpoint: str | os.PathLike[str] | Store | None,
    target: Target,
    design: AuditDesign,
    seed: int,
) -> Iterator[Store | None]:
    """Where the runs of an audit are kept; None if nowhere.

    Args:
        checkpoint: a file, or a section of an open store.
        target: what is attacked.
        design: of the audit.
        seed: of the audit.

    Raises:
        InvalidInput: if there are runs of another audit.
    """
    if checkpoint is None:
        yield None
    elif isinstance(checkpoint, Store):
        checkpoint.begin(
            {
                "target": target.name,
                "seed": seed,
                "batch_size": design.batch,
                "alpha": design.alpha,
                "methods": list(design.methods),
            }
        )
        _keep_number(checkpoint, design.runs)
        yield checkpoint
    else:
        with (
            open_store(checkpoint, {"work": "audit", "seed": seed}) as store,
            kept_runs(store.section("audit"), target, design, seed) as section,
        ):
            yield section


def _keep_number(store: Store, planned: int) -> None:
    """Refuse another number of runs than that which was planned."""
    found = store.read(_PLANNED)
    if found is None:
        store.write(_PLANNED, {"runs": planned})
        return
    if found[0]["runs"] != planned:
        raise InvalidInput(
            f"expected the planned number of runs, {found[0]['runs']}, which "
            f"{str(store.path)!r} was begun with; got {planned}: who looks and then adds runs tests "
            "more than once, and raises false alarms more often than alpha; keep the number, or "
            "start over with another file and another seed"
        )


def mark_judged(store: Store, batches: int) -> None:
    """Note that as many batches are judged as they are: further ones are never made."""
    store.write(_JUDGED, {"batches": batches})


def judged(store: Store | None) -> int | None:
    """How many batches were judged as they are; None if all are to be made."""
    found = None if store is None else store.read(_JUDGED)
    return None if found is None else int(found[0]["batches"])
