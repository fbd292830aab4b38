"""One x86-64 library for several levels of CPUs: which one a CPU gets, what that costs, what is refused."""

from __future__ import annotations

from pathlib import Path

import foreign
import pytest

import aotensor as aot
from aotensor.codegen.machine import Machine
from aotensor.codegen.targets.levels import LEVELS, split_levels
from aotensor.errors import GraphValueError
from aotensor_runtime.manifest import Manifest

is_x86 = Machine.host().triple.startswith("x86_64")
needs_x86 = pytest.mark.skipif(not is_x86, reason="levels are of x86-64, and compiled there only")
LEVELS_HERE = "v4,v2,v3"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program of every target, statically linked, by the CPU that its library is for; and the shared libraries."""
    cc = foreign.tool("cc", "gcc")
    found = {}
    for cpu in (LEVELS_HERE, "x86-64-v2", "v3"):
        folder = tmp_path_factory.mktemp("levels")
        kinds = ("lib", "static") if cpu == LEVELS_HERE else "static"
        aot.compile(foreign.functions(), folder, name="model", cpu=cpu, emit=kinds)
        (folder / "driver.c").write_text(foreign.DRIVER)
        foreign.run([cc, "-O1", "driver.c", "libmodel.a", "-o", "driver", "-static", "-lm", "-lpthread"], folder)
        found[cpu] = folder
    return found


@needs_x86
def test_each_cpu_gets_its_level(programs: dict[str, Path]) -> None:
    """Nehalem has v2 and Haswell v3: the library of all levels prints there what the library of that level prints."""
    qemu = foreign.tool("qemu-x86_64", "qemu-user")

    def printed(cpu: str, library: str) -> str:
        return foreign.run([qemu, "-cpu", cpu, programs[library] / "driver"], programs[library])

    low, middle = printed("Nehalem", LEVELS_HERE), printed("Haswell", LEVELS_HERE)
    assert low == printed("Nehalem", "x86-64-v2")
    assert middle == printed("Haswell", "v3")
    assert low != middle, "the two levels round differently, so that one can see which of them ran"


@needs_x86
def test_numbers_here(programs: dict[str, Path]) -> None:
    """The shared and the static library give what one for this machine alone gives."""
    library = aot.load(programs[LEVELS_HERE] / "libmodel.so")
    assert (library.manifest.cpu, library.manifest.levels) == ("x86-64-v2", ("x86-64-v3", "x86-64-v4"))
    assert library.manifest.processors == "x86-64-v2 or x86-64-v3 or x86-64-v4"
    foreign.compare(foreign.run([programs[LEVELS_HERE] / "driver"], programs[LEVELS_HERE]), library, is_strict=True)
    here = aot.compile(foreign.functions(), programs["v3"] / "here", name="model").load()
    foreign.compare(foreign.run([programs[LEVELS_HERE] / "driver"], programs[LEVELS_HERE]), here, is_strict=False)


@needs_x86
def test_nothing_more_is_exported(programs: dict[str, Path]) -> None:
    nm = foreign.tool("nm", "binutils")

    def shown(cpu: str, *arguments: str) -> set[str]:
        lines = foreign.run([nm, "--defined-only", *arguments], programs[cpu]).splitlines()
        return {line.split()[-1] for line in lines if len(line.split()) == 3}

    assert shown(LEVELS_HERE, "-D", "libmodel.so") == shown("v3", "-g", "libmodel.a")
    assert shown(LEVELS_HERE, "-g", "libmodel.a") == shown("v3", "-g", "libmodel.a")


def test_manifests_of_one_level_are_as_they_were() -> None:
    manifest = Manifest("m", "1", 2, "22", "x86_64", "v2", "", "contract", ())
    assert "levels" not in manifest.to_json() and Manifest.from_json(manifest.to_json()).levels == ()


def test_names() -> None:
    assert split_levels("v3, x86-64,x86-64-v2,v3") == LEVELS[:3]
    assert split_levels(None) == split_levels("host") == split_levels("v3") == ()


@pytest.mark.parametrize(
    ("cpu", "target", "message"),
    [
        ("v2,v5", None, "'v5' is no level of x86-64 CPUs\nhint: levels are x86-64, x86-64-v2, x86-64-v3, x86-64-v4"),
        ("v2,", None, "'v2,' is no level of x86-64 CPUs\nhint: levels are "),
        ("v2,znver4", None, "'znver4' is no level of x86-64 CPUs\nhint: levels are "),
        ("v2,v3", "aarch64-linux-gnu", "levels are of x86-64 CPUs, and the target is aarch64-linux-gnu\nhint: name "),
    ],
)
def test_refused(cpu: str, target: str | None, message: str, tmp_path: Path) -> None:
    x = aot.tensor.vector("x", dtype="float64")
    with pytest.raises(GraphValueError) as caught:
        aot.compile(aot.function([x], x + 1, name="f"), tmp_path / "out", cpu=cpu, target=target)
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "out").exists()
