"""`aotensor profile`: lines with their time, line tables, samples that belong to no line, and what is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from command_line import Call
from schemas import check_schema

from aotensor.api.cost.limits import Limits
from aotensor.api.profiling.attribution import CALL, WAITING, Charged, Code
from aotensor.api.profiling.line_table import LineTable, Place
from aotensor.api.profiling.rows import rows_of
from aotensor.api.profiling.sampler import Sample
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.driver.report import Report
from aotensor.passes.report.line_work import Work
from aotensor_cli.model import load_model
from aotensor_cli.page.profiles import read_profiles
from aotensor_runtime.container import Container
from aotensor_runtime.elf import ElfFile
from aotensor_runtime.errors import DamagedLibrary

MODEL = """import aotensor as aot, aotensor.tensor as at
X = at.matrix("X", dtype="float64", shape=("n", "p"))
w = at.vector("w", dtype="float64", shape=("p",))
u = at.vector("u", dtype="float64", shape=("n",))
r = X @ w
v = at.exp(at.sin(u) * at.cos(u))
loss = (r ** 2).sum() + v.sum()
f = aot.function([X, w, u], {"loss": loss, "g": aot.grad(loss, w)}, name="f")
"""
QUICK = ("--seconds", "0.2", "--no-limits", "--sizes", "n=2000,p=60")
DRIVER = """
import sys, time
from aotensor_runtime import load
from aotensor.api.cost.inputs import dims_of, make_inputs
f = load(sys.argv[1]).f
call = f.bind(**make_inputs(f, dims_of(f.spec, {"n": 20000, "p": 60}), 0), num_threads=1)
end = time.time() + 2
while time.time() < end:
    call()
