"""A random program as text: the same steps for aotensor and for NumPy, with inputs for several sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from types import CodeType
from typing import Any, Final

import numpy as np
from tools.fuzz import oracle, values
from tools.fuzz.oracle import Matrix

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import Lop, Rop, hessian, jacobian
from aotensor.graph.walk import leaves

WIDE: Final = np.longdouble


@dataclass(frozen=True)
class Input:
    """name: of the variable.   declared: its symbol, as aotensor text.   value: as NumPy text, which may read dims."""

    name: str
    declared: str
    value: str


@dataclass(frozen=True)
class Step:
    """name = aot, which means the same as name = meaning in NumPy; both texts may read `uses`."""

    name: str
    aot: str
    meaning: str
    uses: tuple[str, ...]


@dataclass(frozen=True)
class Options:
    """How a program is compiled; programs of equal options go into one library.

    small_chunks: every loop has several chunks, so that threads take part. is_static: dims that declarations read as
    variables are numbers, not names.
    """

    opt_level: int = 0
    fp: str = "contract"
    cpu: str = "host"
    check: bool = False
    small_chunks: bool = False
    is_static: bool = False


@dataclass(frozen=True)
class Program:
    """A random program: inputs, steps, and the requested results.

    dims: their extents in every sample.
    outputs: names of steps or inputs.   wrt: inputs that are differentiated.
    wants: "values" for the outputs, "lop" for ȳᵀ·J, "rop" for J·ẋ, "hvp" for the pushforward of "lop"; "stack" for
    three of those in one tensor, "shared" for the same plus the gradient, "hessian" and "jacobian" for sparse ones.
    """

    seed: int
    dims: tuple[tuple[str, tuple[int, ...]], ...]
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    wrt: tuple[str, ...]
    wants: tuple[str, ...]
    options: Options = field(default_factory=Options)

    @property
    def name(self) -> str:
        return f"program{self.seed}"

    @property
    def float_name(self) -> str:
        """The dtype of all floats."""
        return "float32" if any("float32" in x.declared for x in self.inputs) else "float64"

    @property
    def samples(self) -> int:
        return len(self.dims[0][1])

    def needed(self) -> Program:
        """The program without steps and inputs that no output needs."""
        alive = {*self.outputs}
        steps = []
        for step in reversed(self.steps):
            if step.name in alive:
                alive.update(step.uses)
                steps.append(step)
        inputs = tuple(x for x in self.inputs if x.name in alive) or self.inputs[:1]
        names = {x.name for x in inputs}
        wrt = tuple(x for x in self.wrt if x in names)
        return replace(self, inputs=inputs, steps=tuple(reversed(steps)), wrt=wrt)


def to_json(program: Program) -> dict[str, Any]:
    """A program as JSON values."""
    return asdict(program)


def from_json(found: Mapping[str, Any]) -> Program:
    """A program that `to_json` wrote."""
    dims = tuple((name, tuple(sizes)) for name, sizes in found["dims"])
    inputs = tuple(Input(**x) for x in found["inputs"])
    steps = tuple(Step(x["name"], x["aot"], x["meaning"], tuple(x["uses"])) for x in found["steps"])
    outputs, wrt, wants = (tuple(found[key]) for key in ("outputs", "wrt", "wants"))
    return Program(found["seed"], dims, inputs, steps, outputs, wrt, wants, Options(**found["options"]))


@cache
def _code(text: str) -> CodeType:
    return compile(text, "<program>", "eval")


def run_text(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression."""
    return eval(_code(text), dict(names))


AOT_NAMES: Final = {"aot": aot, "at": at, "sp": sp}
NUMPY_NAMES: Final = {"np": np, "o": oracle}
VALUE_NAMES: Final = {"v": values}


def widened(x: Any, dtype: Any = WIDE) -> Any:
    """Convert an argument for the oracle: floats to extended precision, sparse matrices to `Matrix`."""
    if values.is_sparse(x):
        marked = x.copy()
        marked.data = np.ones_like(marked.data)
        return Matrix(np.asarray(x.toarray(), dtype), np.asarray(marked.toarray() != 0))
    array = np.asarray(x)
    return array.astype(dtype) if array.dtype.kind == "f" else array


def arguments(program: Program, sample: int) -> dict[str, Any]:
    """The inputs of one sample: arrays and SciPy matrices."""
    names = {**VALUE_NAMES, **{name: sizes[sample] for name, sizes in program.dims}}
    return {x.name: run_text(x.value, names) for x in program.inputs}


