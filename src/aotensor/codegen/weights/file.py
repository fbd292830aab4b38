"""The file of weights: large constants in the layout of safetensors, each at a multiple of 64 bytes.

    8 bytes      length of the header, little-endian
    header       JSON: name → dtype, shape, [begin, end) after the header; padded with spaces to a multiple of 64 bytes
    data         the elements, row-major and little-endian

The layout allows no gaps between tensors: bytes that only align the next one are a tensor `padding`, `padding.1`, ...
Source: https://github.com/huggingface/safetensors, README, "Format".
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from aotensor.codegen.targets.systems import system_of
from aotensor.errors import GraphValueError, OptionError
from aotensor_runtime.weights.spec import WEIGHTS_ALIGNMENT, WeightsSpec, is_file_name

LEAST_BYTES: Final = 1 << 14
"""Size in bytes above which a constant is moved by default: larger ones are left out of the library's IR texts, too."""
SUFFIX: Final = ".safetensors"

PADDING: Final = "padding"

_DTYPES: Final = {
    "i1": "BOOL", "i8": "I8", "ui8": "U8", "i16": "I16", "ui16": "U16", "i32": "I32", "ui32": "U32", "i64": "I64",
    "ui64": "U64", "index": "I64", "f16": "F16", "bf16": "BF16", "f32": "F32", "f64": "F64",
}  # fmt: skip
"""MLIR's element type → the dtype's name in the file."""

_UNSIGNED: Final = {"uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64"}
"""The dtypes that MLIR's types of elements do not tell from signed ones → their names in the file."""


@dataclass(frozen=True, slots=True)
class WeightsOption:
    """A request to move large constants to a file.

    file: its name; by default that of the library with `.safetensors`. least: bytes above which a constant is moved
    """

    file: str = ""
    least: int = LEAST_BYTES

    def __post_init__(self) -> None:
        if self.file and not is_file_name(self.file):
            raise GraphValueError(
                f"weights must be the name of a file next to the library, not {self.file[:80]!r}",
                hint="give a name without a folder, such as model.safetensors",
            )
        if self.least < 0:
            raise GraphValueError(
                f"the least size of a constant in the file of weights is negative: {self.least} bytes"
            )

    def file_name(self, library: str) -> str:
        """The name of the file of a library."""
        return self.file or library + SUFFIX


def refuse_weights(triple: str, allocates: bool) -> None:
    """Raises: OptionError for targets and options whose libraries cannot have a file of weights"""
    if not allocates:
        raise OptionError(
            "a library that does not allocate memory cannot have a file of weights",
            hint="leave out --weights, or --no-malloc and --freestanding (malloc=False)",
        )
    if system_of(triple).pointer_bytes != 8:
        raise OptionError(
            f"a file of weights needs addresses of 64 bits, which {triple} does not have", hint="leave out --weights"
        )


@dataclass(frozen=True, slots=True)
class Place:
    """A constant in the file.   offset: of its first byte from the start of the data. size: in bytes"""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """A complete file.   start: of the data, in bytes from the start of the file"""

    spec: WeightsSpec
    content: bytes
    start: int


class WeightsPool:
    """Collects the constants of one library; equal bytes are stored once, also those of several CPU levels.

    known: names and dtypes of constants, by the SHA-256 of their bytes; the others have the names of their symbols.
    """

    def __init__(self, least: int = LEAST_BYTES, known: Mapping[bytes, tuple[str, str]] = MappingProxyType({})) -> None:
        self.least, self._known = least, known
        self._places: dict[bytes, Place] = {}
        self._names = {"__metadata__"}
        self._parts: list[tuple[Place, bytes]] = []
        self._end = 0

    def accepts(self, size: int) -> bool:
        """Is a constant of this size in bytes moved to the file?"""
        return size > self.least

    def add(self, name: str, element: str, shape: Sequence[int], content: bytes) -> Place:
        """Store a constant.   name: for one that has none. element: MLIR's element type, or a vector of it"""
        key = hashlib.sha256(content).digest()
        if key not in self._places:
            known, exact = self._known.get(key, ("", ""))
            dtype, shape = _UNSIGNED.get(exact) or _DTYPES.get(element), tuple(shape)
            if dtype is None:  # vectors are bytes for other readers
                dtype, shape = "U8", (len(content),)
            padding = -self._end % WEIGHTS_ALIGNMENT
            if padding:
                self._store(self._unique(PADDING), "U8", (padding,), bytes(padding))
            self._places[key] = self._store(self._unique(known or name), dtype, shape, content)
        return self._places[key]

    def file(self, name: str, library: str) -> WeightsFile | None:
        """The file of that name; None if no constant is large.   library: its name, for readers"""
        if not self._parts:
            return None
        header: dict[str, object] = {"__metadata__": {"format": "aotensor", "library": library}}
        for place, _ in self._parts:
            ends = [place.offset, place.offset + place.size]
            header[place.name] = {"dtype": place.dtype, "shape": list(place.shape), "data_offsets": ends}
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-(8 + len(text)) % WEIGHTS_ALIGNMENT)
        content = b"".join([len(text).to_bytes(8, "little"), text, *(part for _, part in self._parts)])
        spec = WeightsSpec(name, len(content), hashlib.sha256(content).hexdigest())
        return WeightsFile(spec, content, 8 + len(text))

    def _store(self, name: str, dtype: str, shape: tuple[int, ...], content: bytes) -> Place:
        place = Place(name, dtype, shape, self._end, len(content))
        self._parts.append((place, content))
        self._end += len(content)
        return place

    def _unique(self, name: str) -> str:
        free = next(x for k in itertools.count() if (x := f"{name}.{k}" if k else name) not in self._names)
        self._names.add(free)
        return free
