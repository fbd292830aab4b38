"""Nonlinear programs: an objective and constraints with the sparse derivatives that solvers ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from aotensor.api.function import Function
from aotensor.api.interfaces.derivatives import NO_DERIVATIVE
from aotensor.core import dtypes
from aotensor.core.types import Array, as_items
from aotensor.driver.naming import c_name
from aotensor.errors import GraphTypeError, GraphValueError, MissingInputError
from aotensor.gradient import grad
from aotensor.gradient.sparsity.lagrangian import constant_hessian, weighted_sum
from aotensor.gradient.sparsity.sparse_jacobian import sparse_hessian, sparse_jacobian
from aotensor.graph.coercion import coerced
from aotensor.graph.site import warn_user
from aotensor.graph.variable import Constant, SharedVariable, Variable, as_tensor
from aotensor.graph.walk import leaves, replace
from aotensor.ops.contract import dot
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.shape.join import concatenate
from aotensor.ops.shape.reshape import reshape
from aotensor.ops.symbols import scalar, vector
from aotensor.sparse.construct.pattern import constant_values, pattern_parts

PARTS: Final = ("f", "grad_f", "g", "jac_g", "hess_l")
"""The functions of a program, in the order in which a library has them."""


class StoredEntries(NamedTuple):
    """Where the stored entries of a CSR matrix are: row i has those from indptr[i] on, in the columns `indices`."""

    indptr: Array
    indices: Array

    @property
    def rows(self) -> Array:
        """The row of each stored entry, int32: with `indices` these are coordinates."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))


@coerced
def nlp(
    x: Variable | Sequence[Variable],
    f: Any,
    g: Any = None,
    *,
    p: Variable | Sequence[Variable] = (),
    name: str | None = None,
) -> NLP:
    """A nonlinear program: minimise f over x, under bounds on x and on g that the solver is given.

    x: a floating vector, or arrays of any rank, which are the parts of one vector in this order and in C order.
    f: a scalar. g: the constraints, an array or several, which become one vector in the same way; None for none.
    p: parameters, arrays that f and g depend on. name: of the program, a C identifier, before that of its functions.

    Extents of x and g must be numbers where derivatives have patterns: of `jac_g`, `hess_l`, and to compile.

    Raises: GraphTypeError for arguments of other kinds, GraphValueError for an f that is not a scalar, a variable that
    is given twice, and a name that is not a C identifier; MissingInputError for a variable that is neither in x nor in
    p.
    """
    xs, ps = _symbols("x", x), _symbols("p", p)
    if not xs:
        raise GraphTypeError("nlp: x is empty", hint="give at least one vector")
    for one in xs:
        if not dtypes.is_float(one.dtype) or one.dtype != xs[0].dtype:
            raise GraphTypeError(
                f"nlp: x is {one.type}, not an array of floating point numbers of one dtype",
                lines=[one.describe()],
                hint="at.vector('x', shape=(10,))",
            )
    doubles = [one for k, one in enumerate([*xs, *ps]) if any(one is other for other in [*xs, *ps][:k])]
    if doubles:
        raise GraphValueError(f"nlp: {doubles[0]} is given twice", lines=[doubles[0].describe()])
    value = _expression("f", f)
    if value.ndim != 0:
        raise GraphValueError(
            f"nlp: f is {value.type}, not a scalar", lines=[value.describe()], hint="take the sum or the mean"
        )
    parts = [] if g is None else [g] if isinstance(g, Variable) else as_items(g, "nlp: g")
    constraints = [_expression("g", one) for one in parts]
    if name is not None and not (isinstance(name, str) and name.isidentifier() and name.isascii()):
        raise GraphValueError(f"nlp: the name {name!r:.60} is not a C identifier")
    for what, outputs in (("f", [value]), ("g", constraints)):
        for leaf in leaves(outputs, stop=[*xs, *ps]):
            if not isinstance(leaf, Constant | SharedVariable) and leaf not in [*xs, *ps]:
                raise MissingInputError(
                    f"nlp: {what} depends on {leaf}, which is neither in x nor in p", lines=[leaf.describe()]
                )
    return NLP(tuple(xs), value, constraints, tuple(ps), name)


def _symbols(what: str, given: Any) -> list[Variable]:
    """Check that the arguments are variables that a program can have as inputs, and return them.

    Raises: GraphTypeError
    """
    found = [given] if isinstance(given, Variable) else as_items(given, f"variables of {what}")
    for one in found:
        if not isinstance(one, Variable):
            raise GraphTypeError(f"nlp: {what} must hold variables, not {type(one).__name__} {one!r:.40}")
        if one.owner is not None or isinstance(one, Constant | SharedVariable):
            title = f"nlp: a variable of {what} is computed or has a value"
            raise GraphTypeError(title, lines=[one.describe()], hint="use a symbol without a value")
    return found