def meanings(program: Program, given: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate a program by the oracle: returns all its values."""
    known = {**NUMPY_NAMES, **given}
    with np.errstate(all="ignore"):
        for step in program.steps:
            known[step.name] = run_text(step.meaning, known)
    return known


@dataclass(frozen=True)
class Built:
    """A program as a Function.   slots: of ȳ, then of ẋ, by name;  kinds: what each result is: (want, name)"""

    function: aot.Function
    slots: tuple[str, ...]
    kinds: tuple[tuple[str, str], ...]


def build(program: Program) -> Built:
    """Build the graph of a program with all requested results.   Raises: errors of aotensor."""
    known: dict[str, Any] = AOT_NAMES | declared_dims(program.dims, program.options.is_static)
    for x in program.inputs:
        known[x.name] = run_text(x.declared, known)
        known[x.name].name = x.name
    for step in program.steps:
        known[step.name] = run_text(step.aot, known)
    outputs = {name: known[name] for name in program.outputs}
    smooth = {name: y for name, y in outputs.items() if y.dtype.startswith("float") and not _is_sparse(y)}
    cotangents = {name: _like(y, f"ct_{name}") for name, y in smooth.items()}
    wrt = {name: known[name] for name in program.wrt} if smooth else {}
    tangents = {name: _like(x, f"d_{name}") for name, x in wrt.items()}
    results: dict[tuple[str, str], Any] = {}
    if "values" in program.wants or not wrt:
        results |= {("values", name): y for name, y in outputs.items()}
    if wrt:
        ys, xs, cts, ds = (list(x.values()) for x in (smooth, wrt, cotangents, tangents))
        if "lop" in program.wants or "hvp" in program.wants:
            pulled = Lop(ys, xs, cts, disconnected_inputs="ignore")
            results |= {("lop", name): g for name, g in zip(wrt, pulled, strict=True)}
            if "hvp" in program.wants:
                curved = Rop(pulled, xs, ds, disconnected_outputs="ignore")
                results |= {("hvp", name): h for name, h in zip(wrt, curved, strict=True)}
        if SECOND_ORDER & {*program.wants}:
            results |= second_order(program.wants, smooth, wrt, cotangents, tangents)
        if "rop" in program.wants:
            pushed = Rop(ys, xs, ds, disconnected_outputs="ignore")
            results |= {("rop", name): t for name, t in zip(smooth, pushed, strict=True)}
    read = set(leaves(list(results.values())))
    slots = [x for x in (*cotangents.values(), *tangents.values()) if x in read]
    given = [known[x.name] for x in program.inputs]
    f = aot.function([*given, *slots], list(results.values()), name=program.name, on_unused_input="ignore")
    return Built(f, tuple(x.name or "" for x in slots), tuple(results))


SECOND_ORDER: Final = frozenset({"stack", "shared", "hessian", "jacobian"})
"""What `second_order` gives."""


def declared_dims(dims: Iterable[tuple[str, tuple[int, ...]]], is_static: bool) -> dict[str, Any]:
    """The value of each dim in declarations: its extent, or its name."""
    return {name: sizes[0] if is_static else name for name, sizes in dims}


def second_order(
    wants: Sequence[str],
    smooth: Mapping[str, Any],
    wrt: Mapping[str, Any],
    cotangents: Mapping[str, Any],
    tangents: Mapping[str, Any],
) -> dict[tuple[str, str], Any]:
    """Derivatives of Σ ⟨ȳ, sin y⟩, and Jacobians of outputs that are vectors."""
    found: dict[tuple[str, str], Any] = {}
    cost = sum((at.sin(y) * cotangents[name]).sum() for name, y in smooth.items())
    gradients = aot.grad(cost, list(wrt.values()), disconnected_inputs="ignore")
    for (name, x), g in zip(wrt.items(), gradients, strict=True):
        d = tangents[name]
        stack = at.stack([Rop(g, x, v, disconnected_outputs="ignore") for v in (d, at.cos(d), d * d - 0.5)])
        if "shared" in wants:
            found |= {("shared", f"{name}, gradient"): g * 2, ("shared", f"{name}, stack"): stack + g}
        if "stack" in wants:
            found["stack", name] = stack
        if "hessian" in wants and x.ndim == 1:
            found["hessian", name] = hessian(cost, x, sparse=True, disconnected_inputs="ignore")
        if "jacobian" in wants and x.ndim == 1:
            found |= {("jacobian", f"{y_name} by {name}"): jacobian(y, x, sparse=True, disconnected_inputs="ignore")
                      for y_name, y in smooth.items() if y.ndim == 1}  # fmt: skip
    return found


def _is_sparse(x: Any) -> bool:
    return bool(getattr(x, "is_sparse", False))


def _like(x: Any, name: str) -> Any:
    """A symbol of the type of x."""
    if _is_sparse(x):
        make = sp.csr_matrix if x.type.format == "csr" else sp.csc_matrix
        return make(name, dtype=x.dtype, shape=x.tensor_type.shape)
    return at.tensor(name, dtype=x.dtype, shape=x.tensor_type.shape)
