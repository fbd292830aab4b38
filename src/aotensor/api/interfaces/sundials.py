"""SUNDIALS: a right-hand side f(t, y, *p) and its derivatives, as functions that CVODES and IDAS call."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from aotensor.api.function import Function
from aotensor.api.interfaces.checks import is_static_float64, refuse_state, static_shape
from aotensor.api.interfaces.derivatives import NO_DERIVATIVE
from aotensor.codegen.abi.sundials.layer import RightHandSide, SundialsLayer
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import Lop, Rop
from aotensor.gradient.sparsity.sparse_jacobian import sparse_jacobian
from aotensor.gradient.sparsity.structure import structure_of
from aotensor.graph.sparse_type import scipy_sparse
from aotensor.graph.variable import Variable
from aotensor.ops.shape.join import concatenate
from aotensor.ops.shape.reshape import reshape
from aotensor.ops.symbols import vector
from aotensor.sparse.construct.create import csm_data

_HINT = "aot.function([t, y, p], f) with t = at.scalar('t'), y = at.vector('y', shape=(3,)), and f of the shape of y"


def for_sundials(functions: Sequence[Function], library: str) -> tuple[list[Function], SundialsLayer]:
    """Derive the Jacobian of each function, its products with vectors from both sides, and those of the parameter
    Jacobian.

    Raises: GraphTypeError for functions other than f(t, y, *p) of dense float64 arrays of static shape, GraphValueError
    for those with shared variables
    """
    made: list[Function] = []
    models = []
    for f in functions:
        system = _system(f)
        found = {"rhs": f.name}
        for role in ("jacobian", "product", "adjoint", *(("quadrature", "tangent") if system.parameters else ())):
            # a derivative that is not there is a symbol that is not there
            with suppress(*NO_DERIVATIVE):
                one = getattr(system, role)()
                one.doc = f"{role} of the right-hand side {f.name}, for SUNDIALS"
                made.append(one)
                found[role] = one.name
        pattern = system.pattern
        shapes = tuple(static_shape(x) for x in system.parameters)
        indptr, indices = (tuple(map(int, part)) for part in (pattern.indptr, pattern.indices))
        models.append(RightHandSide(f.name, system.n, shapes, indptr, indices, found))
    return made, SundialsLayer(tuple(models))


@dataclass(frozen=True)
class _System:
    """A right-hand side, and its derivatives as functions."""

    name: str
    inputs: tuple[Variable, ...]
    slope: Variable

    @property
    def y(self) -> Variable:
        return self.inputs[1]

    @property
    def parameters(self) -> tuple[Variable, ...]:
        return self.inputs[2:]

    @property
    def n(self) -> int:
        return static_shape(self.y)[0]

    @cached_property
    def pattern(self) -> Any:
        """(n, n) CSR of bool: the entries of the Jacobian, and all of the diagonal, which solvers add to."""
        found = structure_of(self.slope, self.y) + scipy_sparse().identity(self.n, dtype=bool, format="csr")
        found.sort_indices()
        return found.astype(bool)

    def jacobian(self) -> Function:
        """The values of df/dy on the pattern, row by row."""
        return self._function("jacobian", csm_data(sparse_jacobian(self.slope, self.y, (), "ignore", self.pattern)))

    def product(self) -> Function:
        """df/dy v"""
        v = self._vector("v", self.n)
        return self._function("product", Rop(self.slope, self.y, v, disconnected_outputs="ignore"), v)

    def adjoint(self) -> Function:
        """-(df/dy)ᵀ w, by which adjoint variables move backward."""
        w = self._vector("w", self.n)
        return self._function("adjoint", -Lop(self.slope, self.y, w, disconnected_inputs="ignore"), w)

    def quadrature(self) -> Function:
        """(df/dp)ᵀ w, of all parameters one after the other."""
        w = self._vector("w", self.n)
        found = Lop(self.slope, list(self.parameters), w, disconnected_inputs="ignore")
        return self._function("quadrature", concatenate([reshape(x, (-1,)) for x in found]), w)

    def tangent(self) -> Function:
        """df/dy v + df/dp q, for q of all parameters one after the other."""
        sizes = [prod(static_shape(x)) for x in self.parameters]
        v, q = self._vector("v", self.n), self._vector("q", sum(sizes))
        parts, start = [], 0
        for x, size in zip(self.parameters, sizes, strict=True):
            parts.append(reshape(q[start : start + size], static_shape(x)))
            start += size
        found = Rop(self.slope, [self.y, *self.parameters], [v, *parts], disconnected_outputs="ignore")
        return self._function("tangent", found, v, q)

    def _vector(self, name: str, size: int) -> Variable:
        taken = {x.name for x in self.inputs}
        return vector(name if name not in taken else f"{name}_of_{self.name}", dtype="float64", shape=(size,))

    def _function(self, role: str, output: Variable, *extra: Variable) -> Function:
        return Function([*self.inputs, *extra], output, name=f"{self.name}_{role}", on_unused_input="ignore")


def _system(f: Function) -> _System:
    """Raises: as `for_sundials`"""
    refuse_state("sundials", f.name, f.state, "make them parameters")
    for name in (*f.column_arguments, *f.column_results):
        raise GraphValueError(
            f"abi sundials: {name} of {f.name} is column-major, and parameters are row-major",
            hint="leave out layout='F'",
        )
    inputs, outputs = list(f.arguments.items()), list(f.results.items())
    if len(inputs) < 2 or len(outputs) != 1:
        raise GraphTypeError(
            f"abi sundials: {f.name} has {len(inputs)} inputs and {len(outputs)} outputs, "
            "but a right-hand side f(t, y, *p) is expected",
            hint=_HINT,
        )
    for name, x in (*inputs, *outputs):
        if not is_static_float64(x):
            raise GraphTypeError(
                f"abi sundials: {name} of {f.name} is {x.type}, not a dense float64 array of static shape", hint=_HINT
            )
    (_, t), (_, y), *_ = inputs
    ((_, slope),) = outputs
    if t.ndim != 0 or y.ndim != 1 or slope.static_shape != y.static_shape or y.static_shape == (0,):
        shapes = ", ".join(f"{name} is {x.type}" for name, x in (*inputs[:2], *outputs))
        raise GraphTypeError(f"abi sundials: {f.name} is not a right-hand side f(t, y, *p): {shapes}", hint=_HINT)
    return _System(f.name, tuple(x for _, x in inputs), slope)
