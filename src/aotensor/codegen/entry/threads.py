"""The function entry.parallel: run the chunks of a loop on several threads, of the caller or of a pool.

A job hands out its chunks in order to any thread that asks; each participating thread has a lane, which selects its
private memory. So threads may come late or not at all, and their number changes only the time. The caller's thread has
lane 0.

The pool starts with the first job that needs it. It runs one job at a time; a caller that finds it busy runs its job
alone. While a call runs, threads that have had a job wait for the next one awake, as it costs more to wake them than
the short loops in between take; `entry.rest` ends that after a call, and forever once a call has used the caller's
BLAS or LAPACK, whose threads also wait awake and need the cores.

After a `fork` the child creates a new pool, and the destructor of the library stops its threads before the code is
unmapped; Windows has neither, so its code stays loaded. Differences between systems are in `primitives`.
"""

from __future__ import annotations

import ctypes
from typing import Final

from aotensor.codegen.entry.code import NULL, Code, number, status
from aotensor.codegen.entry.primitives import primitives_of
from aotensor.codegen.entry.processors import define_limit
from aotensor.codegen.entry.tables import HIDDEN, Constants
from aotensor.codegen.llvm import Function, Module, Type, Value, function, i8, i32, i64, ir, opaque, pointer, void
from aotensor.codegen.targets.systems import system_of
from aotensor_runtime.abi import MAX_THREADS, Context

PARALLEL: Final = "entry.parallel"
CACHE_LINE: Final = 64
REST: Final = "entry.rest"
_SPINS: Final = 1 << 14
"""Looks before a thread sleeps: 5 to 20 microseconds."""
_EAGER_SPINS: Final = 1 << 17
"""The same within a call: about 100 microseconds."""
_OBJECT: Final = 16  # words for a mutex or a condition variable of any libc


class Job(ctypes.Structure):
    """A running loop for i = 0 … upper by step.

    run(job, i, lane) runs a chunk; the values that it reads follow the job.

    next: start of the next chunk. done: number of finished chunks. started: one bit per lane.
    """

    _fields_ = (
        ("run", ctypes.c_void_p),
        ("step", ctypes.c_int64),
        ("upper", ctypes.c_int64),
        ("lanes", ctypes.c_int64),
        ("next", ctypes.c_int64),
        ("done", ctypes.c_int64),
        ("started", ctypes.c_int64),
        ("padding", ctypes.c_int64),
    )


