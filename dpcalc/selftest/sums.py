"""Sums of products, transforms and extended precision against exact ones."""

from __future__ import annotations

import math

import numpy as np

from dpcalc.accounting.losses import UNIT_ROUNDOFF
from dpcalc.numerics.precise import context, mpf
from dpcalc.numerics.products import convolution, product
from dpcalc.numerics.rounding import Extended
from dpcalc.selftest.measurement import Check, Measurement, worst

_TERMS = 3000
_NODES = 4096


def _product() -> Measurement:
    """Both kinds of kernels: a matrix with a vector, and a matrix with a matrix."""
    rng, ctx = np.random.default_rng(10), context()
    left, right = rng.standard_normal((2, _TERMS)), rng.standard_normal((_TERMS, 2))
    errors = []
    whole, single = product(left, right), product(left, right[:, 0])
    for i in range(2):
        truth = ctx.fdot(map(mpf, left[i].tolist()), map(mpf, right[:, 0].tolist()))
        size = mpf(float(np.abs(left[i]) @ np.abs(right[:, 0])))
        errors += [abs(mpf(float(v)) - truth) / size for v in (whole[i, 0], single[i])]
    return Measurement(
        name="matrix product",
        range=f"{_TERMS} terms",
        allowed=float(_TERMS),
        measured=worst(errors),
    )


def _convolution() -> Measurement:
    """Of non-negative numbers, so that every sum keeps its relative accuracy."""
    rng, ctx = np.random.default_rng(11), context()
    one, other = rng.random(400), rng.random(300)
    found, errors = convolution(one, other), []
    for k in (0, 150, 299, 350, 698):
        pairs = [(i, k - i) for i in range(len(one)) if 0 <= k - i < len(other)]
        truth = ctx.fdot((mpf(float(one[i])), mpf(float(other[j]))) for i, j in pairs)
        errors.append(abs(mpf(float(found[k])) - truth) / truth)
    return Measurement(name="convolution", range="300 terms", allowed=300.0, measured=worst(errors))


def _fourier() -> Measurement:
    """The maximum norm of the error, over log2(N)·√N·‖x‖₂."""
    rng, ctx = np.random.default_rng(12), context()
    x = rng.random(_NODES)
    found, errors = np.fft.rfft(x), []
    turn = 2 * ctx.pi / _NODES
    roots = [ctx.expj(-turn * k) for k in range(_NODES)]
    size = math.log2(_NODES) * math.sqrt(_NODES) * float(np.sqrt(np.square(x).sum()))
    values = [mpf(v) for v in x.tolist()]
    for k in (0, 1, 777, 2048):
        truth = ctx.fsum(v * roots[k * n % _NODES] for n, v in enumerate(values))
        errors.append(abs(ctx.mpc(complex(found[k])) - truth) / size)
    return Measurement(
        name="Fourier transform, over its norm",
        range=f"{_NODES} points",
        allowed=5.0,
        measured=worst(errors),
    )


def _extended() -> Measurement:
    """Products of extended numbers, in units of their own roundoff."""
    rng, ctx = np.random.default_rng(13), context()
    factors, truth, value = 1 + rng.random(500), mpf(1), Extended(1)
    for factor in factors.tolist():
        value, truth = value * Extended(factor), truth * mpf(factor)
    high = float(value)
    low = float(value - Extended(high))
    error = abs(mpf(high) + mpf(low) - truth) / truth
    unit = mpf(float(np.finfo(Extended).eps)) / 2
    return Measurement(
        name="extended precision, in its own roundoffs",
        range="500 products",
        allowed=500.0,
        measured=worst([error / unit * ctx.mpf(UNIT_ROUNDOFF)]),
    )


SUMS: tuple[Check, ...] = (_product, _convolution, _fourier, _extended)
