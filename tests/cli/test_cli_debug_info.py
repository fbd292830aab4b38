"""`aotensor compile -g`: debuggers and profilers show lines of the model, and the code is that without."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from command_line import Call

from aotensor_runtime import load
from aotensor_runtime.container import Container
from aotensor_runtime.elf import ElfFile

ROOT = Path(__file__).resolve().parents[2]
MODEL = "examples/logistic.py"
HASWELL = ("--target", "x86_64-linux-gnu", "--cpu", "haswell")
BINUTILS = ("objdump", "addr2line")
WITHOUT = [name for name in BINUTILS if shutil.which(name) is None]

DRIVER = """
import os, sys
import numpy as np
from aotensor_runtime import load
rng = np.random.default_rng(0)
X, rounds = rng.normal(size=(4000, 31)), int(sys.argv[2])
f = load(sys.argv[1]).logistic
for _ in range(rounds):
    f(X, np.ones(4000), np.zeros(31), 0.01)
"""
PAIR = {
    "layers.py": "import aotensor.tensor as at\n\ndef squash(x):\n    return at.tanh(3 * x)\n",
    "net.py": (
        "import aotensor as aot, aotensor.tensor as at\nfrom layers import squash\n"
        "x = at.vector('x', dtype='float64', shape=('n',))\ny = squash(x)\n"
        "f = aot.function([x], at.sqrt(y), name='f')\n"
    ),
}
SPARSE = """import aotensor as aot, aotensor.tensor as at, aotensor.sparse as sparse
A = sparse.csr_matrix("A", dtype="float64")
f = aot.function([A], sparse.mul(A, 2.0), name="f")
"""
FORMS = {
    "obj": ".debug_line",
    "static": ".debug_line",
    "asm": ".loc\t",
    "llvm": "!DILocation(",
    "llvm-opt": "!DILocation(",
}


def line_of(text: str) -> int:
    """The number of the line of the model that begins so."""
    return next(k for k, line in enumerate((ROOT / MODEL).read_text().splitlines(), 1) if line.startswith(text))


LOSS, GRADIENT = line_of("loss = "), line_of("logistic = ")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, spawn: Call) -> Path:
    return compiled(spawn, tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def lined(tmp_path_factory: pytest.TempPathFactory, spawn: Call) -> Path:
    return compiled(spawn, tmp_path_factory.mktemp("lined"), "-g")


def compiled(spawn: Call, folder: Path, *options: str, cpu: tuple[str, ...] = HASWELL) -> Path:
    answer = spawn("compile", MODEL, "-o", folder, *cpu, *options, cwd=ROOT)
    assert answer.code == 0, answer.err
    return folder / "liblogistic.so"


def said(*command: object, **environment: str) -> str:
    """What a tool prints."""
    variables = {**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": "", **environment}
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, env=variables, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(WITHOUT != [], reason=f"binutils are missing: {', '.join(WITHOUT)}")
def test_addr2line_names_the_lines_of_the_hot_loop(lined: Path) -> None:
    """The multiplications of vectors: X @ w belongs to the loss, X.T @ r to the gradient."""
    code = said("objdump", "-d", "--no-show-raw-insn", lined)
    inside, addresses = "", []
    for line in code.splitlines():
        if title := re.match(r"[0-9a-f]+ <(.*)>:", line):
            inside = title.group(1)
        elif inside.startswith("logistic.chunk") and (found := re.match(r" *([0-9a-f]+):\s+vfn?madd\w+pd ", line)):
            addresses.append(found.group(1))
    assert len(addresses) > 20
    lines = Counter(said("addr2line", "-e", lined, *addresses).split("\n")[:-1])
    for number in (LOSS, GRADIENT):
        assert lines[f"{MODEL}:{number}"] >= 4, lines
    assert sum(lines[f"{MODEL}:{number}"] for number in (LOSS, GRADIENT)) > 0.8 * len(addresses), lines


@pytest.mark.skipif(WITHOUT != [], reason=f"binutils are missing: {', '.join(WITHOUT)}")
def test_disassembly_shows_the_source(lined: Path) -> None:
    text = said("objdump", "-d", "-S", "--disassemble=logistic.chunk1", lined)
    assert (ROOT / MODEL).read_text().splitlines()[LOSS - 1] in text


@pytest.mark.needs("gdb")
def test_gdb_stops_at_a_line_of_the_model(tmp_path: Path, spawn: Call) -> None:
    library = compiled(spawn, tmp_path, "-g", cpu=())
    (tmp_path / "driver.py").write_text(DRIVER)
    steps = (f"break logistic.py:{LOSS}", "run", "backtrace 1", "info source", "kill")
    words = [part for step in ("set breakpoint pending on", *steps) for part in ("-ex", step)]
    program = ("--args", sys.executable, tmp_path / "driver.py", library, 1)
    said_ = said("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", *words, *program)
    if "hit Breakpoint" not in said_ and "ptrace" in said_:
        pytest.skip("gdb may not trace processes here")
    assert re.search(rf"#0 .* logistic\.\w+ .* at {MODEL}:{LOSS}\n", said_), said_
    assert f"Located in {ROOT / MODEL}" in said_


@pytest.mark.needs("perf")
def test_perf_charges_lines_of_the_model(tmp_path: Path, spawn: Call) -> None:
    library = compiled(spawn, tmp_path, "-g", cpu=())
    (tmp_path / "driver.py").write_text(DRIVER)
    record = ("perf", "record", "-e", "cpu-clock", "-F", "2000", "-o", tmp_path / "perf.data")
    try:
        said(*record, sys.executable, tmp_path / "driver.py", library, 1000, AOTENSOR_LOAD_IN_PLACE="1")
    except AssertionError as error:
        pytest.skip(f"perf may not record here: {str(error).strip().splitlines()[0]}")
    text = said("perf", "annotate", "-i", tmp_path / "perf.data", "--stdio", "-l", "-s", "logistic.chunk1")
    shares = {int(line): float(share) for share, line in re.findall(r"^ +([\d.]+) +logistic\.py:(\d+)", text, re.M)}
    assert shares.get(LOSS, 0) + shares.get(GRADIENT, 0) > 50, text[:2000]


def test_the_code_is_the_same(plain: Path, lined: Path, tmp_path: Path, spawn: Call) -> None:
    """All that is loaded is; what is kept of earlier compilations is told apart; nothing of it is there without -g."""
    without, with_lines = plain.read_bytes(), lined.read_bytes()
    sections = [ElfFile(data).sections for data in (without, with_lines)]
    assert ElfFile(without).section(".text") == ElfFile(with_lines).section(".text") != b""
    assert Container(without).recorded_checksum() == Container(with_lines).recorded_checksum()
    assert not any(name.startswith(".debug") or name == ".symtab" for name in sections[0])
    assert {".debug_line", ".debug_info", ".symtab"} <= set(sections[1])
    assert compiled(spawn, tmp_path).read_bytes() == without
    assert plain.with_name("logistic.h").read_text() == lined.with_name("logistic.h").read_text()


@pytest.mark.skipif(shutil.which("strip") is None, reason="binutils are missing: strip")
def test_strip_leaves_a_library_that_loads(lined: Path, tmp_path: Path) -> None:
    stripped = tmp_path / lined.name
    said("strip", "-o", stripped, lined)
    assert not any(name.startswith(".debug") for name in ElfFile(stripped.read_bytes()).sections)
    assert stripped.stat().st_size < lined.stat().st_size
    Container(stripped.read_bytes()).check()
    assert list(load(stripped).functions) == ["logistic"]


@pytest.mark.parametrize("given", ["net.py", "{}/net.py"])
def test_the_same_bytes_in_every_folder(tmp_path: Path, spawn: Call, given: str) -> None:
    """Paths are those from the current folder, also of modules that Python knows by absolute ones."""
    contents = []
    for folder in (tmp_path / "one", tmp_path / "another folder"):
        folder.mkdir()
        for name, text in PAIR.items():
            (folder / name).write_text(text)
        assert spawn("compile", given.format(folder), "-g", "-o", "out", cwd=folder).code == 0
        contents.append((folder / "out" / "libf.so").read_bytes())
    assert contents[0] == contents[1]
    assert str(tmp_path).encode() not in contents[0]


def test_functions_know_several_files(tmp_path: Path, call: Call) -> None:
    for name, text in PAIR.items():
        (tmp_path / name).write_text(text)
    text = call("compile", "net.py", "-g", "--emit", "llvm-opt", cwd=tmp_path).out
    files = dict(re.findall(r'(!\d+) = !DIFile\(filename: "(.*?)", directory: ""\)', text))
    assert set(files.values()) == {"net.py", "layers.py"}
    (unit,) = re.findall(r"distinct !DICompileUnit\(.*file: (!\d+)", text)
    assert files[unit] in ("net.py", "layers.py")
    assert re.search(r"!DILexicalBlockFile\(scope: !\d+, file: !\d+, discriminator: 0\)", text)


@pytest.mark.parametrize(("form", "found"), FORMS.items())
def test_every_form_has_the_lines(small: Path, call: Call, tmp_path: Path, form: str, found: str) -> None:
    contents = []
    for options in ([], ["-g"]):
        folder = tmp_path / "-".join(["out", *options])
        assert call("compile", small, "--emit", form, "-o", folder, *options).code == 0
        (path,) = folder.iterdir()
        contents.append(found.encode() in path.read_bytes())
    assert contents == [False, True]


@pytest.mark.parametrize("triple", ["aarch64-linux-gnu", "riscv64-linux-gnu"])
def test_lines_of_other_machines(small: Path, call: Call, tmp_path: Path, triple: str) -> None:
    assert call("compile", small, "-g", "--emit", "obj", "--target", triple, "-o", tmp_path).code == 0
    assert ElfFile((tmp_path / "f.o").read_bytes()).section(".debug_line")


def test_derived_functions_belong_to_the_line_of_their_cost(model: Path, call: Call) -> None:
    text = call("compile", model, "--grad", "w", "--hvp", "w", "-g", "--emit", "llvm").out
    assert re.findall(r'DIFile\(.*filename: "(.*?)"', text) == [str(model)]


def test_parts_of_matrices_belong_to_lines_of_the_model(call: Call, tmp_path: Path) -> None:
    (tmp_path / "scaled.py").write_text(SPARSE)
    text = call("compile", "scaled.py", "-g", "--emit", "llvm", cwd=tmp_path).out
    assert set(re.findall(r'DIFile\(.*filename: "(.*?)"', text)) == {"scaled.py"}
    text = call("inspect", "scaled.py", "--stage", "tensor", "--locations", cwd=tmp_path).out
    assert set(re.findall(r'loc\("(.*?)"', text)) == {"scaled.py"}


def test_numbers_are_the_same(plain: Path, lined: Path) -> None:
    rng = np.random.default_rng(3)
    arguments = rng.normal(size=(50, 7)), np.sign(rng.normal(size=50)), rng.normal(size=7), 0.1
    try:
        found = [load(path).logistic(*arguments) for path in (plain, lined)]
    except Exception as error:
        pytest.skip(f"this machine runs no code for {HASWELL[-1]}: {error}")
    assert found[0]["loss"] == found[1]["loss"]
    assert np.array_equal(found[0]["grad_w"], found[1]["grad_w"])
