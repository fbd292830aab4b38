"""Convert PyTensor's types and values: tensors, scalars, sparse matrices, random generators."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import UnsupportedError
from aotensor.extension import Array

_MARK: Final = 0x616F74656E736F72  # "aotensor": tells generators that carry one of our states from others
_WORD: Final = (1 << 64) - 1


def kind_of(x: Any) -> str:
    """The kind of a variable: tensor, scalar, sparse, generator, none, slice; else the name of its type."""
    names = {kind.__name__ for kind in type(x.type).__mro__}
    for name, kind in (
        ("SparseTensorType", "sparse"),
        ("RandomType", "generator"),
        ("TensorType", "tensor"),
        ("ScalarType", "scalar"),
        ("NoneTypeT", "none"),
        ("SliceType", "slice"),
    ):
        if name in names:
            return kind
    return type(x.type).__name__


def is_tensor(x: Any) -> bool:
    """Is it a dense tensor, or a scalar, which is a tensor of rank 0 here?"""
    return kind_of(x) in ("tensor", "scalar")


def is_sparse(x: Any) -> bool:
    """Is a value a sparse matrix?"""
    return isinstance(x, sp.SparseVariable)


def is_constant(x: Any) -> bool:
    """Is it a constant of the graph?"""
    return x.owner is None and hasattr(x, "data") and hasattr(x, "signature")


def dims_of(x: Any) -> tuple[int | None, ...]:
    """The static shape of a tensor or scalar."""
    return tuple(x.type.shape) if kind_of(x) != "scalar" else ()


def symbol(x: Any) -> Any:
    """A symbol for a leaf of PyTensor.   Raises: UnsupportedError for an unsupported type"""
    match kind_of(x):
        case "tensor" | "scalar":
            return at.tensor(x.name, dtype=x.type.dtype, shape=dims_of(x))
        case "sparse":
            maker = {"csr": sp.csr_matrix, "csc": sp.csc_matrix}.get(x.type.format)
            if maker is None:
                raise UnsupportedError(
                    f"sparse matrices of format {x.type.format} are not supported", hint="use csr or csc"
                )
            return maker(x.name, dtype=x.type.dtype, shape=tuple(x.type.shape))
        case "generator":
            return at.tensor(x.name, dtype="uint64", shape=(2,))
        case other:
            raise UnsupportedError(f"an input of PyTensor's type {other} has no counterpart")


def from_constant(x: Any) -> Any:
    """Convert a constant: to a constant of aotensor, None, or a slice of numbers."""
    match kind_of(x):
        case "tensor" | "scalar":
            return at.constant(np.asarray(x.data, dtype=x.type.dtype), name=x.name)
        case "sparse":
            return sp.constant(x.data, name=x.name)
        case "generator":
            return at.constant(state_of(x.data))
        case "none" | "slice":
            return x.data
        case "Generic" if x.data is None:
            return None
        case other:
            raise UnsupportedError(f"a constant of PyTensor's type {other} has no counterpart")


def shared_of(x: Any) -> Any:
    """A new shared variable with the current value of PyTensor's."""
    value = x.get_value(borrow=True)
    match kind_of(x):
        case "tensor" | "scalar":
            return at.shared(np.asarray(value), name=x.name, shape=dims_of(x))
        case "sparse":
            return sp.shared(value, name=x.name)
        case "generator":
            return at.shared(state_of(value), name=x.name or "rng", shape=(2,))
        case other:
            raise UnsupportedError(f"a shared variable of PyTensor's type {other} has no counterpart")


def with_known_type(old: Any, new: Any) -> Any:
    """A result with the dtype, the static extents and the name of PyTensor's variable."""
    if not is_tensor(old) or not isinstance(new, at.Variable):
        return new
    if new.dtype != old.type.dtype:
        new = at.cast(new, old.type.dtype)
    if old.name and new.name is None and new.owner is not None:
        new.name = old.name
    if kind_of(old) == "scalar":  # inside of a Composite it may be a tensor
        return new
    dims = dims_of(old)
    assert new.ndim == len(dims), (old, new)
    if any(known is not None and found is None for known, found in zip(dims, new.static_shape, strict=True)):
        new = at.specify_shape(new, dims)
    return new


def number_of(n: Any) -> Any:
    """The number of a constant scalar or of a constant's element, which allows simplification; else the variable."""
    data = getattr(n, "data", None)
    owner = getattr(n, "owner", None)
    if owner is not None and n.ndim == 0 and all(isinstance(x, at.Constant) for x in owner.inputs):
        data = n.eval()
    return n if data is None or isinstance(n, slice) or n.ndim != 0 else data.item()


# --- generators --------------------------------------------------------------------------------------------------


def state_of(generator: np.random.Generator) -> Array:
    """The aotensor state for a NumPy generator: the one that `generator_of` stored in it, else one derived from its
    whole state.
    """
    known = generator.bit_generator.state
    if known["bit_generator"] == "Philox" and int(known["state"]["key"][1]) == _MARK:
        return np.array([known["state"]["key"][0], known["state"]["counter"][0]], np.uint64)
    seed = np.random.SeedSequence(list(_words(known)))
    return np.array([seed.generate_state(1, np.uint64)[0], 0], np.uint64)


def generator_of(state: Array) -> np.random.Generator:
    """A NumPy generator that stores an aotensor state, which `state_of` returns."""
    key, draws = (int(word) for word in state)
    return np.random.Generator(np.random.Philox(key=key | _MARK << 64, counter=draws))


def _words(value: Any) -> Any:
    """The numbers in the state of a bit generator as words of 64 bits, in a fixed order."""
    if isinstance(value, dict):
        for name in sorted(value):
            yield from _words(value[name])
    elif isinstance(value, np.ndarray):
        yield from (int(x) & _WORD for x in value.ravel())
    elif isinstance(value, int | np.integer):
        number = int(value)
        yield number & _WORD
        yield number >> 64 & _WORD
