"""A library with kernels written by hand: one function per thing that the entries and the runtime must get right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from aotensor.codegen.entry.code import NULL, Code, number, status
from aotensor.codegen.library import Blueprint, Library, build_library
from aotensor.codegen.llvm import Module, Type, Value, constant, f32, f64, i1, i8, i32, i64, ir, pointer
from aotensor.codegen.machine import Machine
from aotensor_runtime.abi import Blas, Context
from aotensor_runtime.manifest import ArgumentSpec, Check, FunctionSpec, OutputSpec, ValuePool

_KINDS: dict[str, Type] = {"float64": f64, "float32": f32, "int64": i64, "bool": i8}


@dataclass
class Body:
    """The body of a kernel: its code, the addresses of its arrays, their extents that are not numbers, by name."""

    code: Code
    data: dict[str, Value]
    extents: dict[str, list[Value]]
    rest: dict[str, Value]

    def load(self, name: str, index: Value | int = 0, dtype: str = "float64") -> Value:
        kind = _KINDS[dtype]
        size = 1 if kind == i8 else 4 if kind == f32 else 8
        return self.code.builder.load(self.code.at(self.data[name], index, size), typ=kind)

    def store(self, name: str, value: Value, index: Value | int = 0) -> None:
        size = 1 if value.type == i8 else 4 if value.type == f32 else 8
        self.code.builder.store(value, self.code.at(self.data[name], index, size))

    def fail(self, check: int, found: Value, expected: Value) -> None:
        """Return check number `check` with its two numbers."""
        self.code.store_at(self.rest["detail"], 0, found)
        self.code.store_at(self.rest["detail"], 1, expected)
        self.code.ret(status(check))


def _open(module: Module, spec: FunctionSpec, part: str, rest: Mapping[str, Type]) -> Body:
    values = spec.inputs if part == "extents" else spec.values
    kinds: list[Type] = []
    for value in values:
        kinds += [pointer, *[i64 for n in value.shape if not isinstance(n, int)]]
    code = Code(module, f"{spec.name}.{part}", i32, [*kinds, *rest.values()])
    arguments = list(code.arguments)
    data, extents = {}, {}
    for position, value in enumerate(values):
        name = f"new_{value.name}" if position >= len(spec.inputs) and value.name in data else value.name
        data[name] = arguments.pop(0)
        extents[name] = [arguments.pop(0) for n in value.shape if not isinstance(n, int)]
    return Body(code, data, extents, dict(zip(rest, arguments, strict=True)))


Writer = Callable[[Body], None]
Sizes = Callable[[Body], Sequence[Value]]


@dataclass
class Handmade:
    """A library in the making."""

    module: Module = field(default_factory=lambda: ir.Module(name="handmade"))
    specs: list[FunctionSpec] = field(default_factory=list)
    pool: ValuePool = field(default_factory=ValuePool)

    def add(
        self, spec: FunctionSpec, kernel: Writer, sizes: Sizes, workspace: Callable[[Code], Value] | None = None
    ) -> None:
        """sizes: all extents of the outputs, then the workspace's bytes."""
        self.specs.append(spec)
        rest = {"workspace": pointer, "workspace_bytes": i64, "detail": pointer, "context": pointer}
        body = _open(self.module, spec, "kernel", rest)
        kernel(body)
        if not body.code.builder.block.is_terminated:
            body.code.ret(status(0))
        body = _open(
            self.module, spec, "extents", {"extents": pointer, "count": i64, "detail": pointer, "context": pointer}
        )
        for i, extent in enumerate(sizes(body)):
            body.code.store_at(body.rest["extents"], i, extent)
        body.code.ret(status(0))
        if workspace is not None:
            code = Code(self.module, f"{spec.name}.workspace_bytes", i64, [i64] * len(spec.dims))
            code.ret(workspace(code))

    def library(self, name: str = "handmade", prefix: str = "", machine: Machine | None = None) -> Library:
        target = machine or Machine.host()
        self.module.triple, self.module.data_layout = target.triple, target.data_layout()
        sections = {"notes": b"some text " * 50, "empty": b""}
        return build_library(
            self.module, Blueprint(name, self.specs, target, "0.1.0", "contract", prefix, sections, self.pool.data)
        )


def handmade() -> Handmade:
    """All functions."""
    h = Handmade()
    for add in (_scale, _affine, _pick, _ramp, _join, _step, _logic, _plus, _has_blas, _touch):
        add(h)
    return h


@cache
def handmade_library() -> Library:
    """All functions, compiled once per process."""
    return handmade().library()


