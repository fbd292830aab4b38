"""Translate the nodes of an ONNX graph, in order, to a graph of aotensor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, Final

import onnx

import aotensor.tensor as at
from aotensor.errors import AotensorError, GraphTypeError, GraphValueError, UnsupportedError
from aotensor.extension import Site
from aotensor.importers.base import LOST, Importer, Unsuited, retitled, several
from aotensor.importers.errors import Untranslated
from aotensor.importers.onnx.contrib_ops import contributed
from aotensor.importers.onnx.extents import Extents
from aotensor.importers.onnx.model import SETTLED, check_opsets, opsets_of
from aotensor.importers.onnx.node import Node, attributes_of
from aotensor.importers.onnx.opset_upgrades import RENAMED, upgrade_node
from aotensor.importers.onnx.rules import RULES
from aotensor.importers.onnx.tensors import array_of, element_of

_FOLDED: Final = 1 << 12
"""Elements that a constant may have which is computed from smaller ones."""

_NAMES: Final = {"float32": "float", "float64": "double"}
"""Dtypes that the standard calls otherwise."""

_DEEPEST: Final = 64
"""Functions and subgraphs inside of each other."""

_GRAPHS: Final = ("If", "Loop", "Scan")


@dataclass
class Scope:
    """Tensors by name, including those of outer graphs; opset versions, and attributes of a function."""

    name: str
    opsets: Mapping[str, int]
    outer: Scope | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    depth: int = 0

    def find(self, name: str) -> Any:
        """The tensor of this name; None if it is undefined."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        return None


_VARIADIC: Final = 2**31 - 1
"""The largest number of inputs or outputs of an operator without a limit, in the standard's records."""


@dataclass(frozen=True)
class _Position:
    """A node by its record, its number and the graph around."""

    proto: Any
    number: int
    scope: Scope

    def __str__(self) -> str:
        where = f"node {self.proto.name!r}" if self.proto.name else "unnamed node"
        return f"{where}, number {self.number + 1} of graph {self.scope.name!r}"


