"""Protect ops that control derivatives from PyTensor's rewrites, which preserve values but remove or merge such ops.

`local_view_op` removes zero_grad and its like, merging takes grad_clip with other bounds for the same op, and inner
graphs are inlined without their overrides. The other rewrites that PyMC applies before it differentiates keep
derivatives wherever the values are smooth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from pytensor.graph.basic import Apply
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op

from aotensor.errors import UnsupportedError
from aotensor.extension import Variable, Variables, ViewOp, as_sparse_or_tensor, dtypes
from aotensor.importers.pytensor.derivatives import changes_derivatives


class _Shield(Op):  # type: ignore[misc]
    """An op unknown to rewrites that replaces an op that controls derivatives; equal only to itself."""

    def __init__(self, node: Any) -> None:
        self.inner = node.op
        self._types = [x.type for x in node.outputs]

    def make_node(self, *inputs: Any) -> Any:
        return self.applied(self, inputs)

    def applied(self, op: Any, inputs: Sequence[Any]) -> Any:
        """A node of `op` with outputs of the types of the original one."""
        return Apply(op, list(inputs), [kind() for kind in self._types])

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
        if hasattr(self.inner, "infer_shape"):
            return self.inner.infer_shape(fgraph, self.applied(self.inner, node.inputs), shapes)
        return [tuple(x.shape) if hasattr(x.type, "ndim") else None for x in node.outputs]

    def do_constant_folding(self, fgraph: Any, node: Any) -> bool:
        return False

    def perform(self, node: Any, inputs: Any, outputs: Any) -> NoReturn:
        raise AssertionError("a shield is removed before anything is computed")


@contextmanager
def shielded(graph: FunctionGraph) -> Iterator[None]:
    """Within: ops of the graph that control derivatives are hidden from rewrites."""
    for node in graph.toposort():
        if changes_derivatives(node.op):
            _replace(graph, node, _Shield(node)(*node.inputs, return_list=True))
    yield
    for node in graph.toposort():
        if isinstance(node.op, _Shield):
            _replace(graph, node, node.op.applied(node.op.inner, node.inputs).outputs)


def _replace(graph: FunctionGraph, node: Any, outputs: Sequence[Any]) -> None:
    for old, new in zip(node.outputs, outputs, strict=True):
        new.name, new.tag = old.name, old.tag  # the line that made it
    graph.replace_all(list(zip(node.outputs, outputs, strict=True)), import_missing=True)


@dataclass(frozen=True)
class Rewritten(ViewOp):
    """The identity on a result of a function that PyTensor has rewritten, whose derivatives are therefore unknown."""

    name: ClassVar[str] = "rewritten"
    takes_sparse: ClassVar[bool] = True
    takes_complex: ClassVar[bool] = True
    function: str

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        return [as_sparse_or_tensor(x) for x in inputs]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> NoReturn:
        self._refuse(outputs)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> NoReturn:
        self._refuse(outputs)

    def _refuse(self, outputs: Sequence[Variable]) -> NoReturn:
        raise UnsupportedError(
            f"{self.function} cannot be differentiated: PyTensor's rewrites have replaced ops that define derivatives",
            lines=[outputs[0].describe()],
            hint="pass the graph to aotensor.importers.pytensor.function, or compile it with "
            "pytensor.compile.Mode(linker='py', optimizer=None)",
        )


def rewritten(x: Variable, function: str) -> Variable:
    """x, marked so that derivatives are refused with the name of the function."""
    return x if dtypes.is_discrete(x.dtype) else Rewritten(function)(x)
