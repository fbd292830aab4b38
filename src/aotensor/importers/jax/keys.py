"""Random numbers: keys are arrays of uint32 with one more axis; draws are imported from JAX's own programs, so they
have the same bits. The generator, threefry2x32, is integer arithmetic. Source: Salmon et al., Parallel random
numbers: as easy as 1, 2, 3 (2011), 20 rounds of Threefry-2×32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.extend.random as generators
import numpy as np

import aotensor.tensor as at
from aotensor.importers.lax.bits import like, shifted_right
from aotensor.importers.lax.table import RULES, Context, Convert, Equation, rule

_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY: Final = np.uint32(0x1BD11BDA)
_WORDS: Final = 2
"""uint32 of a key."""


def is_key(aval: Any) -> bool:
    """Is this an array of keys?"""
    return hasattr(aval, "dtype") and jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key)


@rule("threefry2x32", note="the same bits")
def _threefry(
    context: Context, equation: Equation, key0: at.Variable, key1: at.Variable, x0: at.Variable, x1: at.Variable
) -> list[at.Variable]:
    keys = [key0, key1, key0 ^ key1 ^ at.constant(_PARITY)]
    counts = {count: (like(count, x0), like(32 - count, x0)) for group in _ROTATIONS for count in group}
    x0, x1 = x0 + key0, x1 + key1
    for block in range(5):
        for count in _ROTATIONS[block % 2]:
            x0 = x0 + x1
            left, right = counts[count]
            x1 = (at.left_shift(x1, left) | at.right_shift(x1, right)) ^ x0
        x0, x1 = x0 + keys[(block + 1) % 3], x1 + keys[(block + 2) % 3] + at.constant(np.uint32(block + 1))
    return [x0, x1]


@rule("iota_2x32_shape")
def _counters(context: Context, equation: Equation) -> list[at.Variable]:
    """Linear indices of all elements in C order, as high and low words."""
    shape = context.extents(equation.outvars[0].aval.shape)
    count: Any = 1
    for extent in shape:
        count = count * extent
    numbers = at.reshape(at.arange(count, dtype="uint64"), shape)
    return [at.cast(shifted_right(numbers, 32), "uint32"), at.cast(numbers, "uint32")]


def _other_generator(dtype: Any) -> str:
    return "" if "fry" in str(dtype) else f"its key has dtype {dtype}, and only keys of threefry are supported"


def _of_key(equation: Equation) -> str:
    return _other_generator(equation.invars[0].aval.dtype)


def _to_key(equation: Equation) -> str:
    return _other_generator(equation.outvars[0].aval.dtype)


@rule("random_wrap", check=_to_key)
def _wrap(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    return x


@rule("random_unwrap", check=_of_key, takes_keys=True)
def _unwrap(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    return x


def _drawn(program: Callable[..., Any], context: Context, rank: int, *inputs: tuple[at.Variable, Any]) -> at.Variable:
    """A program of JAX on the words of each key.   rank: of the array of keys; inputs: with their shapes and dtypes"""
    for _ in range(rank):
        program = jax.vmap(program)
    traced = jax.make_jaxpr(program)(*(aval for _, aval in inputs))
    (found,) = context.run(traced, [x for x, _ in inputs], is_users=False)
    return found


def words(aval: Any) -> jax.ShapeDtypeStruct:
    """The type of the array of words that represents an array of keys."""
    return jax.ShapeDtypeStruct((*aval.shape, _WORDS), "uint32")


@rule("random_bits", check=_of_key, note="the same bits", takes_keys=True)
def _bits(context: Context, equation: Equation, key: at.Variable) -> at.Variable:
    aval, width, shape = equation.invars[0].aval, equation.params["bit_width"], equation.params["shape"]
    draw = generators.threefry_prng_impl.random_bits
    return _drawn(lambda words: draw(words, width, shape), context, len(aval.shape), (key, words(aval)))


@rule("random_split", check=_of_key, note="the same keys", takes_keys=True)
def _split(context: Context, equation: Equation, key: at.Variable) -> at.Variable:
    aval, shape = equation.invars[0].aval, tuple(equation.params["shape"])
    split = generators.threefry_prng_impl.split
    return _drawn(lambda words: split(words, shape), context, len(aval.shape), (key, words(aval)))


@rule("random_fold_in", check=_of_key, note="the same keys", takes_keys=True)
def _fold_in(context: Context, equation: Equation, key: at.Variable, number: at.Variable) -> at.Variable:
    aval, other = (var.aval for var in equation.invars)
    shape = np.broadcast_shapes(aval.shape, other.shape)
    key = at.broadcast_to(key, [*shape, _WORDS]) if shape != aval.shape else key
    number = at.broadcast_to(number, list(shape)) if shape != other.shape else number
    pairs = [
        (key, jax.ShapeDtypeStruct((*shape, _WORDS), "uint32")),
        (at.cast(number, "uint32"), jax.ShapeDtypeStruct(shape, "uint32")),
    ]
    return _drawn(generators.threefry_prng_impl.fold_in, context, len(shape), *pairs)


@rule("random_seed", check=_to_key, note="the same keys")
def _seed(context: Context, equation: Equation, seed: at.Variable) -> at.Variable:
    aval = equation.invars[0].aval
    program = generators.threefry_prng_impl.seed
    return _drawn(program, context, len(aval.shape), (seed, jax.ShapeDtypeStruct(aval.shape, aval.dtype)))


def _with_words(equation: Any, **changes: Any) -> Equation:
    """The equation on words of keys: types with one more axis, and adapted parameters."""
    invars = [_Plain(words(x.aval)) if is_key(x.aval) else x for x in equation.invars]
    outvars = [_Plain(words(x.aval)) if is_key(x.aval) else x for x in equation.outvars]
    found: Equation = equation.replace(invars=invars, outvars=outvars, params={**equation.params, **changes})
    return found


class _Plain:
    """A variable with the attributes that rules read."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval


