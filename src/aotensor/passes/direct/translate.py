"""Translate kernels written in Python (`sparse.direct.kernels`) to functions of the loop level.

    def scaled(n: Index, a: Real, x: Reals) -> None:       func.func private @aot_direct.scaled.f64(%n, %a, %x) {
        for i in range(n):                            →      scf.for %i = 0 to %n {
            x[i] = a * x[i]                                    memref.store %a · %x[%i] … } }

A kernel has one function for each combination of dtypes of its vectors, in a separate module: it is compiled once per
machine (`codegen.parts`). A variable that a loop or branch assigns is carried (an SSA block argument) if it has a value
before; otherwise it is local to the body.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType, MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotensor.errors import InternalError
from aotensor.ir.loop_builder import LoopBuilder, memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import dtype_of_buffer, element_type, index
from aotensor.ir.upstream import walk
from aotensor.passes.outlining.outline import NO_ALIAS
from aotensor.sparse.direct import cholesky, kernels, lu, lu_solve, ordering, selected_inverse, triangle

PREFIX: Final = "aot_direct."

Kernel: TypeAlias = "Callable[..., Any]"

KERNELS: Final = {
    x.__name__: x
    for module in (cholesky, lu, lu_solve, ordering, selected_inverse, triangle)
    for x in vars(module).values()
    if inspect.isfunction(x) and x.__module__ == module.__name__
}
"""The kernels, by name."""

_ARITHMETIC: Final = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "div",
    ast.Mod: "rem",
}
_COMPARISONS: Final = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_FUNCTIONS: Final = {"abs": "abs", "min": "minimum", "max": "maximum"}


def call_kernel(
    b: LoopBuilder, module: ModuleOp, kernel: Kernel, arguments: Sequence[Scalar | SSAValue], dtype: str
) -> Scalar | None:
    """Call a kernel with scalars and 1-D buffers; declare it in the module if needed.

    dtype: the dtype of its floats. Returns the index that the kernel returns, or None.
    """
    values = [x.ssa if isinstance(x, Scalar) else x for x in arguments]
    kinds = [x.type for x in values]
    widths = [str(_bits(x)) for x in kinds if isinstance(x, MemRefType) and isinstance(x.element_type, IntegerType)]
    symbol = ".".join([f"{PREFIX}{kernel.__name__}", dtype.replace("float", "f"), *widths])
    results = [index] if _returns(kernel) else []
    if not any(isinstance(op, func.FuncOp) and op.sym_name.data == symbol for op in module.body.block.ops):
        module.body.block.add_op(func.FuncOp.external(symbol, kinds, results))
    call = func.CallOp(symbol, values, results)
    b.builder.insert(call)
    return Scalar(call.results[0], "index") if results else None


def declared_kernels(symbols: Iterable[str]) -> list[str]:
    """Filter a sequence of symbols: return the names of kernels."""
    return [x for x in symbols if x.startswith(PREFIX)]


def kernel_module(symbol: str) -> ModuleOp:
    """Return a module that defines one kernel and the kernels that it calls."""
    module = ModuleOp([])
    wanted = [symbol]
    for name in wanted:  # grows: a kernel may call further ones
        _define(module, name)
        known = [op.sym_name.data for op in module.body.block.ops if isinstance(op, func.FuncOp) and op.body.blocks]
        calls = (op.callee.string_value() for op in walk(module) if isinstance(op, func.CallOp))
        wanted += [x for x in dict.fromkeys(calls) if x not in known and x not in wanted]
    for op in [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and op.is_declaration]:
        Rewriter.erase_op(op)
    return module


def _define(module: ModuleOp, symbol: str) -> None:
    """Define the function of a symbol, which encodes the kernel's name and the dtypes of its vector arguments."""
    name, number, *widths = symbol.removeprefix(PREFIX).split(".")
    kernel, dtype, integers = KERNELS[name], number.replace("f", "float"), iter(widths)
    kinds: list[Attribute] = []
    for kind in _annotations(kernel):
        match kind:
            case "Index":
                kinds.append(index)
            case "Real":
                kinds.append(element_type(dtype))
            case "Indices":
                kinds.append(vector_type(f"int{next(integers)}"))
            case _:
                kinds.append(vector_type(dtype))
    op = func.FuncOp(symbol, (kinds, [index] if _returns(kernel) else []), visibility="private")
    op.attributes[NO_ALIAS] = UnitAttr()
    module.body.block.add_op(op)
    b = LoopBuilder(Builder(InsertPoint.at_end(op.body.block)))
    _Translation(b, module, kernel, dtype).run(op.body.block.args)


