"""Translate expressions of kernels: arithmetic, comparisons, elements, conditional expressions and calls.

Numbers that are known when compiling are folded. `and`, `or` and conditional expressions evaluate both operands if
these read no memory, call no kernel and divide nothing; otherwise they branch, as Python does.
"""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from xdsl.ir import SSAValue

from aotensor.core.dtypes import INDEX, is_float
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.kernels import language
from aotensor.kernels.source import Kernel, source_of
from aotensor.passes.kernels.op_context import Access, OpContext
from aotensor.passes.kernels.values import FUNCTIONS, MATH, Number, Vector, allocate_vector, number_of, own_dtype

Value: TypeAlias = "Number | Vector | Mapping[str, Value] | None"
"""A number, a vector, a record, or None for a vector that nobody reads, whose stores are dropped."""
Argument: TypeAlias = "Value | SSAValue | tuple[Any, ...]"
"""An argument of a kernel: a value, a 1-D buffer, or a NamedTuple with the fields of a record."""

_ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}
_EXTREMES: Final = {"min": ("minimum", "imin", min), "max": ("maximum", "imax", max)}


class Caller(Protocol):
    """Calls kernels that are functions of their own."""

    def __call__(self, b: LoopBuilder, kernel: Kernel, arguments: Sequence[Argument], real: str) -> list[Number]: ...