@cache
def small_library() -> Library:
    """The scalar function, compiled once per process."""
    return small().library("small")


def small() -> Handmade:
    """A single scalar function."""
    h = Handmade()
    _plus(h)
    return h


def _scale(h: Handmade) -> None:
    """out[i] = 2·x[i]"""
    spec = FunctionSpec(
        "scale", ("n",), (ArgumentSpec("x", "float64", ("n",)),), (OutputSpec("out", "float64", ("n",)),), "single"
    )

    def kernel(k: Body) -> None:
        with k.code.loop(k.extents["x"][0]) as i:
            k.store("out", k.code.builder.fmul(k.load("x", i), constant(f64, 2.0)), i)

    h.add(spec, kernel, lambda k: [k.extents["x"][0], number(0)], lambda c: number(0))


def _affine(h: Handmade) -> None:
    """y = X·w + b, total = Σ y; y goes through the workspace.   X: (n, p), w: (p,), b: () → y: (n,), total: ()"""
    shapes: dict[str, tuple[str, ...]] = {"X": ("n", "p"), "w": ("p",), "b": ()}
    inputs = tuple(ArgumentSpec(name, "float64", shape) for name, shape in shapes.items())
    outputs = OutputSpec("y", "float64", ("n",)), OutputSpec("total", "float64", ())
    spec = FunctionSpec("affine", ("n", "p"), inputs, outputs, "dict", doc="y = X w + b, and its sum.")

    def kernel(k: Body) -> None:
        c, b = k.code, k.code.builder
        n, p = k.extents["X"]
        total = c.slot(f64, constant(f64, 0.0))
        with c.loop(n) as i:
            row = c.slot(f64, k.load("b"))
            with c.loop(p) as j:
                row.set(b.fadd(row.get(), b.fmul(k.load("X", b.add(b.mul(i, p), j)), k.load("w", j))))
            c.store_at(k.rest["workspace"], i, row.get())
        with c.loop(n) as i:
            value = c.item(k.rest["workspace"], i, f64)
            k.store("y", value, i)
            total.set(b.fadd(total.get(), value))
        k.store("total", total.get())

    def sizes(k: Body) -> list[Value]:
        n = k.extents["X"][0]
        return [n, k.code.builder.mul(n, number(8))]

    h.add(spec, kernel, sizes, lambda c: c.builder.mul(c.arguments[0], number(8)))


def _pick(h: Handmade) -> None:
    """out = x[i], checked.   x: (n,) float32, i: () int64"""
    inputs = ArgumentSpec("x", "float32", ("n",)), ArgumentSpec("i", "int64", ())
    check = Check("index", "index {found} is out of range for x of extent {expected}")
    spec = FunctionSpec("pick", ("n",), inputs, (OutputSpec("out", "float32", ()),), "single", checks=(check,))

    def kernel(k: Body) -> None:
        c, n, i = k.code, k.extents["x"][0], k.load("i", dtype="int64")
        with c.when(c.builder.not_(c.below(i, n))):
            k.fail(1, i, n)
        k.store("out", k.load("x", i, "float32"))

    h.add(spec, kernel, lambda k: [number(0)], lambda c: number(0))


def _ramp(h: Handmade) -> None:
    """out[i] = i for i < k: an output, and a workspace, sized by a value."""
    check = Check("value", "k is {found}, it must not be negative")
    spec = FunctionSpec(
        "ramp", (), (ArgumentSpec("k", "int64", ()),), (OutputSpec("out", "int64", (None, 1)),), "list", checks=(check,)
    )

    def kernel(k: Body) -> None:
        with k.code.loop(k.extents["out"][0]) as i:
            k.code.store_at(k.rest["workspace"], i, i)
            k.store("out", k.code.item(k.rest["workspace"], i), i)

    def sizes(k: Body) -> list[Value]:
        count = k.load("k", dtype="int64")
        with k.code.when(k.code.less(count, number(0))):
            k.fail(1, count, number(0))
        return [count, number(1), k.code.builder.mul(count, number(8))]

    h.add(spec, kernel, sizes)