def _expression(what: str, given: Any) -> Variable:
    """Convert an argument to a dense array of real floating-point numbers.   Raises: GraphTypeError"""
    if isinstance(given, Variable) and given.is_sparse:
        raise GraphTypeError(f"nlp: {what} is {given.type}, not a dense array", lines=[given.describe()])
    found = as_tensor(given)
    if dtypes.is_complex(found.dtype):
        raise GraphTypeError(f"nlp: {what} must be real, but it is complex", lines=[found.describe()])
    return found


class NLP:
    """A nonlinear program and its functions, each made when it is first asked for.

    x, p: as given, as tuples. f(x, *p), grad_f(x, *p), g(x, *p), jac_g(x, *p): objective, gradient, constraints and
    their Jacobian in CSR. hess_l(x, *p, sigma, lam): the lower triangle of sigma·H(f) + Σ lam[i]·H(g[i]) in CSR.
    x is one vector for all of them; `join` makes it of several arrays, and `split` gives these again. Where a parameter
    has the name sigma or lam, the multiplier is sigma2 or lam2.
    """

    def __init__(
        self, x: tuple[Variable, ...], f: Variable, g: Sequence[Variable], p: tuple[Variable, ...], name: str | None
    ) -> None:
        self.x, self.p = x, p
        self.is_named = name is not None
        self._name = name or "nlp"
        self._point, values = self._flattened([f, *g])
        dtype = self._point.dtype
        self._f = cast(values[0], dtype)
        constraints = [reshape(cast(one, dtype), (-1,)) for one in values[1:]]
        self._g = concatenate(constraints) if len(constraints) > 1 else (constraints or [zeros((0,), dtype)])[0]

    def _flattened(self, values: Sequence[Variable]) -> tuple[Variable, list[Variable]]:
        """The vector of all variables, and values as functions of it."""
        if len(self.x) == 1 and self.x[0].ndim == 1:
            return self.x[0], list(values)
        shapes = [self._shape(x) for x in self.x]
        flat = vector(self._free_name("x", self.p), dtype=self.x[0].dtype, shape=(sum(map(prod, shapes)),))
        parts, start = {}, 0
        for x, shape in zip(self.x, shapes, strict=True):
            parts[x] = reshape(flat[start : start + prod(shape)], shape)
            start += prod(shape)
        return flat, replace(list(values), parts)

    def _free_name(self, name: str, others: Sequence[Variable]) -> str:
        taken, k = {c_name(x.name or "", (), "") for x in others}, 1
        found = name
        while found in taken:
            k += 1
            found = f"{name}{k}"
        return found

    def _shape(self, x: Variable) -> tuple[int, ...]:
        """The extents of a variable.   Raises: GraphValueError if one is not a number"""
        shape = tuple(n for n in x.type.shape if isinstance(n, int))
        if len(shape) != x.ndim:
            self._refuse("its place in one vector", x)
        return shape

    def _refuse(self, what: str, x: Variable) -> NoReturn:
        raise GraphValueError(
            f"{self.label}: {what} needs the extents of {x}, which is {x.type}",
            lines=[x.describe()],
            hint="give the inputs shape=(numbers)",
        )

    @property
    def label(self) -> str:
        """The name of the program in messages."""
        return "nlp" if self.name == "nlp" else f"nlp {self.name}"

    @property
    def name(self) -> str:
        """The program's name: its function `f` is called `<name>_f`. Setting it creates the functions anew."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name
        for part in PARTS:
            self.__dict__.pop(part, None)

    # --- the vectors -------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """The number of variables. Raises: GraphValueError if it is not static"""
        return self._extent(self._point)

    @property
    def m(self) -> int:
        """The number of constraints.   Raises: GraphValueError if it is not static"""
        return self._extent(self._g)

    def _extent(self, x: Variable) -> int:
        (extent,) = x.static_shape
        if extent is None:
            unknown = [leaf for leaf in leaves([x]) if None in leaf.static_shape]
            what = "variables" if x is self._point else "constraints"
            self._refuse(f"the number of {what}", [*unknown, x][0])
        return extent

    def join(self, *values: object) -> Array:
        """Concatenate values of the parts of x to one vector.

        Raises: GraphTypeError, GraphValueError for values that do not fit
        """
        if len(values) != len(self.x):
            raise GraphTypeError(f"{self.label}: x has {len(self.x)} parts, found {len(values)}")
        arrays = [x.tensor_type.filter(value) for x, value in zip(self.x, values, strict=True)]
        return np.concatenate([np.ravel(one) for one in arrays])

    def split(self, x: object) -> tuple[Array, ...]:
        """Split a vector into values of the parts of x.   Raises: as `join`"""
        whole = self._point.tensor_type.filter(x)
        if len(self.x) == 1 and self.x[0].ndim == 1:
            return (whole,)
        shapes = [self._shape(part) for part in self.x]
        ends = np.cumsum([prod(shape) for shape in shapes])
        return tuple(part.reshape(shape) for part, shape in zip(np.split(whole, ends[:-1]), shapes, strict=True))

    # --- the functions -----------------------------------------------------------------------------------------------

    @property
    def functions(self) -> tuple[Function, ...]:
        """All five, as a library has them; without `hess_l`, and with a warning, where an op has no second derivative.

        Raises: GraphValueError where extents are not numbers
        """
        found = [getattr(self, part) for part in PARTS[:-1]]
        try:
            found.append(self.hess_l)
        except NO_DERIVATIVE as error:
            warn_user(f"{self.label}: hess_l is left out: {error.diagnostic.title}")
        return tuple(found)

    def __iter__(self) -> Iterator[Function]:
        return iter(self.functions)

    def _function(self, part: str, output: Variable, doc: str, extra: Sequence[Variable] = ()) -> Function:
        made = Function([self._point, *self.p, *extra], output, name=f"{self.name}_{part}", on_unused_input="ignore")
        made.doc, made.program = f"{doc} of the nonlinear program {self.name}", self
        return made

    @cached_property
    def f(self) -> Function:
        """f(x, *p): the objective."""
        return self._function("f", self._f, "the objective")

    @cached_property
    def grad_f(self) -> Function:
        """grad_f(x, *p): its gradient, (n,)."""
        return self._function("grad_f", self.gradient, "the gradient of the objective")

    @cached_property
    def g(self) -> Function:
        """g(x, *p): the constraints, (m,)."""
        return self._function("g", self._g, "the constraints")

    @cached_property
    def jac_g(self) -> Function:
        """jac_g(x, *p): their Jacobian, CSR (m, n).   Raises: GraphValueError where extents are not numbers"""
        return self._function("jac_g", self.jacobian, "the Jacobian of the constraints")

    @cached_property
    def hess_l(self) -> Function:
        """hess_l(x, *p, sigma, lam): the lower triangle of the Hessian of the Lagrangian, CSR (n, n).

        Raises: GraphValueError where extents are not numbers; NullTypeGradError or MissingRuleError for an op without
        second derivative
        """
        matrix, multipliers = self.hessian
        return self._function("hess_l", matrix, "lower triangle of the Hessian of the Lagrangian", multipliers)

    # --- the graphs --------------------------------------------------------------------------------------------------

    @property
    def graphs(self) -> Mapping[str, Variable]:
        """The vector of all variables, and f and g as expressions of it."""
        return {"x": self._point, "f": self._f, "g": self._g}

    @cached_property
    def gradient(self) -> Variable:
        """The gradient of f with respect to x, as an expression."""
        found: Variable = grad(self._f, self._point, disconnected_inputs="ignore", add_names=False)
        return found

    @cached_property
    def jacobian(self) -> Variable:
        """The Jacobian of g with respect to x, as a sparse expression.   Raises: as `jac_g`"""
        self._check_extents()
        return sparse_jacobian(self._g, self._point, (), "ignore", None)

    @cached_property
    def hessian(self) -> tuple[Variable, tuple[Variable, Variable]]:
        """The lower triangle of the Lagrangian's Hessian, and the multipliers sigma and lam.   Raises: as `hess_l`"""
        self._check_extents()
        dtype, others = self._point.dtype, [self._point, *self.p]
        sigma = scalar(self._free_name("sigma", others), dtype=dtype)
        lam = vector(self._free_name("lam", others), dtype=dtype, shape=(self.m,))
        fixed = constant_hessian(self.gradient, self._point)
        known = dot(lam, self._g) if fixed is not None else sigma * self._f + dot(lam, self._g)
        slope: Variable = grad(known, self._point, disconnected_inputs="ignore", add_names=False)
        rest = sparse_hessian(slope, self._point, None, is_lower=True)
        return rest if fixed is None else weighted_sum(sigma, fixed, rest), (sigma, lam)

    def _check_extents(self) -> None:
        """Raises: GraphValueError where a pattern would need extents that are not numbers"""
        for x in (self._point, *self.p):
            if None in x.static_shape:
                self._refuse("the pattern of derivatives", x)

    @cached_property
    def jac_g_pattern(self) -> StoredEntries:
        """Where the Jacobian of the constraints has stored entries; nothing is compiled.   Raises: as `jac_g`"""
        return _stored_entries(self.jacobian)

    @cached_property
    def hess_l_pattern(self) -> StoredEntries:
        """Where the lower triangle has stored entries; nothing is compiled.   Raises: as `hess_l`"""
        return _stored_entries(self.hessian[0])

    def __repr__(self) -> str:
        x, p = (", ".join(f"{one}: {one.type}" for one in given) for given in (self.x, self.p))
        return f"<NLP {self.name}: f over {x}; g: {self._g.type}{f'; p: {p}' if p else ''}>"


def _stored_entries(matrix: Variable) -> StoredEntries:
    found = constant_values(pattern_parts(matrix)[:2])
    assert found is not None, "the pattern of a sparse derivative is constant"
    return StoredEntries(*(part.astype(np.int32) for part in found))
