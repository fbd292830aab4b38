"""A sampler in C, compiled on demand: it calls a function in a loop and records the addresses of its threads.

Each thread has a timer whose signal it gets itself. The handler notes the address that was interrupted, the addresses
in the library that the stack has above, and the processor time of the thread since its last sample: that is the weight,
so a thread that sleeps counts for nothing, and threads count for what they do. Times between samples are random, so
that no loop keeps step with them. No Python runs between the calls.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aotensor.codegen.targets.room import check_room
from aotensor.errors import ToolError

PERIOD: Final = 2_500_000
"""Mean nanoseconds between two samples of a thread."""
DEPTH: Final = 16
"""Addresses of a sample: where the thread was, then callers in the library as far as they are known, else 0."""
_CAPACITY: Final = 1 << 18
"""Samples that are kept."""
_WORDS: Final = DEPTH + 1
_COMPILERS: Final = ("cc", "gcc", "clang")

SOURCE: Final = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define DEPTH 16
#define PAGE 4096u
#define STACK_WORDS 4096 /* kernels and BLAS have large frames */
#define MOST_THREADS 512
#define IDLE 8 /* times as long until a thread that sleeps is looked at again */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

typedef struct { void *entry, *context, *inputs, *outputs; } bound_call;
typedef struct { uint64_t weight, address[DEPTH]; } sample;
typedef struct { timer_t timer; pid_t id; uint64_t last; uint32_t random; } thread;

static thread threads[MOST_THREADS];
static int thread_count;
static sample *samples;
static uint64_t capacity, period, low, high, first_stack_end;
static uint64_t count;
static volatile int is_on;

static uint64_t processor_time(clockid_t clock) {
  struct timespec t = {0, 0};
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The clock of the processor time of a thread, as Linux numbers them. */
static clockid_t clock_of(pid_t id) { return (clockid_t)((~(uint32_t)id << 3) | 6u); }

static void arm(thread *self, uint64_t mean) {
  struct itimerspec next = {{0, 0}, {0, 0}};
  self->random ^= self->random << 13;
  self->random ^= self->random >> 17;
  self->random ^= self->random << 5;
  next.it_value.tv_nsec = (long)(mean / 2 + self->random % mean);
  timer_settime(self->timer, 0, &next, NULL);
}

static void note(uint64_t weight, const ucontext_t *at, int is_first) {
  uint64_t number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
  if (number >= capacity) return;
  sample *one = samples + number;
  const uint64_t *stack;
  int depth = 1;
  memset(one, 0, sizeof *one);
  one->weight = weight;
#if defined(__x86_64__)
  one->address[0] = (uint64_t)at->uc_mcontext.gregs[REG_RIP];
  stack = (const uint64_t *)at->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
  one->address[0] = at->uc_mcontext.pc;
  stack = (const uint64_t *)at->uc_mcontext.sp;
  if (at->uc_mcontext.regs[30] - low < high - low) one->address[depth++] = at->uc_mcontext.regs[30];
#elif defined(__riscv)
  one->address[0] = at->uc_mcontext.__gregs[REG_PC];
  stack = (const uint64_t *)at->uc_mcontext.__gregs[REG_SP];
  if (at->uc_mcontext.__gregs[REG_RA] - low < high - low) one->address[depth++] = at->uc_mcontext.__gregs[REG_RA];
#else
#error "the sampler does not know this processor"
#endif
  /* No further than memory is known to be readable: to the end of the stack, of other threads to that of the page. */
  const uint64_t *last = (const uint64_t *)(is_first ? first_stack_end : ((uint64_t)stack | (PAGE - 1)) + 1);
  const uint64_t *end = stack > last ? stack : last - stack < STACK_WORDS ? last : stack + STACK_WORDS;
  for (; stack < end && depth < DEPTH; stack++)
    if (*stack - low < high - low) one->address[depth++] = *stack;
}

static void handle(int signal, siginfo_t *info, void *context) {
  int kept = errno;
  (void)signal;
  if (info->si_code == SI_TIMER && is_on) {
    thread *self = threads + info->si_value.sival_int;
    uint64_t now = processor_time(CLOCK_THREAD_CPUTIME_ID), worked = now > self->last ? now - self->last : 0;
    if (worked) note(worked, context, self->id == getpid());
    self->last = now;
    arm(self, worked < period / 16 ? IDLE * period : period);
  }
  errno = kept;
}

/* Returns 0, or what errno says. low, high: of the library's code. stack_end: of the first thread. */
int sampler_begin(uint64_t low_, uint64_t high_, uint64_t stack_end, uint64_t capacity_, uint64_t period_) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  low = low_, high = high_, first_stack_end = stack_end, capacity = capacity_, period = period_;
  samples = malloc(capacity * sizeof *samples);
  if (!samples) return ENOMEM;
  return sigaction(SIGPROF, &action, NULL) ? errno : 0;
}

/* Give every thread of the process a timer that has none; how many there are. */
int sampler_threads(void) {
  DIR *folder = opendir("/proc/self/task");
  struct dirent *entry;
  if (!folder) return -1;
  while ((entry = readdir(folder)) && thread_count < MOST_THREADS) {
    pid_t id = (pid_t)atoi(entry->d_name);
    int k = 0;
    while (k < thread_count && threads[k].id != id) k++;
    if (id <= 0 || k < thread_count) continue;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event.sigev_value.sival_int = k;
    event.sigev_notify_thread_id = id;
    threads[k].id = id;
    threads[k].random = 2463534242u + 7919u * (uint32_t)k;
    if (timer_create(CLOCK_MONOTONIC, &event, &threads[k].timer)) continue;
    thread_count++;
  }
  closedir(folder);
  return thread_count;
}

/* Call so often, with samples if that is asked for; the first status that is not 0. */
int sampler_run(const bound_call *call, uint64_t times, int is_sampled) {
  int (*entry)(void *, void *, void *) = (int (*)(void *, void *, void *))call->entry;
  int status = 0;
  if (is_sampled) {
    for (int k = 0; k < thread_count; k++) {
      threads[k].last = processor_time(clock_of(threads[k].id));
      arm(threads + k, period);
    }
    is_on = 1;
  }
  while (times-- && !status) status = entry(call->context, call->inputs, call->outputs);
  is_on = 0;
  return status;
}

uint64_t sampler_samples(const uint64_t **data) {
  *data = (const uint64_t *)samples;
  return count < capacity ? count : capacity;
}
"""


