"""Translate the kernels of an interface, which are functions of Python modules, to LLVM functions.

    def skip(at: Address, i: int) -> int:         define internal i64 @abi.skip(i64 %at, i64 %i) {
        while byte(at, i) == 32:             →      load, compare, branch
            i += 1                                  …
        return i                                  }

Locals are stack slots, which LLVM turns into registers. A kernel that is exported has the types of C in its signature.
A module's `VARIANTS`, symbol → (function, values of global names), are kernels that differ in constants only; the
function itself is then no kernel.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, Final

from aotensor.codegen.abi.language import ANNOTATIONS, Primitive, Table, Text, truth
from aotensor.codegen.entry.code import Code, number
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import (
    Function,
    Type,
    Value,
    constant,
    f64,
    function,
    i1,
    i8,
    i32,
    i64,
    mark_argument,
    pointer,
    void,
)
from aotensor.errors import InternalError

_ARITHMETIC: Final[dict[type[ast.operator], tuple[str, str]]] = {
    ast.Add: ("add", "fadd"), ast.Sub: ("sub", "fsub"), ast.Mult: ("mul", "fmul"), ast.Div: ("", "fdiv"),
    ast.FloorDiv: ("sdiv", ""), ast.Mod: ("srem", ""), ast.BitAnd: ("and_", ""), ast.BitOr: ("or_", ""),
    ast.BitXor: ("xor", ""), ast.LShift: ("shl", ""),
}  # fmt: skip
_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def add_kernels(
    constants: Constants,
    sources: Sequence[ModuleType],
    exported: Mapping[str, str],
    words: Sequence[Value | int | str],
    left_out: Collection[str] = (),
    prefix: str = "abi.",
) -> None:
    """Define the kernels of Python modules in an LLVM module.

    exported: exported kernel → its symbol. prefix: prefix of the other kernels' symbols. words: the words at `table()`,
    in order; a name stands for the address of a kernel, whose signature then has C types. left_out: kernels that are
    not defined, since nothing calls them.

    Raises: InternalError with the line of code outside of the language.
    """
    kernels = {name: one for source in sources for name, one in _kernels(source).items() if name not in left_out}
    of_c = {*exported, *(x for x in words if isinstance(x, str))}
    declared = {
        name: _declared(constants, exported.get(name, prefix + name), tree, name in of_c)
        for name, (tree, _) in kernels.items()
    }
    table = constants.words("abi.table", [declared[x] if isinstance(x, str) else x for x in words])
    for name, (tree, names) in kernels.items():
        _Body(constants, names, declared[name], declared, table, tree, name in of_c, name in exported).build()


@cache
def _kernels(source: ModuleType) -> dict[str, tuple[ast.FunctionDef, Mapping[str, Any]]]:
    """The functions of a module, private ones too, and its variants: name → tree, global names."""
    names = vars(source)
    trees = {x.name: x for x in ast.parse(inspect.getsource(source)).body if isinstance(x, ast.FunctionDef)}
    variants: Mapping[str, tuple[str, Mapping[str, int | str]]] = names.get("VARIANTS", {})
    patterns = {function for function, _ in variants.values()}
    return {name: (tree, names) for name, tree in trees.items() if name not in patterns} | {
        symbol: (trees[function], {**names, **values}) for symbol, (function, values) in variants.items()
    }


def _kinds(tree: ast.FunctionDef, of_c: bool) -> tuple[Type, list[Type]]:
    """The types of the result and of the arguments. of_c: C types, as annotated, instead of the language's."""

    def kind(note: ast.expr | None) -> Type:
        if note is None or (isinstance(note, ast.Constant) and note.value is None):
            return void
        name = note.id if isinstance(note, ast.Name) else ""
        if of_c or name in ("float", "bool"):
            return ANNOTATIONS[name]
        return i64

    return kind(tree.returns), [kind(x.annotation) for x in tree.args.args]


def _declared(constants: Constants, symbol: str, tree: ast.FunctionDef, of_c: bool) -> Function:
    result, kinds = _kinds(tree, of_c)
    found = function(constants.module, symbol, result, kinds)
    for position, kind in enumerate(kinds):
        if of_c and kind == i8:
            mark_argument(found, position, "zeroext")
    return found