class Pool(ctypes.Structure):
    """The thread pool of a library.

    owner: the process that has created them, negative during creation; 0 for none. busy: is a job running? limit:
    default number of threads of a job. count: number of waiting threads in addition to the caller's. job: the running
    job. wanted, taken, active: numbers of threads that may join it, have joined it, and are working on it. generation:
    number of the job. stop: must threads end? eager: do threads wait awake for
    the next job? 0: from the next job on, -1: never.
    """

    _fields_ = (
        ("owner", ctypes.c_int64),
        ("busy", ctypes.c_int64),
        ("limit", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("job", ctypes.c_void_p),
        ("wanted", ctypes.c_int64),
        ("taken", ctypes.c_int64),
        ("active", ctypes.c_int64),
        ("generation", ctypes.c_int64),
        ("stop", ctypes.c_int64),
        ("eager", ctypes.c_int64),
        ("mutex", ctypes.c_int64 * _OBJECT),
        ("wake", ctypes.c_int64 * _OBJECT),
        ("idle", ctypes.c_int64 * _OBJECT),
        ("threads", ctypes.c_int64 * MAX_THREADS),
    )


def declare_parallel(module: Module) -> Function:
    """Declare void entry.parallel(context, job), which another module of the library defines."""
    declared = function(module, PARALLEL, void, [pointer, pointer])
    declared.linkage = HIDDEN
    return declared


def rest(c: Code, forever: bool = False) -> None:
    """Call void entry.rest(eager): threads of the pool need not wait awake. forever: nor after later jobs."""
    declared = function(c.module, REST, void, [i64])
    declared.linkage = HIDDEN
    c.builder.call(declared, [number(-1 if forever else 0)])


def define_parallel(constants: Constants) -> None:
    """Define entry.parallel and entry.rest, and the pool with its destructor."""
    _Threads(constants).define()


class _Threads:
    """Builds the thread functions of a library, which share this state."""

    def __init__(self, constants: Constants) -> None:
        self.constants, self.module = constants, constants.module
        kind = ir.ArrayType(i8, ctypes.sizeof(Pool))
        pool = ir.GlobalVariable(self.module, kind, "entry.pool")
        self.system = primitives_of(system_of(self.module.triple))
        pool.initializer, pool.linkage, pool.align = ir.Constant(kind, None), "internal", CACHE_LINE
        self.pool: Value = opaque(pool)

    def define(self) -> None:
        lane = self._define_lane()
        limit = define_limit(self.constants)
        worker = self._define_worker(lane)
        ready = self._define_ready(limit)
        start = self._define_start(worker)
        on_pool = self._define_on_pool(lane, ready, start)
        self._define_parallel(lane, on_pool)
        self._define_rest()
        if self.system.ends:
            self._define_end()

    # --- words -------------------------------------------------------------------------------------------------------

    def _code(self, name: str, result: Type, arguments: list[Type]) -> Code:
        return Code(self.module, name, result, arguments, attributes=("optsize", "noinline"))

    def _address(self, c: Code, name: str) -> Value:
        return c.field_address(self.pool, Pool, name)

    def _get(self, c: Code, name: str) -> Value:
        return c.field(self.pool, Pool, name)

    def _set(self, c: Code, name: str, value: Value) -> None:
        c.put_field(self.pool, Pool, name, value)

    def _lock(self, c: Code) -> None:
        self.system.lock(c, self._address(c, "mutex"))

    def _unlock(self, c: Code) -> None:
        self.system.unlock(c, self._address(c, "mutex"))

    def _wait(self, c: Code, condition: str) -> None:
        self.system.wait(c, self._address(c, condition), self._address(c, "mutex"))

    # --- lanes -------------------------------------------------------------------------------------------------------

    def _define_lane(self) -> Function:
        """Define void entry.lane(job, number): run chunks until none is left, unless the lane has already started."""
        c = self._code("entry.lane", void, [pointer, i64])
        job, lane = c.arguments
        b = c.builder
        with c.when(c.below(lane, c.field(job, Job, "lanes"))):
            bit = b.shl(number(1), lane)
            before = b.atomic_rmw("or", c.field_address(job, Job, "started"), bit, "acq_rel")
            with c.when(c.equal(b.and_(before, bit), number(0))):
                step, upper, count = c.field(job, Job, "step"), c.field(job, Job, "upper"), c.slot(i64, number(0))
                start = c.slot(i64, number(0))

                def take() -> Value:
                    start.set(b.atomic_rmw("add", c.field_address(job, Job, "next"), step, "acq_rel"))
                    return c.less(start.get(), upper)

                with c.loop_while(take):
                    kind = ir.FunctionType(void, [pointer, i64, i64])
                    c.call_field(job, Job, "run", kind, [job, start.get(), lane])
                    count.add(1)
                b.atomic_rmw("add", c.field_address(job, Job, "done"), count.get(), "acq_rel")
        b.ret_void()
        return c.function

    def _define_parallel(self, lane: Function, on_pool: Function) -> None:
        c = self._code(PARALLEL, void, [pointer, pointer])
        c.function.linkage = HIDDEN
        context, job = c.arguments
        b = c.builder
        limit, run, chunks = c.slot(i64, number(0)), c.slot(pointer, NULL), _chunks(c, job)
        with c.when(c.builder.not_(c.is_null(context))):
            size = c.field(context, Context, "struct_size")
            with c.when(c.less(number(c.offset(Context, "num_threads")), size)):
                limit.set(c.field(context, Context, "num_threads"))
            with c.when(c.less(number(c.offset(Context, "pool")), size)):
                run.set(c.field(context, Context, "parallel_for"))
        count = c.smaller(chunks, number(MAX_THREADS))
        count = b.select(c.less(number(0), limit.get()), c.smaller(count, limit.get()), count)
        c.put_field(job, Job, "lanes", count)
        with c.when(c.less(count, number(2))):
            b.call(lane, [job, number(0)])
            b.ret_void()
        with c.when(c.is_null(run.get())):
            b.call(on_pool, [job, limit.get()])
            b.ret_void()
        kind = ir.FunctionType(void, [pointer, i64, pointer, pointer])
        c.call_field(context, Context, "parallel_for", kind, [c.field(context, Context, "pool"), count, lane, job])
        with c.loop(count) as k:  # the chunks that the caller has left
            b.call(lane, [job, k])
        with c.loop_while(lambda: c.differs(_done(c, job), chunks)):  # and those that still run on other threads
            self.system.yield_processor(c)
        b.ret_void()

    # --- the pool ----------------------------------------------------------------------------------------------------

    def _define_on_pool(self, lane: Function, ready: Function, start: Function) -> Function:
        """Define void entry.on_pool(job, limit): run a job on the pool if it is free, else on the caller's thread."""
        c = self._code("entry.on_pool", void, [pointer, i64])
        job, limit = c.arguments
        b = c.builder

        def alone() -> None:
            c.put_field(job, Job, "lanes", number(1))
            b.call(lane, [job, number(0)])
            b.ret_void()

        with c.when(c.equal(b.call(ready, []), status(0))):
            alone()
        limit = b.select(c.less(number(0), limit), limit, self._get(c, "limit"))
        count = c.smaller(c.field(job, Job, "lanes"), limit)
        with c.when(c.less(count, number(2))):
            alone()
        with c.when(c.differs(b.atomic_rmw("xchg", self._address(c, "busy"), number(1), "acquire"), number(0))):
            alone()
        others = b.call(start, [b.sub(count, number(1))])
        c.put_field(job, Job, "lanes", b.add(others, number(1)))
        with c.when(c.less(number(0), others)):
            self._lock(c)
            self._set(c, "job", job)
            self._set(c, "wanted", others)
            self._set(c, "taken", number(0))
            with c.when(c.equal(self._atomic(c, "eager"), number(0))):
                b.atomic_rmw("xchg", self._address(c, "eager"), number(1), "release")
            b.atomic_rmw("add", self._address(c, "generation"), number(1), "release")
            self._unlock(c)
            with b.if_else(c.equal(others, number(1))) as (one, several):
                with one:
                    self.system.wake_one(c, self._address(c, "wake"))
                with several:
                    self.system.wake_all(c, self._address(c, "wake"))
        b.call(lane, [job, number(0)])
        with c.when(c.less(number(0), others)):
            chunks, looks = _chunks(c, job), c.slot(i64, number(_SPINS))

            def others_work() -> Value:  # a thread has finished its chunks before it leaves the job
                return c.any(c.differs(_done(c, job), chunks), c.differs(self._atomic(c, "active"), number(0)))

            with c.loop_while(lambda: c.all(others_work(), c.differs(looks.get(), number(0)))):
                looks.add(-1)
            self._lock(c)
            self._set(c, "job", NULL)
            with c.loop_while(lambda: c.differs(self._get(c, "active"), number(0))):
                self._wait(c, "idle")
            self._unlock(c)
        b.atomic_rmw("xchg", self._address(c, "busy"), number(0), "release")
        b.ret_void()
        return c.function

    def _define_worker(self, lane: Function) -> Function:
        """Define void *entry.worker(unused): the main function of a pool thread, until it must stop."""
        c = self._code("entry.worker", pointer, [pointer])
        b, seen = c.builder, c.slot(i64, number(0))
        self._lock(c)

        def is_new() -> Value:
            is_there = c.builder.not_(c.is_null(self._get(c, "job")))
            return c.all(is_there, c.differs(self._atomic(c, "generation"), seen.get()))

        def has_nothing() -> Value:
            return c.builder.not_(c.any(c.differs(self._get(c, "stop"), number(0)), is_new()))

        def goes_on() -> Value:
            with c.loop_while(has_nothing):
                self._wait(c, "wake")
            return c.equal(self._get(c, "stop"), number(0))

        with c.loop_while(goes_on):
            seen.set(self._atomic(c, "generation"))
            taken = self._get(c, "taken")
            with c.when(c.less(taken, self._get(c, "wanted"))):
                job, own = self._get(c, "job"), b.add(taken, number(1))
                self._set(c, "taken", own)
                b.atomic_rmw("add", self._address(c, "active"), number(1), "release")
                self._unlock(c)
                b.call(lane, [job, own])
                self._lock(c)
                left = b.sub(self._get(c, "active"), number(1))
                b.atomic_rmw("xchg", self._address(c, "active"), left, "release")
                with c.when(c.equal(left, number(0))):
                    self.system.wake_one(c, self._address(c, "idle"))
                self._unlock(c)  # the next job often follows immediately
                looks = c.slot(i64, number(0))

                def waits() -> Value:
                    most = b.select(c.less(number(0), self._atomic(c, "eager")), number(_EAGER_SPINS), number(_SPINS))
                    return c.all(c.equal(self._atomic(c, "generation"), seen.get()), c.less(looks.get(), most))

                with c.loop_while(waits):
                    looks.add(1)
                self._lock(c)
        self._unlock(c)
        c.ret(NULL)
        return c.function

    def _atomic(self, c: Code, name: str) -> Value:
        return c.builder.load_atomic(self._address(c, name), "acquire", 8, typ=i64)

    def _define_rest(self) -> None:
        c = self._code(REST, void, [i64])
        c.function.linkage = HIDDEN
        (eager,) = c.arguments
        with c.when(c.all(c.less(number(-1), before := self._atomic(c, "eager")), c.differs(before, eager))):
            c.builder.atomic_rmw("xchg", self._address(c, "eager"), eager, "release")
        c.builder.ret_void()

    def _define_start(self, worker: Function) -> Function:
        """Define i64 entry.start(wanted): start threads until there are `wanted`; return their number."""
        c = self._code("entry.start", i64, [i64])
        (wanted,) = c.arguments
        b, missing = c.builder, c.slot(i64, number(1))
        with c.when(c.less(self._get(c, "count"), wanted)):
            old = self.system.before_threads(c, worker)

            def goes_on() -> Value:
                return c.all(c.less(self._get(c, "count"), wanted), c.differs(missing.get(), number(0)))

            with c.loop_while(goes_on):
                count = self._get(c, "count")
                slot = c.at(self._address(c, "threads"), count, 8)
                with b.if_else(self.system.start(c, slot, worker)) as (well, badly):
                    with well:
                        self._set(c, "count", b.add(count, number(1)))
                    with badly:
                        missing.set(number(0))  # a system limit on threads: continue with fewer
            self.system.after_threads(c, old)
        c.ret(c.smaller(self._get(c, "count"), wanted))
        return c.function

    def _define_ready(self, limit: Function) -> Function:
        """Define i32 entry.ready(): create the pool for this process; return 0 while another thread creates it."""
        c = self._code("entry.ready", i32, [])
        b, owner = c.builder, self._address(c, "owner")
        process = self.system.process(c)
        found = b.load_atomic(owner, "acquire", 8, typ=i64)
        c.ret_if(c.equal(found, process), status(1))
        own = b.sub(number(0), process)
        c.ret_if(c.equal(found, own), status(0))
        won = b.extract_value(b.cmpxchg(owner, found, own, "acq_rel", "acquire"), 1)
        c.ret_if(b.not_(won), status(0))
        for name in ("busy", "count", "wanted", "taken", "active", "generation", "stop", "eager"):
            self._set(c, name, number(0))
        self._set(c, "job", NULL)
        objects = [self._address(c, name) for name in ("mutex", "wake", "idle")]
        for place in objects:
            with c.loop(number(_OBJECT)) as k:  # the copy of the parent's mutex may be locked
                c.store_at(place, k, number(0))
        self.system.prepare(c, *objects)
        self._set(c, "limit", b.call(limit, []))
        b.atomic_rmw("xchg", owner, process, "release")
        c.ret(status(1))
        return c.function

    def _define_end(self) -> None:
        """Define the destructor that stops the threads before the library is unmapped, and at process exit."""
        c = self._code("entry.end_pool", void, [])
        b, owner = c.builder, self._address(c, "owner")
        process = self.system.process(c)
        with c.when(c.equal(b.load_atomic(owner, "acquire", 8, typ=i64), process)):
            self._lock(c)
            self._set(c, "stop", number(1))
            b.atomic_rmw("add", self._address(c, "generation"), number(1), "release")
            self.system.wake_all(c, self._address(c, "wake"))
            self._unlock(c)
            with c.loop(self._get(c, "count")) as k:
                thread = c.item(self._address(c, "threads"), k)
                self.system.join(c, thread)
            b.atomic_rmw("xchg", owner, number(0), "release")
        b.ret_void()
        entry = ir.Constant(ir.LiteralStructType([i32, pointer, pointer]), [status(_LAST), c.function, NULL])
        kind = ir.ArrayType(entry.type, 1)
        ends = ir.GlobalVariable(self.module, kind, "llvm.global_dtors")
        ends.initializer, ends.linkage = ir.Constant(kind, [entry]), "appending"


_LAST: Final = 65535  # priority of a destructor like any other


def _chunks(c: Code, job: Value) -> Value:
    step = c.field(job, Job, "step")
    return c.builder.sdiv(c.builder.add(c.field(job, Job, "upper"), c.builder.sub(step, number(1))), step)


def _done(c: Code, job: Value) -> Value:
    return c.builder.load_atomic(c.field_address(job, Job, "done"), "acquire", 8, typ=i64)