@dataclass(frozen=True)
class Sample:
    """A call stack of a thread and its weight.

    module: the file that the first address is in. addresses: from the start of the library weight: nanoseconds of
    processor time. count: of samples
    """

    module: str
    addresses: list[int]
    weight: int
    count: int


def check_system() -> None:
    """Check that the system has per-thread timers.   Raises: ToolError"""
    if not sys.platform.startswith("linux"):
        hint = "see what is estimated: aotensor why MODEL:LINE"
        raise ToolError("profile works on Linux only: it needs timers of the Linux kernel", hint=hint)


def compiled_sampler(folder: Path) -> Path:
    """The sampler as a shared library in a folder.   Raises: ToolError without a C compiler, or if it fails"""
    named = os.environ.get("CC", "")
    found = next((path for name in (named, *_COMPILERS) if name and (path := shutil.which(name))), None)
    if found is None:
        raise ToolError(
            "profile needs a C compiler, and none was found", hint="install gcc or clang, or name one in CC"
        )
    source, library = folder / "sampler.c", folder / "libsampler.so"
    source.write_text(SOURCE, encoding="utf-8")
    command = [found, "-std=gnu11", "-O2", "-fPIC", "-shared", str(source), "-o", str(library), "-lrt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    check_room(f"the compiler {Path(found).name}", done, folder.parent)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise ToolError(f"{found} cannot compile the sampler", lines=lines, hint="name another compiler in CC")
    return library


class Sampler:
    """The sampler in this process.   library: that was compiled. low, high: addresses of the code of the library

    Raises: OSError if the system gives no timers
    """

    def __init__(self, library: Path, low: int, high: int) -> None:
        self._native = ctypes.CDLL(str(library))
        self._native.sampler_begin.argtypes = [ctypes.c_uint64] * 5
        self._native.sampler_run.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int]
        self._native.sampler_samples.restype = ctypes.c_uint64
        stack = next((end for _, end, name in _mappings() if name == "[stack]"), 0)
        problem = self._native.sampler_begin(low, high, stack, _CAPACITY, PERIOD)
        if problem:
            raise OSError(problem, os.strerror(problem))
        self._low = low

    def watch_threads(self) -> int:
        """Start sampling new threads; return the number of threads."""
        return int(self._native.sampler_threads())

    def run(self, call: int, times: int, is_sampled: bool) -> int:
        """Call a bound function `times` times; return its status.   call: address of an `aotensor_bound_call`"""
        return int(self._native.sampler_run(call, times, is_sampled))

    def samples(self) -> list[Sample]:
        """The samples so far; equal ones are merged."""
        data = ctypes.POINTER(ctypes.c_uint64)()
        count = int(self._native.sampler_samples(ctypes.byref(data)))
        words = data[: count * _WORDS]
        found: dict[tuple[int, ...], list[int]] = {}
        for k in range(0, count * _WORDS, _WORDS):
            one = found.setdefault(tuple(x for x in words[k + 1 : k + _WORDS] if x), [0, 0])
            one[0] += words[k]
            one[1] += 1
        maps = _mappings()
        return [
            Sample(_module(maps, key[0]), [x - self._low for x in key], weight, number)
            for key, (weight, number) in found.items()
        ]


def _mappings() -> list[tuple[int, int, str]]:
    """File mappings of this process: start, end, and file name without its folder."""
    found = []
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        span, _, _, _, _, *name = line.split(maxsplit=5)
        first, _, end = span.partition("-")
        found.append((int(first, 16), int(end, 16), os.path.basename(name[0]) if name else ""))
    return found


def _module(maps: Sequence[tuple[int, int, str]], address: int) -> str:
    return next((name for first, end, name in maps if first <= address < end), "")
