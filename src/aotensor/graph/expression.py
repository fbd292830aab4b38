"""A variable as its user wrote it, as far as the graph knows: `x.T @ y`, `a[1:, i] + 2 * b`. For messages.

Conversions, checks and new axes are not shown; what is too long or too deep becomes `...`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

LONGEST: Final = 60  # characters
_DEEPEST: Final = 6  # operations inside of each other
_ATOM: Final = 100

_INFIX: Final = {
    "pow": ("**", 90), "mul": ("*", 80), "true_div": ("/", 80), "int_div": ("//", 80), "mod": ("%", 80),
    "dot": ("@", 80), "sparse_dot": ("@", 80), "structured_dot": ("@", 80), "true_dot": ("@", 80), "add": ("+", 70),
    "add_s_s": ("+", 70), "add_s_d": ("+", 70), "sub": ("-", 70), "mul_s_s": ("*", 80), "mul_s_d": ("*", 80),
    "mul_s_v": ("*", 80), "div_s_d": ("/", 80), "and_": ("&", 60), "xor": ("^", 55), "or_": ("|", 50), "lt": ("<", 40),
    "le": ("<=", 40), "gt": (">", 40), "ge": (">=", 40),
}  # fmt: skip
"""Operators, and how strongly they bind."""

_PREFIX: Final = {"neg": "-", "sparse_neg": "-", "invert": "~"}
_TRANSPARENT: Final = frozenset({
    "cast", "sparse_cast", "fitting", "specify_shape", "identity", "sparse_copy", "checked_structure", "canonical",
    "parameter", "dense_from_sparse",
})  # fmt: skip
"""What hands on its first operand."""

_PARTS: Final = ("data", "indices", "indptr", "shape")


_NAMES: ContextVar[Mapping[Any, str]] = ContextVar("names", default=types.MappingProxyType({}))


@contextmanager
def called(names: Mapping[Any, str]) -> Iterator[None]:
    """Variables have these names in all texts that are made inside: those of a function's arguments."""
    token = _NAMES.set(names)
    try:
        yield
    finally:
        _NAMES.reset(token)


def expression_of(x: Any, longest: int = LONGEST) -> str:
    """The text of a variable."""
    return _shortened(lambda writer, depth: writer.write(x, depth)[0], longest)


def expression_of_node(node: Any, longest: int = LONGEST) -> str:
    """The text of a node: of all its outputs together."""
    return _shortened(lambda writer, depth: writer.write_node(node, node.outputs[0], depth)[0], longest)


def located(node: Any, message: str) -> str:
    """`x.T @ y at model.py:12: inner dimensions differ`; without the op's name, which the expression shows."""
    site = node.outputs[0].site
    written = node if site is None or site.node is None else site.node
    where = expression_of_node(written) + (f" at {site}" if site is not None else "")
    for name in (node.op.name, written.op.name):
        message = message.removeprefix(f"{name}: ")
    return f"{where}: {message}"


def _shortened(write: Callable[[_Writer, int], str], longest: int) -> str:
    """The deepest text that is not too long."""
    text = ""
    for depth in range(_DEEPEST, 0, -1):
        text = write(_Writer(_NAMES.get()), depth)
        if len(text) <= longest:
            return text
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