"""
pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="samples by timers of Linux"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profile") / "m.py"
    path.write_text(MODEL)
    return path


@pytest.fixture(scope="module")
def lined(profiled: Path) -> Path:
    """The library as profile compiles it."""
    model = load_model(str(profiled))
    path = profiled.parent / "libf.so"
    path.write_bytes(Build(list(model.functions), None, Options(debug_info=True, by_origin=True)).shared)
    return path


def test_a_model(spawn: Call, profiled: Path) -> None:
    answer = spawn("profile", profiled, *QUICK, "--threads", "2", "--json")
    assert answer.code == 0, answer.err
    (found,) = json.loads(answer.out)["profiles"]
    check_schema(json.loads(answer.out), "profile")
    path = profiled.parent / "p.json"
    path.write_text(answer.out)
    assert [len(x.rows) for x in read_profiles(path)] == [len(found["rows"])], "as pages read it"
    rows = {row["name"]: row for row in found["rows"]}
    assert sum(row["share"] for row in found["rows"]) == pytest.approx(1, abs=1e-3)
    assert found["samples"] > 20 and found["seconds"] > 0 and found["threads"] == 2
    product = rows["m.py:5"]
    assert product["derivative"] > 0.02 and product["forward"] > 0.02, "X.T @ dr belongs to the line of X @ w"
    assert product["bytes_per_second"] > 0 and product["flops_per_second"] > 0
    assert not any(row["file"] and row["line"] == 8 for row in found["rows"]), "the line that asks for the gradient"


def test_text_and_other_formats(call: Call, profiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(bandwidth=1e11, flops=1e11, products=1e11, gathers=1e9)
    monkeypatch.setattr("aotensor_cli.profile.measured_limits", lambda counts, seconds: dict.fromkeys(counts, limits))
    answer = call("profile", profiled, "--seconds", "0.2", "--sizes", "n=2000,p=60")
    assert answer.code == 0, answer.err
    assert re.match(r"f at n=2000, p=60 on 1 thread: [\d.]+ \w+ per call, \d+ samples\n  line ", answer.out)
    assert re.search(r"m\.py:5 .* % of a limit +r = X @ w", answer.out) and "samples slow a call down by" in answer.out
    answer = call("profile", profiled, *QUICK, "--format", "folded", "-o", tmp_path / "stacks.txt")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert answer.out == "" and any(re.fullmatch(r"f;m\.py:5;derivative \d+", line) for line in lines), lines
    answer = call("profile", profiled, *QUICK, "--format", "speedscope")
    tree = json.loads(answer.out)
    (one,) = tree["profiles"]
    assert sum(one["weights"]) == one["endValue"] and len(one["weights"]) == len(one["samples"])
    assert {"name": "m.py:5", "file": "m.py", "line": 5} in tree["shared"]["frames"]


def test_libraries(call: Call, profiled: Path, library: Path, tmp_path: Path) -> None:
    answer = call("profile", library)
    assert answer.code == 2 and f"{library}: the library has no line tables" in answer.err and "-g" in answer.err
    assert call("compile", profiled, "-g", "-o", tmp_path).code == 0
    answer = call("profile", tmp_path / "libf.so", *QUICK, "--json")
    assert answer.code == 0, answer.err
    rows = json.loads(answer.out)["profiles"][0]["rows"]
    assert all(row["derivative"] == 0 for row in rows) and any(row["line"] == 8 for row in rows)
    assert call("compile", profiled, "-g", "-o", tmp_path, "--emit", "obj").code == 0
    answer = call("profile", tmp_path / "f.o", *QUICK)
    assert answer.code == 2 and "this object code is not linked" in answer.err


def test_a_short_function_says_so(call: Call, small: Path) -> None:
    answer = call("profile", small, "--sizes", "n=2", "--seconds", "0.5", "--no-limits")
    assert answer.code == 0 and "most of the time is the call itself: larger --sizes" in answer.out, answer.out


def test_wrong_use(call: Call, profiled: Path) -> None:
    answer = call("profile", profiled, "--sizes", "rows=3")
    assert answer.code == 2 and "no function has a dim rows" in answer.err
    answer = call("profile", profiled, *QUICK, PATH="/nowhere", CC="none")
    assert answer.code == 4, answer.err


# --- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="binutils are missing: addr2line")
def test_the_line_table_says_what_addr2line_says(lined: Path) -> None:
    image = ElfFile(lined.read_bytes())
    table, text = LineTable(image), image.sections[".text"]
    addresses = range(text.offset, text.offset + text.size, 5)
    command = ["addr2line", "-e", str(lined), *map(hex, addresses)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    expected = [int(x[1]) if (x := re.search(r":(\d+)", line)) else 0 for line in said]
    found = [0 if (place := table.place(x)) is None else place.line for x in addresses]
    assert found == expected and {5, 6, 7} <= set(found)
    places = {table.place(x) for x in addresses}
    assert {Place("m.py", 5), Place("m.py", 5, is_derivative=True)} <= places


def test_damaged_line_tables_are_errors(lined: Path) -> None:
    data = lined.read_bytes()
    section = ElfFile(data).sections[".debug_line"]
    for place in range(section.offset, section.offset + min(section.size, 60)):
        changed = bytearray(data)
        changed[place] ^= 0xFF
        try:
            LineTable(ElfFile(bytes(changed)))
        except DamagedLibrary as error:
            assert "line table" in error.diagnostic.title
    with pytest.raises(DamagedLibrary, match="line table"):
        LineTable(ElfFile(data[: section.offset + 4] + b"\0" * 8 + data[section.offset + 12 :]))


def test_samples_become_lines(lined: Path) -> None:
    """Code of a line, code of none, kernels that a line calls, waiting threads, and addresses of no caller."""
    code = Code(Container(lined.read_bytes()).image)
    text = ElfFile(lined.read_bytes()).sections[".text"]
    addresses = range(text.offset, text.offset + text.size)
    at = {(code.function(x), code.place(x)): x for x in addresses}
    own = next(x for (name, place), x in at.items() if name.startswith("f.") and place == Place("m.py", 5))
    worker = next(x for (name, _), x in at.items() if name == "entry.worker")
    checks = next(x for (name, _), x in at.items() if name == "entry.run")
    samples = [
        Sample("", [own], 60, 3), Sample("", [worker], 5, 1), Sample("", [checks], 10, 1),
        Sample("libblas.so.3", [-5, own], 20, 1), Sample("libc.so.6", [-5], 5, 1),
    ]  # fmt: skip
    charged = code.charge(samples)
    assert charged.owners == {Place("m.py", 5): 60, WAITING: 5, CALL: 15, "libblas": 20}, "no call is in front of `own`"
    assert charged.total == 100 and charged.kernels["libblas", ""] == 20


def test_what_bounds_a_line() -> None:
    place, other = Place("m.py", 5), Place("m.py", 6)
    owners: Counter[Place | str] = Counter({place: 50, other: 30, Place("m.py", 5, True): 10, CALL: 10})
    charged = Charged(owners, Counter({(place, "aot_gemm"): 20}), Counter())
    limits = Limits(bandwidth=1e9, flops=1e9, products=1e9, gathers=1e6)
    work = {("m.py", 5): Work(bytes=5e5, flops=1e5), ("m.py", 6): Work(bytes=10, elementary=1e3)}
    rows = {row.where: row for row in rows_of(charged, 1e-3, work, 1e5 + 2e4, limits)}
    first, second, call = rows["m.py:5"], rows["m.py:6"], rows[CALL]
    assert (first.share, first.forward, first.derivative) == (0.6, 0.5, 0.1) and first.kernels == {"aot_gemm": 0.2}
    assert first.bound == "memory" and first.of_limit == pytest.approx(5e-4 / 6e-4)
    assert second.bound == "latency" and second.rates[1] == pytest.approx(2e4 / 3e-4)
    assert call.bound == "overhead" and call.rates == (None, None)


def test_the_work_of_lines(profiled: Path) -> None:
    """By hand: X is read for the product and for the gradient, 2 operations for each element of both."""
    model = load_model(str(profiled))
    build = Build(list(model.functions), None, Options(by_origin=True))
    build.report = report = Report({"f": [{"n": 100_000, "p": 50}]})
    assert build.lowered is not None
    work = {line: sets[0] for (_, line), sets in report.outlines[0].work.items()}
    assert 16 * 5e6 <= work[5].bytes < 1.1 * 16 * 5e6
    assert 4 * 5e6 <= work[5].flops < 1.1 * 4 * 5e6
    assert work[6].elementary == pytest.approx(3e5, rel=0.02)


@pytest.mark.needs("perf")
def test_perf_agrees(spawn: Call, profiled: Path, lined: Path, tmp_path: Path) -> None:
    """Shares of lines within 5 percentage points, where both know the line."""
    (tmp_path / "driver.py").write_text(DRIVER)
    record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-o", str(tmp_path / "data"), sys.executable]
    variables = {**os.environ, "AOTENSOR_LOAD_IN_PLACE": "1"}
    done = subprocess.run([*record, tmp_path / "driver.py", lined], capture_output=True, check=False, env=variables)
    if done.returncode != 0:
        pytest.skip("perf may not record here")
    script = ["perf", "script", "-i", str(tmp_path / "data"), "-F", "ip,dso", "--show-mmap-events"]
    text = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    mapped = re.search(r"MMAP2? .*\[0x([0-9a-f]+)\(0x[0-9a-f]+\) @ (0x[0-9a-f]+|0) .*libf\.so", text)
    assert mapped is not None
    base = int(mapped[1], 16) - int(mapped[2], 16)
    table = LineTable(ElfFile(lined.read_bytes()))
    hits = [int(x, 16) - base for x in re.findall(r"^\s*([0-9a-f]+) \(.*libf\.so\)", text, re.M)]
    perf = Counter(place.line for x in hits if (place := table.place(x)) is not None and place.line)
    answer = spawn("profile", profiled, "--seconds", "2", "--no-limits", "--sizes", "n=20000,p=60", "--json")
    rows = json.loads(answer.out)["profiles"][0]["rows"]
    ours = {row["line"]: row["share"] - row["shared"] - sum(row["kernels"].values()) for row in rows if row["line"]}
    total = sum(ours.values())
    for line in perf.keys() | ours.keys():
        assert 100 * ours.get(line, 0) / total == pytest.approx(100 * perf[line] / perf.total(), abs=5), (ours, perf)
