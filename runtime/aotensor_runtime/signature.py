"""Signatures of functions in the manifest: arrays, sparse matrices, dims and checks, in the order of the C entries.

At the end: their form for readers and tools, in docstrings and `inspect.signature`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import Final, Literal, TypeVar

OutputKind = Literal["single", "list", "dict", "none"]

MANIFOLDS: Final = ("quaternion", "eigen_quaternion", "sphere", "line")
"""Sets that a solver can keep a vector on."""

SPARSE_PARTS: Final = ("data", "indices", "indptr")
"""The arrays of a sparse matrix that follow its pattern."""


_N: Final = r"\{\w+\}"
_WITHOUT_NUMBERS: Final = (
    (f"{_N} elements or more are too many: an array has at most {_N}", "more elements than an array can have"),
    (f"has {_N} stored entries, not {_N}", "has another number of stored entries"),
    (f"cannot be computed for {_N} elements,", "cannot be computed,"),
    (f"must not be negative, found {_N}", "must not be negative"),
    (f"at {_N} lies outside of an array of extent {_N}", "lies outside of an array"),
    (f"has {_N} rows for {_N} steps", "has fewer rows than there are steps"),
    (rf"\b(has|have) {_N} (\w)", r"\1 too many \2"),
    (f"has an extent of {_N}", "has too large an extent"),
    (
        f"a value of extent {_N} for axis (.*) of a window of extent {_N}",
        r"the value and its window differ along axis \1",
    ),
    (f"extent {_N}, but {_N} was computed before", "another extent than was computed before"),
    (rf"extent {_N} instead of (\d+)", r"an extent other than \1"),
    (f"extent {_N}((?: along axis .*)?) instead of {_N}", r"another extent\1 than expected"),
    (rf"extent {_N}((?: along axis .*)?) instead of (\d+)", r"an extent\1 other than \2"),
    (f"a vector of {_N} elements for extent (.*) along", r"a vector of another length than the extent \1 along"),
    (f"parts of {_N} in all for an extent of {_N}", "parts that do not add up to the extent"),
    (f"by {_N} elements beside", "by the number of elements beside"),
    (f"an access at {_N} lies outside of a buffer of extent {_N}", "an access lies outside of a buffer"),
    (f"is outside of 0 … {_N} − 1", "is out of range"),
    (f"begins with {_N} instead of 0", "does not begin with 0"),
    (f"ends with {_N}, but there are {_N} entries", "does not end with the number of entries"),
    (f"is not one of {_N} rows", "is not one of the rows"),
    (rf"{_N} (\w+) are not a multiple of the {_N} of a block", r"the \1 are not a multiple of those of a block"),
    (f" differ: {_N} and {_N}$", " differ"),
    (f"the number of steps is {_N}", "the number of steps is negative"),
    (f" = {_N}", ""),
    (f" of (?:extent|order) {_N}", ""),
    (rf"\b(index|extent|entry|eigenvalue) {_N}", r"an \1"),
    (rf"\b(position|pivot|diagonal element|row|column) {_N}", r"a \1"),
    (rf"^((?:.*: )?){_N} (\w)", r"\1the \2"),
    (rf"\b(a shape|an extent) of {_N}", r"\1"),
    (_N, "..."),
)
"""The message without numbers, which need a call with a context."""


@dataclass(frozen=True, slots=True)
class Check:
    """A run-time check of a function; the checks of a function are numbered from 1.

    kind: "index" gives IndexError, "type" TypeError, "linalg" LinAlgError, "convergence" ArithmeticError, anything else
    (such as "shape", "value") ValueError.
    message: may contain {found} and {expected}, two integers.
    """

    kind: str
    message: str

    def static_text(self) -> str:
        """The message without the numbers of a particular call: `an index is out of range for x`."""
        text = self.message
        for pattern, words in _WITHOUT_NUMBERS:
            text = re.sub(pattern, words, text)
        return text


@dataclass(frozen=True, slots=True)
class Default:
    """First value of a shared variable: extents, and the position of its row-major little-endian bytes in `values`."""

    shape: tuple[int, ...]
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """An input. An extent is a number or the name of a dim; unknown dim i of X has the name X_i.

    An input with a default is the state of a shared variable: Python callers do not pass it.
    is_data: solvers do not change it. manifold: one of `MANIFOLDS` that they keep it on, or empty. layout: "C", or "F"
    where the C caller passes it column-major.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    default: Default | None = None
    is_data: bool = False
    manifold: str = ""
    layout: str = "C"


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """An output. An extent is a number, the name of a dim, or else computed by the library at the call:

    a text other than a dim is a formula of dims, for documentation ("n + m"): the C caller passes plain memory;
    None depends on values: the C caller passes an aotensor_array. layout: as that of an input.
    """

    name: str
    dtype: str
    shape: tuple[int | str | None, ...]
    layout: str = "C"

    @property
    def is_allocated(self) -> bool:
        """Does the typed entry expect an aotensor_array for it?"""
        return None in self.shape


