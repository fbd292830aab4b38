"""One x86-64 library for several CPUs: kernels for each level, and dispatch at the first call.

    @f.kernel   →   @f.kernel:   by @entry.level:  1 → @f.kernel.x86-64-v2
                                                   2 → @f.kernel.x86-64-v3

The visible symbols of a module of kernels get the level's name as suffix; a function with the original name detects the
processor's level and jumps there. The only state is the detected number: every thread computes the same one, so it does
not matter which of them stores it.

Levels: x86-64 psABI, table 3.1. Bits: Intel SDM volume 2, CPUID; volume 1, 13.3 and 15.2 for registers that the system
must save.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aotensor.codegen.entry.code import Code, status
from aotensor.codegen.llvm import Function, Module, Value, i32, ir, mark_function, opaque, rename
from aotensor.codegen.machine import Machine, has_assembler
from aotensor.errors import InternalError, OptionError

LEVELS: Final = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
"""In ascending order: each level includes the one before it."""

_BASIC, _EXTENDED, _STATE = (1, 2), (7, 1), (0x80000001, 2)  # leaf of cpuid, register: eax, ebx, ecx, edx
_NEEDED: Final[dict[str, dict[tuple[int, int], tuple[int, ...]]]] = {
    "x86-64-v2": {_BASIC: (0, 9, 13, 19, 20, 23), _STATE: (0,)},
    "x86-64-v3": {_BASIC: (12, 22, 27, 28, 29), _EXTENDED: (3, 5, 8), _STATE: (5,)},
    "x86-64-v4": {_EXTENDED: (16, 17, 28, 30, 31)},
}
"""The cpuid bits that a level needs in addition to those of lower levels."""
_SAVED: Final = {"x86-64-v3": 0x06, "x86-64-v4": 0xE6}
"""Registers that the system must save, as bits of the control register XCR0."""
_OSXSAVE: Final = 1 << 27


@dataclass(frozen=True)
class LevelCode:
    """The kernels of one CPU level. module: with the names that `name_by_level` assigns."""

    machine: Machine
    module: Module


def split_levels(cpu: str | None) -> tuple[str, ...]:
    """The levels in `x86-64-v2,x86-64-v3` or `v2,v3`, lowest first; an empty sequence for the name of a single CPU.

    Raises: OptionError for a name that is not a level.
    """
    if cpu is None or "," not in cpu:
        return ()
    wanted = [full_name(part.strip()) for part in cpu.split(",")]
    for name in wanted:
        if name not in LEVELS:
            raise OptionError(f"{name or cpu!r} is not a level of x86-64 CPUs", hint=f"levels are {', '.join(LEVELS)}")
    return tuple(name for name in LEVELS if name in wanted)


def full_name(cpu: str) -> str:
    """The full name of a level: `x86-64-v3` for `v3`; any other name is returned unchanged."""
    return f"x86-64-{cpu}" if f"x86-64-{cpu}" in LEVELS else cpu


def check_levels(triple: str) -> None:
    """Check that a target supports CPU levels, and that its dispatch can be assembled. Raises: OptionError if not."""
    if not triple.startswith("x86_64"):
        raise OptionError(
            f"CPU levels exist only for x86-64, and the target is {triple}", hint="name one CPU, or generic"
        )
    if not has_assembler(triple):
        raise OptionError(
            "code that chooses among CPU levels can be compiled on x86-64 machines only",
            hint="name one CPU, or generic",
        )


def name_by_level(code: LevelCode, products: Sequence[str]) -> None:
    """Append the level's name to the visible symbols of its module, and set the target CPU of each function.

    products: functions of other modules that each level has a copy of.
    """
    suffix = code.machine.cpu
    for function in list(code.module.functions):
        if function.blocks:
            mark_function(function, f'"target-cpu"="{code.machine.cpu}"')
            if code.machine.features:
                mark_function(function, f'"target-features"="{code.machine.features}"')
        if _is_visible(function) or function.name in products:
            rename(function, f"{function.name}.{suffix}")


def choose_among_levels(lowest: LevelCode, others: Sequence[LevelCode]) -> None:
    """Add dispatching functions to the lowest level's module: they jump to the highest level that the CPU supports.

    Each has the name that the functions of the levels had before `name_by_level`.

    Raises: InternalError if the levels have different functions.
    """
    module, suffix = lowest.module, f".{lowest.machine.cpu}"
    visible = [f for f in module.functions if _is_visible(f) and f.name.endswith(suffix)]
    find = _define_level(module, [code.machine.cpu for code in others])
    for function in visible:
        name = function.name.removesuffix(suffix)
        choices = [_declared(module, code, f"{name}.{code.machine.cpu}", function) for code in others]
        c = Code(module, name, function.function_type.return_type, function.function_type.args, attributes=())
        c.function.linkage, function.linkage = "hidden", "internal"
        level = c.builder.call(find, [])
        for number, choice in enumerate(choices, 1):
            with c.when(c.equal(level, status(1 + number))):
                _give_call(c, choice)
        _give_call(c, function)


def _give_call(c: Code, callee: Function) -> None:
    result = c.builder.call(callee, list(c.arguments), tail=True)
    if isinstance(callee.function_type.return_type, ir.VoidType):
        c.builder.ret_void()
    else:
        c.ret(result)


def _is_visible(function: Function) -> bool:
    return bool(function.blocks) and function.linkage == "hidden"


def _declared(module: Module, code: LevelCode, name: str, like: Function) -> Function:
    found = code.module.globals.get(name)
    if found is None or str(found.function_type) != str(like.function_type):
        raise InternalError(f"levels: {name} is not what {like.name} is")
    declared = ir.Function(module, like.function_type, name)
    declared.linkage = "hidden"
    return declared


def _define_level(module: Module, others: Sequence[str]) -> Function:
    """Define i32 entry.level(): 1 for the lowest level, then 2, 3, ... for higher ones that the CPU supports."""
    found = ir.GlobalVariable(module, i32, "entry.level.found")
    found.initializer, found.linkage = status(0), "internal"
    word = opaque(found)
    look = _define_look(module, others)
    c = Code(module, "entry.level", i32, [], attributes=("alwaysinline",))
    known = c.builder.load_atomic(word, "monotonic", 4, typ=i32)
    c.ret_if(c.differs(known, status(0)), known)
    fresh = c.builder.call(look, [])
    c.builder.atomic_rmw("xchg", word, fresh, "monotonic")
    c.ret(fresh)
    return c.function


def _define_look(module: Module, others: Sequence[str]) -> Function:
    """Define i32 entry.level.look(): query cpuid, and the registers that the system saves."""
    c = Code(module, "entry.level.look", i32, [], attributes=("noinline", "cold", "optsize"))
    b = c.builder
    # a leaf above the last one returns the bits of another one
    enough = c.all(
        b.icmp_unsigned(">=", _cpuid(c, 0)[0], status(7)),
        b.icmp_unsigned(">=", _cpuid(c, _EXTENDED_FIRST)[0], status(_EXTENDED_FIRST + 1)),
    )
    c.ret_if(b.not_(enough), status(1))
    leaves = {leaf: _cpuid(c, leaf) for leaf in sorted({leaf for bits in _NEEDED.values() for leaf, _ in bits})}
    saves = c.slot(i32, status(0))
    with c.when(c.differs(b.and_(leaves[1][2], status(_OSXSAVE)), status(0))):
        saves.set(_xgetbv(c))
    result = status(1)
    for number, level in enumerate(others, 2):
        has_it = _has(c, level, leaves, saves.get())
        result = b.select(has_it, status(number), result)
    c.ret(result)
    return c.function


_EXTENDED_FIRST: Final = 0x80000000


def _has(c: Code, level: str, leaves: dict[int, list[Value]], saves: Value) -> Value:
    """Emit the test whether the CPU supports a level and all lower ones."""
    conditions = []
    masks: dict[tuple[int, int], int] = {}
    for name in LEVELS[: LEVELS.index(level) + 1]:
        for place, bits in _NEEDED.get(name, {}).items():
            masks[place] = masks.get(place, 0) | sum(1 << bit for bit in bits)
    for (leaf, register), mask in masks.items():
        conditions.append(c.equal(c.builder.and_(leaves[leaf][register], status(mask)), status(mask)))
    if level in _SAVED:
        mask = _SAVED[level]
        conditions.append(c.equal(c.builder.and_(saves, status(mask)), status(mask)))
    return c.all(*conditions)


def _cpuid(c: Code, leaf: int) -> list[Value]:
    """Emit a query of cpuid: eax, ebx, ecx and edx of a leaf. LLVM may reserve rbx, so it is saved."""
    kind = ir.FunctionType(ir.LiteralStructType([i32] * 4), [i32, i32])
    text = "xchgq %rbx, ${1:q}\ncpuid\nxchgq %rbx, ${1:q}"
    answer = c.builder.asm(kind, text, "={ax},=&r,={cx},={dx},0,2", [status(leaf), status(0)], side_effect=True)
    return [c.builder.extract_value(answer, k) for k in range(4)]


def _xgetbv(c: Code) -> Value:
    """Emit a read of the low half of XCR0, the registers that the system saves."""
    kind = ir.FunctionType(ir.LiteralStructType([i32] * 2), [i32])
    answer = c.builder.asm(kind, "xgetbv", "={ax},={dx},{cx}", [status(0)], side_effect=True)
    return c.builder.extract_value(answer, 0)
