"""Libraries without a C library: what their objects refer to, and the numbers of their own functions of libm."""

from __future__ import annotations

import ctypes
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import embedded_models
import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen import llvm
from aotensor.codegen.embedded.math import OWN_MATH
from aotensor.codegen.embedded.symbols import undefined_symbols
from aotensor.codegen.machine import Machine
from aotensor.codegen.targets.support import EXECUTED
from aotensor.errors import UnsupportedError
from aotensor_cli.main import run

_PROVIDED: Final = {"memcpy", "memmove", "memset"}


def _elementwise(dtype: str) -> aot.Function:
    x = at.vector("x", dtype=dtype, shape=("n",))
    outputs = {
        "floor": at.floor(x), "ceil": at.ceil(x), "round": at.round(x), "trunc": at.trunc(x), "mod": x % 3,
        "root": at.sqrt(abs(x)), "larger": at.maximum(x, 0), "power": abs(x) ** 2.5, "sin": at.sin(x), "erf": at.erf(x),
        "gammaln": at.gammaln(abs(x)), "int": x.astype("int64"),
    }  # fmt: skip
    return aot.function([x], outputs, name=f"elementwise_{dtype}")


def _undefined(archive: Path) -> set[str]:
    told = subprocess.run(["nm", "-u", archive], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in told.splitlines() if " U " in line or " w " in line}


@pytest.mark.parametrize("fp", ["contract", "strict"])
def test_objects_refer_to_three_functions_at_most(fp: str, tmp_path: Path) -> None:
    functions = [*embedded_models.functions(), _elementwise("float64"), _elementwise("float32")]
    aot.compile(
        functions,
        tmp_path,
        name="model",
        freestanding=True,
        emit="static",
        cpu="generic",
        fp=fp,
        opt_level=2 - (fp == "strict"),
    )
    assert _undefined(tmp_path / "libmodel.a") <= _PROVIDED
    if fp == "contract":
        _compare_numbers(tmp_path)


def _compare_numbers(folder: Path) -> None:
    """The program in the archive, linked as a shared library here, gives what the reference gives."""
    build = [
        "gcc",
        "-shared",
        "-nostdlib",
        "-o",
        "here.so",
        "-Wl,--whole-archive",
        "libmodel.a",
        "-Wl,--no-whole-archive",
    ]
    subprocess.run([*build, "-lc"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "here.so"))
    for dtype in ("float64", "float32"):
        f, x = _elementwise(dtype), np.linspace(-40, 40, 333).astype(dtype)
        expected = f.reference(x)
        found = {name: np.empty(len(x), value.dtype) for name, value in expected.items()}
        workspace = np.empty(1 << 16, "uint8")
        arrays = [ctypes.c_void_p(a.ctypes.data) for a in (x, *found.values(), workspace)]
        assert getattr(library, f.name)(ctypes.c_int64(len(x)), *arrays) == 0
        for name, value in found.items():
            tolerance = 1e-12 if dtype == "float64" else 1e-5
            np.testing.assert_allclose(value, expected[name], rtol=tolerance, atol=tolerance, err_msg=name)


def test_own_functions_are_needed(tmp_path: Path) -> None:
    aot.compile(
        _elementwise("float64"), tmp_path, name="model", malloc=False, emit="static", cpu="generic", opt_level=1
    )
    assert {"floor", "ceil", "fmod"} <= _undefined(tmp_path / "libmodel.a")


def test_shared_libraries_are_refused(tmp_path: Path) -> None:
    f = _elementwise("float64")
    with pytest.raises(UnsupportedError, match="a freestanding library is an object file or an archive"):
        aot.compile(f, tmp_path / "out", freestanding=True, opt_level=0)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("target", ["wasm32-wasi", "x86_64-windows-gnu", "arm64-macos"])
def test_other_files_than_elf_are_refused(target: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"freestanding libraries are ELF files, which .* does not use"):
        aot.compile(_elementwise("float64"), tmp_path / "out", freestanding=True, emit="static", target=target)
    assert not (tmp_path / "out").exists()


