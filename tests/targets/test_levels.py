"""One x86-64 library for several levels of CPUs: which one a CPU gets, what that costs, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import foreign
import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.machine import Machine
from aotensor.codegen.targets.levels import LEVELS, split_levels
from aotensor.codegen.targets.linkage import read_linkage
from aotensor.errors import GraphValueError
from aotensor_runtime import Library
from aotensor_runtime.elf import ElfFile
from aotensor_runtime.machine import cpu_flags
from aotensor_runtime.manifest import Manifest

is_x86 = Machine.host().triple.startswith("x86_64")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of all levels, shared and static, and the program of every target with the static one."""
    if not is_x86:
        pytest.skip("levels are of x86-64, and compiled there only")
    place = tmp_path_factory.mktemp("levels")
    aot.compile(foreign.functions(), place, name="model", cpu="v4,v2,v3", emit=("lib", "static"))
    (place / "driver.c").write_text(foreign.DRIVER)
    cc = foreign.tool("cc", "gcc")
    foreign.run([cc, "-O1", "driver.c", "libmodel.a", "-o", "driver", "-static", "-lm", "-lpthread"], place)
    return place


def test_each_cpu_gets_its_level(folder: Path, here: Callable[[str], Library]) -> None:
    """Nehalem has v2 and Haswell v3. A level has bits of its own, and a CPU without it ends by SIGILL."""
    qemu = foreign.tool("qemu-x86_64", "qemu-user")
    printed = [foreign.run([qemu, "-cpu", cpu, folder / "driver"], folder) for cpu in ("Nehalem", "Haswell")]
    if "avx512vl" in cpu_flags():
        printed.append(foreign.run([folder / "driver"], folder))
    assert len(set(printed)) == len(printed), "each took another level"
    for output in printed:
        foreign.compare(output, here("contract"), is_strict=False)


def test_numbers_here(folder: Path) -> None:
    """The shared and the static library give the same bits."""
    library = aot.load(folder / "libmodel.so")
    assert (library.manifest.cpu, library.manifest.levels) == ("x86-64-v2", ("x86-64-v3", "x86-64-v4"))
    assert library.manifest.processors == "x86-64-v2 or x86-64-v3 or x86-64-v4"
    foreign.compare(foreign.run([folder / "driver"], folder), library, is_strict=True)


def test_nothing_more_is_exported(folder: Path, here: Callable[[str], Library]) -> None:
    usual = read_linkage(ElfFile(here("contract").data)).exported
    assert read_linkage(ElfFile((folder / "libmodel.so").read_bytes())).exported == usual
    nm = foreign.tool("nm", "binutils")
    lines = foreign.run([nm, "--defined-only", "-g", "libmodel.a"], folder).splitlines()
    assert sorted(line.split()[-1] for line in lines if len(line.split()) == 3) == list(usual)


def test_manifests_of_one_level_are_as_they_were() -> None:
    manifest = Manifest("m", "1", 2, "22", "x86_64", "v2", "", "contract", ())
    assert "levels" not in manifest.to_json() and Manifest.from_json(manifest.to_json()).levels == ()


def test_names() -> None:
    assert split_levels("v3, x86-64,x86-64-v2,v3") == LEVELS[:3]
    assert split_levels(None) == split_levels("host") == split_levels("v3") == ()


@pytest.mark.parametrize(
    ("cpu", "target", "message"),
    [
        ("v2,v5", None, "'v5' is not a level of x86-64 CPUs\nhint: levels are x86-64, x86-64-v2, x86-64-v3, x86-64-v4"),
        ("v2,", None, "'v2,' is not a level of x86-64 CPUs\nhint: levels are "),
        ("v2,znver4", None, "'znver4' is not a level of x86-64 CPUs\nhint: levels are "),
        (
            "v2,v3",
            "aarch64-linux-gnu",
            "CPU levels exist only for x86-64, and the target is aarch64-linux-gnu\nhint: name ",
        ),
    ],
)
def test_refused(cpu: str, target: str | None, message: str, tmp_path: Path) -> None:
    x = aot.tensor.vector("x", dtype="float64")
    with pytest.raises(GraphValueError) as caught:
        aot.compile(aot.function([x], x + 1, name="f"), tmp_path / "out", cpu=cpu, target=target)
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "out").exists()


def test_strict_products_have_one_order(tmp_path: Path) -> None:
    """The width of vectors decides neither how a product is cut nor in which order its terms are added."""
    A, B = (at.matrix(name, dtype="float64") for name in "AB")
    product = aot.function([A, B], A @ B, name="product")
    cpus = [None, *(["x86-64-v2"] if is_x86 else ["generic"])]
    libraries = [aot.compile(product, tmp_path / str(cpu), cpu=cpu, fp="strict").load() for cpu in cpus]
    random = np.random.default_rng(0)
    for rows, inner, columns in ((150, 301, 150), (700, 700, 1), (1, 700, 300)):
        a, b = random.normal(size=(rows, inner)), random.normal(size=(inner, columns))
        first, *others = (library.product(a, b) for library in libraries)
        assert all(np.array_equal(first, other) for other in others)
        np.testing.assert_allclose(first, a @ b, rtol=1e-11, atol=1e-11)


@pytest.mark.skipif(not is_x86, reason="levels are of x86-64, and compiled there only")
def test_levels_are_made_while_the_ir_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of the kernels does not keep the names that they had before levels rename them."""
    monkeypatch.setenv("AOTENSOR_DUMP", str(tmp_path / "dump"))
    x = at.vector("x", dtype="float64")
    library = aot.compile(aot.function([x], x + 1, name="f"), tmp_path, cpu="v2,v3").load()
    np.testing.assert_array_equal(library.f(np.ones(3)), np.full(3, 2.0))
    assert list((tmp_path / "dump").glob("*-llvm-opt.ll"))
