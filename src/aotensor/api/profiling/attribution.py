"""Attribute samples to lines of the model.

in code of a line                                   that line
in code of no line, in a function made of lines     lines of that function, in proportion
in aot.exp, memcpy, ... called from a line          that line
in a kernel on another core (aot_gemm, ...)         lines that call the kernel, in proportion
in the pool of threads                              waiting
elsewhere                                           the call: checks, copies, the entry
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from aotensor.api.profiling.line_table import LineTable, Place
from aotensor.api.profiling.sampler import Sample
from aotensor_runtime.errors import DamagedLibrary
from aotensor_runtime.formats.image import Image

WAITING: Final = "waiting for other cores"
CALL: Final = "the call itself: checks, copies"
_POOL: Final = (
    "entry.worker", "entry.parallel", "entry.on_pool", "entry.start", "entry.ready", "entry.end_pool", "entry.lane",
)  # fmt: skip
_ENTRY: Final = ("entry.", "aotensor_")
_KERNELS: Final = ("aot.", "aot_")
_SYSTEM: Final = ("memfd:", "libc.", "libm.", "ld-", "[", "libsampler", "libpython", "python", "libpthread")
"""Modules that are no kernels of their own: what calls them is what takes the time."""
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_FUNCTION: Final = 2
_X86, _ARM = 62, 183
"""Processors, as ELF numbers them: of others, every address on the stack counts as that of a caller."""
_BRANCH_AND_LINK: Final = 0b100101
_BRANCH_TO_REGISTER: Final = 0xD63F0000

Owner: TypeAlias = "Place | str"
"""A line, `WAITING`, `CALL`, or the name of a kernel that no line is known to call."""


@dataclass(frozen=True)
class Charged:
    """Processor time by owner, and by owner and the kernel that a line calls ("" for code of its own).

    shared: the part of code of its own that was given to a line in proportion, as the code has no line.
    """

    owners: Counter[Owner]
    kernels: Counter[tuple[Owner, str]]
    shared: Counter[Owner]

    @property
    def total(self) -> int:
        return sum(self.owners.values())


class Code:
    """The functions and lines of a library with line tables.   Raises: DamagedLibrary"""

    def __init__(self, image: Image) -> None:
        self.lines = LineTable(image)
        text = image.sections[".text"]
        self._text = range(text.offset, text.offset + text.size)
        self._data, self._machine = image.data, image.machine
        self._starts, self._names = _functions(image)

    def function(self, address: int) -> str:
        """The name of the function that contains an address, "" outside of the library."""
        number = bisect_right(self._starts, address) - 1
        return self._names[number] if address in self._text and number >= 0 else ""

    def place(self, address: int) -> Place | None:
        """The line of an address, line 0 for code that LLVM made of several lines."""
        return self.lines.place(address) if self.function(address) else None

    def charge(self, samples: Iterable[Sample]) -> Charged:
        """Charge the time of samples to lines."""
        owners: Counter[Owner] = Counter()
        kernels: Counter[tuple[Owner, str]] = Counter()
        shared: Counter[Owner] = Counter()
        apart: Counter[tuple[str, str]] = Counter()
        known: dict[str, Counter[Owner]] = defaultdict(Counter)
        for sample in samples:
            owner, kernel, group = self._owner(sample)
            if owner is None:
                apart[group, kernel] += sample.weight
                continue
            owners[owner] += sample.weight
            kernels[owner, kernel] += sample.weight
            known[group][owner] += sample.weight
        for (group, kernel), weight in apart.items():
            parts = known.get(group) or Counter({kernel or CALL: 1})
            total = sum(parts.values())
            for owner, part in parts.items():
                own = "" if owner == kernel else kernel
                owners[owner] += weight * part // total
                kernels[owner, own] += weight * part // total
                shared[owner] += 0 if own else weight * part // total
        return Charged(owners, kernels, shared)

    def _frames(self, addresses: Sequence[int], is_blas: bool) -> Iterator[int]:
        """The places of a thread's call stack, innermost first.   is_blas: it is in a library that is called by pointer

        Memory of the stack that is not in use holds addresses of earlier calls. A direct call counts if a frame before
        is in the function that it calls; a call by a pointer if such a call leads to it, or if nothing else is known.
        """
        yield addresses[0]
        waiting: dict[str, int | None] = {self.function(addresses[0]): None}
        for address in addresses[1:]:
            called, name = self._called(address), self.function(address - 1)
            if called is None:
                if self._is_indirect(address):
                    waiting.setdefault(name, address - 1)
            elif called in waiting and not (is_blas and not called):
                pointed = waiting[called]
                if pointed is not None:
                    yield pointed
                yield address - 1
                waiting = {name: None}
        yield from [x for x in waiting.values() if x is not None][:1]

    def _called(self, behind: int) -> str | None:
        """The function that the direct call before an address calls, "" for one elsewhere; None without one."""
        if self._machine == _X86 and self._data[behind - 5 : behind - 4] == b"\xe8":
            return self.function(behind + int.from_bytes(self._data[behind - 4 : behind], "little", signed=True))
        word = int.from_bytes(self._data[behind - 4 : behind], "little")
        if self._machine == _ARM and word >> 26 == _BRANCH_AND_LINK:
            distance = (word & 0x3FFFFFF) - ((word & 0x2000000) << 1)
            return self.function(behind - 4 + 4 * distance)
        return None

    def _is_indirect(self, behind: int) -> bool:
        """Can the instruction before an address be an indirect call?"""
        if self._machine == _X86:  # ff /2, with up to five bytes that say where the pointer is
            codes = [self._data[behind - k : behind - k + 2] for k in (2, 3, 4, 6, 7)]
            return any(len(x) == 2 and x[0] == 0xFF and x[1] >> 3 & 7 == 2 for x in codes)
        if self._machine == _ARM:
            return int.from_bytes(self._data[behind - 4 : behind], "little") & 0xFFFFFC1F == _BRANCH_TO_REGISTER
        return True

    def _owner(self, sample: Sample) -> tuple[Owner | None, str, str]:
        """The owner of a sample, its kernel, and the owners that share it if the line is unknown: the function, or the
        family of the kernel: samples of the same one go to the lines that are known.
        """
        is_ours = bool(self.function(sample.addresses[0]))
        kernel = "" if is_ours or sample.module.startswith(_SYSTEM) else sample.module.partition(".so")[0]
        for position, at in enumerate(self._frames(sample.addresses, is_blas=bool(kernel))):
            name = self.function(at)
            if name.startswith(_POOL):
                return (None, kernel, _family(kernel)) if kernel else (WAITING, "", "")
            if name.startswith(_ENTRY):
                break
            if name.startswith(_KERNELS):
                kernel = kernel or name
            elif name and (place := self.place(at)) is not None:
                group = _family(kernel) if kernel else name
                return place if place.line else None, kernel, group
            elif name and position == 0:
                break
        return (None, kernel, _family(kernel)) if kernel else (CALL, "", "")


def _family(kernel: str) -> str:
    """aot_gemm_tiles.f64.run → aot_gemm"""
    parts = kernel.partition(".f")[0].split("_")
    return "_".join(parts[:2])


def _functions(image: Image) -> tuple[list[int], list[str]]:
    """Start addresses and names of functions.   Raises: DamagedLibrary"""
    table, names = image.section(".symtab") or b"", image.section(".strtab") or b""
    found: dict[int, str] = {}
    for start in range(0, len(table) - _SYMBOL.size + 1, _SYMBOL.size):
        name, info, _, section, address, _ = _SYMBOL.unpack_from(table, start)
        if info & 15 == _FUNCTION and section:
            end = names.find(b"\0", name)
            if end < 0:
                raise DamagedLibrary("the table of symbols is damaged: a name is outside of it")
            found[address] = names[name:end].decode("latin-1")
    order = sorted(found)
    return order, [found[address] for address in order]
