"""Stan's transform of simplexes, since its version 2.37: softmax of a vector whose sum is 0, along the last axis.

The n − 1 unconstrained values are the coordinates of that vector in the orthonormal basis whose k-th vector is
(1, …, 1, −k, 0, …, 0) / √(k (k + 1)), with k ones: an isometric log-ratio transform (Egozcue et al. 2003).
"""

from __future__ import annotations

from math import log

import numpy as np

from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.elementary import log as elementwise_log
from aotensor.ops.reduce.cumulate import cumsum
from aotensor.ops.reduce.normalise import log_softmax, softmax
from aotensor.ops.shape.rearrange import pad


def constrained(q: Variable) -> Variable:
    """The simplexes of unconstrained values.   q: (…, n − 1) → (…, n)"""
    return softmax(_sum_zero(q), axis=-1)


def log_jacobian(q: Variable) -> Variable:
    """log |det dx/dq| of the first n − 1 elements of x, summed over all simplexes.   q: (…, n − 1) → a scalar"""
    n = _size(q)
    return (log_softmax(_sum_zero(q), axis=-1).sum(axis=-1) + 0.5 * log(n)).sum()


def unconstrained(x: Variable) -> Variable:
    """The inverse of `constrained`; not finite where an element is not positive.   x: (…, n) → (…, n − 1)"""
    z = elementwise_log(x)
    k = np.arange(1.0, _size(z) - 1)
    return (cumsum(z, axis=-1)[..., :-1] - k * z[..., 1:]) * (1 / np.sqrt(k * (k + 1)))


def _sum_zero(q: Variable) -> Variable:
    k = np.arange(1.0, _size(q))
    w = q * (1 / np.sqrt(k * (k + 1)))
    sums, inner = cumsum(w[..., ::-1], axis=-1)[..., ::-1], [(0, 0)] * (q.type.ndim - 1)
    return pad(sums, [*inner, (0, 1)]) - pad(k * w, [*inner, (1, 0)])


def _size(q: Variable) -> int:
    n = q.type.shape[-1]
    assert isinstance(n, int)
    return n + 1
