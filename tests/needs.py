"""What some tests need beyond the package's own requirements, for `@pytest.mark.needs("cc")` and `path_of("cc")`.

A run says in its first lines what it will skip, and why.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True)
class Need:
    """One of some programs, or all of some modules and files.

    shows: what its tests show;  install: how to get it;  is_heavy: its tests wait for `--ci` (budgets.py)
    """

    shows: str
    install: str
    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    is_heavy: bool = False

    @property
    def path(self) -> str | None:
        """The first of the programs that this machine has."""
        return next((path for name in self.programs if (path := shutil.which(name)) is not None), None)

    @property
    def missing(self) -> list[str]:
        """The missing programs, modules and files; empty if the tests can run."""
        absent = [name for name in self.modules if importlib.util.find_spec(name) is None]
        absent += [path for path in self.files if not os.path.exists(path)]
        return absent + ([" or ".join(self.programs)] if self.programs and self.path is None else [])

    @property
    def reason(self) -> str:
        """Why a test is skipped."""
        return f"no {', '.join(self.missing)}: {self.install}"


def _debian(package: str) -> str:
    return f"Debian's {package}, which .ci/run installs"


def _extra(name: str) -> str:
    return f"pip install 'aotensor[{name}]'"


_JUDGES: Final = ("posteriordb/data", "stanli/corpus-refs.json.gz")

NEEDS: Final = {
    "git": Need("what a change reaches", _debian("git"), ("git",)),
    "cc": Need("C clients, headers, linking", _debian("gcc"), ("cc", "gcc", "clang")),
    "extension": Need(
        "calls by the runtime's C extension",
        _debian("gcc and python3-dev"),
        ("cc", "gcc", "clang"),
        modules=("setuptools", "hatchling"),
        files=(f"{sysconfig.get_paths()['include']}/Python.h",),
    ),
    "c++": Need("C++ clients", _debian("g++"), ("c++", "g++", "clang++")),
    "mlir-opt": Need("upstream MLIR's verdict on every level", _debian("mlir-22-tools"), ("mlir-opt-22", "mlir-opt")),
    "mlir-runner": Need("programs run by upstream MLIR", _debian("mlir-22-tools"), ("mlir-runner-22", "mlir-runner")),
    "clang": Need("the sanitizers of clang", _debian("clang-22"), ("clang-22", "clang")),
    "arm-gcc": Need("C source for small processors", _debian("libnewlib-arm-none-eabi"), ("arm-none-eabi-gcc",)),
    "opt": Need("ThreadSanitizer, faults of LLVM", _debian("llvm-22"), ("opt-22",)),
    "gdb": Need("debug information in gdb", _debian("gdb"), ("gdb",)),
    "perf": Need("profiles by perf", _debian("linux-perf"), ("perf",)),
    "gfortran": Need(
        "bindings for Fortran",
        _debian("gfortran and liblapack-dev"),
        ("gfortran",),
        files=("/usr/share/doc/liblapack-dev",),
        is_heavy=True,
    ),
    "octave": Need("bindings for MATLAB, in Octave", _debian("octave-dev"), ("mkoctfile",), is_heavy=True),
    "julia-syntax": Need(
        "the syntax of bindings for Julia",
        "pip install tree-sitter tree-sitter-julia",
        modules=("tree_sitter", "tree_sitter_julia"),
    ),
    "cmake": Need("SDKs in CMake projects", _debian("cmake"), ("cmake",)),
    "pkg-config": Need("SDKs by pkg-config", _debian("pkg-config"), ("pkg-config",)),
    "node": Need("JavaScript and WebAssembly", _debian("nodejs"), ("node",)),
    "chromium": Need(
        "pages in a browser",
        _debian("chromium"),
        ("chromium", "chromium-browser", "google-chrome", "chrome"),
        is_heavy=True,
    ),
    "qemu": Need("libraries for AArch64 and RISC-V", _debian("qemu-user"), ("qemu-aarch64",), is_heavy=True),
    "qemu-system": Need("bare-metal boards", _debian("qemu-system-arm"), ("qemu-system-arm",), is_heavy=True),
    "wine": Need("libraries for Windows", _debian("wine"), ("wine",), is_heavy=True),
    "R": Need("R clients", _debian("r-base-core"), ("Rscript",), is_heavy=True),
    "cargo": Need("Rust clients", _debian("cargo"), ("cargo",), is_heavy=True),
    "zig": Need("libraries for other systems", _extra("cross"), modules=("ziglang",), is_heavy=True),
    "wasmtime": Need("WebAssembly by wasmtime", _extra("test"), modules=("wasmtime",)),
    "frameworks": Need(
        "the importers", "pip install 'aotensor[doors]', or .ci/doors", modules=("jax", "onnx", "pymc", "pytensor")
    ),
    "files": Need("chunks of HDF5, Zarr and Arrow files", _extra("files"), modules=("h5py", "zarr", "pyarrow")),
    "dask": Need("rounds on dask", _extra("dask"), modules=("distributed",)),
    "mpi": Need("rounds by MPI", _extra("mpi"), modules=("mpi4py",)),
    "bridgestan": Need("BridgeStan's own client", "pip install bridgestan", modules=("bridgestan",)),
    "nutpie": Need("sampling by nutpie", "pip install nutpie bridgestan", modules=("nutpie", "bridgestan")),
    "casadi": Need("CasADi's external functions", "pip install casadi", modules=("casadi",)),
    "fmpy": Need("FMUs in FMPy", "pip install fmpy", modules=("fmpy",)),
    "ipopt": Need(
        "Ipopt's C interface", _debian("coinor-libipopt-dev"), files=("/usr/include/coin/IpStdCInterface.h",)
    ),
    "cyipopt": Need(
        "Ipopt from Python", "pip install cyipopt, with Debian's coinor-libipopt-dev", modules=("cyipopt",)
    ),
    "ceres": Need(
        "Ceres Solver from C++", _debian("libceres-dev"), files=("/usr/include/ceres/sized_cost_function.h",)
    ),
    "cholmod": Need(
        "sparse Cholesky factors against CHOLMOD",
        _debian("libsuitesparse-dev"),
        files=("/usr/include/suitesparse/cholmod.h",),
        is_heavy=True,
    ),
    "sundials": Need(
        "CVODES and IDAS from C",
        _debian("libsundials-dev"),
        files=("/usr/include/cvodes/cvodes.h", "/usr/include/suitesparse/klu.h"),
    ),
    "scikit-sundae": Need("CVODE from Python", "pip install scikit-sundae", modules=("sksundae",)),
    "safetensors": Need("files of weights in their own reader", _extra("test"), modules=("safetensors",)),
    "build": Need("sdists and wheels by python -m build", _extra("test"), modules=("build", "hatchling")),
    "judges": Need(
        "models of posteriordb beside CmdStan",
        "set AOTENSOR_JUDGES to a folder of their data (tools/judges)",
        files=tuple(os.path.join(os.environ.get("AOTENSOR_JUDGES", "judges"), name) for name in _JUDGES),
    ),
    "shipped models": Need(
        "models that packages ship beside onnxruntime",
        "set AOTENSOR_JUDGES to a folder with the wheels in its folder onnx (tools/judges)",
        files=(os.path.join(os.environ.get("AOTENSOR_JUDGES", "judges"), "onnx"),),
        modules=("onnx", "onnxruntime"),
    ),
    "npbench": Need(
        "kernels of NPBench beside NumPy",
        "set AOTENSOR_JUDGES to a folder with a checkout of spcl/npbench in its folder npbench (tools/judges)",
        files=(os.path.join(os.environ.get("AOTENSOR_JUDGES", "judges"), "npbench", "bench_info"),),
    ),
    "scipy tables": Need(
        "special functions beside the tables of SciPy's tests",
        "set AOTENSOR_JUDGES to a folder with a checkout of SciPy in its folder scipy (tools/judges)",
        files=(
            os.path.join(os.environ.get("AOTENSOR_JUDGES", "judges"), "scipy", "scipy", "special", "tests", "data"),
        ),
    ),
    "sif2jax": Need("problems of CUTEst beside JAX", _extra("judges"), modules=("jax", "sif2jax"), is_heavy=True),
    "diffrax": Need(
        "gradients of differential equations against diffrax",
        _extra("judges"),
        modules=("diffrax",),
        is_heavy=True,
    ),
    "torch": Need("steps of training against PyTorch", "pip install torch", modules=("torch",), is_heavy=True),
    "asdex": Need("sparsity patterns beside asdex's", _extra("judges"), modules=("asdex",), is_heavy=True),
    "netron": Need("graphs in Netron", "pip install netron", ("node",), ("netron",)),
    "model-explorer": Need(
        "graphs in Model Explorer", "pip install ai-edge-model-explorer", modules=("model_explorer",)
    ),
    "lsp": Need("the language server", _extra("lsp"), modules=("pygls", "lsprotocol")),
    "explore": Need("the explorer in the terminal", _extra("explore"), modules=("textual",)),
    "docs": Need("the site", _extra("docs"), modules=("mkdocs",)),
}
"""Short name → what it is."""


def path_of(name: str) -> str:
    """The program of a need; skips the test that asks where there is none."""
    path = NEEDS[name].path
    if path is None:
        pytest.skip(NEEDS[name].reason)
    return path


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """In a read-only checkout, what cannot be kept there warns, and warnings are errors.

    Hypothesis keeps its examples elsewhere, pytest does not remember which tests failed.
    """
    if not os.access(ROOT, os.W_OK):
        os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "hypothesis"))
        for name in ("lfplugin", "nfplugin"):
            if config.pluginmanager.has_plugin(name):
                config.pluginmanager.unregister(name=name)


def pytest_report_header() -> Iterator[str]:
    """What this machine lacks, one line each."""
    for need in NEEDS.values():
        if need.missing:
            yield f"skips {need.shows}: {need.reason}"
    if cores() == 1:
        yield "one core: tests of threads compare results only"
    if not os.access(ROOT, os.W_OK):
        yield "the checkout is read-only: --update-golden cannot write, nothing is cached"
