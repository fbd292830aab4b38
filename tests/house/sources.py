"""The Python sources of the project and what they import, read without importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = {
    "aotensor": ROOT / "src" / "aotensor",
    "aotensor_cli": ROOT / "cli" / "aotensor_cli",
    "aotensor_runtime": ROOT / "runtime" / "aotensor_runtime",
}


@dataclass(frozen=True)
class Import:
    """One imported module. is_late: inside a function; is_for_types: under `if TYPE_CHECKING`."""

    module: str
    name: str
    line: int
    is_late: bool
    is_for_types: bool


@dataclass(frozen=True)
class Source:
    """A Python file of the project under the name it is imported by."""

    module: str
    path: Path

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def tree(self) -> ast.Module:
        return parsed(self.path)

    @property
    def where(self) -> str:
        return str(self.path.relative_to(ROOT))

    @cache  # noqa: B019  (sources live as long as the process)
    def imports(self) -> list[Import]:
        return list(_imports(self.tree, self.module, is_late=False, is_for_types=False))


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def sources() -> dict[str, Source]:
    """Every module of the three packages by name."""
    found: dict[str, Source] = {}
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Source(name, path)
    return found


def target_of(item: Import) -> str:
    """The module that an import loads: `from a.b import c` loads a.b.c where that is a module of ours, else a.b."""
    inner = f"{item.module}.{item.name}"
    return inner if item.name and inner in sources() else item.module


def _imports(node: ast.AST, module: str, is_late: bool, is_for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        late = is_late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for_types = is_for_types or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, "", child.lineno, late, for_types)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"{module}:{child.lineno}: a relative import"
            for alias in child.names:
                yield Import(child.module or "", alias.name, child.lineno, late, for_types)
        elif isinstance(child, ast.Call) and ast.unparse(child.func).removeprefix("_") in (
            "import_module",
            "importlib.import_module",
        ):
            yield Import(_written(child.args[0]), "", child.lineno, late, for_types)
        yield from _imports(child, module, late, for_types)


def _written(argument: ast.expr) -> str:
    """The module that `import_module` is asked for; `*` stands for what is computed."""
    if isinstance(argument, ast.Constant):
        return str(argument.value)
    if isinstance(argument, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in argument.values)
    return "*"
