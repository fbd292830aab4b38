"""A checkout of NPBench: descriptions of its kernels, their data, and their NumPy, JAX and Numba versions."""

from __future__ import annotations

import copy
import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Described:
    """A kernel as NPBench describes it.   info: its entry of bench_info"""

    name: str
    folder: Path
    info: dict[str, Any]

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments of the NumPy version, in order."""
        return tuple(self.info["input_args"])

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the arguments that the NumPy version changes, as NPBench lists them."""
        return tuple(self.info["output_args"])

    def data(self, size: str) -> dict[str, Any]:
        """Arguments of a size, S or M, by name: arrays, NumPy's scalars, and Python's numbers.

        Raises: ValueError where NPBench has no such size
        """
        if size not in self.info["parameters"]:
            raise ValueError(f"{self.name} has no size {size}")
        values = dict(self.info["parameters"][size])
        if (start := self.info.get("init")) is not None:
            np.random.seed(0)  # mlp draws its input from the global generator
            made = getattr(self._module(""), start["func_name"])(*(values[name] for name in start["input_args"]))
            names = start["output_args"]
            values |= dict(zip(names, made if len(names) > 1 else (made,), strict=True))
        return {name: values[name] for name in self.arguments}

    def version(self, suffix: str) -> Callable[..., Any]:
        """The function of a version: "numpy", "jax", "jax_lib", "numba_n".

        Raises: FileNotFoundError where NPBench has no such version
        """
        found: Callable[..., Any] = getattr(self._module(f"_{suffix}"), self.info["func_name"])
        return found

    def _module(self, suffix: str) -> ModuleType:
        path = self.folder / f"{self.info['module_name']}{suffix}.py"
        if not path.exists():
            raise FileNotFoundError(f"{self.name} has no version {suffix.strip('_')}")
        spec = importlib.util.spec_from_file_location(f"npbench_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def described(checkout: Path) -> dict[str, Described]:
    """All kernels of a checkout, by the name of the description."""
    found = {}
    for path in sorted((checkout / "bench_info").glob("*.json")):
        info = json.loads(path.read_text(encoding="utf-8"))["benchmark"]
        folder = checkout / "npbench" / "benchmarks" / info["relative_path"]
        found[path.stem] = Described(path.stem, folder, info)
    return found


def results_of(function: Callable[..., Any], values: dict[str, Any], changed: tuple[str, ...]) -> list[Any]:
    """The results of a version that may change its arguments, then the changed arguments. `values` are copied."""
    given = copy.deepcopy(values)
    found = function(*given.values())
    returned = [] if found is None else list(found) if isinstance(found, tuple) else [found]
    if len(returned) == len(changed) and all(one is given[name] for one, name in zip(returned, changed, strict=True)):
        return returned  # the changed arguments themselves
    return [*returned, *(given[name] for name in changed)]
