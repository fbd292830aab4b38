"""Builds the optional C extension of the wheel: `python -m build runtime` needs a C compiler and the headers of Python.

Where one is missing, or with AOTENSOR_NO_EXTENSION=1, the wheel is py3-none-any and has no extension: calls then go
through ctypes. The extension uses the stable ABI of CPython 3.11, so one wheel serves all later versions on a platform.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULE = "aotensor_runtime.extension._calls"
SWITCH = "AOTENSOR_NO_EXTENSION"


class Build(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the extension to the wheel, and names its platform; puts it next to its sources in an editable one."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the extension, or warn. version: "standard" or "editable"."""
        if self.target_name != "wheel" or os.environ.get(SWITCH, "0") not in ("", "0"):
            return
        root = Path(self.root)
        try:
            made = build_extension(root, root if version == "editable" else Path(mkdtemp()))
        except Exception as error:  # the compiler's, of any class
            self.app.display_warning(f"without the C extension, calls take longer: {error}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"], build_data["tag"] = False, f"cp311-abi3-{platform}"
        if version == "standard":
            build_data["force_include"][str(made)] = f"aotensor_runtime/extension/{made.name}"


def build_extension(root: Path, folder: Path) -> Path:
    """Compile the extension from the sources below `root` into the package below `folder`.   Returns its file

    Raises: any error of setuptools without a compiler or the headers; RuntimeError for a Python without the stable ABI.
    """
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise RuntimeError("this Python has no stable ABI")
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    sources = sorted(str(path) for path in (root / "aotensor_runtime" / "extension").glob("*.c"))
    hidden = [] if sys.platform == "win32" else ["-std=c11", "-fvisibility=hidden"]
    extension = Extension(MODULE, sources, extra_compile_args=hidden, py_limited_api=True)
    command = build_ext(Distribution({"name": "aotensor-runtime", "ext_modules": [extension]}))
    command.build_lib, command.build_temp = str(folder), mkdtemp()
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath(MODULE))
