"""`__all__`: sorted, complete, and everything in it is there."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from inspect import isfunction
from types import ModuleType

import pytest
from sources import Source, sources

USERS = ("aotensor", "aotensor.tensor", "aotensor.sparse", "aotensor.gradient", "aotensor_runtime")
WITH_ALL = [source for source in sources().values() if source.path.name == "__init__.py" and "__all__" in source.text]


def loaded(source: Source) -> ModuleType:
    """The module, if all that it needs is there: doors for other frameworks need these."""
    try:
        return import_module(source.module)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if not source.module.startswith("aotensor.importers.") or missing.startswith("aotensor"):
            raise
        pytest.skip(f"no {missing}: pip install 'aotensor[{missing}]'")


def exported(source: Source) -> list[str]:
    """The names of `__all__` as they are written."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def imported(source: Source) -> set[str]:
    """Public names that the module imports from ours, or defines."""
    found: set[str] = set()
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aotensor"):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return {name for name in found if not name.startswith("_")}


def test_what_users_import_has_a_list() -> None:
    expected = {name for name in USERS if name in sources()}
    assert expected <= {source.module for source in WITH_ALL}


@pytest.mark.parametrize("source", WITH_ALL, ids=lambda source: source.module)
def test_the_list_is_sorted_and_complete(source: Source) -> None:
    names = exported(source)
    every = set(names)
    assert names in (sorted(every), sorted(every, key=lambda x: (not x.isupper(), x))), "sorted, each name once"
    assert sorted(imported(source) - set(names)) == [], "public, but not listed"


@pytest.mark.parametrize("source", WITH_ALL, ids=lambda source: source.module)
def test_everything_listed_is_there(source: Source) -> None:
    module = loaded(source)
    assert [name for name in exported(source) if not hasattr(module, name)] == []


@pytest.mark.parametrize("source", WITH_ALL, ids=lambda source: source.module)
def test_no_function_hides_a_module(source: Source) -> None:
    """A module never shares its name with a public function beside it."""
    module = loaded(source)
    functions = [name for name in exported(source) if isfunction(getattr(module, name, None))]
    assert [name for name in functions if f"{source.module}.{name}" in sources()] == []


@pytest.mark.parametrize("name", ["aotensor", "aotensor.tensor"])
def test_names_that_load_late_are_there(name: str) -> None:
    """`dir` lists them before, `import *` loads them, and other names are refused as Python does."""
    program = (
        f"import {name} as m; listed = dir(m); late = {{*m.__all__}} - {{*vars(m)}}; space = {{}}; "
        f"exec('from {name} import *', space); "
        "print(len(late) > 0, {*m.__all__} <= {*listed}, {*m.__all__} <= {*space})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True True True\n"
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'frobnicate'"):
        import_module(name).frobnicate  # noqa: B018