def _join(h: Handmade) -> None:
    """both = a ‖ b, sum = a + b: unknown dims that meet, and an extent that is a formula."""
    inputs = ArgumentSpec("a", "float64", ("a_0",)), ArgumentSpec("b", "float64", ("b_0",))
    outputs = OutputSpec("both", "float64", ("a_0 + b_0",)), OutputSpec("sum", "float64", ("a_0",))
    check = Check("shape", "extent 0 of b is {found}, but a has {expected}")
    spec = FunctionSpec("join", ("a_0", "b_0"), inputs, outputs, "list", checks=(check,))

    def kernel(k: Body) -> None:
        n = k.extents["a"][0]
        with k.code.loop(n) as i:
            x, y = k.load("a", i), k.load("b", i)
            k.store("both", x, i)
            k.store("both", y, k.code.builder.add(n, i))
            k.store("sum", k.code.builder.fadd(x, y), i)

    def sizes(k: Body) -> list[Value]:
        n, m = k.extents["a"][0], k.extents["b"][0]
        with k.code.when(k.code.differs(n, m)):
            k.fail(1, m, n)
        return [k.code.builder.add(n, m), n, number(0)]

    h.add(spec, kernel, sizes, lambda c: number(0))


def _step(h: Handmade) -> None:
    """Returns w; then w ← w + x, count ← count + 1. `peek` reads the same w."""
    w = ArgumentSpec("w", "float64", ("n",), h.pool.add((2,), np.array([1.0, 2.0]).astype("<f8").tobytes()))
    count = ArgumentSpec("count", "int64", (), h.pool.add((), np.array(7).astype("<i8").tobytes()))
    outputs = OutputSpec("out", "float64", ("n",)), OutputSpec("w", "float64", ("n",)), OutputSpec("next", "int64", ())
    inputs = ArgumentSpec("x", "float64", ("n",)), w, count
    updates = ("w", "w"), ("count", "next")
    spec = FunctionSpec("step", ("n",), inputs, outputs, "single", updates)

    def kernel(k: Body) -> None:
        b = k.code.builder
        with k.code.loop(k.extents["x"][0]) as i:
            k.store("out", k.load("w", i), i)
            k.store("new_w", b.fadd(k.load("w", i), k.load("x", i)), i)
        k.store("next", b.add(k.load("count", dtype="int64"), number(1)))

    h.add(spec, kernel, lambda k: [k.extents["x"][0], k.extents["x"][0], number(0)], lambda c: number(0))
    peek = FunctionSpec("peek", ("n",), (w,), (OutputSpec("out", "float64", ("n",)),), "single")

    def copy(k: Body) -> None:
        with k.code.loop(k.extents["w"][0]) as i:
            k.store("out", k.load("w", i), i)

    h.add(peek, copy, lambda k: [k.extents["w"][0], number(0)], lambda c: number(0))


def _logic(h: Handmade) -> None:
    """out = not flags.   flags: (2, 3) bool"""
    spec = FunctionSpec(
        "logic", (), (ArgumentSpec("flags", "bool", (2, 3)),), (OutputSpec("out", "bool", (2, 3)),), "single"
    )

    def kernel(k: Body) -> None:
        with k.code.loop(number(6)) as i:
            k.store("out", k.code.builder.xor(k.load("flags", i, "bool"), constant(i8, 1)), i)

    h.add(spec, kernel, lambda k: [number(2), number(3), number(0)], lambda c: number(0))


def _plus(h: Handmade) -> None:
    """out = a + b, scalars."""
    inputs = ArgumentSpec("a", "float64", ()), ArgumentSpec("b", "float64", ())
    spec = FunctionSpec("plus", (), inputs, (OutputSpec("out", "float64", ()),), "single")
    h.add(
        spec,
        lambda k: k.store("out", k.code.builder.fadd(k.load("a"), k.load("b"))),
        lambda k: [number(0)],
        lambda c: number(0),
    )


def _has_blas(h: Handmade) -> None:
    """out = is there a dgemm in the table?"""
    spec = FunctionSpec(
        "has_blas", (), (ArgumentSpec("x", "float64", ()),), (OutputSpec("out", "bool", ()),), "single", calls_blas=True
    )

    def kernel(k: Body) -> None:
        c, context = k.code, k.rest["context"]
        found = c.slot(i1, constant(i1, 0))
        with c.when(c.differs(context, NULL)):
            table = c.field(context, Context, "blas")
            with c.when(c.differs(table, NULL)):
                found.set(c.differs(c.field(table, Blas, "dgemm"), NULL))
        k.store("out", c.builder.zext(found.get(), i8))

    h.add(spec, kernel, lambda k: [number(0)], lambda c: number(0))


def _touch(h: Handmade) -> None:
    """No outputs at all."""
    spec = FunctionSpec("touch", (), (ArgumentSpec("x", "float64", ()),), (), "none")
    h.add(spec, lambda k: None, lambda k: [number(0)], lambda c: number(0))
