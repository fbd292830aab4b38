"""Render a variable as user source, as far as the graph allows: `x.T @ y`, `a[1:, i] + 2 * b`. For messages.

Messages never show the IR names of ops, which users do not know: ops have a notation, or methods here.
Conversions, checks and new axes are not shown; where a text gets too long, some operands are `...`.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from string import Formatter
from typing import Any, Final

from aotensor.graph.public import OPERATORS

LONGEST: Final = 60  # characters
_ATOM: Final = 100

_PARTS: Final = ("data", "indices", "indptr", "shape")
_WITH_PARTS: Final = ("csm_properties", "completed_shape", "fused")
"""Ops that have a text for each output."""
_FILLED: Final = {"0.0": "zeros", "0": "zeros", "1.0": "ones", "1": "ones"}


_NAMES: ContextVar[Mapping[Any, str]] = ContextVar("names", default=types.MappingProxyType({}))


@contextmanager
def called(names: Mapping[Any, str]) -> Iterator[None]:
    """Context manager within which variables print under these names, such as the argument names of a function."""
    token = _NAMES.set({**_NAMES.get(), **names})
    try:
        yield
    finally:
        _NAMES.reset(token)


def expression_of(x: Any, longest: int = LONGEST, is_code: bool = False) -> str:
    """Render a variable as source text.   is_code: leave out types, so that the text is valid Python"""
    return _shorten(lambda writer: writer.write(x)[0], [x], longest, is_code)


def expression_of_node(node: Any, longest: int = LONGEST, is_code: bool = False) -> str:
    """Render a node as source text: the text that stands for all its outputs together."""
    return _shorten(lambda writer: writer.write_node(node, node.outputs[0])[0], node.outputs, longest, is_code)


def locate_message(node: Any, message: str) -> str:
    """The message preceded by expression and line: `x.T @ y at model.py:12: inner dimensions differ`.

    The op's name is removed, since the expression shows it.
    """
    site = node.outputs[0].site
    written = node if site is None or site.node is None else site.node
    where = expression_of_node(written) + (f" at {site}" if site is not None else "")
    for name in (node.op.name, written.op.name):
        message = message.removeprefix(f"{name}: ")
    return f"{where}: {message}"


def _shorten(write: Callable[[_Writer], str], roots: Sequence[Any], longest: int, is_code: bool) -> str:
    """The longest text of at most `longest` characters; operands are left out, innermost first."""
    writer = _Writer(_NAMES.get(), set(roots), is_code)
    text, pending = write(writer), deque(writer.closed)
    while pending:
        x = pending.popleft()
        if x in writer.open:
            continue
        writer.open.add(x)
        writer.closed.clear()
        longer = write(writer)
        if len(longer) <= longest or len(longer) <= len(text):
            text = longer
            pending.extend(writer.closed)
        else:
            writer.open.discard(x)
    if len(text) <= longest:
        return text
    return _truncate(text, longest, is_code)


def _truncate(text: str, longest: int, is_code: bool) -> str:
    """Cut a text that is too long even without operands, because of long names."""
    if is_code:
        return text if len(text) <= 2 * longest else "..."
    return f"{text[: longest - 3]}..."


class _Writer:
    """Writes a variable as text. open: variables written in full. closed: those that were replaced by `...`.

    is_code: see `expression_of`
    """

    def __init__(self, names: Mapping[Any, str], opened: set[Any], is_code: bool) -> None:
        self._names = names
        self._is_code = is_code
        self.open = opened
        self.closed: list[Any] = []

    def write(self, x: Any) -> tuple[str, int]:
        """(source text of x, precedence of its outermost operator)."""
        name = self._names.get(x) or x.name
        if name:
            return name, _ATOM
        if x.owner is None:
            return _leaf(x, self._is_code), _ATOM
        if x not in self.open:
            self.closed.append(x)
            return "...", _ATOM
        text, strength = self.write_node(x.owner, x)
        is_part = len(x.owner.outputs) > 1 and x.owner.op.name not in _WITH_PARTS
        return (f"{text}[{x.index}]", _ATOM) if is_part else (text, strength)

    def write_node(self, node: Any, x: Any) -> tuple[str, int]:
        """(source text, precedence of its outermost operator) of the output x of a node."""
        op, operands = node.op, node.inputs
        if op.name == "fused":
            return self.write(op.body.outputs[x.index])
        if operands and (op.notation == "{0}" or (op.name == "dimshuffle" and _keeps_order(op.pattern))):
            return self.write(operands[0])
        if op.notation in OPERATORS and len(operands) > 1:
            return self._infix(op.notation, OPERATORS[op.notation].precedence, operands)
        if op.notation in ("-", "~"):
            return f"{op.notation}{self._inside(operands[0], 85)}", 85
        if op.name in ("sqr", "int_pow"):
            return f"{self._inside(operands[0], 91)}**{_exponent(op)}", 90
        if op.name == "dot":
            return self._product(op.spec, operands)
        special = getattr(self, f"_{op.name}", None)
        text = special(op, operands, x) if special is not None else None
        return (text if text is not None else self._call(op, operands)), _ATOM

    def _infix(self, symbol: str, strength: int, operands: Any) -> tuple[str, int]:
        first, *rest = operands
        is_power = symbol == "**"
        texts = [self._inside(first, strength + is_power)]
        texts += [self._inside(y, strength + (not is_power)) for y in rest]
        return (symbol if is_power else f" {symbol} ").join(texts), strength

    def _inside(self, x: Any, least: int) -> str:
        """The text of an operand, in parentheses if its operator binds less than `least`."""
        text, strength = self.write(x)
        return text if strength >= least else f"({text})"

    def _call(self, op: Any, operands: Any) -> str:
        name: str = op.name if op.notation in OPERATORS else op.notation or op.name
        if "{" in name:  # operands that a text does not show are not written: they would never make it too long
            known = {int(number) for _, number, _, _ in Formatter().parse(name) if number}
            return name.format(*(self.write(y)[0] if k in known else "" for k, y in enumerate(operands)))
        shown = [self.write(y)[0] for y in operands[:4]]
        axes = getattr(op, "axis", getattr(op, "axes", None))
        if isinstance(axes, int | tuple) and len(operands) == 1 and axes != tuple(range(operands[0].ndim)):
            shown.append(f"axis={axes[0] if isinstance(axes, tuple) and len(axes) == 1 else axes}")
        return f"{name}({', '.join(shown)}{', ...' if len(operands) > 4 else ''})"

    def _product(self, spec: str, operands: Any) -> tuple[str, int]:
        """A contraction: `a @ b`, with `.T` for transposed operands, or a call if there is no operator."""
        given, _, wanted = spec.partition("->")
        x, _, y = given.partition(",")
        for (one, a), (other, b) in (((x, operands[0]), (y, operands[1])), ((y, operands[1]), (x, operands[0]))):
            (k, *more) = sorted(set(one) & set(other)) or ("",)
            if k and not more and len(one) <= 2 >= len(other) and wanted == (one + other).replace(k, ""):
                return f"{self._factor(a, one[-1] == k, 80)} @ {self._factor(b, other[0] == k, 81)}", 80
        texts = [self.write(a)[0] for a in operands]
        if wanted == x + y and len(wanted) == 2:
            return f"outer({', '.join(texts)})", _ATOM
        return f"einsum({', '.join([repr(spec), *texts])})", _ATOM

    def _factor(self, x: Any, is_plain: bool, least: int) -> str:
        return self._inside(x, least) if is_plain else f"{self._inside(x, _ATOM)}.T"

    def _complex(self, op: Any, operands: Any, x: Any) -> str | None:
        """`conj(z)` if the operands are the real part of z and its negated imaginary part; else None."""
        re, im = operands[x.index], operands[x.index + op.count]
        z = _part_of(re, "real")
        is_conjugate = (
            z is not None and im.owner and im.owner.op.name == "neg" and z is _part_of(im.owner.inputs[0], "imag")
        )
        return f"conj({self.write(z)[0]})" if is_conjugate else None

    def _hypot(self, op: Any, operands: Any, x: Any) -> str | None:
        z = _part_of(operands[0], "real")
        return f"abs({self.write(z)[0]})" if z is not None and z is _part_of(operands[1], "imag") else None

    def _dimshuffle(self, op: Any, operands: Any, x: Any) -> str:
        kept = [axis for axis in op.pattern if axis is not None]
        is_reversed = len(op.pattern) == operands[0].ndim and kept == sorted(kept, reverse=True)
        order = ", ".join(str(sorted(kept).index(axis)) for axis in kept)
        return f"{self._inside(operands[0], _ATOM)}{'.T' if is_reversed else f'.transpose({order})'}"

    def _sparse_transpose(self, op: Any, operands: Any, x: Any) -> str:
        return f"{self._inside(operands[0], _ATOM)}.T"

    def _shape_i(self, op: Any, operands: Any, x: Any) -> str:
        return f"{self._inside(operands[0], _ATOM)}.shape[{op.axis}]"

    def _shape(self, op: Any, operands: Any, x: Any) -> str:
        return f"{self._inside(operands[0], _ATOM)}.shape"

    _matrix_extent = _shape_i

    def _csm_properties(self, op: Any, operands: Any, x: Any) -> str:
        return f"{self._inside(operands[0], _ATOM)}.{_PARTS[x.index]}"

    def _subtensor(self, op: Any, operands: Any, x: Any) -> str:
        whole, *symbols = operands
        if all(repr(entry) == ":" for entry in op.entries):
            return self.write(whole)[0]
        pending = iter(symbols)
        texts = []
        for entry in op.entries:
            first, *others = repr(entry).split("?")  # the operand between may contain a "?", too
            texts.append("".join([first, *(self.write(next(pending))[0] + other for other in others)]))
        return f"{self._inside(whole, _ATOM)}[{', '.join(texts)}]"

    def _advanced_subtensor(self, op: Any, operands: Any, x: Any) -> str:
        whole, *indices = operands
        if whole.owner is not None and whole.owner.op.name == "arange" and len(indices) == 1:
            return self._positions(whole.owner.inputs[1], indices[0])
        found = dict(zip(op.axes, (self.write(i)[0] for i in indices), strict=True))
        texts = [found.get(axis, ":") for axis in range(max(op.axes) + 1)]
        return f"{self._inside(whole, _ATOM)}[{', '.join(texts)}]"

    def _positions(self, extent: Any, index: Any) -> str:
        """`x[index]` if `extent` is the extent of an axis of an array x, else the text of `index`."""
        text = self.write(index)[0]
        counted = extent.owner
        if counted is None or not counted.op.gives_extent:
            return text
        return f"{self._inside(counted.inputs[0], _ATOM)}[{':, ' * counted.op.axis}{text}]"

    def _nonzero(self, op: Any, operands: Any, x: Any) -> str | None:
        return None if op.first is None else self._positions(operands[1], operands[0])

    def _alloc(self, op: Any, operands: Any, x: Any) -> str:
        value, *_ = operands
        sizes = self._extents(op.dims, operands[1:])
        text = self.write(value)[0]
        shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
        known = _FILLED.get(text)
        return f"{known}({shape})" if known else f"full({shape}, {text})"

    def _inc_subtensor(self, op: Any, operands: Any, x: Any) -> str:
        window = self._subtensor(op, (operands[0], *operands[2:]), x)
        return f"{'set' if op.is_set else 'inc'}_subtensor({window}, {self.write(operands[1])[0]})"

    def _inc_advanced_subtensor(self, op: Any, operands: Any, x: Any) -> str:
        window = self._advanced_subtensor(op, (operands[0], *operands[2:]), x)
        return f"{'set' if op.is_set else 'inc'}_subtensor({window}, {self.write(operands[1])[0]})"

    def _full_like(self, op: Any, operands: Any, x: Any) -> str:
        value, like = (self.write(y)[0] for y in operands)
        known = _FILLED.get(value)
        return f"{known}_like({like})" if known else f"full_like({like}, {value})"

    def _band(self, op: Any, operands: Any, x: Any) -> str:
        name, extents = "eye" if op.predicate == "eq" else "tri", self._extents(op.dims, operands)
        return f"{name}({', '.join(extents)}{f', k={op.offset}' if op.offset else ''})"

    def _triangle(self, op: Any, operands: Any, x: Any) -> str:
        shift = f", k={op.offset}" if op.offset else ""
        return f"{'tril' if op.is_lower else 'triu'}({self.write(operands[0])[0]}{shift})"

    def _take_at(self, op: Any, operands: Any, x: Any) -> str:
        return f"{self._inside(operands[0], _ATOM)}[{self.write(operands[1])[0]}]"

    _take_present = _take_at

    def _scan_rows(self, op: Any, operands: Any, x: Any) -> str:
        return f"{self._inside(operands[0], _ATOM)}[{':, ' * op.axis}:{self.write(operands[1])[0]}]"

    def _segment_rows(self, op: Any, operands: Any, x: Any) -> str:
        start = self.write(operands[1])[0]
        return f"{self._inside(operands[0], _ATOM)}[{':, ' * op.axis}{start}:{start} + {op.length}]"

    def _sum_at(self, op: Any, operands: Any, x: Any) -> str:
        values, positions, extent = (self.write(y)[0] for y in operands)
        return f"inc_subtensor(zeros({extent})[{positions}], {values})"

    def _draw(self, op: Any, operands: Any, x: Any) -> str:
        return f"{op.kind}({', '.join(self.write(y)[0] for y in operands[1:])})"

    def _noise(self, op: Any, operands: Any, x: Any) -> str:
        name = {"inner": "uniform", "bits": "integers"}.get(op.kind, op.kind)
        return f"{name}(size=({', '.join(self._extents(op.dims, operands[1:]))},))"

    def _extents(self, dims: Any, operands: Any) -> list[str]:
        """The text of each extent: a static number, or the text of the next operand."""
        pending = iter(operands)
        return [str(n) if isinstance(n, int) else self.write(next(pending))[0] for n in dims]

    def _submatrix(self, op: Any, operands: Any, x: Any) -> str:
        return f"{self._inside(operands[0], _ATOM)}[...]"

    def _completed_shape(self, op: Any, operands: Any, x: Any) -> str:
        return self.write(operands[1 + x.index])[0]

    def _reshape(self, op: Any, operands: Any, x: Any) -> str:
        sizes = self._extents(op.dims, operands[1:])
        return f"{self._inside(operands[0], _ATOM)}.reshape({', '.join(sizes)})"


def _exponent(op: Any) -> int:
    """The exponent of `sqr` or `int_pow`, real or complex."""
    parameters = vars(op) if hasattr(op, "exponent") else dict(op.row.parameters)
    return int(parameters.get("exponent") or 2)


def _part_of(x: Any, part: str) -> Any:
    """The complex value whose real or imaginary part (`part`) x is, or None."""
    return x.owner.inputs[0] if x.owner is not None and x.owner.op.name == part else None


def _leaf(x: Any, is_code: bool) -> str:
    """The text of a leaf: its name, the value of a short constant, else its type."""
    data = getattr(x, "data", None)
    if data is None:
        return "..." if is_code else f"<{x.type}>"
    if x.is_sparse or not _is_short(data):
        return "constant" if is_code else f"constant<{x.type}>"
    return str(data) if data.ndim == 0 else str(data.tolist())


def _is_short(data: Any) -> bool:
    return bool(data.ndim == 0 and data.size == 1) or bool(data.ndim == 1 and data.size <= 4)


def _keeps_order(pattern: Any) -> bool:
    """Does a dimshuffle keep the order of axes, and only add or drop axes of extent 1?"""
    kept = [axis for axis in pattern if axis is not None]
    return kept == sorted(kept)
