"""Words of the kernels of weights, in addition to those of `codegen.abi.language`: files, mappings, one shared word."""

from __future__ import annotations

from aotensor.codegen.abi.language import Effect, Number, c_function
from aotensor.codegen.entry.code import Code, number
from aotensor.codegen.entry.tables import HIDDEN
from aotensor.codegen.llvm import Value, function, i32, i64, pointer, void
from aotensor.codegen.weights.digest import COMPRESS


def _compress(c: Code, *given: Value) -> None:
    declared = function(c.module, COMPRESS, void, [pointer, pointer, i64])
    declared.linkage = HIDDEN
    state, data, count = given
    c.builder.call(declared, [c.builder.inttoptr(state, pointer), c.builder.inttoptr(data, pointer), count])


def _load_shared(c: Code, p: Value) -> Value:
    return c.builder.load_atomic(c.builder.inttoptr(p, pointer), "acquire", 8, typ=i64)


def _publish(c: Code, p: Value, value: Value) -> Value:
    pair = c.builder.cmpxchg(c.builder.inttoptr(p, pointer), number(0), value, "acq_rel", "acquire")
    return c.builder.zext(c.builder.extract_value(pair, 1), i64)


compress = Effect(_compress)
"""Continue SHA-256: `compress(state, data, blocks)`."""
load_shared = Number(_load_shared)
"""The word at p, which other threads may write."""
publish = Number(_publish)
"""Store a value in the word at p if that is 0: was it?"""
open_to_read = Number(c_function("open", i32, pointer, i32))
seek = Number(c_function("lseek", i64, i32, i64, i32))
close = Number(c_function("close", i32, i32))
map_file = Number(c_function("mmap", pointer, pointer, i64, i32, i32, i32, i64))
unmap = Effect(c_function("munmap", i32, pointer, i64))
real_path = Number(c_function("realpath", pointer, pointer, pointer))
"""Functions of POSIX."""
visit_objects = Number(c_function("dl_iterate_phdr", i32, pointer, pointer))
"""Of Linux's C libraries: call `int (*)(struct dl_phdr_info *, size_t, void *)` for each loaded object."""
object_of = Number(c_function("dladdr", i32, pointer, pointer))
"""Of macOS: describe the object that contains an address."""