def _moved(change: Callable[[dict[str, Any], int], dict[str, Any]], name: str) -> Convert:
    def convert(context: Context, equation: Equation, *inputs: at.Variable) -> Any:
        changes = change(dict(equation.params), len(equation.invars[0].aval.shape))
        return RULES[name].convert(context, _with_words(equation, **changes), *inputs)

    return convert


def _window(context: Context, equation: Equation, x: at.Variable, *starts: at.Variable) -> Any:
    sizes = (*equation.params["slice_sizes"], _WORDS)
    changed = _with_words(equation, slice_sizes=sizes)
    return RULES["dynamic_slice"].convert(context, changed, x, *starts, at.constant(np.int32(0)))


def _gathered(context: Context, equation: Equation, x: at.Variable, starts: at.Variable) -> Any:
    dims = equation.params["dimension_numbers"]
    dims = dims._replace(offset_dims=(*dims.offset_dims, len(equation.outvars[0].aval.shape)))
    sizes = (*equation.params["slice_sizes"], _WORDS)
    fill = np.uint32(0) if equation.params["fill_value"] is None else equation.params["fill_value"]
    changed = _with_words(equation, slice_sizes=sizes, dimension_numbers=dims, fill_value=fill)
    return RULES["gather"].convert(context, changed, x, starts)


def _selected(context: Context, equation: Equation, which: at.Variable, *cases: at.Variable) -> Any:
    which = at.expand_dims(which, -1) if which.ndim else which
    return RULES["select_n"].convert(context, equation, which, *cases)


on_keys: Final[dict[str, Convert]] = {
    "slice": _moved(lambda p, rank: {
        "start_indices": (*p["start_indices"], 0), "limit_indices": (*p["limit_indices"], _WORDS),
        "strides": None if p["strides"] is None else (*p["strides"], 1),
    }, "slice"),
    "dynamic_slice": _window,
    "gather": _gathered,
    "select_n": _selected,
    "rev": _moved(lambda p, rank: {}, "rev"),
    "squeeze": _moved(lambda p, rank: {}, "squeeze"),
    "concatenate": _moved(lambda p, rank: {}, "concatenate"),
    "split": _moved(lambda p, rank: {}, "split"),
    "reshape": _moved(lambda p, rank: {"new_sizes": (*p["new_sizes"], _WORDS)}, "reshape"),
    "transpose": _moved(lambda p, rank: {"permutation": (*p["permutation"], rank)}, "transpose"),
    "broadcast_in_dim": _moved(lambda p, rank: {
        "shape": (*p["shape"], _WORDS), "broadcast_dimensions": (*p["broadcast_dimensions"], len(p["shape"])),
    }, "broadcast_in_dim"),
}  # fmt: skip
"""Primitives that move keys: the same on their words."""
