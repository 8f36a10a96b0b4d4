"""Digests of algorithms with their parameters and data: what a checkpoint belongs to."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def digest_of(value: object) -> str:
    """A digest of everything that was passed in to make a dataclass; derived fields do not count."""
    digest = hashlib.sha256()
    _update(digest, value)
    return digest.hexdigest()


def _update(digest: Any, value: object) -> None:
    if is_dataclass(value) and not isinstance(value, type):
        digest.update(type(value).__qualname__.encode())
        for entry in fields(value):
            if entry.init:  # what is not passed in is derived
                digest.update(entry.name.encode())
                _update(digest, getattr(value, entry.name))
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, tuple | list):
        digest.update(f"{len(value)}".encode())
        for entry_value in value:
            _update(digest, entry_value)
    else:
        digest.update(repr(value).encode())
