"""What the pool of threads asks of a system: locks, conditions, threads, and how many processors there are.

POSIX     pthread_*, sched_yield, getpid               Linux: affinity and containers; macOS: sysconf
Windows   SRW locks and condition variables of kernel32, CreateThread

Sources: POSIX.1-2017; Microsoft, "Slim Reader/Writer Locks", "Condition Variables", GetModuleHandleExW.
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.entry.code import NULL, Code, number, status
from aotensor.codegen.entry.processors import call_libc
from aotensor.codegen.llvm import Function, Value, i8, i64, pointer, void
from aotensor.codegen.targets.systems import MACOS, WINDOWS, System

_MASK_BYTES: Final = 1024  # of a set of signals
_FOREVER: Final = -1  # milliseconds
_PINNED: Final = 1 | 4  # GET_MODULE_HANDLE_EX_FLAG_PIN, _FROM_ADDRESS


class Posix:
    """Threads of POSIX.   ends: they are told to end, and waited for, before their code goes away"""

    ends = True

    def __init__(self, system: System) -> None:
        self._set_mask = 3 if system is MACOS else 2  # SIG_SETMASK; of Linux on all but MIPS and Alpha

    def prepare(self, c: Code, mutex: Value, *conditions: Value) -> None:
        """Make them ready, in memory that is zero."""
        call_libc(c, "pthread_mutex_init", mutex, NULL)
        for condition in conditions:
            call_libc(c, "pthread_cond_init", condition, NULL)

    def lock(self, c: Code, mutex: Value) -> None:
        call_libc(c, "pthread_mutex_lock", mutex)

    def unlock(self, c: Code, mutex: Value) -> None:
        call_libc(c, "pthread_mutex_unlock", mutex)

    def wait(self, c: Code, condition: Value, mutex: Value) -> None:
        call_libc(c, "pthread_cond_wait", condition, mutex)

    def wake_one(self, c: Code, condition: Value) -> None:
        call_libc(c, "pthread_cond_signal", condition)

    def wake_all(self, c: Code, condition: Value) -> None:
        call_libc(c, "pthread_cond_broadcast", condition)

    def give_way(self, c: Code) -> None:
        call_libc(c, "sched_yield")

    def process(self, c: Code) -> Value:
        """A number that no other process has, which a child of `fork` does not share."""
        return c.builder.sext(call_libc(c, "getpid"), i64)

    def before_threads(self, c: Code, worker: Function) -> Value:
        """Let threads inherit that no signals come to them, but to the program's. Gives what `after_threads` takes."""
        every, old = c.room(i8, _MASK_BYTES), c.room(i8, _MASK_BYTES)
        call_libc(c, "sigfillset", every)
        call_libc(c, "pthread_sigmask", status(self._set_mask), every, old)
        return old

    def after_threads(self, c: Code, old: Value) -> None:
        call_libc(c, "pthread_sigmask", status(self._set_mask), old, NULL)

    def start(self, c: Code, slot: Value, worker: Function) -> Value:
        """Start a thread and put its handle into a slot; true if there is one."""
        return c.same(call_libc(c, "pthread_create", slot, NULL, worker, NULL), status(0))

    def join(self, c: Code, thread: Value) -> None:
        call_libc(c, "pthread_join", thread, NULL)


class Windows:
    """Threads of Windows.

    A DLL cannot wait for threads while it is unloaded, as both need the loader's lock: one that has started threads
    stays in its process, whose end takes them with it.
    """

    ends = False

    def prepare(self, c: Code, mutex: Value, *conditions: Value) -> None:
        """Zero is ready."""

    def lock(self, c: Code, mutex: Value) -> None:
        call_libc(c, "AcquireSRWLockExclusive", mutex, result=void)

    def unlock(self, c: Code, mutex: Value) -> None:
        call_libc(c, "ReleaseSRWLockExclusive", mutex, result=void)

    def wait(self, c: Code, condition: Value, mutex: Value) -> None:
        call_libc(c, "SleepConditionVariableSRW", condition, mutex, status(_FOREVER), status(0))

    def wake_one(self, c: Code, condition: Value) -> None:
        call_libc(c, "WakeConditionVariable", condition, result=void)

    def wake_all(self, c: Code, condition: Value) -> None:
        call_libc(c, "WakeAllConditionVariable", condition, result=void)

    def give_way(self, c: Code) -> None:
        call_libc(c, "SwitchToThread")

    def process(self, c: Code) -> Value:
        return c.builder.zext(call_libc(c, "GetCurrentProcessId"), i64)

    def before_threads(self, c: Code, worker: Function) -> Value:
        """Keep the code of the threads in the process."""
        module = c.room(pointer, 1)
        call_libc(c, "GetModuleHandleExW", status(_PINNED), worker, module)
        return module

    def after_threads(self, c: Code, old: Value) -> None:
        """There is nothing to take back."""

    def start(self, c: Code, slot: Value, worker: Function) -> Value:
        thread = call_libc(c, "CreateThread", NULL, number(0), worker, NULL, status(0), NULL, result=pointer)
        c.builder.store(thread, slot)
        return c.builder.not_(c.is_null(thread))

    def join(self, c: Code, thread: Value) -> None:
        """Not asked for: `ends` is false."""
        raise AssertionError("threads of Windows are not waited for")


def primitives_of(system: System) -> Posix | Windows:
    """Those of a system that has threads."""
    return Windows() if system is WINDOWS else Posix(system)
