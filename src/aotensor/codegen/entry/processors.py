"""The function entry.limit: the number of threads of a process, by its environment, affinity and container.

Linux     sched_getaffinity, cgroup files
macOS     sysconf(_SC_NPROCESSORS_ONLN)
Windows   GetProcessAffinityMask, of the group of up to 64 processors that the process is in
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.entry.code import NULL, Code, number, status
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Function, Type, Value, function, i8, i32, i64, ir, pointer, void
from aotensor.codegen.targets.systems import LINUX, WINDOWS, system_of
from aotensor_runtime.abi import MAX_THREADS

_MASK_BYTES: Final = 1024  # of a set of processors
_O_CLOEXEC: Final = 0o2000000  # of Linux on x86, Arm and RISC-V
_ONLINE: Final = 58  # _SC_NPROCESSORS_ONLN of macOS
_THIS_PROCESS: Final = -1  # the result of GetCurrentProcess
_ATTRIBUTES: Final = ("optsize", "noinline")


def call_libc(c: Code, name: str, *arguments: Value, result: Type = i32) -> Value:
    """Call a function of the C library."""
    return c.builder.call(function(c.module, name, result, [x.type for x in arguments]), list(arguments))


def define_limit(constants: Constants) -> Function:
    """Define i64 entry.limit(): AOTENSOR_NUM_THREADS, else the number of available processors; at least 1."""
    system = system_of(constants.module.triple)
    c = Code(constants.module, "entry.limit", i64, [], attributes=_ATTRIBUTES)
    b, text = c.builder, constants.text
    most, given = number(MAX_THREADS), call_libc(c, "getenv", text("AOTENSOR_NUM_THREADS"), result=pointer)
    with c.when(b.not_(c.is_null(given))):
        parse = "_strtoi64" if system is WINDOWS else "strtol"  # since a long has 32 bits there
        wanted = call_libc(c, parse, given, NULL, status(10), result=i64)
        c.ret_if(c.less(number(0), wanted), c.smaller(wanted, most))
    if system is LINUX:
        found = _linux_processors(constants, c)
    elif system is WINDOWS:
        found = _windows_processors(c)
    else:
        found = call_libc(c, "sysconf", status(_ONLINE), result=i64)
    c.ret(c.larger(c.smaller(found, most), number(1)))
    return c.function


def _windows_processors(c: Code) -> Value:
    own, all_of_them = c.alloca(i64, 1), c.alloca(i64, 1)
    c.clear(own, number(1))
    call_libc(c, "GetProcessAffinityMask", number(_THIS_PROCESS), own, all_of_them)
    return c.builder.call(function(c.module, "llvm.ctpop.i64", i64, [i64]), [c.item(own, 0)])


def _linux_processors(constants: Constants, c: Code) -> Value:
    read = _define_read_numbers(constants)
    b, text, words = c.builder, constants.text, _MASK_BYTES // 8
    mask = c.alloca(i64, words)
    c.clear(mask, number(words))
    failed = call_libc(c, "sched_getaffinity", status(0), number(_MASK_BYTES), mask)
    found = c.slot(i64, number(0))
    with c.when(c.equal(failed, status(0))), c.loop(number(words)) as k:
        bits = function(constants.module, "llvm.ctpop.i64", i64, [i64])
        found.set(b.add(found.get(), b.call(bits, [c.item(mask, k)])))
    # A container's share of the processors: "quota period" in microseconds, or "max period".
    for quota, period in (
        ("/sys/fs/cgroup/cpu.max", None),
        ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
    ):
        pair = c.alloca(i64, 2)
        c.clear(pair, number(2))
        b.call(read, [text(quota), pair, number(2 if period is None else 1)])
        if period is not None:
            b.call(read, [text(period), c.at(pair, 1, 8), number(1)])
        time, each = c.item(pair, 0), c.item(pair, 1)
        with c.when(c.all(c.less(number(0), time), c.less(number(0), each))):
            share = b.sdiv(b.add(time, b.sub(each, number(1))), each)
            found.set(c.smaller(found.get(), share))
    return found.get()


def _define_read_numbers(constants: Constants) -> Function:
    """Define void entry.read_numbers(path, numbers, count): read numbers from the start of a small file, if any."""
    c = Code(constants.module, "entry.read_numbers", void, [pointer, pointer, i64], attributes=_ATTRIBUTES)
    path, numbers, count = c.arguments
    b, size = c.builder, 63
    text = c.alloca(i8, size + 1)
    file = call_libc(c, "open", path, status(_O_CLOEXEC))
    with c.when(b.icmp_signed("<", file, status(0))):
        b.ret_void()
    length = call_libc(c, "read", file, text, number(size), result=i64)
    call_libc(c, "close", file)
    with c.when(c.less(length, number(1))):
        b.ret_void()
    b.store(ir.Constant(i8, 0), c.at(text, length, 1))
    cursor, end = c.slot(pointer, text), c.alloca(pointer, 1)
    with c.loop(count) as k:
        c.store_at(numbers, k, call_libc(c, "strtol", cursor.get(), end, status(10), result=i64))
        cursor.set(c.item(end, 0, pointer))
    b.ret_void()
    return c.function
