"""Convolutions, pooling, and signals by each other; values by NumPy, SciPy and sums that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, int8, kink, normal, value
from scipy import signal

import aotensor.tensor as at
from aotensor.core.types import Array

RNG = np.random.default_rng(16)
IMAGES, FILTERS = RNG.normal(size=(2, 4, 9, 8)), RNG.normal(size=(6, 2, 3, 2))
LINE, SHORT = RNG.normal(size=9), RNG.normal(size=4)
GRID = RNG.normal(size=(6, 7))
NAN = np.nan


def written_out(x: Array, w: Array, stride: Any, sides: Any, dilation: Any, groups: int) -> Array:
    """The convolution element by element of the output, over any number of axes."""
    rank = x.ndim - 2
    wide = np.pad(x, [(0, 0), (0, 0), *sides])
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    counts = [(n - m) // s + 1 for n, m, s in zip(wide.shape[2:], spans, stride, strict=True)]
    y = np.zeros((len(x), len(w), *counts))
    each = x.shape[1] // groups
    for o, filter in enumerate(w):
        first = o // (len(w) // groups) * each
        for at_ in np.ndindex(*counts):
            window = tuple(slice(p * s, p * s + m, d) for p, s, m, d in zip(at_, stride, spans, dilation, strict=True))
            part = wide[(slice(None), slice(first, first + each), *window)]
            y[(slice(None), o, *at_)] = (part * filter).sum(axis=tuple(range(1, rank + 2)))
    return y


def options(**given: Any) -> Any:
    """conv2d with options."""
    return lambda x, w: at.conv2d(x, w, **given)


VALUES = [
    value(
        "conv2d-groups-and-strides", options(stride=(2, 1), padding=((1, 0), (0, 2)), dilation=(1, 2), groups=2),
        [IMAGES, FILTERS], written_out(IMAGES, FILTERS, (2, 1), ((1, 0), (0, 2)), (1, 2), 2),
    ),
    value(
        "conv2d-same", lambda x, w: at.conv2d(x, w, padding="same"), [IMAGES[:, :2], FILTERS],
        written_out(IMAGES[:, :2], FILTERS, (1, 1), ((1, 1), (0, 1)), (1, 1), 1), dims=[(None,) * 4, FILTERS.shape],
    ),
    value("conv1d-int8-wraps", at.conv1d, [int8(100, 100, 1)[None, None], int8(1, 1)[None, None]], [[[-56, 101]]]),
    value("conv1d-mixed", at.conv1d, [np.array([[[1, 2, 3]]]), np.float32([[[0.5]]])], [[[0.5, 1.0, 1.5]]]),
    value("conv1d-no-samples", at.conv1d, [np.zeros((0, 2, 5)), np.zeros((3, 2, 2))], np.zeros((0, 3, 4))),
    value("conv1d-no-channels", at.conv1d, [np.zeros((2, 0, 5)), np.zeros((3, 0, 2))], np.zeros((2, 3, 4))),
    value("conv1d-no-filters", at.conv1d, [np.ones((2, 1, 5)), np.zeros((0, 1, 2))], np.zeros((2, 0, 4))),
    value("conv1d-nan", at.conv1d, [np.array([[[NAN, 0.0, 1.0]]]), np.ones((1, 1, 2))], [[[NAN, 1.0]]]),
    value("max-pool-int8", lambda x: at.max_pool1d(x, 2, 2, 1), [int8(-128, -3, -5)], int8(-128, -3)),
    value("max-pool-nan", lambda x: at.max_pool1d(x, 2, 1), [np.array([NAN, 1.0, 2.0])], [NAN, 2.0]),
    value("avg-pool-int", lambda x: at.avg_pool1d(x, 2), [np.array([1, 2, 3, 5])], [1.5, 4.0]),
    *(value(f"convolve-{mode}", lambda x, y, mode=mode: at.convolve(x, y, mode), [LINE, SHORT],
            np.convolve(LINE, SHORT, mode)) for mode in ("full", "same", "valid")),
    *(value(f"correlate-{mode}", lambda x, y, mode=mode: at.correlate(x, y, mode), [SHORT, LINE],
            np.correlate(SHORT, LINE, mode)) for mode in ("full", "same", "valid")),
    value("convolve-int", at.convolve, [np.array([1, 2, 3]), int8(4, 5)], [4, 13, 22, 15]),
    *(value(f"convolve2d-{mode}", lambda x, y, mode=mode: at.convolve2d(x, y, mode), [GRID, GRID[:3, :2]],
            signal.convolve2d(GRID, GRID[:3, :2], mode)) for mode in ("full", "same", "valid")),
]  # fmt: skip

SMOOTH = [
    Case(id="conv1d", build=at.conv1d, inputs=normal((2, 3, 7), (2, 3, 3))),
    Case(
        id="conv2d-all-options",
        build=options(stride=(2, 1), padding=((1, 0), (0, 2)), dilation=(1, 2), groups=2),
        inputs=normal((2, 4, 5, 6), (4, 2, 3, 2)),
    ),
    Case(
        id="conv2d-thin", build=options(padding=1), inputs=normal((2, 2, 4, 5), (2, 2, 3, 2)),
        dims=[(None, 2, None, None), (2, 2, 3, 2)],
    ),
    Case(
        id="conv2d-strides-and-dilation", build=options(stride=2, padding=2, dilation=2),
        inputs=normal((1, 2, 6, 6), (5, 2, 2, 2)), dims=[(1, 2, 6, 6), (5, 2, 2, 2)],
    ),
    Case(
        id="conv2d-float32", build=options(padding=1),
        inputs=lambda rng: [rng.normal(size=s).astype("float32") for s in ((2, 3, 5, 5), (14, 3, 3, 3))],
    ),
    Case(id="conv3d", build=lambda x, w: at.conv3d(x, w, padding=1), inputs=normal((1, 2, 3, 3, 4), (2, 2, 2, 2, 2))),
    Case(id="max-pool1d", build=lambda x: at.max_pool1d(x, 3, 2, 1), inputs=normal((2, 8))),
    Case(id="max-pool2d", build=lambda x: at.max_pool2d(x, 2), inputs=normal((2, 1, 5, 4))),
    Case(id="max-pool3d", build=lambda x: at.max_pool3d(x, (2, 3, 3), 2, 1), inputs=normal((4, 5, 3))),
    Case(id="avg-pool1d", build=lambda x: at.avg_pool1d(x, 3, 1), inputs=normal((2, 6))),
    Case(id="avg-pool2d", build=lambda x: at.avg_pool2d(x, 3, 2, 1), inputs=normal((2, 5, 6))),
    Case(
        id="avg-pool3d", build=lambda x: at.avg_pool3d(x, 2, 1, 1, count_include_pad=False), inputs=normal((2, 2, 3)),
    ),
    Case(id="convolve", build=at.convolve, inputs=normal((6,), (3,))),
    Case(id="correlate", build=lambda x, y: at.correlate(x, y, "same"), inputs=normal((5,), (3,))),
    Case(id="convolve2d", build=at.convolve2d, inputs=normal((4, 5), (2, 3))),
]  # fmt: skip

KINKS = [
    kink("max-pool-ties", lambda x: at.max_pool1d(x, 3, 1), [[1.0, 1.0, 0.0, 0.0, 0.0]], x0=[1, 1, 1, 0, 0]),
    kink("max-pool2d-ties", lambda x: at.max_pool2d(x, 2), [np.zeros((2, 2))], x0=[[1, 0], [0, 0]]),
    kink(
        "max-pool-large-window-ties", lambda x: at.max_pool2d(x, 5), [np.zeros((5, 5))],
        x0=np.eye(25)[0].reshape(5, 5),
    ),
]  # fmt: skip

CASES = [*VALUES, *SMOOTH, *KINKS]
