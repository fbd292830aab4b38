"""How the distribution `aotensor` requires `aotensor-runtime`, which alone owns the package `aotensor_runtime`.

Released files require it by version. `pip install .` in a clone installs it from the clone, as no index need have that
version yet; `pip install -e .` puts the folder `runtime` on the path, so that its sources are editable, too.
"""

from __future__ import annotations

import os
from pathlib import Path
from runpy import run_path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

RUNTIME = "aotensor-runtime"


def is_installed_from_clone(root: str) -> bool:
    """Does pip build here, and not in an unpacked sdist? It reads the requirements of the wheel, and no others."""
    return "PIP_BUILD_TRACKER" in os.environ and not Path(root, "PKG-INFO").exists()


class Metadata(MetadataHookInterface):
    """Writes the requirements, those of pyproject.toml and the runtime of the same version."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `dependencies`."""
        own = [] if is_installed_from_clone(self.root) else [f"{RUNTIME}=={metadata['version']}"]
        metadata["dependencies"] = [*self.config["dependencies"], *own]


class Build(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the requirement of the runtime in the clone, where pip installs from there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add to `dependencies`; in an editable installation build the runtime's C extension in place instead.

        version: "standard" or "editable".
        """
        if version == "editable" and self.target_name == "wheel":
            self._build_extension()
        if version == "standard" and self.target_name == "wheel" and is_installed_from_clone(self.root):
            build_data["dependencies"].append(f"{RUNTIME} @ {Path(self.root, 'runtime').as_uri()}")

    def _build_extension(self) -> None:
        """Build it if there is a C compiler; without it calls go through ctypes."""
        root = Path(self.root, "runtime")
        try:
            run_path(str(root / "hatch_build.py"))["build_extension"](root, root)
        except Exception as error:  # the compiler's, of any class
            self.app.display_warning(f"without the C extension of the runtime, calls take longer: {error}")
