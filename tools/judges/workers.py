"""Run jobs in separate processes, so that a crash, a timeout or a cold start affects one job only."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parents[2]


def run(module: str, arguments: Sequence[str], seconds: float, python: str = sys.executable) -> dict[str, Any]:
    """The JSON in the last line that `python -m module` prints; {"failed": reason} if there is none."""
    command = [python, "-m", module, *arguments]
    try:
        made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {seconds:g} s"}
    lines = made.stdout.splitlines()
    if made.returncode or not lines:
        last = (made.stderr.strip().splitlines() or [f"exit status {made.returncode}"])[-1]
        return {"failed": last[:200]}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def run_each(module: str, names: Sequence[str], seconds: float, first: float) -> Iterator[dict[str, Any]]:
    """The JSON lines that `python -m module NAME...` prints, one for each name in order.

    A name that takes more than `seconds`, or ends the process, is {"name": name, "failed": reason}, and a new process
    goes on with the next. first: how long the start of a process may take.
    """
    left = list(names)
    while left:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *left],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        lines: queue.Queue[str] = queue.Queue()
        thread = threading.Thread(target=_forward, args=(process, lines), daemon=True)
        thread.start()
        patience = first + seconds
        while left:
            try:
                line, reason = lines.get(timeout=patience), "the process ended"
            except queue.Empty:
                line, reason = "", f"not done after {seconds:g} s"
            patience = seconds
            name = left.pop(0)
            yield json.loads(line) if line else {"name": name, "failed": reason}
            if not line:
                break
        process.kill()
        process.wait()


def _forward(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    """Put each line of JSON into the queue, and "" at the end."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            lines.put(line)
    lines.put("")


def shortest(call: Callable[[], Any], seconds: float = 0.2) -> float:
    """The shortest of many averages of calls, in seconds. seconds: approximate time of the measurement"""
    return in_turns([call], seconds)[0]


def in_turns(
    calls: Sequence[Callable[[], Any]], seconds: float, clock: Callable[[], float] = perf_counter
) -> list[float]:
    """The shortest of many averages of each of some calls, which take turns, in seconds.

    seconds: approximate time of the measurement of each. clock: `time.thread_time` leaves other programs out
    """
    loops = []
    for call in calls:
        start = perf_counter()
        call()
        loops.append(max(1, int(seconds / 20 / max(perf_counter() - start, 1e-7))))
    best, end = [float("inf")] * len(calls), perf_counter() + seconds * len(calls)
    while perf_counter() < end or best[-1] == float("inf"):
        for k, (call, count) in enumerate(zip(calls, loops, strict=True)):
            start = clock()
            for _ in range(count):
                call()
            best[k] = min(best[k], (clock() - start) / count)
    return best