class Expressions:
    """Translates expressions of one kernel. values: variable → number or vector, at the current statement.

    real: the dtype of `Real`. caller: calls other kernels; None to inline them. context: of the kernel of a user's op;
    None for a kernel of the compiler.
    """

    def __init__(
        self, b: LoopBuilder, kernel: Kernel, real: str, caller: Caller | None = None, context: OpContext | None = None
    ) -> None:
        self.b, self.real, self.caller, self.context = b, real, caller, context
        self.source = source_of(kernel)
        self.values: dict[str, Value] = {}

    def inlined(self, callee: Kernel, arguments: Sequence[Argument]) -> list[Number]:
        """Translate a call in place; the translation of statements overrides it."""
        raise NotImplementedError

    def value(self, expression: ast.expr) -> Value:
        """Translate an expression, or return the vector or record that it names."""
        match expression:
            case ast.Name() | ast.Attribute():
                return self.named(expression)
            case ast.Constant(value=None):
                return None
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                condition = self.number(test)
                if isinstance(condition, Scalar):
                    return self.choice(expression, condition, body, otherwise)
                return self.value(body if condition else otherwise)
            case ast.Call(func=ast.Name(id="alloc"), args=[like, *extents]):
                vector = self.vector(like)
                if vector is None:
                    raise self.source.error(expression, "alloc needs the vector whose dtype it copies")
                return vector.allocated(self.b, [self.extent(n) for n in extents])
            case ast.Call(func=ast.Name(id=("alloc_words" | "alloc_indices") as name), args=[n]):
                return allocate_vector(self.b, "int64" if name == "alloc_words" else INDEX, self.extent(n))
            case _:
                return self.number(expression)

    def number(self, expression: ast.expr) -> Number:
        """Translate an expression whose value is a number."""
        match expression:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name() | ast.Attribute():
                found = self.named(expression)
                if isinstance(found, Scalar | bool | int | float):
                    return found
                raise self.source.error(expression, f"{ast.unparse(expression)} is not a number")
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(expression, op, self.number(left), self.number(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                x = self.number(operand)
                return -x
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                x = self.number(operand)
                return ~self.flag(operand, x) if isinstance(x, Scalar) else not x
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                x = self.number(operand)
                return ~x if isinstance(x, Scalar) else ~int(x)
            case ast.Compare(left=left, ops=ops, comparators=rights):
                return self.comparison(expression, left, ops, rights)
            case ast.BoolOp(op=op, values=values):
                return self.logic(values, isinstance(op, ast.And))
            case ast.IfExp():
                found = self.value(expression)
                assert isinstance(found, Scalar | bool | int | float)
                return found
            case ast.Subscript():
                return self.fetch(expression)
            case ast.Call():
                results = self.call(expression)
                if len(results) != 1:
                    raise self.source.error(expression, f"{len(results)} results are used as one")
                return results[0]
            case _:
                raise self.source.unknown(expression)

    def named(self, node: ast.expr) -> Value:
        """The value of a variable, of a field of a record, or of a constant of the kernel's module."""
        match node:
            case ast.Name(id=name) if name in self.values:
                return self.values[name]
            case ast.Name(id=name) if isinstance(known := self.source.outer(name), bool | int | float):
                return known
            case ast.Attribute(value=ast.Name() as record, attr=name) if isinstance(
                fields := self.named(record), Mapping
            ):
                return fields[name]
            case ast.Name(id=name):
                raise self.source.error(
                    node, f"{name} may have no value here", hint="assign it before the loop or branch"
                )
            case _:
                raise self.source.unknown(node)

    def scalar(self, expression: ast.expr, dtype: str | None = None) -> Scalar:
        """Translate an expression to a scalar, of a certain dtype if one is given."""
        x = self.number(expression)
        return self.as_scalar(expression, x, dtype or own_dtype(x, self.real))

    def as_scalar(self, node: ast.AST, x: Number, dtype: str) -> Scalar:
        found = number_of(self.b, x, dtype)
        if found.dtype != dtype:
            raise self.source.error(node, f"{found.dtype} where {dtype} is needed", hint=_CASTS)
        return found

    def flag(self, node: ast.AST, x: Number) -> Scalar:
        """A truth value as a scalar."""
        return self.as_scalar(node, x, "bool")

    def extent(self, expression: ast.expr) -> Extent:
        """Translate an index."""
        x = self.number(expression)
        return x if isinstance(x, int) and not isinstance(x, bool) else self.as_scalar(expression, x, INDEX)

    def binary(self, node: ast.AST, op: ast.operator, x: Number, y: Number) -> Number:
        """x op y; both have one dtype, which a number known when compiling takes from the other one."""
        if type(op) not in _ARITHMETIC:
            raise self.source.unknown(node)
        function = _ARITHMETIC[type(op)]
        if isinstance(x, Scalar) or isinstance(y, Scalar):
            a, c = self.alike(node, x, y)
            if a.dtype != INDEX or not isinstance(op, ast.Add | ast.Sub | ast.Mult):  # sums of extents are folded
                x, y = a, c
            if isinstance(op, ast.FloorDiv):
                function = operator.truediv  # which truncates; the operands of a kernel are not negative
        return function(x, y)  # type: ignore[no-any-return]

    def alike(self, node: ast.AST, x: Number, y: Number) -> tuple[Scalar, Scalar]:
        """Two numbers as scalars of one dtype."""
        scalars = [n for n in (x, y) if isinstance(n, Scalar)]
        dtype = scalars[0].dtype if scalars else own_dtype(x, self.real)
        a, c = (number_of(self.b, n, dtype) for n in (x, y))
        if a.dtype != c.dtype:
            raise self.source.error(node, f"{a.dtype} and {c.dtype} are mixed", hint=_CASTS)
        return a, c

    def comparison(
        self, node: ast.expr, left: ast.expr, ops: Sequence[ast.cmpop], rights: Sequence[ast.expr]
    ) -> Number:
        """A comparison, or a chain of comparisons, all of which are evaluated."""
        x, found = self.number(left), None
        for op, right in zip(ops, rights, strict=True):
            if type(op) not in _COMPARISONS:
                raise self.source.unknown(node)
            y, (verb, on_numbers) = self.number(right), _COMPARISONS[type(op)]
            if isinstance(x, Scalar) or isinstance(y, Scalar):
                here: Number = self.b.compare(verb, *self.alike(node, x, y))
            else:
                here = bool(on_numbers(x, y))
            found = here if found is None else self.both(node, found, here, True)
            x = y
        assert found is not None
        return found

    def both(self, node: ast.AST, x: Number, y: Number, is_and: bool) -> Number:
        """x and y, or x or y, both evaluated."""
        for known, other in ((x, y), (y, x)):
            if not isinstance(known, Scalar):
                return other if bool(known) == is_and else not is_and
        one, other = self.flag(node, x), self.flag(node, y)
        return one & other if is_and else one | other

    def logic(self, values: Sequence[ast.expr], is_and: bool) -> Number:
        """`and` or `or`."""
        first, *rest = values
        found = self.number(first)
        if not rest:
            return found
        if not isinstance(found, Scalar):
            return self.logic(rest, is_and) if bool(found) == is_and else not is_and
        if all(self.is_cheap(x) for x in rest):
            return self.both(first, found, self.logic(rest, is_and), is_and)

        def more() -> list[Scalar]:
            return [self.flag(first, self.logic(rest, is_and))]

        def decided() -> list[Scalar]:
            return [self.b.constant(not is_and, "bool")]

        return self.b.branch(self.flag(first, found), *((more, decided) if is_and else (decided, more)))[0]

    def choice(self, node: ast.expr, condition: Scalar, body: ast.expr, otherwise: ast.expr) -> Scalar:
        """`body if condition else otherwise`"""
        if self.is_cheap(body) and self.is_cheap(otherwise):
            x, y = self.alike(node, self.number(body), self.number(otherwise))
            return self.b.select(self.flag(node, condition), x, y)
        sides = (lambda: [self.scalar(body)]), (lambda: [self.scalar(otherwise)])
        return self.b.branch(self.flag(node, condition), *sides)[0]

    def is_cheap(self, expression: ast.expr) -> bool:
        """May an expression be evaluated although its value is not needed, since it cannot fail and takes no time?"""
        for part in ast.walk(expression):
            if isinstance(part, ast.Subscript | ast.Div | ast.FloorDiv | ast.Mod):
                return False
            if isinstance(part, ast.Call):
                name = part.func.id if isinstance(part.func, ast.Name) else ""
                if name not in FUNCTIONS and name not in _EXTREMES and not self.is_cheap_kernel(name):
                    return False
        return True

    def is_cheap_kernel(self, name: str) -> bool:
        """Is a function an inlined kernel that returns a cheap expression?"""
        callee = self.source.outer(name)
        if callee is None or self.caller is not None:
            return False
        match source_of(callee).tree.body:
            case [*_, ast.Return(value=ast.expr() as value)] as body if len(body) <= 2:  # after the docstring
                return self.is_cheap(value)
        return False

    def fetch(self, expression: ast.Subscript) -> Number:
        """Read an element of a vector, or an extent `x.shape[axis]`."""
        match expression:
            case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant(value=int() as axis)):
                extents = self.extents(expression.value)
                if not 0 <= axis < len(extents):
                    raise self.source.error(expression, f"axis {axis} of an array of rank {len(extents)}")
                return extents[axis]
        vector = self.vector(expression.value)
        if vector is None:
            raise self.source.error(expression, "a vector that nobody reads is read")
        return vector.fetch(self.b, *self.position(expression, vector, False))

    def position(self, expression: ast.Subscript, vector: Vector, is_write: bool) -> tuple[Extent, ...]:
        """The position of an element that is read or written."""
        parts = expression.slice.elts if isinstance(expression.slice, ast.Tuple) else [expression.slice]
        where = tuple(self.extent(x) for x in parts)
        rank = 1 if vector.extents is None else len(vector.extents)
        if len(where) != rank:
            raise self.source.error(expression, f"{len(where)} positions in an array of rank {rank}")
        if any(isinstance(n, int) and n < 0 for n in where):
            raise self.source.error(
                expression, "a position is negative", hint="count from the front, as in x[len(x) - 1]"
            )
        if self.context is not None and self.context.accesses is not None:
            self.context.accesses.append(Access(self.source, expression, vector.buffer, where, is_write))
        return where

    def extents(self, expression: ast.expr) -> tuple[Extent, ...]:
        """The extents of the array `x` in `x.shape` or `len(x)`."""
        named = expression.value if isinstance(expression, ast.Attribute) else expression
        vector = self.vector(named)
        if vector is None or vector.extents is None:
            raise self.source.error(expression, "the extents of this vector are not known: pass them as arguments")
        return vector.extents

    def vector(self, expression: ast.expr) -> Vector | None:
        """The vector that an expression names."""
        found = self.named(expression)
        if not isinstance(found, Vector | None):
            raise self.source.error(expression, f"{ast.unparse(expression)} is not a vector")
        return found

    def call(self, call: ast.Call) -> list[Number]:
        """Translate a call of a builtin function or of another kernel."""
        if not isinstance(call.func, ast.Name) or call.keywords:
            raise self.source.unknown(call)
        name, b = call.func.id, self.b
        match name, call.args:
            case (("min" | "max"), [first, second]):
                verb, of_extents, on_numbers = _EXTREMES[name]
                x, y = self.number(first), self.number(second)
                if not isinstance(x, Scalar) and not isinstance(y, Scalar):
                    return [on_numbers(x, y)]
                a, c = self.alike(call, x, y)
                return [getattr(b, of_extents if a.dtype == INDEX else verb)(a, c)]
            case "len", [array]:
                return [self.extents(array)[0]]
            case "float", [argument]:
                x = self.number(argument)
                return [b.cast(x, self.real) if isinstance(x, Scalar) else float(x)]
            case _, [argument] if name in MATH:
                return [b.math(name, self.floating(argument))]
            case "power", [first, second]:
                return [b.math2("pow", *(self.floating(x) for x in (first, second)))]
            case "zero", [like] if (vector := self.vector(like)) is not None:
                return [b.constant(0, vector.dtype)]
            case "prefetch", [vector, k]:
                found = self.vector(vector)
                if found is not None:
                    b.prefetch(found.buffer, found.at(self.extent(k)))
                return []
            case _, [argument] if name in FUNCTIONS:
                x = self.number(argument)
                if name == "word" and not isinstance(x, Scalar):
                    return [b.constant(x, "int64")]
                return [FUNCTIONS[name](b, number_of(b, x, own_dtype(x, self.real)))]
        callee = self.source.outer(name)
        if not inspect.isfunction(callee) or callee.__module__ == language.__name__:
            raise self.source.unknown(call)
        if len(call.args) != len(source_of(callee).arguments):
            raise self.source.error(call, f"{name} has {len(source_of(callee).arguments)} arguments")
        arguments = [self.value(x) for x in call.args]
        if self.caller is None:
            return self.inlined(callee, arguments)
        return self.caller(b, callee, arguments, self.real)

    def floating(self, argument: ast.expr) -> Scalar:
        """An argument of an elementary function."""
        x = self.number(argument)
        found = number_of(self.b, x, self.real)
        if not is_float(found.dtype):
            raise self.source.error(argument, f"{found.dtype} where a float is needed", hint="convert with float(…)")
        return found


_CASTS: Final = "convert with int(…) to an index, with word(…) to a word, with float(…) to Real"
