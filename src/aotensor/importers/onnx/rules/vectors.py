"""Support vector machines: the domain ai.onnx.ml.

Of two classes each pair has a score, whose sign is a vote; probabilities follow from scores by Platt's sigmoids and
Wu, Lin & Weng (2004), "Probability estimates for multi-class classification by pairwise coupling", as LIBSVM and the
evaluator of the package onnx compute them. Source: https://onnx.ai/onnx/operators/index_ai.onnx.ml.html
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, Final

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.classic import transformed
from aotensor.importers.onnx.rules.table import ML, rule

_SWEEPS: Final = 100
"""Sweeps over the classes of the coupled probabilities, or as many as there are classes."""

_CLOSE: Final = 0.005
"""The sweeps end where no class is further from its condition than this by the number of classes."""


@rule("SVMRegressor", domain=ML)
def support_vectors(node: Node, x: Any) -> Any:
    """A sum over support vectors, with linear, polynomial, radial and sigmoid kernels"""
    matrix = _rows(x)
    count, flat = int(node["n_supports"] or 0), np.array(node["coefficients"] or [], "float32")
    if count:
        vectors = np.array(node["support_vectors"] or [], "float32")
        if count < 0 or len(flat) != count or not len(vectors) or len(vectors) % count:
            raise GraphValueError(
                f"it has {len(flat)} coefficients and {len(vectors)} numbers in support_vectors for {count} vectors"
            )
        matrix = _kernel(node, matrix, vectors.reshape((count, -1)))
    found = at.dot(matrix, at.constant(flat.reshape((-1, 1)))) + at.constant(np.float32((node["rho"] or [0])[0]))
    if node["one_class"]:
        one = at.constant(np.float32(1))
        found = at.switch(at.gt(found, at.zeros_like(found)), one, -one)
    return transformed(found, node["post_transform"])


@rule("SVMClassifier", domain=ML)
def support_vector_classes(node: Node, x: Any) -> Any:
    """The class with the most votes of pairs, and pair scores or probabilities; labels are integers"""
    labels, per_class = node["classlabels_ints"], [int(n) for n in node["vectors_per_class"] or ()]
    if node["classlabels_strings"] or not labels:
        raise Unsuited("its labels are not integers")
    flat, rho = (np.array(node[name] or [], "float32") for name in ("coefficients", "rho"))
    count, matrix = len(labels), _rows(x)
    if count < 2:
        raise Unsuited("it has one class, and at least 2 are supported")
    if not sum(per_class):
        return _by_hyperplanes(node, matrix, flat, rho)
    pairs = list(combinations(range(count), 2))
    vectors = np.array(node["support_vectors"] or [], "float32")
    total = sum(per_class)
    if len(per_class) != count or min(per_class) < 0 or len(flat) != total * (count - 1) or len(rho) != len(pairs):
        raise GraphValueError(
            f"the lengths of its vectors_per_class, coefficients and rho do not match its {count} classes"
        )
    if not len(vectors) or len(vectors) % total:
        raise GraphValueError(f"its support_vectors have {len(vectors)} numbers for {total} vectors")
    kernels = _kernel(node, matrix, vectors.reshape((total, -1)))
    scores = at.dot(kernels, at.constant(_of_pairs(flat.reshape((-1, total)), per_class))) + at.constant(rho)
    names, wins = at.constant(np.array(labels, "int64")), at.cast(at.gt(scores, at.zeros_like(scores)), "int64")
    first, second = (np.array([[k == pair[side] for k in range(count)] for pair in pairs]) for side in (0, 1))
    votes = at.dot(wins, at.constant(first.astype("int64"))) + at.dot(1 - wins, at.constant(second.astype("int64")))
    chosen = at.argmax(votes, axis=1)
    if node["prob_a"]:
        return [names[chosen], transformed(_probabilities(node, scores, count), node["post_transform"])]
    if count == 2 and (flat >= 0).all():
        chosen = at.ones_like(chosen)  # as the evaluator has it, where all coefficients are shares
    return [names[chosen], _of_one_score(scores, node["post_transform"]) if count == 2 else
            transformed(scores, node["post_transform"])]  # fmt: skip


def _rows(x: Any) -> Any:
    matrix = at.cast(x, "float32")
    return at.reshape(matrix, [1, -1]) if matrix.type.ndim == 1 else matrix


def _by_hyperplanes(node: Node, x: Any, flat: Any, rho: Any) -> Any:
    """Scores by hyperplanes, without support vectors: x·Wᵀ + ρ, and the class with the largest"""
    labels = node["classlabels_ints"]
    if len(labels) != 2:
        raise Unsuited(f"it has no support vectors and {len(labels)} classes; 2 classes are supported")
    if len(rho) != 1 or not len(flat) or len(flat) % 2:
        raise GraphValueError(f"it has {len(flat)} coefficients and {len(rho)} rho for two classes")
    scores = at.dot(x, at.constant(flat.reshape((2, -1)).T)) + at.constant(rho)
    chosen = at.argmax(scores, axis=1)
    if (flat >= 0).all():
        chosen = at.switch(at.ge(at.max(scores, axis=1), at.constant(np.float32(0.5))), at.ones_like(chosen), chosen)
    return [at.constant(np.array(labels, "int64"))[chosen], transformed(scores, node["post_transform"])]


def _of_pairs(coefficients: Any, per_class: list[int]) -> Any:
    """Factors of the kernel values in the score of each pair of classes, (vectors, pairs).

    coefficients: (classes − 1, vectors): of a vector of class j against class i row i, or i − 1 where i > j
    """
    owner = np.repeat(np.arange(len(per_class)), per_class)
    columns = [
        np.where(owner == i, coefficients[j - 1], np.where(owner == j, coefficients[i], 0))
        for i, j in combinations(range(len(per_class)), 2)
    ]
    return np.stack(columns, axis=1).astype("float32")


def _of_one_score(score: Any, how: str) -> Any:
    """−s and s, as two classes.   score: (n, 1)"""
    pair = at.concatenate([-score, score], axis=1)
    return transformed(pair, how)


def _probabilities(node: Node, scores: Any, count: int) -> Any:
    """The probability of each class, (n, classes), from the scores of pairs."""
    slopes, offsets = (np.array(node[name] or [], "float32") for name in ("prob_a", "prob_b"))
    if not len(slopes) == len(offsets) == count * (count - 1) // 2:
        raise GraphValueError(
            f"it has {len(slopes)} prob_a and {len(offsets)} prob_b, not one for each pair of its {count} classes"
        )
    wins = at.sigmoid(-(scores * at.constant(slopes) + at.constant(offsets)))
    wins = at.clip(wins, np.float32(1e-7), np.float32(1 - 1e-7))
    zero = at.zeros_like(scores[:, 0])
    r = [[zero] * count for _ in range(count)]
    for k, (i, j) in enumerate(combinations(range(count), 2)):
        r[i][j], r[j][i] = wins[:, k], 1 - wins[:, k]
    q = at.stack(
        [
            at.stack(
                [
                    -r[j][i] * r[i][j] if i != j else sum((r[k][i] * r[k][i] for k in range(count) if k != i), zero)
                    for j in range(count)
                ],
                axis=1,
            )
            for i in range(count)
        ],
        axis=1,
    )
    return _coupled(q, count)


def _coupled(q: Any, count: int) -> Any:
    """p ≥ 0 with Σp = 1 and q·p all alike, by sweeps over the classes.   q: (n, classes, classes)"""

    def sweep(_: Any, p: Any, done: Any, q: Any) -> list[Any]:
        gaps = at.sum(q * at.expand_dims(p, 1), axis=2)
        mean = at.sum(p * gaps, axis=1)
        error = at.max(at.abs(gaps - at.expand_dims(mean, 1)), axis=1)
        done = done | at.lt(error, at.constant(np.float32(_CLOSE / count)))
        after = p
        for t in range(count):
            row = q[:, t, :]
            step = (mean - gaps[:, t]) / row[:, t]
            mean = (mean + step * (step * row[:, t] + 2 * gaps[:, t])) / ((1 + step) * (1 + step))
            wide = at.expand_dims(1 + step, 1)
            after = at.inc_subtensor(after[:, t], step) / wide
            gaps = (gaps + at.expand_dims(step, 1) * row) / wide
        return [at.switch(at.expand_dims(done, 1), p, after), done]

    first = at.full_like(q[:, 0, :], np.float32(1 / count))
    done = at.zeros_like(q[:, 0, 0], dtype="bool")
    found = aot.reduce(sweep, [at.arange(max(_SWEEPS, count))], [first, done], [q], return_updates=False)
    return found[0]


def _kernel(node: Node, x: Any, vectors: Any) -> Any:
    gamma, first, degree = (np.float32(n) for n in ([*(node["kernel_params"] or []), 0, 0, 0])[:3])
    kind = node["kernel_type"] or "LINEAR"
    if kind == "RBF":
        gap = at.expand_dims(x, 1) - at.constant(vectors)
        return at.exp(at.constant(-gamma) * at.sum(gap * gap, axis=2))
    found = at.dot(x, at.constant(vectors.T))
    if kind == "LINEAR":
        return found
    found = at.constant(gamma) * found + at.constant(first)
    if kind == "POLY":
        return at.pow(found, at.constant(degree))
    if kind == "SIGMOID":
        return at.tanh(found)
    raise Unsuited(f"its kernel_type is {kind!r}, not LINEAR, POLY, RBF or SIGMOID")
