"""Generators of random numbers by place: repeatable ones for experiments, secret ones for real runs."""

from __future__ import annotations

import numpy as np


def repeatable(entropy: int, place: tuple[int, int, int]) -> np.random.Generator:
    """The generator of one place of an experiment."""
    seed = np.random.SeedSequence(entropy, spawn_key=place, pool_size=8)
    return np.random.Generator(np.random.SFC64(seed))


def cryptographic(entropy: int, place: tuple[int, int, int]) -> np.random.Generator:
    """The generator of one place of a real run: AES-128 in counter mode, from counter 0."""
    import hashlib

    from randomgen import AESCounter

    where = b"".join(number.to_bytes(8, "little") for number in place)
    key = hashlib.blake2b(
        where, digest_size=16, key=entropy.to_bytes(32, "little"), person=b"dpcalc noise"
    ).digest()
    return np.random.Generator(AESCounter(key=int.from_bytes(key, "little"), counter=0))
