"""Which of a node's records a subgradient is computed from.

"one"     one record, drawn uniformly and independently in every round at every node
"cyclic"  batches of consecutive records, fixed in advance, in turn
"full"    all records of the node
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dpcalc import checks
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

RecordSampling = Literal["one", "cyclic", "full"]

QUERIES: dict[RecordSampling, str] = {
    "one": "subgradient at one record drawn uniformly",
    "cyclic": "mean subgradient over one fixed batch",
    "full": "mean subgradient over all records of the node",
}


def check_sampling(sampling: str, batch_size: int | None, sizes: Sequence[int]) -> None:
    """Refuse a batch size that means nothing, or leaves some records of a node over.

    Args:
        sampling: as given.
        batch_size: of cyclic batches.
        sizes: records of every node.
    """
    if sampling not in QUERIES:
        raise InvalidInput(f"sampling needs 'one', 'cyclic' or 'full'; got sampling={sampling!r}")
    if sampling != "cyclic":
        if batch_size is not None:
            raise InvalidInput(
                f"batch_size belongs to sampling='cyclic'; got sampling={sampling!r}"
            )
        return
    batch = checks.count("batch_size", batch_size or 0)
    uneven = [size for size in sizes if size % batch]
    if uneven:
        raise InvalidInput(
            "batch_size needs to divide every node's number of records; got "
            f"batch_size={batch_size} for {uneven[0]} records"
        )
