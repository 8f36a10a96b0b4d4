"""The records of all nodes, in one array, and their neighbours.

A node's records are consecutive rows, so a node is a slice and nothing is copied or padded. Every
row's norm is at most ``row_bound``, a number fixed without looking at the data: sensitivities are
computed from it, never from the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.problems import sparse
from dpcalc.algorithms.problems.norms import check_bound, row_norms
from dpcalc.algorithms.problems.stored_rows import check_finite, is_stored
from dpcalc.errors import InvalidInput
from dpcalc.transcript import read_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpcalc.algorithms.problems.sparse import Rows

Array = NDArray[np.float64]

_AT_ONCE = 2**10  # rows brought to a norm at once
_SLACK = 1e-9  # a row normalised in floating point may exceed its bound by rounding


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """Features and labels, node after node.

    Attributes:
        features: one record per row; shape (n, d), finite, norms at most ``row_bound``; an array, a
            sparse matrix of scipy, which is kept in CSR form, or `StoredRows` of a file.
        labels: shape (n,), finite; +1 or -1 where a classification loss is used.
        sizes: how many records every node holds, each 1 or above; they add up to n.
        row_bound: the promised largest norm of a row, for every data set that could have been.
        only: the node whose rows these are alone, the others' being elsewhere; None for all rows.
    """

    features: Rows
    labels: Array
    sizes: tuple[int, ...]
    row_bound: float = 1.0
    only: int | None = None

    def __post_init__(self) -> None:
        features = _table("features", self.features)
        labels = _numbers("labels", self.labels, 1)
        checks.positive("row_bound", self.row_bound)
        sizes = tuple(
            checks.count("sizes", size, hint="every node needs a record") for size in self.sizes
        )
        rows = sum(sizes) if self.only is None else sizes[self.only]
        if not features.shape[0] == len(labels) == rows:
            raise InvalidInput(
                "expected one label and one node per record; got "
                f"len(features)={features.shape[0]}, len(labels)={len(labels)}, for {rows} records by "
                "sizes"
            )
        largest = float(row_norms(features).max())
        if largest > self.row_bound * (1 + _SLACK):
            raise InvalidInput(
                f"expected rows of norm at most row_bound={self.row_bound!r}; the largest has "
                f"norm={largest!r}; shorten them with bounded_rows(features, 'rescale'), or "
                "promise a larger row_bound that does not depend on the data"
            )
        object.__setattr__(self, "features", _locked(features))
        object.__setattr__(self, "labels", read_only(labels))
        object.__setattr__(self, "sizes", sizes)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.sizes)

    @property
    def dimension(self) -> int:
        """Number of features d."""
        return int(self.features.shape[1])

    @property
    def slices(self) -> tuple[slice, ...]:
        """The rows of every node; none of one whose rows are elsewhere."""
        here = self.sizes
        if self.only is not None:
            here = tuple(size if i == self.only else 0 for i, size in enumerate(self.sizes))
        return tuple(slice(a, b) for a, b in pairwise(accumulate(here, initial=0)))

    @property
    def present(self) -> tuple[int, ...]:
        """The nodes whose rows are here."""
        return tuple(range(self.nodes)) if self.only is None else (self.only,)

    def of_node(self, node: int) -> Self:
        """The rows of one node, and the public sizes of all."""
        part = self.slices[node]
        rows, labels = self.features[part].copy(), self.labels[part].copy()
        return replace(self, features=rows, labels=labels, only=node)

    def replaced(self, row: int, features: ArrayLike, label: float) -> Self:
        """The neighbouring data set in which record ``row`` is another one (replace-one)."""
        checks.count("row", row, minimum=0)
        if row >= len(self.labels):
            raise InvalidInput(f"expected a row below {len(self.labels)}; got row={row}")
        new_labels = self.labels.copy()
        new_labels[row] = label
        new_features = sparse.replaced(self.features, row, features)
        return replace(self, features=new_features, labels=new_labels)

    def poisoned(self) -> Self:
        """The same shapes with every number NaN: whatever touches the data shows it."""
        twin = object.__new__(type(self))
        for name, value in (
            ("features", np.full(self.features.shape, np.nan)),
            ("labels", np.full_like(self.labels, np.nan)),
            ("sizes", self.sizes),
            ("row_bound", self.row_bound),
            ("only", self.only),
        ):
            object.__setattr__(twin, name, value)
        return twin


def split(
    features: ArrayLike | Rows,
    labels: ArrayLike,
    nodes: int = 1,
    *,
    sizes: Sequence[int] | None = None,
    shuffle: int | None = None,
    row_bound: float = 1.0,
) -> Records:
    """Records dealt out to nodes in blocks.

    Args:
        features: shape (n, d); an array or a sparse matrix.
        labels: shape (n,).
        nodes: how many nodes; they get n/nodes records each, the first ones one more if needed.
        sizes: records of every node instead, for an uneven split.
        shuffle: seed of a random order to deal in; None keeps the order given.
        row_bound: see `Records`.
    """
    features, labels = _table("features", features), _numbers("labels", labels, 1)
    count = features.shape[0]
    checks.count("nodes", nodes)
    if sizes is None:
        if count < nodes:
            raise InvalidInput(
                f"expected at least one record per node; got {count} records for "
                f"nodes={nodes}; use fewer nodes"
            )
        share, rest = divmod(count, nodes)
        sizes = [share + (i < rest) for i in range(nodes)]
    total = sum(sizes)
    if total > count:
        raise InvalidInput(f"expected sum(sizes) records; got {count} for sum(sizes)={total}")
    if shuffle is None:
        rows, labels = sparse.consecutive(features, slice(total)), labels[:total]
    else:
        order = dealing_order(shuffle, count)[:total]
        rows, labels = features[order], labels[order]
    return Records(features=rows, labels=labels, sizes=tuple(sizes), row_bound=row_bound)


def dealing_order(seed: int, count: int) -> NDArray[np.intp]:
    """The public random order in which `split` deals out this many records."""
    return np.random.default_rng(seed).permutation(count)


def bounded_rows(features: ArrayLike | Rows, on_large: str, *, bound: float = 1.0) -> Any:
    """Features whose rows have norm at most ``bound``.

    Args:
        features: shape (n, d); an array or a sparse matrix.
        on_large: "rescale" shortens every row above the bound to the bound, which looks at that row
            alone; "refuse" raises.
        bound: the largest norm allowed.
    """
    features = _table("features", features)
    check_bound(bound)
    norms = row_norms(features)
    large = int(np.count_nonzero(norms > bound * (1 + _SLACK)))
    if on_large == "refuse":
        if large:
            raise InvalidInput(
                f"expected rows of norm at most bound={bound!r}; {large} of {len(norms)} are "
                f"longer, up to {float(norms.max())!r}; use on_large='rescale' (--rows rescale) to "
                "shorten them, or a larger bound (--row-bound)"
            )
        return features
    if on_large != "rescale":
        raise InvalidInput(f"on_large needs 'rescale' or 'refuse'; got on_large={on_large!r}")
    return sparse.divided(features, np.maximum(norms / bound, 1))


def with_constant(rows: Rows) -> Any:
    """Rows of norm at most 1 with a constant feature, again of norm at most 1; shape (n, d + 1)."""
    return sparse.with_column(rows, 1.0) / np.sqrt(2)


def unit_rows(
    features: Any,
    *,
    bound: float = 1.0,
    on_large: str = "rescale",
    constant: bool = False,
    order: NDArray[np.intp] | None = None,
    signs: Array | None = None,
) -> Any:
    """Rows brought to a bounded norm, divided by it, and with a constant feature if wanted.

    Little memory is used beside the features and the result, which is read-only.

    Args:
        features: shape (n, d); an array of either precision, or a sparse matrix.
        bound: the largest norm allowed; see `bounded_rows`.
        on_large: what becomes of longer rows.
        constant: whether a feature is added; see `with_constant`.
        order: which rows to take, in this order; all unless given.
        signs: ±1 for every row, to multiply it with; shape (n,).

    Returns:
        Shape (rows, d or d + 1), in double precision, sparse if the features are; norms at most 1.
    """
    if sparse.is_sparse(features):
        features = features.tocsr()
    elif getattr(features, "dtype", None) != np.float32:
        features = _numbers("features", features, 2)
        if on_large == "refuse":
            bounded_rows(features, on_large, bound=bound)
    taken = np.arange(features.shape[0]) if order is None else order

    def rows_of(here: NDArray[np.intp]) -> Any:
        rows = bounded_rows(features[here], on_large, bound=bound) / bound
        rows = with_constant(rows) if constant else rows
        return rows if signs is None else sparse.times(rows, signs[here])

    chunks = (taken[k : k + _AT_ONCE] for k in range(0, len(taken), _AT_ONCE))
    shape = (len(taken), features.shape[1] + constant)
    if sparse.is_sparse(features):
        entries = int(np.diff(features.indptr)[taken].sum()) + constant * len(taken)
        return sparse.stacked((rows_of(here) for here in chunks), shape, entries)
    result = np.empty(shape)
    for first, here in zip(range(0, len(taken), _AT_ONCE), chunks, strict=True):
        result[first : first + _AT_ONCE] = rows_of(here)
    result.flags.writeable = False
    return result


def _locked(features: Any) -> Any:
    """Features that nobody can write to through what is returned."""
    if is_stored(features):
        return features
    return sparse.read_only(features) if sparse.is_sparse(features) else read_only(features)


def _table(name: str, values: ArrayLike | Rows) -> Any:
    """Features as an array, in CSR form or in a file, checked."""
    if is_stored(values):
        check_finite(name, values)
        return values
    return sparse.checked(name, values) if sparse.is_sparse(values) else _numbers(name, values, 2)


def _numbers(name: str, values: ArrayLike, axes: int) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} needs numbers; {error}") from error
    if array.ndim != axes or array.size == 0:
        raise InvalidInput(f"{name} needs {axes} non-empty axes; got shape={array.shape!r}")
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(array.sum()) or np.isfinite(array).all()  # the sum needs no mask
    if not finite:
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise InvalidInput(
            f"{name} needs finite numbers; row {row} holds {array[row]!r}; drop or complete it"
        )
    return array