def _annotations(kernel: Kernel) -> list[str]:
    """The annotations of the kernel's arguments, as written in its source."""
    return [str(kind) for name, kind in kernel.__annotations__.items() if name != "return"]


def _returns(kernel: Kernel) -> bool:
    return bool(kernel.__annotations__["return"] == "Index")


def _bits(kind: MemRefType[Attribute]) -> int:
    assert isinstance(kind.element_type, IntegerType)
    return int(kind.element_type.width.data)


@cache
def _definition(kernel: Kernel) -> ast.FunctionDef:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kernel))).body
    assert isinstance(definition, ast.FunctionDef)
    return definition


class _Translation:
    """Translates the body of one kernel. values: variable name → scalar or buffer, at the current statement."""

    def __init__(self, b: LoopBuilder, module: ModuleOp, kernel: Kernel, dtype: str) -> None:
        self.b, self.module, self.kernel, self.dtype = b, module, kernel, dtype
        self.definition = _definition(kernel)
        self.values: dict[str, Scalar | SSAValue] = {}

    def run(self, arguments: Sequence[SSAValue]) -> None:
        for argument, x in zip(self.definition.args.args, arguments, strict=True):
            dtype = {"Index": "index", "Real": self.dtype}.get(self.kernel.__annotations__[argument.arg])
            self.values[argument.arg] = x if dtype is None else Scalar(x, dtype)
            x.name_hint = argument.arg
        *body, last = self.definition.body
        results: list[SSAValue] = []
        if isinstance(last, ast.Return) and last.value is not None:
            self.block(body)
            results = [self.number(last.value).ssa]
        else:
            self.block([*body, last])
        self.b.builder.insert(func.ReturnOp(*results))

    # --- statements ----------------------------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Expr(value=ast.Constant()):
                pass  # the docstring
            case ast.Expr(value=ast.Call() as call):
                self.call(call)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.values[name] = self.number(value)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self.store(target, self.number(value))
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=bounds), body=body):
                self.loop(name, [self.number(x) for x in bounds], body)
            case ast.While(test=test, body=body):
                self.loop_while(test, body)
            case ast.If(test=test, body=body, orelse=otherwise):
                self.branch(test, body, otherwise)
            case _:
                raise self.unknown(statement)

    def loop(self, name: str, bounds: Sequence[Scalar], body: Sequence[ast.stmt]) -> None:
        start, stop = bounds if len(bounds) == 2 else (self.b.index(0), bounds[0])
        carried = [x for x in self.assigned(body) if x != name]

        def step(i: Scalar, before: list[Scalar]) -> list[Scalar]:
            return self.inside(body, {**dict(zip(carried, before, strict=True)), name: i}, carried)

        found = self.b.loop(start, stop, [self.scalar(x) for x in carried], step)
        self.values.update(zip(carried, found, strict=True))

    def loop_while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        carried = self.assigned(body)

        def goes_on(before: list[Scalar]) -> Scalar:
            outside = dict(self.values)
            self.values.update(zip(carried, before, strict=True))
            holds = self.number(test)
            self.values = outside
            return holds

        def step(before: list[Scalar]) -> list[Scalar]:
            return self.inside(body, dict(zip(carried, before, strict=True)), carried)

        found = self.b.loop_while([self.scalar(x) for x in carried], goes_on, step)
        self.values.update(zip(carried, found, strict=True))

    def branch(self, test: ast.expr, body: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
        changed = self.assigned([*body, *otherwise])
        condition = self.number(test)
        found = self.b.branch(
            condition, lambda: self.inside(body, {}, changed), lambda: self.inside(otherwise, {}, changed)
        )
        self.values.update(zip(changed, found, strict=True))

    def inside(self, body: Sequence[ast.stmt], given: dict[str, Scalar], wanted: Sequence[str]) -> list[Scalar]:
        """Translate a body with the values of some variables given; return the final values of `wanted`.

        Assignments stay local.
        """
        outside = dict(self.values)
        self.values.update(given)
        self.block(body)
        found = [self.scalar(x) for x in wanted]
        self.values = outside
        return found

    def assigned(self, body: Sequence[ast.stmt]) -> list[str]:
        """The names that a body assigns and that have a value before the body."""
        names = (
            x.id for part in body for x in ast.walk(part) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
        )
        return [x for x in dict.fromkeys(names) if x in self.values]

    def store(self, target: ast.Subscript, value: Scalar) -> None:
        buffer, at = self.element(target)
        if value.dtype == "index":
            value = self.b.cast(value, dtype_of_buffer(buffer))
        self.b.store(value, buffer, [at])

    # --- expressions ---------------------------------------------------------------------------------------------

    def number(self, expression: ast.expr) -> Scalar:
        b = self.b
        match expression:
            case ast.Constant(value=bool() | str()):
                raise self.unknown(expression)
            case ast.Constant(value=int() as value):
                return b.index(value)
            case ast.Constant(value=float() as value):
                return b.constant(value, self.dtype)
            case ast.Name(id=name):
                return self.scalar(name)
            case ast.BinOp(left=left, op=op, right=right):
                verb = getattr(b, _ARITHMETIC[type(op)])
                return verb(self.number(left), self.number(right))  # type: ignore[no-any-return]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return b.neg(self.number(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return b.not_(self.number(operand))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return b.compare(_COMPARISONS[type(op)], self.number(left), self.number(right))
            case ast.BoolOp(op=op, values=values):
                return self.lazily(values, isinstance(op, ast.And))
            case ast.Subscript():
                buffer, at = self.element(expression)
                read = b.fetch(buffer, [at], dtype_of_buffer(buffer))
                return read if read.dtype == self.dtype else b.cast(read, "index")
            case ast.Call():
                found = self.call(expression)
                assert found is not None
                return found
            case _:
                raise self.unknown(expression)

    def lazily(self, values: Sequence[ast.expr], is_and: bool) -> Scalar:
        """Translate `and` or `or` with short-circuit evaluation."""
        first, *rest = values
        found = self.number(first)
        if not rest:
            return found
        more, decided = lambda: [self.lazily(rest, is_and)], lambda: [self.b.constant(not is_and, "bool")]
        return self.b.branch(found, *((more, decided) if is_and else (decided, more)))[0]

    def call(self, call: ast.Call) -> Scalar | None:
        assert isinstance(call.func, ast.Name)
        name = call.func.id
        if name in _FUNCTIONS:
            x: Scalar = getattr(self.b, _FUNCTIONS[name])(*(self.number(x) for x in call.args))
            return x
        callee = self.kernel.__globals__[name]
        if callee is kernels.root:
            wide = self.b.cast(self.number(call.args[0]), "float64")
            return self.b.cast(self.b.math("sqrt", wide), "index")
        arguments = [self.values[x.id] if isinstance(x, ast.Name) else self.number(x) for x in call.args]
        return call_kernel(self.b, self.module, callee, arguments, self.dtype)

    def element(self, expression: ast.Subscript) -> tuple[SSAValue, Scalar]:
        assert isinstance(expression.value, ast.Name)
        buffer = self.values[expression.value.id]
        assert isinstance(buffer, SSAValue)
        return buffer, self.number(expression.slice)

    def scalar(self, name: str) -> Scalar:
        found = self.values.get(name)
        if not isinstance(found, Scalar):
            raise InternalError(f"kernel {self.kernel.__name__}: {name} is not a number here")
        return found

    def unknown(self, node: ast.stmt | ast.expr) -> InternalError:
        return InternalError(f"kernel {self.kernel.__name__}: not one of the forms that compile: {ast.unparse(node)}")


def vector_type(dtype: str) -> MemRefType[Attribute]:
    """memref<?xT>, the type of vector arguments of kernels, for dtype T."""
    return memref_type_of(element_type(dtype), [None])
