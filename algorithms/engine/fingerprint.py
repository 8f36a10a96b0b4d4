"""Digests of algorithms with their parameters and data: what a checkpoint belongs to."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dpcalc.algorithms.problems.sparse import is_sparse
from dpcalc.algorithms.problems.stored_rows import is_stored


def parts_of(value: object, name: str = "") -> dict[str, str]:
    """A digest of every part that was passed in to make a dataclass, by its dotted name.

    Derived fields do not count.
    """
    if is_stored(value) or not is_dataclass(value) or isinstance(value, type):
        digest = hashlib.sha256()
        _update(digest, value)
        return {name: digest.hexdigest()[:_ENOUGH]}
    found = {f"{name}.type".lstrip("."): type(value).__qualname__}
    for entry in fields(value):
        if entry.init:
            found |= parts_of(getattr(value, entry.name), f"{name}.{entry.name}".lstrip("."))
    return found


_ENOUGH = 32
"""Characters of a digest: 128 bits tell parts apart."""


def _update(digest: Any, value: Any) -> None:
    if is_stored(value):  # what it holds, wherever it lies, and how much of it is read at once
        digest.update(f"{value.dtype}{value.shape}{value.block}".encode())
        for block in value.blocks():
            digest.update(block.data)
    elif is_dataclass(value) and not isinstance(value, type):
        digest.update(type(value).__qualname__.encode())
        for entry in fields(value):
            if entry.init:  # what is not passed in is derived
                digest.update(entry.name.encode())
                _update(digest, getattr(value, entry.name))
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif is_sparse(value):
        digest.update(repr(value.shape).encode())
        for array in (value.data, value.indices.astype(np.int64), value.indptr.astype(np.int64)):
            _update(digest, array)
    elif isinstance(value, tuple | list):
        digest.update(f"{len(value)}".encode())
        for entry_value in value:
            _update(digest, entry_value)
    else:
        digest.update(repr(value).encode())
