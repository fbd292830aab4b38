"""Random sparse matrices, whole and malformed, through compiled functions in C under AddressSanitizer."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from tools.fuzz.asan_library import write_sanitized
from tools.fuzz.campaign import Campaign
from tools.fuzz.compare import Finding
from tools.fuzz.oracle import Array
from tools.fuzz.structure_cases import Case, drawn, encoded, expected
from tools.fuzz.structure_functions import FORMATS, functions, is_transposed

BATCH: Final = 250
PER_LIBRARY: Final = 1000
"""So many seeds in a row go to one library; there is one for each format."""
SECONDS: Final = 120.0
OK: Final = 0
_NAMES: Final = {
    2: "wrong dtype",
    4: "wrong extent",
    5: "negative",
    10: "wrong context",
    1: "null pointer",
    13: "bad structure",
    14: "bad index",
}
RTOL: Final = 1e-11  # sums of a hundred products of numbers about 1


def run(campaign: Campaign) -> None:
    """Batches of matrices, each in one run of the C program."""
    work = Path(tempfile.mkdtemp(prefix="aotensor-fuzz-"))
    programs: dict[tuple[str, str], Path] = {}
    try:
        for seeds in campaign.batches(BATCH):
            kind = FORMATS[seeds[0] // PER_LIBRARY % len(FORMATS)]
            if kind not in programs:
                programs[kind] = write_program(kind, work / "-".join(kind))
            for finding in findings(programs[kind], [drawn(seed, *kind) for seed in seeds]):
                campaign.add(finding.signature, finding.report)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def write_program(kind: tuple[str, str], folder: Path) -> Path:
    """The C program for a format and a dtype of indices."""
    return write_sanitized(functions(*kind), folder, "fuzzed", Path(__file__).parent / "structures.c")


def findings(program: Path, cases: list[Case]) -> list[Finding]:
    """Run some cases and return findings; after a report of the sanitizer, the remaining cases run in a new process."""
    given, answers = program.parent / "cases", program.parent / "answers"
    given.write_bytes(struct.pack("<q", len(cases)) + b"".join(map(encoded, cases)))
    try:
        done = subprocess.run([program, given, answers], capture_output=True, text=True, timeout=SECONDS, check=False)
        said, code = done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        said, code = "hang", -1
    reader = _Reader(answers.read_bytes())
    found: list[Finding] = []
    number = 0
    for case in cases:
        if reader.is_at_end:
            break
        wrong = _judge(case, reader)
        found += [Finding(case.seed, "structure", f"{wrong}\n{case}")] if wrong else []
        number += 1
    if code == 0 and number == len(cases):
        return found
    if number < len(cases):
        found.append(Finding(cases[number].seed, "sanitizer", f"{said[:3000] or code}\n{cases[number]}"))
        return found + (findings(program, cases[number + 1 :]) if number + 1 < len(cases) else [])
    return [*found, Finding(cases[-1].seed, "sanitizer", f"at the end: {said[:3000] or code}")]


class _Reader:
    """Numbers and arrays from bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def is_at_end(self) -> bool:
        return self.at >= len(self.data)

    def number(self) -> int:
        return int(self.array(1, "int64")[0])

    def array(self, count: int, dtype: str) -> Array:
        found = np.frombuffer(self.data, dtype, count, self.at)
        self.at += found.nbytes
        return found


def _judge(case: Case, reader: _Reader) -> str:
    """Read and check the answer for one case: the fault, or ""."""
    status = reader.number()
    message = reader.array(reader.number(), "uint8").tobytes().decode(errors="replace")
    faults = case.faults
    if status != OK:
        if status not in faults:
            names = [_NAMES.get(x, str(x)) for x in sorted(faults)]
            return f"status {status} ({message}), expected {' or '.join(names) or 'success'}"
        return "" if message.startswith(f"{case.function}: ") else f"the message is {message!r}"
    nnz, *shape = (reader.number() for _ in range(3))
    index = f"int{8 * reader.number()}"
    turned = is_transposed(case.function, case.format)
    data, indices = reader.array(nnz, "float64"), reader.array(nnz, index)
    indptr = reader.array(shape[1 if turned else 0] + 1, index)
    d = reader.array(case.elements, "float64")
    if faults:
        return f"success, expected {' or '.join(_NAMES.get(x, str(x)) for x in sorted(faults))}"
    wanted, dense = expected(case)
    if tuple(shape) != wanted.shape:
        return f"S has the shape {shape}, expected {wanted.shape}"
    major, minor = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices
    if len(major) != nnz or minor.min(initial=0) < 0 or minor.max(initial=-1) >= shape[0 if turned else 1]:
        return f"S is no matrix: nnz {nnz}, indices {indices}, indptr {indptr}"
    rows, columns = (minor, major) if turned else (major, minor)
    stored: Any = np.zeros(wanted.shape, int)
    np.add.at(stored, (rows, columns), 1)
    if stored.max(initial=0) > 1 or (stored.astype(bool) != wanted.stored).any():
        return f"S is stored at\n{stored}, expected\n{wanted.stored.astype(int)}"
    values = np.zeros(wanted.shape)
    values[rows, columns] = data
    for name, mine, exact in (("S", values, wanted.dense), ("d", d, dense.reshape(-1))):
        if not np.all(np.abs(mine - exact) <= RTOL * (1 + np.abs(exact).max(initial=0))):
            return f"{name} is\n{mine}, expected\n{exact}"
    return ""
