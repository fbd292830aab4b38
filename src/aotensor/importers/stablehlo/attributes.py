"""Parse types and attributes: numbers, lists, records, and dense arrays."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from aotensor.errors import UnsupportedError
from aotensor.extension import dtypes
from aotensor.importers.stablehlo.text import DamagedText, Text, unquoted

_TENSOR: Final = re.compile(r"tensor\s*<\s*((?:(?:\d+|\?)\s*x\s*)*)(complex\s*<\s*(\w+)\s*>|[!\w.]+)\s*(>|,)")
_ELEMENTS: Final = re.compile(r'dense\s*<\s*("0[xX][0-9A-Fa-f]*"|[^<>"]*)\s*>')
_ATOM: Final = re.compile(r"[^\s\[\],()]+")
_ARRAY: Final = re.compile(r"array\s*<\s*(\w+)\s*(?::([^<>]*))?>")
_DTYPES: Final = {
    "index": "int64",
    **{f"s{record.ir}": name for name, record in dtypes.DTYPES.items() if record.kind == "i"},
    **{"u" * (record.kind == "u") + record.ir: name for name, record in dtypes.DTYPES.items() if record.ir},
}
_COMPLEX: Final = {
    dtypes.DTYPES[record.part].ir: name for name, record in dtypes.DTYPES.items() if record.part is not None
}
_LARGEST_SPLAT: Final = 1 << 12
"""Elements of one value that are stored; more of them are computed."""


@dataclass(frozen=True)
class Aval:
    """A type. shape: None for a dynamic extent; dtype: a name, if NumPy has no such dtype"""

    shape: tuple[Any, ...]
    dtype: Any

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join('?' if n is None else str(n) for n in self.shape)}]"


@dataclass(frozen=True)
class Splat:
    """One value for all elements of a type, not stored."""

    value: Any


def dtype_named(name: str) -> Any:
    """The NumPy dtype of a name; the name itself if NumPy has none, as for f8E4M3FN."""
    found = _DTYPES.get(name, name)
    if name not in _DTYPES:
        return name
    try:
        return np.dtype(dtypes.canonical(found))
    except UnsupportedError:
        return found


def dtype_of(aval: Aval) -> str:
    """The aotensor dtype of a type.   Raises: UnsupportedError for an unsupported dtype, such as f8E4M3FN"""
    if not isinstance(aval.dtype, np.dtype):  # by a name such as i4, which NumPy takes for another
        raise UnsupportedError(f"aotensor does not have dtype {aval.dtype}")
    return dtypes.canonical(str(aval.dtype))


def read_type(text: Text) -> Aval:
    """`tensor<?x3xf32>`, or a scalar `f32`; tokens and tuples have their text as dtype.   Raises: DamagedText"""
    line = text.line
    found = text.match(_TENSOR)
    if not found:
        name = text.expect_kind("word", "a type")
        if text.token == "<":
            name += f"<{text.skip_brackets()}>"
        return Aval((), dtype_named(name))
    if found.group(4) == ",":  # an encoding
        while not text.take(">"):
            if text.kind == "end":
                text.fail("'>'")
            if text.token == "<":
                text.skip_brackets()
            else:
                text.advance()
    dims = tuple(None if dim == "?" else int(dim) for dim in re.findall(r"\d+|\?", found.group(1)))
    if any(dim is not None and dim >= 1 << 60 for dim in dims):
        raise DamagedText(f"{text.file}:{line}: the extent {max(d for d in dims if d is not None)} is too large")
    part = found.group(3)
    name = found.group(2)
    return Aval(dims, np.dtype(_COMPLEX[part]) if part in _COMPLEX else dtype_named(name))


def read_attribute(text: Text, is_typed: bool = True) -> Any:
    """Parse an attribute: numbers, text, lists, dicts; words and symbols stay text; arrays by `read_dense`.

    is_typed: a number may have a type suffix; not where the type would be that of an operation.

    Raises: DamagedText
    """
    match text.kind:
        case "number":
            return _typed(text, _number(text.advance()), is_typed)
        case "string":
            return _typed(text, unquoted(text.advance()), is_typed)
        case "symbol":
            return text.advance()[1:].strip('"')
        case "alias":
            return _record(text)
        case "mark" if text.take("["):
            return _joined(text, text.parse_list(lambda: read_attribute(text), "]"))
        case "mark" if text.token in ("{", "<"):
            return read_record(text, text.token, "}" if text.token == "{" else ">")
        case "word":
            return _word(text)
    return text.fail("an attribute")


def _joined(text: Text, first: list[Any]) -> Any:
    """Parse a list, or lists joined by `x` and `->`, as in dimension numbers of products and convolutions."""
    found = [first]
    while (text.kind == "word" and text.token == "x") or (len(found) == 2 and text.token == "->"):
        text.advance()
        text.need("[")
        found.append(text.parse_list(lambda: read_attribute(text), "]"))
    return first if len(found) == 1 else found


def _typed(text: Text, value: Any, is_typed: bool) -> Any:
    """A value that may be followed by its type."""
    if is_typed and text.take(":"):
        read_type(text)
    return value


def _number(token: str) -> int | float:
    if "x" in token:
        return int(token, 16)
    return int(token) if re.fullmatch(r"-?\d+", token) else float(token)


def read_record(text: Text, begin: str, end: str) -> dict[str, Any]:
    """`key = value, key` between brackets; a key without value is True.   Raises: DamagedText"""
    text.need(begin)

    def item() -> tuple[str, Any]:
        if text.kind not in ("word", "string"):
            text.fail("a name")
        key = text.advance().strip('"')
        return key, read_attribute(text) if text.take("=") else True

    return dict(text.parse_list(item, end))


def _record(text: Text) -> Any:
    """`#dialect.name<key = value>` as a dict, or else its text; the name of an alias."""
    name = text.advance()
    if text.token != "<":
        return name
    if re.compile(r"<\s*(\w+\s*=|>)").match(text.source, text.place):
        return read_record(text, "<", ">")
    return f"{name}<{text.skip_brackets()}>"


def _word(text: Text) -> Any:
    if text.token == "dense":
        return read_dense(text)[1]
    if text.token == "array":
        return _array(text)
    if text.token in ("true", "false"):
        return text.advance() == "true"
    if text.token in ("tensor", "complex", "tuple") or text.token.startswith("!"):
        return read_type(text)
    word = text.advance()
    return f"{word}<{text.skip_brackets()}>" if text.token == "<" else word


def _array(text: Text) -> list[Any]:
    """`array<i64: 1, 2>`"""
    line = text.line
    found = text.match(_ARRAY)
    if not found:
        text.fail("an array")
    try:
        return [{"true": True, "false": False}.get(x, x) if x in ("true", "false") else _number(x)
                for x in map(str.strip, (found.group(2) or "").split(",")) if x]  # fmt: skip
    except ValueError:
        raise DamagedText(f"{text.file}:{line}: this is not an array of numbers: {found.group(2)!r:.40}") from None


def read_dense(text: Text) -> tuple[Aval, Any]:
    """`dense<[[1, 2]]> : tensor<1x2xi64>` as its type and an array, or a Splat.

    Raises: DamagedText for elements that are not numbers of that type, or another number of them.
    """
    line = text.line
    found = text.match(_ELEMENTS)
    if not found:
        text.fail("dense<...> with numbers")
    text.need(":")
    aval = read_type(text)
    if not isinstance(aval.dtype, np.dtype) or None in aval.shape:
        return aval, None
    body = found.group(1).strip()
    count = prod(aval.shape)
    try:
        values = _of_bytes(body[3:-1], aval.dtype, count) if body.startswith('"') else _of_numbers(body, aval.dtype)
    except (ValueError, OverflowError) as error:
        raise DamagedText(
            f"{text.file}:{line}: {body!r:.40} cannot be read as elements of {aval.dtype}: {error}"
        ) from None
    is_one = len(values) == 1 and "[" not in body
    if is_one and count > _LARGEST_SPLAT:
        return aval, Splat(values[0])
    if is_one:
        return aval, np.full(aval.shape, values[0], aval.dtype)
    if len(values) != count:
        raise DamagedText(f"{text.file}:{line}: the constant has {len(values)} elements for extents {list(aval.shape)}")
    return aval, values.reshape(aval.shape)


def _of_bytes(digits: str, dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
    """Decode elements from their bytes; bools are one byte each, or packed eight to a byte."""
    content = bytes.fromhex(digits)
    if dtype.kind != "b":
        return np.frombuffer(content, dtype)
    found = np.frombuffer(content, "uint8")
    if len(found) != count and len(found) == -(-count // 8):
        found = np.unpackbits(found, count=count, bitorder="little")
    return np.asarray(found != 0)


def _of_numbers(body: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    atoms = _ATOM.findall(body)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        numbers = np.array([_element(x, part) for x in atoms], part)
        if len(numbers) % 2:
            raise ValueError("the last complex number has no imaginary part")
        return numbers.view(dtype)
    return np.array([_element(x, dtype) for x in atoms], dtype)


def _element(atom: str, dtype: np.dtype[Any]) -> Any:
    """Parse a number; hexadecimal digits are the bits of a float.   Raises: ValueError, OverflowError"""
    if dtype.kind == "b":
        if atom not in ("true", "false", "1", "0", "-1"):
            raise ValueError(f"{atom} is neither true nor false")
        return atom not in ("false", "0")
    if dtype.kind in "iu":
        return np.array(int(atom, 0), dtype)[()]
    if atom.lower().startswith("0x"):
        return np.array(int(atom, 16), f"u{dtype.itemsize}").view(dtype)[()]
    return dtype.type(float(atom))