def test_the_command_line_makes_an_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.py").write_text(
        "import aotensor as aot, aotensor.tensor as at\n"
        "x = at.vector('x', shape=(4,))\nf = aot.function([x], x.sum(), name='f')\n"
    )
    target = ["--target", "thumbv7em-none-eabihf", "--cpu", "cortex-m4", "--freestanding"]
    assert run(["compile", str(tmp_path / "m.py"), *target, "-o", str(tmp_path / "out"), "-q"]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["f.h", "libf.a"]
    assert "int32_t aotensor_call_python(" not in (tmp_path / "out/f.h").read_text()


@pytest.mark.parametrize(
    ("target", "cpu", "machine"),
    [
        ("thumbv6m-none-eabi", "cortex-m0", 40),
        ("riscv64-unknown-elf", "generic-rv64", 243),
        ("aarch64-none-elf", "generic", 183),
    ],
)
def test_targets_without_a_board_here(target: str, cpu: str, machine: int, tmp_path: Path) -> None:
    """Archives for them call nothing but what compilers ask of every machine."""
    assert EXECUTED[target] == "no: symbols are read"
    x = at.vector("x", dtype="float64", shape=(4,))
    f = aot.function([x], {"y": at.exp(x).sum(), "g": aot.grad(at.exp(x).sum(), x)}, name="f")
    made = aot.compile(f, tmp_path, target=target, cpu=cpu, freestanding=True, emit="static", opt_size=True)
    data = made.library.read_bytes()
    code = data[data.index(b"\x7fELF") :]
    assert int.from_bytes(code[18:20], "little") == machine
    helpers = [x for x in undefined_symbols(code) if not x.startswith("__")]
    assert set(helpers) <= _PROVIDED


# --- own functions of libm -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """All of them, as own_<name>."""
    machine, folder = Machine.parse(None, "generic"), tmp_path_factory.mktemp("math")
    module = llvm.ir.Module(name="math", context=llvm.ir.Context())
    module.triple, module.data_layout = machine.triple, machine.data_layout()
    for name, define in OWN_MATH.items():
        define(module)
        llvm.rename(module.globals[name], f"own_{name}")
    code = machine.object_code(machine.optimise(module))
    assert undefined_symbols(code) == []
    (folder / "own.o").write_bytes(code)
    subprocess.run(["gcc", "-shared", "-o", "own.so", "own.o"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "own.so"))


def _values(dtype: Any, count: int, rng: np.random.Generator) -> list[float]:
    """Of all sizes, subnormal ones, whole and half numbers, and those that are special."""
    bits = np.dtype(dtype).itemsize * 8
    info = np.finfo(dtype)
    special = [
        0,
        -0.0,
        0.5,
        -0.5,
        1,
        1.5,
        2.5,
        -2.5,
        np.inf,
        -np.inf,
        np.nan,
        info.tiny,
        info.smallest_subnormal,
        info.max,
    ]
    kinds = [
        np.array(special, dtype), rng.integers(0, 1 << (bits - 1), count, dtype=f"uint{bits}").view(dtype),
        (rng.normal(size=count) * 10.0 ** rng.integers(-3, 4, count)).astype(dtype),
        (rng.normal(size=count // 4) * info.tiny).astype(dtype),
        np.round(rng.normal(size=count // 4) * 8).astype(dtype) / 2,
    ]  # fmt: skip
    return [float(x) for kind in kinds for x in kind]


@pytest.mark.parametrize("name", sorted(OWN_MATH))
def test_own_functions_give_the_bits_of_libm(name: str, own: ctypes.CDLL) -> None:
    dtype, kind = (np.float32, ctypes.c_float) if name.endswith("f") else (np.float64, ctypes.c_double)
    count = {"fmod": 2, "fma": 3, "fmax": 2, "fmin": 2}.get(name.removesuffix("f"), 1)
    functions: list[Callable[..., float]] = []
    for library, symbol in ((own, f"own_{name}"), (ctypes.CDLL("libm.so.6"), name)):
        function = library[symbol]
        function.restype, function.argtypes = kind, [kind] * count
        functions.append(function)
    rng = np.random.default_rng(0)
    first = _values(dtype, 400, rng)
    columns = [first, *([first[k] for k in rng.permutation(len(first))] for _ in range(count - 1))]
    if count == 3:  # sums that cancel, and results that are subnormal
        a, b = rng.normal(size=(2, 300)).astype(dtype)
        near = -(a * b) * (1 + rng.integers(-3, 4, 300) * np.finfo(dtype).eps).astype(dtype)
        small = (rng.normal(size=(2, 300)) * np.finfo(dtype).tiny * 4).astype(dtype)
        more = (np.concatenate([a, small[0]]), np.concatenate([b, b]), np.concatenate([near, small[1]]))
        columns = [column + new.tolist() for column, new in zip(columns, more, strict=True)]
    for arguments in zip(*columns, strict=True):
        found, expected = (function(*arguments) for function in functions)
        is_same = math.copysign(1, found) == math.copysign(1, expected) or name.startswith(("fmax", "fmin"))
        assert (found == expected and is_same) or (math.isnan(found) and math.isnan(expected)), (
            arguments,
            found,
            expected,
        )