class Walk(Importer):
    """A translation of nodes to tensors. functions: of the model, by domain and name; folder: of external data"""

    framework = "ONNX"

    def __init__(self, functions: Iterable[Any], folder: Path | None) -> None:
        super().__init__()
        self.functions = {(item.domain, item.name): item for item in functions}
        self.folder = folder
        self.extents = Extents()

    def site(self, position: _Position) -> Site:
        """`dense:3` in remarks: a node by its name, or its operator, and its number."""
        proto = position.proto
        return Site((proto.name or proto.op_type).strip("/").replace("/", "."), position.number + 1)

    def entry(self, position: _Position, reason: str = "") -> Untranslated:
        """The operator of a node, and where that is in the model."""
        proto = position.proto
        domain = _domain_of(proto)
        return Untranslated(f"{domain}.{proto.op_type}" if domain else proto.op_type, reason, str(position))

    def located(self, position: _Position) -> AbstractContextManager[None]:
        """Nodes of functions and subgraphs count as made where the model has the node around them."""
        return nullcontext() if position.scope.depth else super().located(position)

    def graph(self, proto: Any, scope: Scope, inputs: Sequence[Any] = ()) -> list[Any]:
        """Translate the initializers and nodes of a graph; returns its outputs. inputs: those of a subgraph

        Raises: GraphValueError and GraphTypeError with the node's name, for what does not fit.
        """
        if scope.depth > _DEEPEST:
            raise GraphValueError(f"graph {scope.name!r}: graphs and functions are nested more than {_DEEPEST} deep")
        scope.values.update(zip((item.name for item in proto.input), inputs, strict=False))
        for tensor in proto.initializer:
            if tensor.name not in scope.values:
                what = f"initializer {tensor.name!r} of graph {scope.name!r}"
                scope.values[tensor.name] = at.constant(array_of(tensor, self.folder, what), name=tensor.name)
        if proto.sparse_initializer:
            raise UnsupportedError(f"graph {scope.name!r} has sparse initializers, which are not supported")
        self.nodes(proto.node, scope)
        return self.outputs([item.name for item in proto.output], scope)

    def outputs(self, names: Sequence[str], scope: Scope) -> list[Any]:
        """The tensors of these names.   Raises: GraphValueError for an undefined one"""
        found = [scope.find(name) for name in names]
        if None in found:
            raise GraphValueError(f"graph {scope.name!r}: no node computes its output {names[found.index(None)]!r}")
        return found

    def nodes(self, protos: Sequence[Any], scope: Scope) -> None:
        """Translate nodes, and add their outputs to the scope.   Raises: as `graph`"""
        given = {name: number for number, proto in enumerate(protos) for name in proto.output if name}
        for number, proto in enumerate(protos):
            position = _Position(proto, number, scope)
            try:
                for name in proto.input:
                    if name and scope.find(name) is None:
                        raise GraphValueError(_undefined(name, given.get(name), number))
                if any(name in scope.values for name in proto.output if name):
                    raise GraphValueError("another node computes the same output")
                results = self.attempt(position, partial(self._node, position))
            except AotensorError as error:
                if error.diagnostic.title.startswith("ONNX"):
                    raise
                raise retitled(error, partial(_titled, position)) from error
            found = [LOST] * len(proto.output) if results is None else results
            scope.values.update((name, x) for name, x in zip(proto.output, found, strict=False) if name)

    def _node(self, position: _Position) -> Sequence[Any]:
        proto, scope = position.proto, position.scope
        domain = _domain_of(proto)
        inputs = [scope.find(name) if name else None for name in proto.input]
        local = self.functions.get((domain, proto.op_type))
        if local is not None:
            defaults = {item.name: onnx.helper.get_attribute_value(item) for item in local.attribute_proto}
            given = {**defaults, **attributes_of(proto, None, scope.attributes)}
            return self._function(local, inputs, given, scope, opsets_of(local), proto.output)
        schema = _schema(proto.op_type, domain, scope.opsets)
        if schema is None or _is_removed(schema, domain):
            raise Unsuited
        _check_counts(proto, schema)
        is_old = not domain and scope.opsets[domain] < SETTLED
        later = _schema(proto.op_type, domain, {"": SETTLED}) if is_old else None
        attributes = attributes_of(proto, schema, scope.attributes, later)
        formal = [item.name for item in schema.inputs]
        names = list(proto.output)
        node = Node(proto.op_type, domain, schema.since_version, inputs, names, self, str(position), attributes, formal)
        rule = RULES.get((domain, RENAMED.get(proto.op_type, proto.op_type)))
        if rule is None and not (schema.has_function or schema.has_context_dependent_function):
            raise Unsuited
        if any(x is LOST for x in inputs):
            return [LOST] * len(proto.output)
        _check_types(inputs, schema)
        if rule is None:
            body, opsets = _body(proto, schema, inputs, scope)
            return self._function(body, inputs, attributes, scope, opsets, proto.output)
        if proto.op_type in _GRAPHS:
            return several(rule(node, scope, *inputs))
        node = upgrade_node(node)
        followed = self.extents.follow(node)
        return [followed] if followed is not None else self._fold_results(node, several(rule(node, *node.inputs)))

    def _function(
        self,
        body: Any,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        scope: Scope,
        opsets: Mapping[str, int],
        names: Sequence[str],
    ) -> Sequence[Any]:
        """Translate a node that calls a function: the function's nodes, in a new scope."""
        check_opsets(opsets, f"function {body.name}")
        inner = Scope(f"{scope.name}/{body.name}", opsets, attributes=attributes, depth=scope.depth + 1)
        if inner.depth > _DEEPEST:
            raise GraphValueError(f"function {body.name}: calls of functions are nested more than {_DEEPEST} deep")
        inner.values.update((name, x) for name, x in zip(body.input, inputs, strict=False) if x is not None)
        self.nodes(body.node, inner)
        wanted = [own if name else "" for own, name in zip(body.output, names, strict=False)]
        found = iter(self.outputs([own for own in wanted if own], inner))
        return [next(found) if own else None for own in wanted]

    def subgraph(self, proto: Any, inputs: Sequence[Any], scope: Scope) -> list[Any]:
        """Translate a graph that is an attribute of a node.

        Raises: Unsuited if one of its operators cannot be translated
        """
        name = f"{scope.name}/{proto.name}"
        inner = Scope(name, scope.opsets, scope, scope.attributes, depth=scope.depth + 1)
        found = self.graph(proto, inner, inputs)
        if any(x is LOST for x in found):
            raise Unsuited("its subgraph has operators that have no counterpart")
        return found

    def _fold_results(self, node: Node, results: Sequence[Any]) -> Sequence[Any]:
        """Evaluate nodes of constants to constants, unless results are much larger than inputs."""
        inputs = [x for x in node.inputs if x is not None]
        if not inputs or not all(isinstance(x, at.Constant) for x in inputs):
            return results
        most = max(_FOLDED, sum(x.data.size for x in inputs))
        extents = [n for x in results for n in x.type.shape]
        if not all(isinstance(n, int) for n in extents) or any(prod(x.type.shape) > most for x in results):
            return results
        return [x if isinstance(x, at.Constant) else at.constant(x.eval({}), dtype=x.type.dtype) for x in results]


