"""Translate the body of a kernel, a Python function (`aotensor.kernels`), to loops.

    def scaled(n: Index, a: Real, x: Reals) -> None:
        for i in range(n):                            →      scf.for %i = 0 to %n {
            x[i] = a * x[i]                                    memref.store %a · %x[%i] … }

`inline_kernel` translates into the function under construction, `functions.call_kernel` into one of its own. A variable
that a loop or branch assigns is carried (an SSA block argument) if it has a value before; otherwise it is local to the
body. Numbers that are known when compiling (literals, names of the module, arguments) are folded, and decide branches.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final

from xdsl.ir import SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.kernels.source import VECTORS, Kernel, stored_names
from aotensor.passes.kernels.expressions import Argument, Expressions, Value
from aotensor.passes.kernels.op_context import OpContext
from aotensor.passes.kernels.values import Number, Vector, as_vector, number_of, own_dtype
from aotensor.passes.kernels.work import work_of

_RANGES: Final[Mapping[str, Mapping[str, Any]]] = {
    "range": {},
    "vectorised": {"is_unrolled": False},
    "serial": {"is_vectorisable": False},
    "rolled": {"is_vectorisable": False, "is_unrolled": False},
}
"""Range → how its loop is built."""
_DTYPES: Final = {"Index": "index", "Word": "int64", "Bool": "bool"}
"""Annotation → the dtype of a number."""


def inline_kernel(
    b: LoopBuilder, kernel: Kernel, *arguments: Argument, real: str = "float64", context: OpContext | None = None
) -> list[Number]:
    """Translate a kernel, and those that it calls, into the function under construction; return its results.

    Arguments that are Python numbers are constants of the kernel; None is a vector that nobody reads. real: the dtype
    of `Real`. context: of the kernel of a user's op.

    Raises: KernelError with the line of code outside of the language.
    """
    with b.active():
        return Translation(b, kernel, real, context=context).run(arguments)


class Translation(Expressions):
    """Translates the statements of one kernel."""

    def run(self, arguments: Sequence[Argument]) -> list[Number]:
        """Translate the body for these arguments; return the results."""
        for (name, annotation), x in zip(self.source.arguments, arguments, strict=True):
            self.values[name] = self.given(name, annotation, x)
        *body, last = self.source.tree.body
        if not isinstance(last, ast.Return):
            self.block([*body, last])
            return []
        self.block(body)
        match last.value:
            case None:
                return []
            case ast.Tuple(elts=parts):
                return [self.number(x) for x in parts]
            case ast.Call() as call:
                return self.call(call)
            case value:
                return [self.number(value)]

    def given(self, name: str, annotation: str, x: Argument) -> Value:
        """An argument as the value of a variable of its annotation."""
        if annotation in self.source.records and isinstance(x, tuple | Mapping):
            parts = x if isinstance(x, tuple) else x.values()
            fields = zip(self.source.records[annotation], parts, strict=True)
            return {field: self.given(f"{name}.{field}", kind, one) for (field, kind), one in fields}
        if isinstance(x, SSAValue | Vector):
            x = as_vector(x, annotation)
        if isinstance(x, tuple | Mapping) or isinstance(x, Vector | None) != (annotation in VECTORS):
            raise self.source.error(self.source.tree, f"{name}, of type {annotation}, is given as another type")
        return Scalar(x.ssa, _DTYPES.get(annotation, x.dtype)) if isinstance(x, Scalar) else x

    def inlined(self, callee: Kernel, arguments: Sequence[Argument]) -> list[Number]:
        return Translation(self.b, callee, self.real, self.caller, self.context).run(arguments)

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, statement: ast.stmt) -> None:
        if self.context is not None:
            self.context.locate(self.b, self.source, statement)
        match statement:
            case ast.Expr(value=ast.Constant(value=str())):
                pass  # the docstring
            case ast.Expr(value=ast.Call() as call):
                self.call(call)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.values[name] = self.value(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                self.assign_each(statement, targets, value)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self.store(target, self.number(value))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                self.values[name] = self.binary(statement, op, self.number(target), self.number(value))
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                self.store(target, self.binary(statement, op, self.fetch(target), self.number(value)))
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id=kind), args=bounds), orelse=[]):
                self.loop(statement, name, kind, bounds)
            case ast.While(test=test, body=body, orelse=[]):
                self.loop_while(test, body)
            case ast.If(test=test, body=body, orelse=otherwise):
                self.branch(test, body, otherwise)
            case _:
                raise self.source.unknown(statement)

    def assign_each(self, statement: ast.stmt, targets: Sequence[ast.expr], value: ast.expr) -> None:
        """`a, b = …`: a tuple of expressions, or a call with several results."""
        match value:
            case ast.Tuple(elts=parts):
                found: Sequence[Value] = [self.value(x) for x in parts]
            case ast.Attribute(attr="shape"):
                found = self.extents(value)
            case ast.Call():
                found = self.call(value)
            case _:
                raise self.source.unknown(statement)
        if len(targets) != len(found):
            raise self.source.error(statement, f"{len(found)} values for {len(targets)} targets")
        for target, one in zip(targets, found, strict=True):
            match target:
                case ast.Name(id=name):
                    self.values[name] = one
                case ast.Subscript() if isinstance(one, Scalar | bool | int | float):
                    self.store(target, one)
                case _:
                    raise self.source.unknown(statement)

    def store(self, target: ast.Subscript, value: Number) -> None:
        vector = self.vector(target.value)
        if vector is None:
            return
        if vector.is_input:
            raise self.source.error(target, f"{ast.unparse(target.value)} is an input, which the kernel may only read")
        where = self.position(target, vector, True)
        vector.store(self.b, self.as_scalar(target, value, vector.dtype), *where)

    # --- loops and branches --------------------------------------------------------------------------------------

    def loop(self, statement: ast.For, name: str, kind: str, bounds: Sequence[ast.expr]) -> None:
        if name in self.values:
            raise self.source.error(statement, f"{name} has a value before the loop whose variable it is")
        start, stop, step = self.bounds(statement, bounds)
        body, carried = statement.body, self.assigned(statement.body)
        if kind in _RANGES:
            found = self.b.loop(
                start,
                stop,
                self.before(carried),
                lambda i, before: self.inside(body, {**dict(zip(carried, before, strict=True)), name: i}, carried),
                step,
                **_RANGES[kind],
            )
            self.values.update(zip(carried, found, strict=True))
        elif kind == "parallel":
            if carried or start != 0:
                what = "a loop on several cores assigns" if carried else "a loop on several cores starts at 0, not at"
                raise self.source.error(statement, f"{what} {next(iter(carried), start)}")
            self.on_cores(body, name, stop, step)
        elif kind == "unrolled":
            if not (isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)):
                raise self.source.error(statement, "the bounds of an unrolled loop must be known when compiling")
            for number in range(start, stop, step):
                known = [*self.values]
                self.values[name] = number
                self.block(body)
                self.values = {x: self.values[x] for x in known}
        else:
            raise self.source.unknown(statement.iter)

    def on_cores(self, body: Sequence[ast.stmt], name: str, stop: Extent, step: Extent) -> None:
        """Translate a parallel loop; that of a user's op by chunks, unless it has a step, and checked."""
        if self.context is None:
            self.b.parallel(stop, step, lambda i: self.alone(body, {name: i}))
            return
        counters = list[Scalar]()

        def iteration(i: Scalar) -> None:
            counters.append(i)
            self.alone(body, {name: i})

        def one_of_chunk(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            iteration(i)
            return ()

        def chunk(start: Scalar) -> None:
            self.b.loop(start, self.b.imin(start + size, stop), (), one_of_chunk)

        with self.context.checking(lambda: counters[-1], step):
            size = self.context.chunk_size(stop, work_of(self, body)) if step == 1 else step
            self.b.parallel(stop, size, chunk if step == 1 else iteration)

    def bounds(self, statement: ast.For, bounds: Sequence[ast.expr]) -> tuple[Extent, Extent, Extent]:
        """The start, stop and step of a range.   Raises: KernelError for a step that is known not to be positive"""
        match [self.extent(x) for x in bounds]:
            case [stop]:
                return 0, stop, 1
            case [start, stop]:
                return start, stop, 1
            case [start, stop, step]:
                if isinstance(step, int) and step <= 0:
                    raise self.source.error(statement, f"a step of {step}: steps are positive", hint=_DOWNWARDS)
                return start, stop, step
            case _:
                raise self.source.unknown(statement.iter)

    def loop_while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        carried = self.assigned(body)

        def goes_on(before: list[Scalar]) -> Scalar:
            outside = dict(self.values)
            self.values.update(zip(carried, before, strict=True))
            holds = self.flag(test, self.number(test))
            self.values = outside
            return holds

        def step(before: list[Scalar]) -> list[Scalar]:
            return self.inside(body, dict(zip(carried, before, strict=True)), carried)

        found = self.b.loop_while(self.before(carried), goes_on, step)
        self.values.update(zip(carried, found, strict=True))

    def branch(self, test: ast.expr, body: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
        condition = self.number(test)
        if not isinstance(condition, Scalar):
            self.block(body if condition else otherwise)
            return
        changed: dict[str, str | None] = {**self.assigned([*body, *otherwise])}
        on_other_side = _assigned_at_top(otherwise)
        for name in _assigned_at_top(body):
            if name in on_other_side:
                changed.setdefault(name, None)

        def other() -> list[Scalar]:
            return self.inside(otherwise, {}, changed)

        def first() -> list[Scalar]:
            found = self.inside(body, {}, changed)
            changed.update((name, x.dtype) for name, x in zip(changed, found, strict=True))
            return found

        found = self.b.branch(self.flag(test, condition), first, other)
        self.values.update(zip(changed, found, strict=True))

    def inside(
        self, body: Sequence[ast.stmt], given: Mapping[str, Scalar], wanted: Mapping[str, str | None]
    ) -> list[Scalar]:
        """Translate a body with the values of some variables given; return the final values of `wanted`.

        Other assignments stay local. wanted: variable → its dtype; None: any.
        """
        outside = dict(self.values)
        self.values.update(given)
        self.block(body)
        found = []
        for name, dtype in wanted.items():
            x = self.variable(name)
            if isinstance(x, Scalar) and dtype not in (None, x.dtype):
                raise self.source.error(body[-1], f"{name} is {dtype} before and {x.dtype} after")
            found.append(number_of(self.b, x, dtype or own_dtype(x, self.real)))
        self.values = outside
        return found

    def alone(self, body: Sequence[ast.stmt], given: Mapping[str, Scalar]) -> None:
        """Translate a body whose assignments all stay local."""
        self.inside(body, given, {})

    def assigned(self, body: Sequence[ast.stmt]) -> dict[str, str]:
        """The variables that a body assigns and that have a value before the body, with their dtypes."""
        names = [x for x in stored_names(body) if x.id in self.values]
        return {x.id: own_dtype(self.variable(x.id), self.real) for x in names}

    def before(self, carried: Mapping[str, str]) -> list[Scalar]:
        """The values of variables before a loop."""
        return [number_of(self.b, self.variable(name), dtype) for name, dtype in carried.items()]

    def variable(self, name: str) -> Number:
        """The number that a variable holds."""
        return self.number(ast.copy_location(ast.Name(name, ast.Load()), self.source.tree))


_DOWNWARDS: Final = "for a loop downwards, let k run upwards and use n - 1 - k"


def _assigned_at_top(body: Sequence[ast.stmt]) -> list[str]:
    """The variables that statements of a block, not those of its loops and branches, assign, in order."""
    return [x.id for x in stored_names([x for x in body if isinstance(x, ast.Assign)])]
