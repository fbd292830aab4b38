"""Operating system primitives of the thread pool: locks, conditions, threads, and the number of processors.

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
    """Threads by POSIX. ends: are threads stopped and joined before their code is unmapped?"""

    ends = True

    def __init__(self, system: System) -> None:
        self._set_mask = 3 if system is MACOS else 2  # SIG_SETMASK; of Linux on all but MIPS and Alpha

    def prepare(self, c: Code, mutex: Value, *conditions: Value) -> None:
        """Initialize a mutex and conditions in zeroed memory."""
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

    def yield_processor(self, c: Code) -> None:
        call_libc(c, "sched_yield")

    def process(self, c: Code) -> Value:
        """A number that identifies the process; it is different in a child of `fork`."""
        return c.builder.sext(call_libc(c, "getpid"), i64)

    def before_threads(self, c: Code, worker: Function) -> Value:
        """Block signals, so that new threads do not receive them; return the argument for `after_threads`."""
        every, old = c.alloca(i8, _MASK_BYTES), c.alloca(i8, _MASK_BYTES)
        call_libc(c, "sigfillset", every)
        call_libc(c, "pthread_sigmask", status(self._set_mask), every, old)
        return old

    def after_threads(self, c: Code, old: Value) -> None:
        call_libc(c, "pthread_sigmask", status(self._set_mask), old, NULL)

    def start(self, c: Code, slot: Value, worker: Function) -> Value:
        """Start a thread and store its handle in a slot; true on success."""
        return c.equal(call_libc(c, "pthread_create", slot, NULL, worker, NULL), status(0))

    def join(self, c: Code, thread: Value) -> None:
        call_libc(c, "pthread_join", thread, NULL)


class Windows:
    """Threads by the Windows API.

    A DLL cannot join threads while it is unloaded, as both need the loader's lock: one that has started threads stays
    loaded until the process ends.
    """

    ends = False

    def prepare(self, c: Code, mutex: Value, *conditions: Value) -> None:
        """Does nothing: zeroed memory is a valid mutex and condition."""

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

    def yield_processor(self, c: Code) -> None:
        call_libc(c, "SwitchToThread")

    def process(self, c: Code) -> Value:
        return c.builder.zext(call_libc(c, "GetCurrentProcessId"), i64)

    def before_threads(self, c: Code, worker: Function) -> Value:
        """Pin the code of the threads in the process, so that it is not unmapped."""
        module = c.alloca(pointer, 1)
        call_libc(c, "GetModuleHandleExW", status(_PINNED), worker, module)
        return module

    def after_threads(self, c: Code, old: Value) -> None:
        """Does nothing: there is nothing to undo."""

    def start(self, c: Code, slot: Value, worker: Function) -> Value:
        thread = call_libc(c, "CreateThread", NULL, number(0), worker, NULL, status(0), NULL, result=pointer)
        c.builder.store(thread, slot)
        return c.builder.not_(c.is_null(thread))

    def join(self, c: Code, thread: Value) -> None:
        """Not reached, as `ends` returns False."""
        raise AssertionError("threads of Windows are not waited for")


def primitives_of(system: System) -> Posix | Windows:
    """The thread primitives of an operating system that has threads."""
    return Windows() if system is WINDOWS else Posix(system)