class _Writer:
    def __init__(self, names: Mapping[Any, str]) -> None:
        self._names = names

    def write(self, x: Any, depth: int) -> tuple[str, int]:
        """A text and how strongly its outermost operator binds."""
        name = self._names.get(x) or x.name
        if name:
            return name, _ATOM
        if x.owner is None:
            return _leaf(x), _ATOM
        if depth == 0:
            return "...", _ATOM
        text, strength = self.write_node(x.owner, x, depth)
        is_part = len(x.owner.outputs) > 1 and x.owner.op.name not in ("csm_properties", "completed_shape", "fused")
        return (f"{text}[{x.index}]", _ATOM) if is_part else (text, strength)

    def write_node(self, node: Any, x: Any, depth: int) -> tuple[str, int]:
        """A node with an output x."""
        op, operands = node.op, node.inputs
        if op.name == "fused":
            return self.write(op.body.outputs[x.index], depth)
        if op.name in _TRANSPARENT or (op.name == "dimshuffle" and _keeps_order(op.pattern)):
            return self.write(operands[0], depth)
        if op.name in _INFIX and len(operands) > 1:
            return self._infix(*_INFIX[op.name], operands, depth)
        if op.name in _PREFIX:
            return f"{_PREFIX[op.name]}{self._inside(operands[0], 85, depth)}", 85
        if op.name == "sqr":
            return f"{self._inside(operands[0], 91, depth)}**2", 90
        special = getattr(self, f"_{op.name}", None)
        text = special(op, operands, x, depth) if special is not None else None
        return (text if text is not None else self._call(op, operands, depth)), _ATOM

    def _infix(self, symbol: str, strength: int, operands: Any, depth: int) -> tuple[str, int]:
        first, *rest = operands
        is_power = symbol == "**"
        texts = [self._inside(first, strength + is_power, depth)]
        texts += [self._inside(y, strength + (not is_power), depth) for y in rest]
        return (symbol if is_power else f" {symbol} ").join(texts), strength

    def _inside(self, x: Any, least: int, depth: int) -> str:
        """An operand, in brackets if it binds less than `least`."""
        text, strength = self.write(x, depth - 1)
        return text if strength >= least else f"({text})"

    def _call(self, op: Any, operands: Any, depth: int) -> str:
        shown = [self.write(y, depth - 1)[0] for y in operands[:4]]
        axes = getattr(op, "axis", getattr(op, "axes", None))
        if isinstance(axes, int | tuple) and len(operands) == 1 and axes != tuple(range(operands[0].ndim)):
            shown.append(f"axis={axes[0] if isinstance(axes, tuple) and len(axes) == 1 else axes}")
        return f"{op.name}({', '.join(shown)}{', ...' if len(operands) > 4 else ''})"

    def _dimshuffle(self, op: Any, operands: Any, x: Any, depth: int) -> str | None:
        kept = [axis for axis in op.pattern if axis is not None]
        is_reversed = len(op.pattern) == operands[0].ndim and kept == sorted(kept, reverse=True)
        return f"{self._inside(operands[0], _ATOM, depth)}.T" if is_reversed else None

    def _sparse_transpose(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        return f"{self._inside(operands[0], _ATOM, depth)}.T"

    def _shape_i(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        return f"{self._inside(operands[0], _ATOM, depth)}.shape[{op.axis}]"

    def _shape(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        return f"{self._inside(operands[0], _ATOM, depth)}.shape"

    def _matrix_extent(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        return f"{self._inside(operands[0], _ATOM, depth)}.shape[{op.axis}]"

    def _csm_properties(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        return f"{self._inside(operands[0], _ATOM, depth)}.{_PARTS[x.index]}"

    def _subtensor(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        whole, *symbols = operands
        if all(repr(entry) == ":" for entry in op.entries):
            return self.write(whole, depth)[0]
        pending = iter(symbols)
        texts = []
        for entry in op.entries:
            text = repr(entry)
            while "?" in text:
                text = text.replace("?", self.write(next(pending), depth - 1)[0], 1)
            texts.append(text)
        return f"{self._inside(whole, _ATOM, depth)}[{', '.join(texts)}]"

    def _advanced_subtensor(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        whole, *indices = operands
        if whole.owner is not None and whole.owner.op.name == "arange" and len(indices) == 1:
            return self._positions(whole.owner.inputs[1], indices[0], depth)
        found = dict(zip(op.axes, (self.write(i, depth - 1)[0] for i in indices), strict=True))
        texts = [found.get(axis, ":") for axis in range(max(op.axes) + 1)]
        return f"{self._inside(whole, _ATOM, depth)}[{', '.join(texts)}]"

    def _positions(self, extent: Any, index: Any, depth: int) -> str:
        """An index that is counted from the start by what `arange` of an extent gives."""
        text = self.write(index, depth - 1)[0]
        counted = extent.owner
        if counted is None or not counted.op.gives_extent:
            return text
        return f"{self._inside(counted.inputs[0], _ATOM, depth)}[{':, ' * counted.op.axis}{text}]"

    def _nonzero(self, op: Any, operands: Any, x: Any, depth: int) -> str | None:
        return None if op.first is None else self._positions(operands[1], operands[0], depth)

    def _alloc(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        value, *_ = operands
        pending = iter(operands[1:])
        sizes = [str(n) if isinstance(n, int) else self.write(next(pending), depth - 1)[0] for n in op.dims]
        text = self.write(value, depth - 1)[0]
        shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
        known = {"0.0": "zeros", "0": "zeros", "1.0": "ones", "1": "ones"}.get(text)
        return f"{known}({shape})" if known else f"full({shape}, {text})"

    def _inc_subtensor(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        whole, value = (self.write(y, depth - 1)[0] for y in operands[:2])
        return f"{'set' if op.is_set else 'inc'}_subtensor({whole}[...], {value})"

    _inc_advanced_subtensor = _inc_subtensor

    def _submatrix(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        return f"{self._inside(operands[0], _ATOM, depth)}[...]"

    def _completed_shape(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        return self.write(operands[1 + x.index], depth)[0]

    def _reshape(self, op: Any, operands: Any, x: Any, depth: int) -> str:
        pending = iter(operands[1:])
        sizes = [str(n) if isinstance(n, int) else self.write(next(pending), depth - 1)[0] for n in op.dims]
        return f"{self._inside(operands[0], _ATOM, depth)}.reshape({', '.join(sizes)})"


def _leaf(x: Any) -> str:
    """A constant by its value where that is short; a leaf without a name by its type."""
    data = getattr(x, "data", None)
    if data is None or x.is_sparse:
        return f"<{x.type}>" if data is None else f"constant<{x.type}>"
    if data.size == 1 and data.ndim == 0:
        return str(data)
    return str(data.tolist()) if data.ndim == 1 and data.size <= 4 else f"constant<{x.type}>"


def _keeps_order(pattern: Any) -> bool:
    """Does a dimshuffle only add axes of extent 1, or drop some?"""
    kept = [axis for axis in pattern if axis is not None]
    return kept == sorted(kept)
