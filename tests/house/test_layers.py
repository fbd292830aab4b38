"""Imports go one way; the few that open late are listed; third parties stay where they belong."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Final

import pytest
from sources import ROOT, Import, Source, sources, target_of

# Each layer imports from itself and from those to its left.
LAYERS: Final = (
    "base", "core", "kernels", "graph", "ops", "sparse", "gradient", "solutions", "densities", "sampling", "ir",
    "passes", "codegen", "driver", "pictures", "verification", "api", "splitting", "tensor", "assembly", "top",
    "extension", "importers", "cli",
)  # fmt: skip

# Imports inside functions: (importer, what it loads) → why it waits.
DOORS: Final[Mapping[tuple[str, str], str]] = {
    ("aotensor.api.function", "aotensor.api.cost.cost"): "few ask what a call will cost",
    ("aotensor.api.function", "aotensor.api.cost.inputs"): "as above",
    ("aotensor.api.function", "aotensor.api.profiling.report"): "xDSL and LLVM load at the first compile",
    ("aotensor.api.function", "aotensor.api.pattern"): "few ask where entries are",
    ("aotensor.api.function", "aotensor.driver.recipe"): "xDSL and LLVM load at the first compile",
    ("aotensor.api.function", "aotensor.verification.calls"): "a mode that few ask for",
    ("aotensor.api.function", "aotensor.verification.verify"): "xDSL and LLVM load at the first compile",
    ("aotensor.api.library", "aotensor.api.interfaces.registry"): "xDSL and LLVM load at the first compile",
    ("aotensor.api.library", "aotensor.driver.artifact"): "xDSL and LLVM load at the first compile",
    ("aotensor.api.library", "aotensor.driver.recipe"): "xDSL and LLVM load at the first compile",
    ("aotensor.api.library", "aotensor.driver.memory"): "as above",
    ("aotensor.api.library", "aotensor_runtime"): "the runtime loads with the first library",
    ("aotensor", "aotensor.api.magic"): "only notebooks need it",
    ("aotensor.api.magic", "IPython.display"): "only notebooks need it",
    ("aotensor.api.schedule", "aotensor.driver.schedule_edits"): "xDSL and LLVM load at the first compile",
    ("aotensor.api.schedule", "aotensor.driver.recipe"): "xDSL and LLVM load at the first compile",
    ("aotensor.config", "aotensor_runtime.systems.scratch"): "only users without a home need a temporary folder",
    ("aotensor", "aotensor.splitting.rounds"): "few programs split a function",
    ("aotensor.tensor", "aotensor.tensor.*"): "few programs solve something inside of a function",
    ("aotensor.driver.memory", "aotensor.codegen.embedded.stack"): "only libraries without malloc need it",
    ("aotensor.driver.recipe", "aotensor.codegen.embedded.stack"): "as above",
    ("aotensor.driver.recipe", "aotensor.passes.schedule.accept"): "few loops are scheduled by hand",
    ("aotensor.driver.text.c_source", "aotensor.codegen.c_source.file"): "few compile to C",
    ("aotensor.driver.text.c_source", "aotensor.codegen.c_source.shared_modules"): "as above",
    ("aotensor_cli.compile", "aotensor.api.interfaces.registry"): "few libraries have the interface of another project",
    ("aotensor.driver.cache", "aotensor.driver.artifact"): "xDSL and LLVM load at the first compile",
    ("aotensor.driver.cache", "aotensor.driver.recipe"): "xDSL and LLVM load at the first compile",
    ("aotensor.ops.elementwise.scipy_reference", "scipy.special"): "SciPy would triple the time of `import aotensor`",
    ("aotensor.graph.sparse_type", "scipy.sparse"): "SciPy would triple the time of `import aotensor`",
    ("aotensor.ops.linalg.matrices", "scipy.linalg"): "SciPy would triple the time of `import aotensor`",
    ("aotensor.splitting.rounds", "aotensor.splitting.plan"): "pools of threads and processes load at the first split",
    ("aotensor.splitting.rounds", "aotensor_runtime.rounds.protocol"): "as above",
    ("aotensor.splitting.rounds", "aotensor_runtime.rounds.split"): "as above",
    ("aotensor.splitting.build", "aotensor_runtime.rounds.protocol"): "as above",
    ("aotensor.splitting.rounds", "aotensor.codegen.files"): "only what is written needs it",
    ("aotensor.splitting.rounds", "aotensor.driver.artifact"): "xDSL and LLVM load at the first compile",
    ("aotensor.splitting.rounds", "aotensor.driver.recipe"): "xDSL and LLVM load at the first compile",
    ("aotensor.core.dtypes", "*"): "the package that adds a dtype to NumPy, an extra",
    ("aotensor_runtime.arrays.layout", "*"): "as above",
    ("aotensor_runtime.rounds.cluster", "distributed"): "an extra, for one engine",
    ("aotensor_runtime.rounds.progress", "rich.console"): "a bar is drawn without it, too",
    ("aotensor_runtime.rounds.progress", "rich.progress"): "a bar is drawn without it, too",
    ("aotensor_runtime.rounds.files", "h5py"): "an extra, for one kind of file",
    ("aotensor_runtime.rounds.files", "pyarrow"): "an extra, for one kind of file",
    ("aotensor_runtime.rounds.files", "zarr"): "an extra, for one kind of file",
    ("aotensor_runtime.blas", "scipy.linalg.cython_lapack"): "the runtime works with NumPy alone",
    ("aotensor_runtime.blas", "scipy.linalg.cython_blas"): "the runtime works with NumPy alone",
    ("aotensor_runtime.sparse.values", "scipy.sparse"): "the runtime works with NumPy alone",
    ("aotensor_runtime.systems.processors", "numpy._core._multiarray_umath"): "it is no promise of NumPy's",
    ("aotensor_runtime.systems.loading", "aotensor_runtime.systems.scratch"): "tempfile loads slowly",
    ("aotensor_runtime.typed.callback", "scipy"): "the runtime works with NumPy alone",
    ("aotensor_runtime.call", "aotensor_runtime.typed.callback"): "only callbacks of SciPy need it",
    ("aotensor_runtime.call", "aotensor_runtime.typed.pointer"): "only callers that are not Python need it",
    ("aotensor_runtime.call", "aotensor_runtime.notebook.library"): "only notebooks need it",
    ("aotensor_runtime.library", "aotensor_runtime.notebook.library"): "only notebooks need it",
    ("aotensor_cli.model", "aotensor.importers.pymc"): "models of PyMC, if the file has imported it",
    (
        "aotensor_cli.model",
        "aotensor.importers.pytensor.functions",
    ): "functions of PyTensor, if the file has imported it",
    ("aotensor_cli.main", "aotensor_cli.commands.*"): "a command is declared when it is used: --help answers at once",
    ("aotensor_cli.commands.declaration", "aotensor_cli.*"): "the compiler loads when a command runs",
    ("aotensor_cli.main", "aotensor_cli.reading.version"): "a command loads when it runs: --help answers at once",
    ("aotensor_cli.main", "aotensor_cli.terminal.failure"): "only errors need it",
    ("aotensor_cli.inspect", "aotensor_cli.exploring.views"): "a library is inspected without the compiler",
    ("aotensor_cli.terminal.render", "aotensor_cli.terminal.colours"): "rich takes as long as all that inspect reads",
    ("aotensor_cli.doctor", "aotensor.codegen.llvm"): "doctor reports an LLVM that does not load",
    ("aotensor_cli.doctor", "aotensor.codegen.machine"): "doctor reports an LLVM that does not load",
    ("aotensor_cli.doctor", "aotensor.codegen.targets.linker"): "doctor reports an LLVM that does not load",
    ("aotensor_cli.doctor", "aotensor.codegen.targets.support"): "doctor reports an LLVM that does not load",
    ("aotensor_cli.explore", "aotensor_cli.exploring.app"): "an extra, for one command",
    ("aotensor_cli.explore", "textual.app"): "an extra, for one command",
    ("aotensor_cli.lsp", "aotensor_cli.editor.server"): "an extra, for one command",
    ("aotensor_cli.lsp", "pygls.lsp.server"): "an extra, for one command",
    ("aotensor_cli.benching.plot", "matplotlib"): "an extra, for one option",
    ("aotensor_cli.benching.plot", "matplotlib.figure"): "an extra, for one option",
    ("aotensor_cli.reading.foreign_models", "aotensor.importers.onnx"): "an extra, for models in files of ONNX",
    ("aotensor_cli.reading.foreign_models", "aotensor.importers.onnx.model"): "as above",
    ("aotensor_cli.reading.foreign_models", "aotensor.importers.stablehlo"): "for models in files of StableHLO",
    ("aotensor_cli.main", "aotensor_cli.reading.completion"): "only shells that complete a word need it",
    ("aotensor_cli.reading.completion", "aotensor.codegen.machine"): "completing a word loads what knows it",
    ("aotensor_cli.reading.completion", "aotensor.codegen.targets.levels"): "completing a word loads what knows it",
    ("aotensor_cli.reading.completion", "aotensor_runtime.container"): "completing a word loads what knows it",
    ("aotensor_cli.reading.matrices", "scipy.io"): "half a second, for one file format",
    ("aotensor_cli.reading.matrices", "scipy.sparse"): "a command without matrices does not need it",
}

# Third parties that only some layers may see; `tests` and the standard library may be seen by all.
ONLY_IN: Final[Mapping[str, tuple[str, ...]]] = {
    "xdsl": ("aotensor.ir", "aotensor.passes", "aotensor.codegen"),
    "llvmlite": ("aotensor.codegen.llvm",),
    "click": ("aotensor_cli",),
    "rich": ("aotensor_cli", "aotensor_runtime.rounds.progress"),
    "packaging": ("aotensor_cli.packaging",),
    "IPython": ("aotensor.api.magic",),
    "matplotlib": ("aotensor_cli.benching.plot",),
    "textual": ("aotensor_cli.explore", "aotensor_cli.exploring.app", "aotensor_cli.exploring.lines"),
    "pygls": ("aotensor_cli.editor.server", "aotensor_cli.lsp"),
    "lsprotocol": ("aotensor_cli.editor.server",),
    "scipy": (
        "aotensor.graph.sparse_type",
        "aotensor.ops.elementwise.scipy_reference",
        "aotensor.ops.linalg.matrices",
        "aotensor_runtime.blas",
        "aotensor_runtime.sparse.values",
        "aotensor_runtime.typed.callback",
        "aotensor_cli.reading.matrices",
    ),
    "google": ("aotensor.importers.onnx",),
    "onnx": ("aotensor.importers.onnx",),
    "dask": ("aotensor_runtime.rounds.cluster",),
    "distributed": ("aotensor_runtime.rounds.cluster",),
    "jax": ("aotensor.importers.jax", "aotensor_runtime.frameworks.jax"),
    "jaxlib": ("aotensor.importers.jax",),
    "h5py": ("aotensor_runtime.rounds.files",),
    "pyarrow": ("aotensor_runtime.rounds.files",),
    "torch": ("aotensor_runtime.frameworks.torch",),
    "zarr": ("aotensor_runtime.rounds.files",),
    "pymc": ("aotensor.importers.pymc",),
    "pytensor": ("aotensor.importers.pymc", "aotensor.importers.pytensor"),
    "numpy": ("aotensor", "aotensor_cli", "aotensor_runtime"),
}

# What of the runtime each layer reads; the command line reads all of it.
RUNTIME_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "base": ("errors", "systems.scratch"),
    "core": ("arrays.dtypes", "arrays.plain"),
    "codegen": ("abi", "arrays.dtypes", "manifest", "json_node", "container", "elf", "errors", "signature",
                "typed.parameters", "typed.patterns", "weights.spec",
                "formats.image", "formats.macho", "formats.pe", "formats.wasm", "systems.scratch"),
    "ir": ("arrays.dtypes",),
    "passes": ("systems.scratch",),
    "sampling": ("vectors",),
    "driver": ("", "abi", "container", "elf", "errors", "machine", "manifest", "vectors",
               "library", "notebook.html", "signature", "typed.patterns"),
    "pictures": ("notebook.html", "notebook.library"),
    "verification": ("", "abi", "arrays.poison", "blas", "call", "container", "elf", "errors", "formats.read",
                     "library", "machine", "manifest", "notebook.html", "signature", "systems.scratch",
                     "typed.pointer", "vectors", "weights.file", "weights.spec"),
    "api": ("", "abi", "arrays.dtypes", "arrays.layout", "container", "elf", "errors", "formats.image", "machine",
            "notebook.html", "signature", "sparse.values", "systems.limits", "systems.scratch", "threads",
            "typed.parameters"),
    "splitting": ("", "abi", "rounds.protocol", "rounds.split", "signature"),
    "importers": ("typed.parameters",),
}  # fmt: skip


def layer_of(module: str) -> str:
    """The layer of a module of aotensor or of its command line."""
    package, _, rest = module.partition(".")
    if package == "aotensor_cli":
        return "cli"
    inner = rest.split(".")[0]
    if inner == "__main__":  # `python -m aotensor` is the command line
        return "cli"
    return "base" if inner in ("errors", "config") else inner or "top"


def is_inside(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def place(source: Source, item: Import) -> str:
    return f"{source.where}:{item.line}: {target_of(item)}"


def test_imports_go_to_the_left() -> None:
    wrong = []
    for source in sources().values():
        is_runtime = source.module.startswith("aotensor_runtime")  # which stands alone
        own = -1 if is_runtime else LAYERS.index(layer_of(source.module))
        wrong += [
            place(source, item)
            for item in source.imports()
            if target_of(item).split(".")[0] in ("aotensor", "aotensor_cli")
            and not (item.is_for_types and source.module == "aotensor.graph.operations")  # modules of later layers
            and LAYERS.index(layer_of(target_of(item))) > own
        ]
    assert wrong == []


def test_importers_use_public_names() -> None:
    """They could be distributions of their own: what they need besides is in `aotensor.extension`."""
    public = ("aotensor.errors", "aotensor.extension", "aotensor.gradient", "aotensor.importers", "aotensor.sparse")
    importers = [x for x in sources().values() if is_inside(x.module, "aotensor.importers")]
    wrong = [
        place(source, item)
        for source in importers
        for item in source.imports()
        if item.module.startswith("aotensor.")
        and item.module not in public
        and not is_inside(item.module, "aotensor.importers")
        and not is_inside(item.module, "aotensor.tensor")
    ]
    assert len(importers) > 50
    assert wrong == []


def test_the_runtime_is_read_through_few_modules() -> None:
    wrong = []
    for source in sources().values():
        own = layer_of(source.module)
        if source.module.startswith("aotensor_runtime") or own == "cli":
            continue
        allowed = RUNTIME_OF.get(own, ())
        wrong += [
            place(source, item)
            for item in source.imports()
            if is_inside(target_of(item), "aotensor_runtime")
            and not item.is_for_types
            and target_of(item).removeprefix("aotensor_runtime").removeprefix(".") not in allowed
        ]
    assert wrong == []


@pytest.mark.unlimited("layers are kept by it alone", "ci")
def test_third_parties_stay_in_their_layers() -> None:
    wrong = []
    for source, item in ((one, item) for one in sources().values() for item in one.imports()):
        name = target_of(item).split(".")[0]
        known = name in sys.stdlib_module_names or name in ("aotensor", "aotensor_cli", "aotensor_runtime", "*")
        if (
            not known
            and not item.is_for_types
            and not any(is_inside(source.module, allowed) for allowed in ONLY_IN.get(name, ()))
        ):
            wrong.append(place(source, item))
    assert wrong == []


def test_modules_that_help_reads_alone_import_the_standard_library_only() -> None:
    """Anything else would load the packages around them, which `aotensor_cli.commands.names` does without."""
    calls = [
        ast.literal_eval(node.args[0])
        for node in ast.walk(sources()["aotensor_cli.commands.names"].tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "_alone"
    ]
    assert len(calls) >= 5
    wrong = [
        place(sources()[name], item)
        for name in calls
        for item in sources()[name].imports()
        if not item.is_for_types and item.module.split(".")[0] not in sys.stdlib_module_names
    ]
    assert wrong == []


@pytest.mark.unlimited("layers are kept by it alone", "ci")
def test_late_imports_are_the_doors() -> None:
    late = {(s.module, target_of(i)) for s in sources().values() for i in s.imports() if i.is_late}
    assert sorted(late - set(DOORS)) == [], "late imports that are not listed"
    assert sorted(set(DOORS) - late) == [], "doors that nobody uses"


@pytest.mark.unlimited("layers are kept by it alone", "ci")
def test_there_are_no_cycles() -> None:
    """Late imports count: a circle that opens late is a circle.

    Those for types do not: a variable and the node that makes it have types that name each other, and a file each.
    """
    graph = {
        source.module: {
            target_of(item) for item in source.imports() if not item.is_for_types and target_of(item) in sources()
        }
        - {source.module}
        for source in sources().values()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" ← ".join(error.args[1]))


def test_functions_are_not_found_by_name() -> None:
    """No `lookup("name")(x)`, whose names no tool checks: `graph/operations.py` has what is typed.

    SciPy's functions, which load late, have the names that SciPy gives them.
    """
    found = [
        f"{source.where}:{node.lineno}: {ast.unparse(node.func)}"
        for source in sources().values()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Call)
        and ast.unparse(node.func.func).rpartition(".")[2][0].islower()  # Op("option")(x) finds nothing
        and ast.unparse(node.func.func) != "scipy_special"
        and len(node.func.args) == 1
        and isinstance(node.func.args[0], ast.Constant | ast.IfExp)
        and all(isinstance(x.value, str) for x in ast.walk(node.func.args[0]) if isinstance(x, ast.Constant))
    ]
    assert found == []


NOT_FOR_A_COMPILATION: Final = (
    "scipy", "rich", "aotensor.api.interfaces.registry", "aotensor.codegen.c_source", "aotensor.codegen.embedded.stack",
    "aotensor.passes.schedule", "aotensor.solutions", "aotensor.splitting", "aotensor.verification",
)  # fmt: skip


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("aotensor", ("xdsl", "llvmlite", "scipy", "click")),
        ("aotensor.tensor", ("xdsl", "llvmlite", "scipy", "click", "aotensor.solutions", "aotensor.splitting")),
        ("aotensor_cli.compile", NOT_FOR_A_COMPILATION),
        ("aotensor_runtime", ("aotensor", "xdsl", "llvmlite", "scipy")),
        ("aotensor_cli.main", ("aotensor", "xdsl", "llvmlite", "scipy", "numpy")),
        ("aotensor_cli.inspect", ("xdsl", "llvmlite", "scipy", "rich")),
        ("aotensor_cli.run", ("xdsl", "llvmlite", "scipy", "rich")),
    ],
)
def test_what_an_import_does_not_load(module: str, absent: tuple[str, ...]) -> None:
    """In a fresh process, because this one has loaded everything."""
    program = f"import sys, {module}; print(*(name for name in {absent} if name in sys.modules))"
    paths = [str(ROOT / folder) for folder in ("src", "cli", "runtime")]
    start = f"import sys; sys.path[:0] = {paths}; " + program
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr
