"""Structured functions: f of every stored entry, on the pattern of the matrix, with derivatives on that pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Final, TypeAlias

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor
from aotensor.graph.walk import evaluate_all
from aotensor.ops.elementwise import arithmetic, compare, elementary, powers, special
from aotensor.sparse.arithmetic.operands import CanonicalOp, is_literal
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import as_sparse, need_sparse, scipy_matrix

Function: TypeAlias = Callable[..., Variable]


@frozen_dataclass
class StructuredElemwise(CanonicalOp):
    """y = f(x, s, …) at the stored entries of a canonical matrix x; the pattern, explicit zeros included, stays.

    function: on dense tensors, elementwise. label: its name. literals: for every further argument the number it is, or
    None where it is an input: a scalar.

    Gradient: structured, z̄∘f′ at stored entries, and Σ z̄∘∂f/∂s over them. Types as `function`.
    """

    takes_blocks: ClassVar[bool] = True
    function: Function = field(repr=False)
    label: str
    literals: tuple[float | None, ...] = ()

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.label

    def on(self, data: Variable, scalars: Sequence[Variable]) -> Variable:
        """The function applied to the dense vector of stored entries."""
        pending = iter(scalars)
        return self.function(data, *(next(pending) if value is None else value for value in self.literals))

    def infer_type(self, x: TensorType, *scalars: TensorType) -> TensorType:
        x = need_sparse(self, x)
        for position, found in enumerate(scalars, 1):
            if found.rank != 0:
                raise GraphTypeError(f"{self.name}: argument {position} must be a scalar, not {found}")
        data = Variable(TensorType(x.dtype, (None,)))
        found = self.on(data, [Variable(type) for type in scalars]).tensor_type
        if found.rank != 1:
            raise GraphTypeError(
                f"{self.name}: the function must be elementwise, but it returns rank {found.rank} for a vector"
            )
        return x.with_dtype(found.dtype)

    def reference(self, x: Any, *scalars: Array) -> Any:
        data = Variable(TensorType(x.dtype.name, (None,) * x.data.ndim))
        slots = [Variable(TensorType(s.dtype.name)) for s in scalars]
        values = dict(zip([data, *slots], [x.data, *scalars], strict=True))
        (found,) = evaluate_all([self.on(data, slots)], values)
        return scipy_matrix(x.format, found, x.indices, x.indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        p = parts_of(inputs[0])
        return [matrix_of(replace(p, data=self.on(p.data, inputs[1:])))]


def structured(function: Function, label: str, doc: str = "") -> Function:
    """The structured form of an elementwise function on dense tensors, called `label`."""

    def on_sparse(x: Any, *arguments: Any) -> Variable:
        matrix = as_sparse(x)
        literals = tuple(value if is_literal(value) else None for value in arguments)
        scalars = [as_tensor(value) for value, literal in zip(arguments, literals, strict=True) if literal is None]
        return StructuredElemwise(function, label, literals)(matrix, *scalars)  # type: ignore[no-any-return]

    on_sparse.__name__ = on_sparse.__qualname__ = label
    on_sparse.__doc__ = doc or (
        f"`{label.removeprefix('structured_')}` of every stored entry of a sparse matrix; structured.\n\n"
        "    Raises: GraphTypeError for a dense matrix, or a further argument that is not a scalar.\n    "
    )
    return on_sparse


@coerced
def structured_elemwise(function: Function) -> Callable[[Callable[..., Any]], Function]:
    """Decorator: the structured form of an elementwise function, with name and docstring of what it decorates.

    @structured_elemwise(at.cos)
    def structured_cos(x): \"\"\"cos of stored entries\"\"\"
    """

    def decorated(signature: Callable[..., Any]) -> Function:
        return structured(function, signature.__name__, signature.__doc__ or "")

    return decorated


structured_monoid = structured_elemwise

# --- the table -------------------------------------------------------------------------------------------------------

structured_sigmoid: Final = structured(special.sigmoid, "structured_sigmoid")
structured_exp: Final = structured(elementary.exp, "structured_exp")
structured_log: Final = structured(elementary.log, "structured_log")
structured_pow: Final = structured(powers.pow, "structured_pow")
structured_minimum: Final = structured(arithmetic.minimum, "structured_minimum")
structured_maximum: Final = structured(arithmetic.maximum, "structured_maximum")
structured_add: Final = structured(arithmetic.add, "structured_add")

ZERO_PRESERVING: Final[dict[str, Function]] = {
    name: structured(getattr(module, name), f"structured_{name}")
    for module, names in (
        (
            elementary,
            "sin arcsin tan arctan sinh arcsinh tanh arctanh deg2rad rad2deg log1p expm1 sqrt cbrt",
        ),
        (arithmetic, "sign sqr abs"),
        (compare, "ceil floor trunc rint round_half_to_even round_half_away_from_zero"),
        (special, "erf xlogx"),
    )
    for name in names.split()
}
"""Functions with f(0) = 0, by the name of the dense one: these mean the same on the whole matrix."""

sin = structured_sin = ZERO_PRESERVING["sin"]
arcsin = structured_arcsin = ZERO_PRESERVING["arcsin"]
tan = structured_tan = ZERO_PRESERVING["tan"]
arctan = structured_arctan = ZERO_PRESERVING["arctan"]
sinh = structured_sinh = ZERO_PRESERVING["sinh"]
arcsinh = structured_arcsinh = ZERO_PRESERVING["arcsinh"]
tanh = structured_tanh = ZERO_PRESERVING["tanh"]
arctanh = structured_arctanh = ZERO_PRESERVING["arctanh"]
deg2rad = structured_deg2rad = ZERO_PRESERVING["deg2rad"]
rad2deg = structured_rad2deg = ZERO_PRESERVING["rad2deg"]
log1p = structured_log1p = ZERO_PRESERVING["log1p"]
expm1 = structured_expm1 = ZERO_PRESERVING["expm1"]
sqrt = structured_sqrt = ZERO_PRESERVING["sqrt"]
ceil = structured_ceil = ZERO_PRESERVING["ceil"]
floor = structured_floor = ZERO_PRESERVING["floor"]
trunc = structured_trunc = ZERO_PRESERVING["trunc"]
rint = structured_rint = ZERO_PRESERVING["rint"]
sign = sgn = structured_sign = structured_sgn = ZERO_PRESERVING["sign"]
sqr = square = structured_sqr = structured_square = ZERO_PRESERVING["sqr"]
abs = structured_abs = ZERO_PRESERVING["abs"]
