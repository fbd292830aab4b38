"""Pages of the reference: the names that a module exports, in groups by the file they come from."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from docstrings import markdown
from links import ROOT


@dataclass(frozen=True)
class Listing:
    """One page.   opens: how a program gets at the names; only: those to show, all that the module exports if empty"""

    title: str
    module: str
    opens: str
    only: tuple[str, ...] = ()


LISTINGS: Final = {
    "aotensor": Listing("aotensor", "aotensor", "import aotensor as aot"),
    "tensor": Listing("aotensor.tensor", "aotensor.tensor", "import aotensor.tensor as at"),
    "linalg": Listing("aotensor.tensor.linalg", "aotensor.tensor.linalg", "import aotensor.tensor as at  # at.linalg"),
    "fft": Listing("aotensor.tensor.fft", "aotensor.tensor.fourier", "import aotensor.tensor as at  # at.fft"),
    "optimize": Listing(
        "aotensor.tensor.optimize", "aotensor.tensor.optimize", "import aotensor.tensor as at  # at.optimize"
    ),
    "training": Listing(
        "aotensor.tensor.training", "aotensor.tensor.training", "import aotensor.tensor as at  # at.training"
    ),
    "random": Listing("aotensor.tensor.random", "aotensor.tensor.random", "import aotensor.tensor as at  # at.random"),
    "sparse": Listing("aotensor.sparse", "aotensor.sparse", "import aotensor.sparse as sp"),
    "gradient": Listing("aotensor.gradient", "aotensor.gradient", "from aotensor import gradient"),
    "errors": Listing("aotensor.errors", "aotensor.errors", "from aotensor import errors"),
    "runtime": Listing("aotensor_runtime", "aotensor_runtime", "import aotensor_runtime"),
}
"""Page under reference/ → what it lists."""


def pages() -> dict[str, str]:
    """The reference pages: path on the site → Markdown, with a directive of mkdocstrings per name."""
    return {f"reference/{name}.md": _page(listing) for name, listing in LISTINGS.items()}


def _page(listing: Listing) -> str:
    module = import_module(listing.module)
    names = listing.only or tuple(sorted(module.__all__, key=str.lower))
    origins = _origins(listing.module)
    groups: dict[str, list[str]] = {}
    told = {name: value for name in names if _is_told(value := getattr(module, name))}
    synonyms: dict[int, list[str]] = {}
    for name, value in sorted(told.items(), key=lambda item: item[0] != _own_name(item[1])):
        synonyms.setdefault(id(value), []).append(name)
    for name, value in told.items():
        if synonyms[id(value)][0] == name:
            groups.setdefault(origins.get(name, getattr(value, "__module__", listing.module)), []).append(name)
    lines = [f"# {listing.title}", "", f"```python\n{listing.opens}\n```", "", markdown(module.__doc__ or "")]
    for origin in sorted(groups, key=lambda origin: (not origin.endswith(_FIRST), origin)):
        if len(groups) > 1:
            lines += ["", f"## {_heading(origin)}", "", f"[{origin}](../../{_path(origin)}){{: .origin }}"]
        for name in groups[origin]:
            lines += ["", f"::: {listing.module if name in origins else told[name].__module__}.{name}"]
            others = synonyms[id(told[name])][1:]
            if others:
                lines += ["", f"Also {', '.join(f'`{other}`' for other in others)}.", "{: .synonyms }"]
    return "\n".join(lines) + "\n"


def _is_told(value: object) -> bool:
    """Whether a value has a docstring of its own."""
    return callable(value) and bool(value.__doc__) and not inspect.ismodule(value)


def _path(module: str) -> str:
    """The path of a module in the repository, which may differ from the installed one."""
    stem = module.replace(".", "/")
    names = [f"{root}/{stem}{end}" for root in ("src", "runtime") for end in (".py", "/__init__.py")]
    return next(name for name in names if (ROOT / name).exists())


def _own_name(value: object) -> str:
    return str(getattr(value, "__name__", getattr(value, "name", "")))


def _origins(module: str) -> dict[str, str]:
    """The defining module of each name of a module, followed through re-exports."""
    found: dict[str, str] = {}
    tree = ast.parse(inspect.getsource(import_module(module)))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            further = _origins(node.module) if node.module in _NAMES and node.module != module else {}
            for name in node.names:
                if name.name == "*":
                    found |= further
                else:
                    found[name.asname or name.name] = further.get(name.name, node.module)
    return found


_NAMES: Final = frozenset({"aotensor.tensor.ops", "aotensor.gradient"})


_FIRST: Final = ("symbols", "api.function", "api.library")
"""Ends of the names of modules that come first on a page."""


def _heading(module: str) -> str:
    """The first clause of a module's docstring, without marks."""
    first = (import_module(module).__doc__ or module).strip().splitlines()[0]
    return first.partition(": ")[0].partition(";")[0].rstrip(".")