def _domain_of(proto: Any) -> str:
    return "" if proto.domain == "ai.onnx" else str(proto.domain)


def _titled(position: _Position, title: str) -> str:
    return f"ONNX {position.proto.op_type}: {title}   ({position})"


def _undefined(name: str, later: int | None, number: int) -> str:
    if later is None:
        return f"no node computes its input {name!r}"
    if later == number:
        return f"its input {name!r} is its own output"
    return f"its input {name!r} is computed by the later node number {later + 1}; nodes must be ordered, without cycles"


def _schema(op: str, domain: str, opsets: Mapping[str, int]) -> Any | None:
    """The schema of an operator in the model's opset; None for an unknown one."""
    version = opsets.get(domain)
    if version is None or version < 1 or version > 2**31 - 1:
        return None
    try:
        return onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return contributed(op, domain)


def _is_removed(schema: Any, domain: str) -> bool:
    """Was the operator removed? A deprecated schema may also have a newer version."""
    return bool(schema.deprecated and onnx.defs.get_schema(schema.name, domain=domain).deprecated)


def _check_counts(proto: Any, schema: Any) -> None:
    """Raises: GraphTypeError for too few or too many inputs or outputs"""
    given = len(proto.input)
    if not schema.min_input <= given <= schema.max_input:
        raise GraphTypeError(f"it has {given} inputs, not {_range(schema.min_input, schema.max_input)}")
    for position, name in enumerate(proto.input):
        formal = schema.inputs[min(position, len(schema.inputs) - 1)]
        if not name and formal.option == onnx.defs.OpSchema.FormalParameterOption.Single:
            raise GraphTypeError(f"its input {formal.name} is missing")
    if not schema.min_output <= len(proto.output) <= schema.max_output:
        found = len(proto.output)
        raise GraphTypeError(f"it has {found} outputs, not {_range(schema.min_output, schema.max_output)}")


def _range(low: int, high: int) -> str:
    if high >= _VARIADIC:
        return f"at least {low}"
    return str(low) if low == high else f"{low} to {high}"


def _check_types(inputs: Sequence[Any], schema: Any) -> None:
    """Raises: GraphTypeError for dtypes that the operator does not accept, or that must be equal and differ"""
    found: dict[str, str] = {}
    for position, x in enumerate(inputs):
        formal = schema.inputs[min(position, len(schema.inputs) - 1)]
        if x is None:
            continue
        dtype = x.type.dtype
        if f"tensor({_NAMES.get(dtype, dtype)})" not in formal.types:
            raise GraphTypeError(f"its input {formal.name} has dtype {dtype}, which the operator does not accept")
        if formal.is_homogeneous and found.setdefault(formal.type_str, dtype) != dtype:
            raise GraphTypeError(
                f"its input {formal.name} has dtype {dtype}, but another input has {found[formal.type_str]}; they "
                "must agree"
            )


def _body(proto: Any, schema: Any, inputs: Sequence[Any], scope: Scope) -> tuple[Any, dict[str, int]]:
    """The standard's function body of an operator, which may depend on types and attributes."""
    version = scope.opsets[schema.domain]
    standard = scope.opsets.get("", onnx.defs.onnx_opset_version())
    plain = onnx.NodeProto()
    plain.CopyFrom(proto)
    del plain.attribute[:]
    for item in proto.attribute:
        if not item.ref_attr_name:
            plain.attribute.append(item)
        elif scope.attributes.get(item.ref_attr_name) is not None:
            plain.attribute.append(onnx.helper.make_attribute(item.name, scope.attributes[item.ref_attr_name]))
    body = onnx.FunctionProto()
    if schema.has_context_dependent_function:
        chosen = _newest(schema.context_dependent_function_opset_versions, version)
        types = [_type(x) for x in inputs]
        text = schema.get_context_dependent_function_with_opset_version(chosen, plain.SerializeToString(), types)
    else:
        text = schema.get_function_with_opset_version(_newest(schema.function_opset_versions, version))
    body.ParseFromString(text if isinstance(text, bytes) else text.SerializeToString())
    return body, {"": standard, **scope.opsets, **opsets_of(body)}


def _newest(versions: Sequence[int], version: int) -> int:
    return max((v for v in versions if v <= version), default=min(versions))


def _type(x: Any) -> bytes:
    """The TypeProto of a tensor variable; empty for an input that is left out."""
    if x is None:
        return b""
    shape = [n if isinstance(n, int) else None for n in x.type.shape]
    return bytes(onnx.helper.make_tensor_type_proto(element_of(x.type.dtype), shape).SerializeToString())