@dataclass(frozen=True, slots=True)
class SparseSpec:
    """The four consecutive inputs or outputs that form one sparse matrix.

    They are the pattern `<name>`, of dtype bool, which has extents and no memory, then `<name>.data`, `<name>.indices`
    and `<name>.indptr`.   format: csr, csc or bsr. first: number of the pattern among the inputs, or the outputs.
    pattern: of an input or output whose stored entries have the same positions in every call, as written by
    `packed_pattern`; None if they depend on the caller, or on values.

    Data of bsr have three dims: entries, which are blocks, and the rows and columns of one, which are numbers.
    """

    name: str
    format: str
    first: int
    pattern: str | None = None

    @property
    def major(self) -> int:
        """The axis that indptr counts along."""
        return 1 if self.format == "csc" else 0


@dataclass(frozen=True, slots=True)
class SparseValue:
    """A sparse input or output from the user's point of view.

    shape: extents of the matrix. default: that of its pattern. blocksize: rows and columns of a block of bsr, else None
    pattern: as in `SparseSpec`
    """

    name: str
    format: str
    dtype: str
    index_dtype: str
    shape: tuple[int | str | None, ...]
    first: int
    default: Default | None = None
    blocksize: tuple[int, int] | None = None
    pattern: str | None = None

    @property
    def major(self) -> int:
        """The axis that indptr counts along."""
        return 1 if self.format == "csc" else 0


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """Signature of one function, in the order of its C entries.

    dims: the distinct dims in order of first appearance in the inputs.
    inputs, outputs: arrays; a sparse matrix is four of them.
    outputs: those that the user asked for, then the new values of updated shared variables.
    updates: pairs (input with a default, output that is its next value); a sparse matrix by the name of its pattern.
    calls_blas: products use BLAS if it is available. lapack: names of the functions that a call needs.
    workspace, stack: of a library that allocates nothing, the bytes of workspace that a call needs, as a number or a
    formula of dims in Python's notation, and the most bytes of stack that it uses; None where that is not known.
    """

    name: str
    dims: tuple[str, ...]
    inputs: tuple[ArgumentSpec, ...]
    outputs: tuple[OutputSpec, ...]
    output_kind: OutputKind = "list"
    updates: tuple[tuple[str, str], ...] = ()
    checks: tuple[Check, ...] = ()
    calls_blas: bool = False
    lapack: tuple[str, ...] = ()
    allow_input_downcast: bool = False
    doc: str = ""
    source: str = ""
    sparse_inputs: tuple[SparseSpec, ...] = ()
    sparse_outputs: tuple[SparseSpec, ...] = ()
    workspace: int | str | None = None
    stack: int | None = None

    @property
    def kernel_dims(self) -> tuple[str, ...]:
        """The dims in order of first appearance in the kernel's inputs, which are transposes of column-major ones."""
        shapes = self.kernel_shapes[: len(self.inputs)]
        return tuple(dict.fromkeys(n for shape in shapes for n in shape if isinstance(n, str)))

    @property
    def kernel_shapes(self) -> list[tuple[int | str | None, ...]]:
        """The extents of inputs and outputs as the kernel has them: in reverse for column-major ones."""
        return [value.shape[::-1] if value.layout == "F" else value.shape for value in self.values]

    @property
    def values(self) -> tuple[ArgumentSpec | OutputSpec, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def is_sparse(self) -> bool:
        """Is any input or output a sparse matrix?"""
        return bool(self.sparse_inputs or self.sparse_outputs)

    @property
    def arguments(self) -> tuple[ArgumentSpec | SparseValue, ...]:
        """The inputs from the user's point of view: a sparse matrix is one."""
        return _grouped(self.inputs, self.sparse_inputs)

    @property
    def produced(self) -> tuple[OutputSpec | SparseValue, ...]:
        """The outputs from the user's point of view, including new values of shared variables."""
        return _grouped(self.outputs, self.sparse_outputs)

    @property
    def results(self) -> tuple[OutputSpec | SparseValue, ...]:
        """The outputs that a call returns."""
        hidden = {output for _, output in self.updates}
        return tuple(output for output in self.produced if output.name not in hidden)

    @property
    def typed_dims(self) -> tuple[str, ...]:
        """The dims that the typed entry expects: all but numbers of stored entries, and those derived from others."""
        return tuple(dict.fromkeys(n for value in self.arguments for n in value.shape if isinstance(n, str)))

    @property
    def workspace_dims(self) -> tuple[str, ...]:
        """The dims that the workspace entry expects: those of the typed entry, then numbers of stored entries."""
        counts = [self.inputs[group.first + 1].shape[0] for group in self.sparse_inputs]
        return tuple(dict.fromkeys([*self.typed_dims, *(n for n in counts if isinstance(n, str))]))

    @property
    def is_allocating(self) -> bool:
        """Does the size of any output depend on values?"""
        return any(isinstance(output, SparseValue) or output.is_allocated for output in self.produced)

    @property
    def takes_context(self) -> bool:
        """Does the typed entry expect an aotensor_context: to allocate outputs, or for LAPACK functions?"""
        return self.is_allocating or bool(self.lapack)


def signature_text(spec: FunctionSpec) -> str:
    """The parts of a signature that the code depends on, in one line: names, order, dtypes, dims, matrices.

    It is stored in the code, and in another form in the manifest; the runtime compares the two.
    """
    inputs = ", ".join(map(_value_text, spec.inputs))
    outputs = ", ".join(map(_value_text, spec.outputs))
    matrices = [("in", group) for group in spec.sparse_inputs] + [("out", group) for group in spec.sparse_outputs]
    groups = [f"{group.format} {side} {group.first}" for side, group in matrices]
    tail = f"; {len(spec.checks)} checks" + "".join(f"; {group}" for group in groups)
    return f"{spec.name}({inputs}) -> ({outputs}); dims {' '.join(spec.dims)}{tail}"


def _value_text(value: ArgumentSpec | OutputSpec) -> str:
    extents = ", ".join("?" if n is None else str(n) for n in value.shape)
    return f"{value.name}: {value.dtype}[{extents}]{' column-major' * (value.layout == 'F')}"


_Spec = TypeVar("_Spec", ArgumentSpec, OutputSpec)


def _grouped(values: Sequence[_Spec], groups: Sequence[SparseSpec]) -> tuple[_Spec | SparseValue, ...]:
    """Arrays and matrices, in order."""
    found: list[_Spec | SparseValue] = list(values)
    for group in reversed(groups):
        pattern, data, indices, _ = values[group.first : group.first + 4]
        default = pattern.default if isinstance(pattern, ArgumentSpec) else None
        _, *block = data.shape
        blocks = (block[0], block[1]) if len(block) == 2 else None
        whole = SparseValue(
            group.name,
            group.format,
            data.dtype,
            indices.dtype,
            pattern.shape,
            group.first,
            default,
            blocks,  # type: ignore[arg-type]
            group.pattern,
        )
        found[group.first : group.first + 4] = [whole]
    return tuple(found)


# --- for people ------------------------------------------------------------------------------------------------------


def kind_of(value: ArgumentSpec | OutputSpec | SparseValue) -> str:
    """`float64[n, p]`, `csr float32[n, 5]`, `int64`"""
    name = f"{form_of(value)} {value.dtype}" if isinstance(value, SparseValue) else value.dtype
    extents = ", ".join("?" if n is None else str(n) for n in value.shape)
    return f"{name}[{extents}]" if value.shape else name


def form_of(value: SparseValue) -> str:
    """`csr`, `bsr 3x3`"""
    return value.format if value.blocksize is None else "{} {}x{}".format(value.format, *value.blocksize)


def describe(spec: FunctionSpec) -> str:
    """A docstring: the user's description of the function, else its signature with types."""
    return spec.doc or typed_line(spec)


def typed_line(spec: FunctionSpec) -> str:
    """`logistic(X: float64[n, p], w: float64[p]) -> loss: float64`, without shared variables"""
    given = [value for value in spec.arguments if value.default is None]
    inputs = ", ".join(f"{value.name}: {kind_of(value)}{marks_of(value)}" for value in given)
    results = ", ".join(f"{value.name}: {kind_of(value)}{marks_of(value)}" for value in spec.results)
    return f"{spec.name}({inputs}) -> {results or 'nothing'}"


def marks_of(value: ArgumentSpec | OutputSpec | SparseValue) -> str:
    """Properties of a value besides its type: ` (data)`, ` (sphere)`, ` (column-major)`, or nothing.

    A sparse one with constant pattern: ` (constant pattern)`.
    """
    if isinstance(value, SparseValue):
        return "" if value.pattern is None else " (constant pattern)"
    found = [] if value.layout == "C" else ["column-major"]
    if isinstance(value, ArgumentSpec):
        found += [*(["data"] if value.is_data else []), *([value.manifold] if value.manifold else [])]
    return f" ({', '.join(found)})" if found else ""


def python_signature(names: Sequence[str]) -> Signature:
    """The signature for `inspect.signature`: the inputs by name, and `out` unless an input has this name.

    An input with a name that no parameter can have, such as `lambda`, is passed by position or by `**`.
    """
    if not all(name.isidentifier() and not iskeyword(name) for name in names):
        return Signature([Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)])
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    if "out" not in names:
        parameters.append(Parameter("out", Parameter.KEYWORD_ONLY, default=None))
    return Signature(parameters)