class _Body:
    """The translation of one kernel. names: its module's globals. declared: all kernels by name."""

    def __init__(
        self, constants: Constants, names: Mapping[str, Any], own: Function, declared: Mapping[str, Function],
        table: Value, tree: ast.FunctionDef, of_c: bool, exported: bool,
    ) -> None:  # fmt: skip
        self._constants, self._names, self._declared, self._table = constants, names, declared, table
        self._tree = tree
        self._result, kinds = _kinds(tree, of_c)
        self._c = Code(constants.module, own.name, self._result, kinds, exported=exported)
        self._b = self._c.builder
        self._slots: dict[str, tuple[Value, Type]] = {}
        self._loops: list[tuple[Any, Any]] = []

    def build(self) -> None:
        for argument, value in zip(self._tree.args.args, self._c.arguments, strict=True):
            note = argument.annotation.id if isinstance(argument.annotation, ast.Name) else ""
            self._set(argument.arg, self._widened(value, note))
        self._block(self._tree.body)
        if not self._b.block.is_terminated:
            if self._result == void:
                self._b.ret_void()
            else:
                self._b.unreachable()

    def _widened(self, value: Value, note: str) -> Value:
        if value.type == pointer:
            return self._c.address(value)
        if value.type == i32:
            return self._b.zext(value, i64) if note == "UInt32" else self._b.sext(value, i64)
        return self._b.zext(value, i64) if value.type == i8 else value

    def _fail(self, tree: ast.AST, what: str) -> InternalError:
        line = getattr(tree, "lineno", 0)
        return InternalError(f"kernel {self._tree.name}, line {line} of its module: {what}: {ast.unparse(tree)}")

    # --- statements --------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if self._b.block.is_terminated:
                return
            self._statement(statement)

    def _statement(self, tree: ast.stmt) -> None:
        match tree:
            case ast.Expr(ast.Constant()):
                pass
            case ast.Expr(ast.Call() as call):
                self._call(call)
            case ast.Assign([ast.Name(name)], value):
                self._set(name, self._value(value))
            case ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                self._set(name, self._value(value))
            case ast.AugAssign(ast.Name(name), operator, value):
                self._set(name, self._binary(tree, operator, self._get(tree, name), self._value(value)))
            case ast.Return(value):
                self._return(value)
            case ast.If(test, body, rest):
                self._if(test, body, rest)
            case ast.While(test, body, []):
                self._while(lambda: self._condition(test), body, lambda: None)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), limits), body, []):
                self._for(name, [self._value(x) for x in limits], body)
            case ast.Break():
                self._b.branch(self._loops[-1][1])
            case ast.Continue():
                self._b.branch(self._loops[-1][0])
            case ast.Pass():
                pass
            case _:
                raise self._fail(tree, "no such statement")

    def _return(self, value: ast.expr | None) -> None:
        if value is None:
            self._b.ret_void()
            return
        found, wanted = self._value(value), self._result
        if wanted == pointer:
            found = self._b.inttoptr(found, pointer)
        elif found.type == i1 and wanted != i1:
            found = self._b.zext(found, wanted)
        elif found.type == i64 and wanted in (i32, i8):
            found = self._b.trunc(found, wanted)
        self._c.ret(truth(self._c, found) if wanted == i1 else found)

    def _if(self, test: ast.expr, body: Sequence[ast.stmt], rest: Sequence[ast.stmt]) -> None:
        b = self._b
        then, other, after = (b.append_basic_block(name) for name in ("then", "else", "after"))
        b.cbranch(self._condition(test), then, other)
        for block, statements in ((then, body), (other, rest)):
            b.position_at_end(block)
            self._block(statements)
            if not b.block.is_terminated:
                b.branch(after)
        b.position_at_end(after)

    def _while(self, test: Callable[[], Value], body: Sequence[ast.stmt], step: Callable[[], None]) -> None:
        b = self._b
        head, inside, following, after = (b.append_basic_block(name) for name in ("while", "do", "next", "after"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(test(), inside, after)
        b.position_at_end(inside)
        self._loops.append((following, after))
        self._block(body)
        self._loops.pop()
        if not b.block.is_terminated:
            b.branch(following)
        b.position_at_end(following)
        step()
        b.branch(head)
        b.position_at_end(after)

    def _for(self, name: str, limits: Sequence[Value], body: Sequence[ast.stmt]) -> None:
        first, last = (number(0), limits[0]) if len(limits) == 1 else limits
        self._set(name, first)
        slot, _ = self._slots[name]

        def counter() -> Value:
            return self._b.load(slot, typ=i64)

        self._while(
            lambda: self._c.less(counter(), last), body, lambda: self._set(name, self._b.add(counter(), number(1)))
        )

    # --- expressions -------------------------------------------------------------------------------------------------

    def _set(self, name: str, value: Value) -> None:
        if value.type == i1:
            value = self._b.zext(value, i64)
        if name not in self._slots:
            with self._b.goto_entry_block():
                self._slots[name] = self._b.alloca(value.type), value.type
        self._b.store(value, self._slots[name][0])

    def _get(self, tree: ast.AST, name: str) -> Value:
        if name in self._slots:
            slot, kind = self._slots[name]
            return self._b.load(slot, typ=kind)
        found = self._names.get(name)
        if isinstance(found, bool | int | float):
            return constant(f64 if isinstance(found, float) else i64, found)
        raise self._fail(tree, "no such name")

    def _condition(self, tree: ast.expr) -> Value:
        return truth(self._c, self._value(tree))

    def _value(self, tree: ast.expr) -> Value:
        match tree:
            case ast.Constant(bool() | int() | float() as found):
                return constant(f64 if isinstance(found, float) else i64, found)
            case ast.Name(name):
                return self._get(tree, name)
            case ast.BinOp(x, operator, y):
                return self._binary(tree, operator, self._value(x), self._value(y))
            case ast.UnaryOp(ast.USub(), x):
                found = self._value(x)
                return self._b.fneg(found) if found.type == f64 else self._b.neg(found)
            case ast.UnaryOp(ast.Not(), x):
                return self._b.not_(self._condition(x))
            case ast.BoolOp(operator, parts):
                return self._either(parts, isinstance(operator, ast.Or))
            case ast.Compare(x, [ast.In() | ast.NotIn() as operator], [ast.Tuple(choices)]):
                found = self._either([ast.Compare(x, [ast.Eq()], [y]) for y in choices], True)
                return self._b.not_(found) if isinstance(operator, ast.NotIn) else found
            case ast.Compare(x, [operator], [y]):
                return self._compare(tree, operator, self._value(x), self._value(y))
            case ast.Compare(x, operators, ys):
                pairs = zip([x, *ys[:-1]], operators, ys, strict=True)
                return self._either([ast.Compare(a, [o], [b]) for a, o, b in pairs], False)
            case ast.IfExp(test, x, y):
                return self._choice(test, (x, y))
            case ast.Call():
                result = self._call(tree)
                if result is not None:
                    return result
        raise self._fail(tree, "no such expression")

    def _binary(self, tree: ast.AST, operator: ast.operator, x: Value, y: Value) -> Value:
        of_integers, of_reals = _ARITHMETIC.get(type(operator), ("", ""))
        name = of_reals if x.type == f64 else of_integers
        if x.type != y.type or not name:
            raise self._fail(tree, f"no such operation on {x.type} and {y.type}")
        return getattr(self._b, name)(x, y)

    def _compare(self, tree: ast.AST, operator: ast.cmpop, x: Value, y: Value) -> Value:
        if x.type != y.type:
            raise self._fail(tree, f"cannot compare {x.type} with {y.type}")
        word = _COMPARISONS[type(operator)]
        if x.type != f64:
            return self._b.icmp_signed(word, x, y)
        return self._b.fcmp_unordered(word, x, y) if word == "!=" else self._b.fcmp_ordered(word, x, y)

    def _choice(self, test: ast.expr, choices: Sequence[ast.expr]) -> Value:
        """Translate `x if test else y`; only one of x and y is evaluated."""
        b = self._b
        then, other, after = (b.append_basic_block(name) for name in ("then", "else", "chosen"))
        b.cbranch(self._condition(test), then, other)
        found = []
        for block, choice in zip((then, other), choices, strict=True):
            b.position_at_end(block)
            found.append((self._value(choice), b.block))
            b.branch(after)
        b.position_at_end(after)
        chosen = b.phi(found[0][0].type)
        for value, block in found:
            chosen.add_incoming(value, block)
        return chosen

    def _either(self, parts: Sequence[ast.expr], is_or: bool) -> Value:
        """Translate `and` or `or`; operands after the decisive one are not evaluated."""
        b = self._b
        with b.goto_entry_block():
            slot = b.alloca(i1)
        after = b.append_basic_block("known")
        for part in parts:
            found = self._condition(part)
            b.store(found, slot)
            following = b.append_basic_block("further")
            b.cbranch(found, after if is_or else following, following if is_or else after)
            b.position_at_end(following)
        b.branch(after)
        b.position_at_end(after)
        return b.load(slot, typ=i1)

    def _call(self, tree: ast.Call) -> Value | None:
        name = tree.func.id if isinstance(tree.func, ast.Name) else ""
        found = self._names.get(name)
        if isinstance(found, Text):
            return self._c.address(self._constants.text(self._literal(tree.args[0])))
        if isinstance(found, Table):
            return self._c.address(self._table)
        arguments = [self._value(x) for x in tree.args]
        if isinstance(found, Primitive):
            return found.make(self._c, *(self._b.zext(x, i64) if x.type == i1 else x for x in arguments))
        if name == "float":
            return self._b.sitofp(arguments[0], f64)
        if name == "int":
            return self._b.fptosi(arguments[0], i64)
        if not isinstance(found, FunctionType) or found.__name__ not in self._declared:
            raise self._fail(tree, "no such function")
        return self._called(self._declared[found.__name__], arguments)

    def _literal(self, tree: ast.expr) -> str:
        """A text, or a global name of one."""
        found = tree.value if isinstance(tree, ast.Constant) else self._names.get(ast.unparse(tree))
        if not isinstance(found, str):
            raise self._fail(tree, "no such text")
        return found

    def _called(self, callee: Function, arguments: Sequence[Value]) -> Value | None:
        """Translate a call of a kernel, whose signature may have C types."""
        passed = []
        for value, kind in zip(arguments, callee.function_type.args, strict=True):
            whole = self._b.zext(value, i64) if value.type == i1 and kind != i1 else value
            if kind == pointer:
                whole = self._b.inttoptr(whole, pointer)
            elif kind in (i8, i32):
                whole = self._b.trunc(whole, kind)
            elif kind == i1:
                whole = truth(self._c, whole)
            passed.append(whole)
        found = self._b.call(callee, passed)
        kind = callee.function_type.return_type
        return None if kind == void else self._widened(found, "")
