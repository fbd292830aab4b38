"""Operators of the domain ai.onnx.ml: linear models, scaling, imputation."""

from __future__ import annotations

from typing import Any

import numpy as np

import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.elementwise import is_float, scalar
from aotensor.importers.onnx.rules.table import ML, rule


def _floats(values: Any, dtype: str = "float32") -> Any:
    return at.constant(np.array(values, dtype))


def transformed(scores: Any, how: str) -> Any:
    """Transform scores: unchanged, by the logistic function, or by softmax along the last axis."""
    if how == "NONE":
        return scores
    if how == "LOGISTIC":
        return at.sigmoid(scores)
    if how == "SOFTMAX":
        return at.softmax(scores, axis=-1)
    raise Unsuited(f"its post_transform is {how!r}, not NONE, LOGISTIC or SOFTMAX")


def _linear(x: Any, coefficients: list[float], intercepts: list[float] | None, rows: int) -> Any:
    """x·Wᵀ + b of a matrix or one row.   coefficients: (rows, features), flat"""
    if rows < 1 or not coefficients or len(coefficients) % rows:
        raise GraphValueError(
            f"its number of coefficients, {len(coefficients)}, is not a multiple of its {rows} targets"
        )
    matrix = at.cast(x, "float32")
    matrix = at.reshape(matrix, [1, -1]) if matrix.type.ndim == 1 else matrix
    found = at.dot(matrix, _floats(coefficients).reshape((rows, -1)).T)
    return found if not intercepts else found + _floats(intercepts)


@rule("LinearRegressor", domain=ML)
def linear_regressor(node: Node, x: Any) -> Any:
    """x·Wᵀ + b"""
    if not node["coefficients"]:
        raise GraphValueError("its attribute coefficients is missing")
    found = _linear(x, node["coefficients"], node["intercepts"], node["targets"])
    return transformed(found, node["post_transform"])


@rule("LinearClassifier", domain=ML)
def linear_classifier(node: Node, x: Any) -> Any:
    """The class with the largest score, and the scores; with one score for two classes its sign decides"""
    labels = node["classlabels_ints"]
    if node["classlabels_strings"] or not labels:
        raise Unsuited("its labels are not integers")
    rows = len(node["intercepts"]) if node["intercepts"] else len(labels)
    scores = _linear(x, node["coefficients"], node["intercepts"], rows)
    if rows == 1 and len(labels) == 2:
        if node["post_transform"] not in ("NONE", "LOGISTIC"):
            raise Unsuited(f"its post_transform is {node['post_transform']!r}, which is not supported for one score")
        is_second = at.gt(scores[:, 0], scalar(0, scores))
        y = transformed(scores, node["post_transform"])
        other = scalar(1, y) - y if node["post_transform"] == "LOGISTIC" else -y
        label = at.switch(is_second, at.constant(labels[1], dtype="int64"), at.constant(labels[0], dtype="int64"))
        return [label, at.concatenate([other, y], axis=1)]
    if rows != len(labels):
        raise GraphValueError(f"it has {rows} rows of coefficients for {len(labels)} labels")
    label = at.take(at.constant(np.array(labels, "int64")), at.argmax(scores, axis=1))
    return [label, transformed(scores, node["post_transform"])]


@rule("Scaler", domain=ML)
def scaler(node: Node, x: Any) -> Any:
    """(x − offset)·scale of features, in float32"""
    y = at.cast(x, "float32")
    if node["offset"]:
        y = y - _floats(node["offset"])
    return y * _floats(node["scale"]) if node["scale"] else y


@rule("Normalizer", domain=ML)
def normalizer(node: Node, x: Any) -> Any:
    """Divide rows by their largest element, sum of absolute values, or 2-norm; rows of zeros stay unchanged"""
    y = at.cast(x, "float32")
    order = {"MAX": np.inf, "L1": 1, "L2": 2}.get(node["norm"])
    if order is None:
        raise Unsuited(f"its norm is {node['norm']!r}, not MAX, L1 or L2")
    norm = at.max(y, axis=-1, keepdims=True) if order == np.inf else at.norm(y, ord=order, axis=-1, keepdims=True)
    return y / at.switch(at.eq(norm, scalar(0, y)), scalar(1, y), norm)


@rule("Binarizer", domain=ML)
def binarizer(node: Node, x: Any) -> Any:
    """1 above the threshold, else 0"""
    return at.cast(
        at.gt(x, at.constant(node["threshold"], dtype=x.type.dtype if is_float(x) else "float32")), x.type.dtype
    )


@rule("Imputer", domain=ML)
def imputer(node: Node, x: Any) -> Any:
    """Replaces missing values, by one number for each feature or for all"""
    if is_float(x):
        values, replaced = node["imputed_value_floats"], node["replaced_value_float"]
        is_missing = at.isnan(x) if np.isnan(replaced) else at.eq(x, at.constant(replaced, dtype=x.type.dtype))
    else:
        values, replaced = node["imputed_value_int64s"], node["replaced_value_int64"]
        is_missing = at.eq(x, at.constant(replaced, dtype=x.type.dtype))
    if not values:
        raise GraphValueError("its imputed values are missing")
    return at.switch(is_missing, at.constant(np.array(values, x.type.dtype)), x)


@rule("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(node: Node, x: Any, positions: Any) -> Any:
    """Elements along the last axis at the given positions"""
    found = at.take(x, at.ravel(at.cast(positions, "int64")), axis=x.type.ndim - 1)
    return at.reshape(found, [1, -1]) if x.type.ndim == 1 else found
