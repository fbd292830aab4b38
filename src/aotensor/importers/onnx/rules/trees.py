"""Ensembles of decision trees: the domain ai.onnx.ml.

All rows traverse all trees at once, one step per level; leaves point to themselves. Source:
https://onnx.ai/onnx/operators/index_ai.onnx.ml.html, and the evaluator of the package onnx.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from onnx import numpy_helper

import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.classic import transformed
from aotensor.importers.onnx.rules.table import ML, rule

_DEEPEST: Final = 256
"""Levels of a tree, of which each is a step of the graph."""

_MODES: Final = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_AGGREGATES: Final = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS: Final = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@dataclass(frozen=True)
class Trees:
    """The nodes of all trees as arrays, by index of the node. features, values: operands of comparisons; modes: the
    comparison, as a number. yes, no: the next nodes; of a leaf, the leaf itself. missing: does nan go the way of
    yes. roots: of each tree. leaves: weights, (nodes, targets); given: which of them were.
    """

    features: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]
    modes: np.ndarray[Any, Any]
    yes: np.ndarray[Any, Any]
    no: np.ndarray[Any, Any]
    missing: np.ndarray[Any, Any]
    roots: np.ndarray[Any, Any]
    leaves: np.ndarray[Any, Any]
    given: np.ndarray[Any, Any]

    def depth(self) -> int:
        """The largest depth of a leaf: the number of comparisons.   Raises: GraphValueError for trees with cycles"""
        level, count = set(self.roots.tolist()), 0
        while inner := [n for n in level if self.yes[n] != n or self.no[n] != n]:
            count += 1
            if count > len(self.yes):
                raise GraphValueError("a tree has a cycle")
            if count > _DEEPEST:
                raise Unsuited(f"a tree has more than {_DEEPEST} levels")
            level = {int(way[n]) for n in inner for way in (self.yes, self.no)}
        return count

    def reached(self, x: Any) -> Any:
        """The leaf of each row in each tree.   x: (n, features) → (n, trees)"""
        width = x.type.shape[1]
        inner = self.yes != np.arange(len(self.yes))
        most = int(self.features[inner].max(initial=0))
        if int(self.features[inner].min(initial=0)) < 0 or (isinstance(width, int) and most >= width):
            raise GraphValueError(f"its trees read feature {most} of an input with {width} features")
        rows = x.shape[0] if not isinstance(x.type.shape[0], int) else x.type.shape[0]
        at_node = at.broadcast_to(at.constant(self.roots), [rows, len(self.roots)])
        kinds = sorted(set(self.modes[inner].tolist()))
        for _ in range(self.depth()):
            found = at.take_along_axis(x, at.constant(self.features)[at_node], axis=1)
            goes = self._compared(found, at_node, kinds)
            if self.missing.any():
                goes = goes | (at.isnan(found) & at.constant(self.missing)[at_node])
            at_node = at.switch(goes, at.constant(self.yes)[at_node], at.constant(self.no)[at_node])
        return at_node

    def _compared(self, found: Any, at_node: Any, kinds: Sequence[int]) -> Any:
        compare = (at.le, at.lt, at.ge, at.gt, at.eq, at.neq)
        value = at.constant(self.values)[at_node]
        if not kinds:
            return at.eq(found, value)
        goes = compare[kinds[0]](found, value)
        for kind in kinds[1:]:
            goes = at.switch(at.eq(at.constant(self.modes)[at_node], kind), compare[kind](found, value), goes)
        return goes

    def scores(self, x: Any, aggregate: str) -> Any:
        """Aggregate the weights of the reached leaves over all trees.   x: (n, features) → (n, targets)"""
        reached = self.reached(x)
        weights = at.constant(self.leaves)[reached]
        if aggregate in ("SUM", "AVERAGE"):
            found = at.sum(weights, axis=1)
            return found / at.constant(len(self.roots), dtype=found.type.dtype) if aggregate == "AVERAGE" else found
        if not self.given[self.yes == np.arange(len(self.yes))].all():
            raise Unsuited(f"its aggregate_function is {aggregate}, which needs weights of all leaves for all targets")
        return at.min(weights, axis=1) if aggregate == "MIN" else at.max(weights, axis=1)


def _numbers(node: Node, name: str) -> Any:
    """The floats of an attribute, or of the tensor attribute that replaces it; None if both are left out."""
    tensor = node[f"{name}_as_tensor"]
    if tensor is not None:
        return numpy_helper.to_array(tensor)
    return None if not node[name] else np.array(node[name], "float32")


def _indexed(node: Node, kind: str, count: int) -> Trees:
    """The trees of a node of opset 3.   kind: class or target; count: of them   Raises: GraphValueError, Unsuited"""
    keys = list(zip(node["nodes_treeids"] or (), node["nodes_nodeids"] or (), strict=False))
    numbers: dict[Any, int] = {key: k for k, key in enumerate(keys)}
    columns = [node[f"nodes_{name}"] or [] for name in ("modes", "featureids", "truenodeids", "falsenodeids")]
    values = _numbers(node, "nodes_values")
    if not keys or len(numbers) < len(keys) or values is None or {len(c) for c in (*columns, values)} != {len(keys)}:
        raise GraphValueError("its attributes nodes_* are missing, have different lengths or name a node twice")
    modes, features, yes, no = columns
    if unknown := set(modes) - {*_MODES, "LEAF"}:
        raise Unsuited(f"its nodes_modes contain {min(unknown)!r}, which is not supported")
    is_leaf = np.array([mode == "LEAF" for mode in modes])
    ways = [[k if is_leaf[k] else numbers.get((key[0], way[k]), -1) for k, key in enumerate(keys)] for way in (yes, no)]
    if any(n < 0 for way in ways for n in way):
        raise GraphValueError("its nodes_truenodeids or nodes_falsenodeids name a node that does not exist")
    followers = {n for way in ways for k, n in enumerate(way) if n != k}
    roots = list({tree: k for k, (tree, _) in reversed(list(enumerate(keys))) if k not in followers}.values())[::-1]
    if len(roots) != len({tree for tree, _ in keys}):
        raise GraphValueError("every node of a tree is a child of another node, so the tree has no root")
    missing = np.array(node["nodes_missing_value_tracks_true"] or [0] * len(keys), bool)
    if len(missing) != len(keys):
        raise GraphValueError("its attributes nodes_* are missing, have different lengths or name a node twice")
    leaves, given = _weights(node, kind, numbers, count)
    order = np.array([_MODES.index(mode) if mode in _MODES else 0 for mode in modes])
    return Trees(
        np.where(is_leaf, 0, np.array(features, "int64")), values, order, np.array(ways[0]), np.array(ways[1]), missing,
        np.array(roots), leaves, given,
    )  # fmt: skip


def _weights(node: Node, kind: str, numbers: Mapping[Any, int], count: int) -> tuple[Any, Any]:
    """Weights of leaves, (nodes, targets), and a mask of those given.   Raises: GraphValueError"""
    weights, targets = _numbers(node, f"{kind}_weights"), node[f"{kind}_ids"] or []
    where = list(zip(node[f"{kind}_treeids"] or (), node[f"{kind}_nodeids"] or (), strict=False))
    if weights is None or not len(weights) == len(targets) == len(where):
        raise GraphValueError(f"its attributes {kind}_* are missing or have different lengths")
    leaves, given = np.zeros((len(numbers), count), weights.dtype), np.zeros((len(numbers), count), bool)
    for place, target, weight in zip(where, targets, weights, strict=True):
        if place not in numbers or not 0 <= target < count:
            raise GraphValueError(f"its attributes {kind}_* name a node or a {kind} that does not exist")
        leaves[numbers[place], target] += weight
        given[numbers[place], target] = True
    return leaves, given


def _matrix(x: Any, trees: Trees) -> Any:
    """x as a matrix, in the dtype in which it is compared with thresholds."""
    if x.type.ndim not in (1, 2):
        raise GraphValueError(f"its input X has rank {x.type.ndim}, and rank 1 or 2 is expected")
    x = at.reshape(x, [1, -1]) if x.type.ndim == 1 else x
    return at.cast(x, "float64" if "64" in (str(x.type.dtype)[-2:], str(trees.values.dtype)[-2:]) else "float32")


@rule("TreeEnsembleRegressor", domain=ML)
def tree_regressor(node: Node, x: Any) -> Any:
    """The sum, average, minimum or maximum of trees"""
    count = int(node["n_targets"] or 1)
    if not 1 <= count <= 1 << 16:
        raise GraphValueError(f"its n_targets is {count}, which is not from 1 to 65536")
    trees = _indexed(node, "target", count)
    aggregate = node["aggregate_function"] or "SUM"
    if aggregate not in _AGGREGATES:
        raise Unsuited(f"its aggregate_function is {aggregate!r}, which is not supported")
    found = trees.scores(_matrix(x, trees), aggregate)
    base = _numbers(node, "base_values")
    found = found if base is None else found + at.constant(base.astype(found.type.dtype))
    return transformed(at.cast(found, "float32"), node["post_transform"])


@rule("TreeEnsembleClassifier", domain=ML)
def tree_classifier(node: Node, x: Any) -> Any:
    """The class with the largest sum over trees, and the sums; with one sum for two classes its sign decides"""
    labels = node["classlabels_int64s"]
    if not labels:
        raise Unsuited("its labels are not integers")
    trees = _indexed(node, "class", len(labels))
    scores = at.cast(trees.scores(_matrix(x, trees), "SUM"), "float32")
    base = _numbers(node, "base_values")
    names, how = at.constant(np.array(labels, "int64")), node["post_transform"]
    used = sorted({int(k) for k in node["class_ids"] or ()})
    if len(labels) == 2 and len(used) == 1:
        score = scores[:, used[0] : used[0] + 1]
        if base is not None:
            score = score + at.constant(base.astype("float32")[-1])
        is_share = bool((trees.leaves >= 0).all())
        which = at.gt(score[:, 0], at.constant(np.float32(0.5 if is_share else 0)))
        if how == "LOGISTIC" and not is_share:
            pair = [at.sigmoid(-score), at.sigmoid(score)]
        elif how == "NONE":
            pair = [at.constant(np.float32(1)) - score if is_share else -score, score]
        else:
            raise Unsuited(f"its post_transform is {how!r}, which is not supported for one score")
        return [names[at.cast(which, "int64")], at.concatenate(pair, axis=1)]
    if base is not None:
        scores = scores + at.constant(base.astype("float32"))
    return [names[at.argmax(scores, axis=1)], transformed(scores, how)]


@rule("TreeEnsemble", domain=ML)
def tree_ensemble(node: Node, x: Any) -> Any:
    """Sums, averages, minima or maxima over trees; comparisons with sets (BRANCH_MEMBER) are refused"""
    inner = [np.array(node[f"nodes_{name}"] or [], "int64") for name in ("featureids", "truenodeids", "falsenodeids")]
    flags = [np.array(node[f"nodes_{name}"] or [], bool) for name in ("trueleafs", "falseleafs")]
    splits, modes, weights = (
        np.zeros(0) if node[name] is None else numpy_helper.to_array(node[name])
        for name in ("nodes_splits", "nodes_modes", "leaf_weights")
    )
    targets, count = np.array(node["leaf_targetids"] or [], "int64"), int(node["n_targets"] or 1)
    nodes, leaves = len(inner[0]), len(weights)
    roots = np.array(node["tree_roots"] or [], "int64")
    if len({nodes, *map(len, inner), *map(len, flags), len(splits), len(modes)}) != 1 or len(targets) != leaves:
        raise GraphValueError("its attributes nodes_* or leaf_* have different lengths")
    if (modes > 5).any():
        raise Unsuited("its nodes_modes contain set membership, which is not supported")
    ways = [np.where(flag, way + nodes, way) for way, flag in zip(inner[1:], flags, strict=True)]
    limits = [np.where(flag, nodes + leaves, nodes) for flag in flags]
    is_right = all(((way >= 0) & (way < limit)).all() for way, limit in zip(ways, limits, strict=True))
    if not is_right or not len(roots) or not ((roots >= 0) & (roots < nodes)).all():
        raise GraphValueError("its nodes_truenodeids, nodes_falsenodeids or tree_roots name a node that does not exist")
    if not 1 <= count <= 1 << 16 or not ((targets >= 0) & (targets < count)).all():
        raise GraphValueError(
            "its leaf_targetids name a target that does not exist, or its n_targets is not from 1 to 65536"
        )
    ends = np.arange(nodes, nodes + leaves)
    table, given = np.zeros((nodes + leaves, count), weights.dtype), np.zeros((nodes + leaves, count), bool)
    table[ends, targets], given[ends, targets] = weights, True
    missing = np.array(node["nodes_missing_value_tracks_true"] or [0] * nodes, bool)
    trees = Trees(
        np.append(inner[0], np.zeros(leaves, "int64")), np.append(splits, np.zeros(leaves, splits.dtype)),
        np.append(modes, np.zeros(leaves, modes.dtype)).astype("int64"), np.append(ways[0], ends),
        np.append(ways[1], ends), np.append(missing, np.zeros(leaves, bool)), roots, table, given,
    )  # fmt: skip
    found = trees.scores(_matrix(x, trees), _AGGREGATES[int(node["aggregate_function"])])
    return transformed(at.cast(found, x.type.dtype), _TRANSFORMS[int(node["post_transform"] or 0)])
