"""Log-odds of values: of exact ones that are released again and again, of bins for the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Hashes = NDArray[np.uint64]
Score = Callable[[Array], Array]

_BINS = 16
_MOST_NUMBERS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Odds:
    """Log-odds of keys seen in two samples, half a sighting added to each; 0 for unseen ones."""

    keys: NDArray[np.generic]
    log_odds: Array

    @classmethod
    def of(
        cls, first: NDArray[np.generic], second: NDArray[np.generic], sizes: tuple[int, int]
    ) -> Odds:
        """From the keys of two samples of these sizes; runs without a key are left out."""
        keys, place = np.unique(np.concatenate([first, second]), return_inverse=True)
        ours = np.bincount(place[: len(first)], minlength=len(keys)) + 0.5
        theirs = np.bincount(place[len(first) :], minlength=len(keys)) + 0.5
        return cls(keys, np.log(ours / (sizes[0] + 1)) - np.log(theirs / (sizes[1] + 1)))

    def __call__(self, keys: NDArray[np.generic]) -> Array:
        """Log-odds of other runs' keys."""
        if not len(self.keys):
            return np.zeros(len(keys))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.asarray(np.where(self.keys[place] == keys, self.log_odds[place], 0.0))


def repeated_releases(first: Array, second: Array) -> Score | None:
    """Log-odds of whole releases; None if none was made twice."""
    ours, theirs = hashes(first), hashes(second)
    if len(np.unique(np.concatenate([ours, theirs]))) == len(first) + len(second):
        return None
    odds = Odds.of(ours, theirs, (len(first), len(second)))
    return lambda values: odds(hashes(values))


def one_sided_releases(first: Array, second: Array) -> Score | None:
    """1 for what one sample released and never the other, -1 the other way round; None without any.

    Only releases that came twice or more count, and all others get 0. What is not finite is such a
    release where it comes in one world only.
    """
    one, other = hashes(first), hashes(second)
    sides = []
    for own, opposite in ((one, other), (other, one)):
        values, counts = np.unique(own, return_counts=True)
        sides.append(np.setdiff1d(values[counts > 1], opposite))
    if not len(sides[0]) + len(sides[1]):
        return None

    def score(values: Array) -> Array:
        seen = hashes(values)
        return np.isin(seen, sides[0]).astype(float) - np.isin(seen, sides[1])

    return score


def number_odds(first: Array, second: Array) -> list[Score]:
    """The number that separates best, and the sum over all; empty with too many numbers."""
    width = first.shape[1]
    if not 0 < width <= _MOST_NUMBERS:
        return []
    each = [value_odds(first[:, j], second[:, j]) for j in range(width)]
    apart = [float(s(first[:, j]).mean() - s(second[:, j]).mean()) for j, s in enumerate(each)]
    best = int(np.argmax(apart))

    def summed(values: Array) -> Array:
        return np.asarray(sum(s(values[:, j]) for j, s in enumerate(each)))

    def single(values: Array) -> Array:
        return each[best](values[:, best])

    return [single, summed] if width > 1 else [single]


def hashes(values: Array) -> Hashes:
    """A number per run, equal for equal releases and else with a chance of 2⁻⁶⁴ only."""
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)
    odd = np.random.default_rng(0).integers(2**63, size=bits.shape[1], dtype=np.uint64)
    mixed = (bits ^ (bits >> np.uint64(32))) * (2 * odd + np.uint64(1))
    return np.asarray((mixed ^ (mixed >> np.uint64(29))).sum(axis=1, dtype=np.uint64))


def value_odds(first: Array, second: Array) -> Score:
    """Log-odds of values that come at least twice; of bins of equal count for all others."""
    sizes = (len(first), len(second))
    values, counts = np.unique(np.concatenate([first, second]), return_counts=True)
    atoms, rest = values[counts > 1], values[counts == 1]
    exact = Odds.of(first[np.isin(first, atoms)], second[np.isin(second, atoms)], sizes)
    edges = np.quantile(rest, np.linspace(0, 1, _BINS + 1)[1:-1]) if len(rest) > _BINS else rest[:0]
    first_rest, second_rest = (s[~np.isin(s, atoms)] for s in (first, second))
    bins = Odds.of(np.searchsorted(edges, first_rest), np.searchsorted(edges, second_rest), sizes)

    def score(value: Array) -> Array:
        binned = bins(np.searchsorted(edges, value))
        return np.asarray(np.where(np.isin(value, atoms), exact(value), binned))

    return score
