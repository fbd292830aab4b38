"""Jacobians and Hessians: one sweep computes all rows, batched over the rows of an identity matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from aotensor.core import dtypes
from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient.forward import push
from aotensor.gradient.holomorphic import check_holomorphic
from aotensor.gradient.options import as_constants, as_variables, float_of, is_float, like, on_disconnection
from aotensor.gradient.origins import remembers
from aotensor.gradient.reverse import grad, pullback
from aotensor.gradient.sparsity.sparse_jacobian import sparse_hessian, sparse_jacobian
from aotensor.graph.coercion import coerced
from aotensor.graph.op import has_value
from aotensor.graph.subgraph import is_dual
from aotensor.graph.variable import Variable, Variables, constant
from aotensor.graph.vectorize import batch
from aotensor.graph.walk import replace
from aotensor.ops.batching import repeated
from aotensor.ops.complex.holomorphic import holomorphic_in
from aotensor.ops.complex.loops import as_pair, from_pair
from aotensor.ops.complex.parts import imag, join_parts, real
from aotensor.ops.diagonal import eye
from aotensor.ops.elementwise.compare import cast, eq
from aotensor.ops.ranges import arange
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.shape.axes import moveaxis
from aotensor.ops.shape.extents import extents_of, product
from aotensor.ops.shape.reshape import reshape


@remembers("expression")
@coerced
def jacobian(
    expression: Variable,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
    vectorize: bool = True,
    sparse: bool = False,
    pattern: Any = None,
) -> Any:
    """∂expression[i, …]/∂x[j, …] for each x in wrt, of shape expression.shape + x.shape; container as wrt.

    expression: a variable of any rank; for a scalar this is the gradient. A discrete one gives zeros.
    Of complex x it is the complex derivative, as of JAX's jacrev(holomorphic=True): the expression is then a
    holomorphic function of x, as far as the graph shows it. Of real x and a complex expression it is complex.
    consider_constant, disconnected_inputs: as in `grad`; for a disconnected x, "ignore" gives zeros.
    vectorize: False loops over the rows instead, one sweep each: slower, in the memory of one.
    sparse: True gives CSR matrices (expression.size, x.size) of a fixed pattern, which is derived from the graph; its
    structurally orthogonal columns or rows are evaluated together, all groups in one sweep. Extents must be numbers.
    pattern: with `sparse`, a SciPy matrix whose stored entries mark the elements that may differ from 0.
    Cost: one backward sweep over arrays with a leading axis of expression.size rows; or one forward sweep with x.size
    rows, where x is known to be the smaller one. With `sparse` there are as many rows as groups.

    Raises: GraphTypeError for an expression or wrt that is not a variable, or a real expression with a complex wrt; the
    errors of `grad`; UnsupportedError for an op that has no batch rule, and for a function of complex x that is not
    holomorphic, or not known to be.
    """
    if not isinstance(expression, Variable):
        raise GraphTypeError(f"expression must be a variable, not {type(expression).__name__} {expression!r:.40}")
    policy = on_disconnection("disconnected_inputs", disconnected_inputs)
    targets = as_variables(wrt, "wrt")
    stop = as_constants(consider_constant)
    _check_complex(expression, targets, stop)
    if sparse:
        return like(wrt, [sparse_jacobian(expression, x, stop, policy, pattern) for x in targets])
    columns = {
        x: _by_columns(expression, x, vectorize) for x in targets if not stop and _is_forward_shorter(expression, x)
    }
    others = [x for x in targets if columns.get(x) is None]
    rows = iter(_by_rows(expression, others, stop, policy, vectorize) if others else [])
    found = (next(rows) if columns.get(x) is None else columns[x] for x in targets)
    return like(wrt, [_known_holomorphic(one, expression) for one in found])


@remembers("cost")
@coerced
def hessian(
    cost: Variable,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
    vectorize: bool = True,
    sparse: bool = False,
    pattern: Any = None,
) -> Any:
    """∂²cost/∂x[i]∂x[j] for each vector x in wrt, of shape (n, n), without the blocks of two of them; container as wrt.

    consider_constant: as in `grad`, for both derivatives.
    disconnected_inputs: as in `grad`, for the first derivative; where the second one vanishes it is zeros.
    vectorize, sparse, pattern: as in `jacobian`; a sparse Hessian is evaluated by a star colouring.

    Raises: GraphTypeError for a cost or wrt that is not a variable, GraphValueError for a cost that is not a scalar or
    an x that is not a vector; the errors of `jacobian`.
    """
    if not isinstance(cost, Variable):
        raise GraphTypeError(f"cost must be a variable, not {type(cost).__name__} {cost!r:.40}")
    if cost.ndim != 0:
        raise GraphValueError(
            "hessian: cost must be a scalar", lines=[cost.describe()], hint="take the sum or the mean"
        )
    targets = as_variables(wrt, "wrt")
    _check_real("hessian", targets)
    for x in targets:
        if x.ndim != 1:
            raise GraphValueError(
                "hessian: every variable in wrt must be a vector", lines=[x.describe()], hint="flatten the variable"
            )
    stop = as_constants(consider_constant)
    derivatives = grad(cost, targets, stop, disconnected_inputs, add_names=False)
    if sparse and not stop:
        return like(
            wrt, [sparse_hessian(derivative, x, pattern) for derivative, x in zip(derivatives, targets, strict=True)]
        )
    return like(
        wrt,
        [
            jacobian(derivative, x, stop, "ignore", vectorize, sparse, pattern)
            for derivative, x in zip(derivatives, targets, strict=True)
        ],
    )


def _check_real(name: str, variables: Sequence[Variable]) -> None:
    """Check that x is real: a complex matrix cannot hold a map that is only linear over the reals.

    Raises: GraphTypeError for a complex variable
    """
    for x in variables:
        if dtypes.is_complex(x.dtype):
            hint = "make it of real variables with complex(x, y), or take the jacobian of a jacobian"
            raise GraphTypeError(f"{name}: {x} is complex", lines=[x.describe()], hint=hint)


def _check_complex(expression: Variable, targets: Sequence[Variable], stop: Sequence[Variable]) -> None:
    """Raises: GraphTypeError for a real expression of a complex variable, UnsupportedError if it is not holomorphic."""
    for x in targets:
        if not dtypes.is_complex(x.dtype):
            continue
        if not dtypes.is_complex(expression.dtype):
            hint = "use grad of real scalars, or make it of real variables with complex(x, y)"
            raise GraphTypeError(
                f"jacobian: {x} is complex, and the expression is real",
                lines=[expression.describe(), x.describe()],
                hint=hint,
            )
        check_holomorphic("jacobian", expression, x, stop)


def _known_holomorphic(found: Variable | None, expression: Variable) -> Variable:
    """Mark a Jacobian as holomorphic in all variables in which the expression is holomorphic."""
    assert found is not None
    return holomorphic_in(found, expression) if dtypes.is_complex(found.dtype) else found


def _is_forward_shorter(expression: Variable, x: Variable) -> bool:
    """Is a forward sweep provably shorter than a backward one? False if the modes differ, as for clipped cotangents."""
    if expression.ndim == 0:
        return False
    size, rows = _static_size(x), _static_size(expression)
    is_smaller = size is not None and (size == 1 if rows is None else size < rows)
    return is_smaller and is_dual([expression], [x])


def _static_size(x: Variable) -> int | None:
    extents = [extent for extent in x.static_shape if extent is not None]
    return math.prod(extents) if len(extents) == x.ndim else None


def _by_rows(expression: Variable, targets: Variables, stop: Variables, policy: str, vectorize: bool) -> list[Variable]:
    """Jacobians by one backward sweep, batched over cotangents that are the rows of an identity."""
    if dtypes.is_complex(expression.dtype) and not all(dtypes.is_complex(x.dtype) for x in targets):
        return _by_rows_of_parts(expression, targets, stop, policy, vectorize)
    dtype = float_of(expression)
    if expression.ndim == 0:
        return list(pullback(expression, list(targets), constant(1, dtype=dtype), stop, policy))
    slot = Variable(TensorType(dtype, expression.tensor_type.shape))
    terms = pullback(expression, list(targets), slot, stop, policy)
    rows = _samples(terms, slot, expression, vectorize)
    if expression.ndim == 1:
        return rows
    shape = extents_of(expression)
    return [reshape(row, [*shape, *extents_of(x)]) for row, x in zip(rows, targets, strict=True)]


def _by_rows_of_parts(
    expression: Variable, targets: Sequence[Variable], stop: Sequence[Variable], policy: str, vectorize: bool
) -> list[Variable]:
    """Jacobians of a complex expression by one backward sweep per part for real targets, one for complex targets."""
    reals = [x for x in targets if not dtypes.is_complex(x.dtype)]
    others = [x for x in targets if dtypes.is_complex(x.dtype)]
    parts = [_by_rows(part, reals, stop, policy, vectorize) for part in (real(expression), imag(expression))]
    pairs = (join_parts(*both) for both in zip(*parts, strict=True))
    rows = iter(_by_rows(expression, others, stop, policy, vectorize) if others else [])
    return [next(rows) if dtypes.is_complex(x.dtype) else next(pairs) for x in targets]


def _by_columns(expression: Variable, x: Variable, vectorize: bool) -> Variable | None:
    """The Jacobian by one forward sweep, batched over the rows of an identity; None if x has no effect."""
    dtype = float_of(x)
    slot = Variable(TensorType(dtype, x.tensor_type.shape)) if x.ndim else constant(1, dtype=dtype)
    (tangent,) = push([expression], [x], [slot])
    if not has_value(tangent):
        return None
    if is_float(x):
        is_widened = dtypes.is_complex(tangent.dtype) and not dtypes.is_complex(dtype)
        tangent = cast(tangent, dtypes.complex_of(dtype) if is_widened else dtype)
    if x.ndim == 0:
        return tangent
    (columns,) = _samples([tangent], slot, x, vectorize)
    split = reshape(columns, [*extents_of(x), *extents_of(expression)])
    return moveaxis(split, range(x.ndim), range(expression.ndim, expression.ndim + x.ndim))


def _samples(terms: Sequence[Variable], slot: Variable, like: Variable, vectorize: bool) -> list[Variable]:
    """The terms with every row of an identity of the shape of `like` substituted for `slot`, as a batch or a loop."""
    if not vectorize:
        return _rows_by_loop(terms, slot, like)
    identity = _identity(like, slot.dtype)
    found = batch(terms, {slot: identity})
    return [new if new.ndim > old.ndim else repeated(new, identity) for new, old in zip(found, terms, strict=True)]


def _rows_by_loop(terms: Sequence[Variable], slot: Variable, like: Variable) -> list[Variable]:
    """The terms with every row of an identity of the shape of `like` substituted for `slot`, by a loop."""
    extents = extents_of(like)
    numbers = arange(product(extents))

    def row(number: Variable) -> list[Variable]:
        unit = reshape(cast(eq(numbers, number), slot.dtype), extents)
        found = replace(list(terms), {slot: unit})
        return [as_pair(x) if dtypes.is_complex(x.dtype) else x for x in found]

    found = Loop(row, numbers, None, None).run(-1, "jacobian", frugal=True)[0]
    return [from_pair(x) if dtypes.is_complex(term.dtype) else x for x, term in zip(found, terms, strict=True)]


def _identity(x: Variable, dtype: str) -> Variable:
    """The (x.size, …) identity: row i is 1 at element i of x in C order, and has the shape of x."""
    extents = extents_of(x)
    rows = cast(eye(product(extents), dtype=dtypes.part_of(dtype)), dtype)
    return rows if x.ndim == 1 else reshape(rows, [product(extents), *extents])
