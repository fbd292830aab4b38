"""Read the two sides of a comparison: libraries, or models that are compiled first; none is executed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.graph.passes.remarks import Remark
from aotensor_cli.model import load_model
from aotensor_cli.options import Refusal, known_names_hint, similar
from aotensor_cli.reading.derivatives import with_gradients, with_hessian_products
from aotensor_cli.reading.describe import Description, describe
from aotensor_cli.reading.library import is_library, naming, read_library, split_name
from aotensor_cli.reading.remarks import recorded_remarks
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress
from aotensor_runtime.errors import LibraryError, LibraryNotFound
from aotensor_runtime.manifest import FunctionSpec, Manifest
from aotensor_runtime.weights.file import find_weights

_CODE_SECTIONS = (".text", "__text")


@dataclass(frozen=True)
class Side:
    """A library that is compared.   label: as the user wrote it. names: of the functions that are looked at

    weights: the path of its file of weights, None where it has none or it is missing.
    remarks: None where the library carries none. code: bytes of machine code, None where the format does not tell
    """

    label: str
    data: bytes
    description: Description
    names: tuple[str, ...]
    remarks: list[Remark] | None
    weights: str | None = None

    @property
    def manifest(self) -> Manifest:
        return self.description.manifest

    @property
    def functions(self) -> dict[str, FunctionSpec]:
        """The selected functions by name."""
        return {name: self.manifest.function(name) for name in self.names}

    @property
    def code(self) -> int | None:
        sections = self.description.container.image.sections
        return next((sections[name].size for name in _CODE_SECTIONS if name in sections), None)


@dataclass(frozen=True)
class DerivativeInputs:
    """The names of inputs that `--grad` and `--hvp` were given."""

    grad: Sequence[str] = ()
    hvp: Sequence[str] = ()


def read_sides(old: str, new: str, derived: DerivativeInputs) -> tuple[Side, Side]:
    """Read both sides. A model that is compared with a library is compiled for the same CPU, with the same --fp.

    Raises: Refusal, LibraryError for files that are neither
    """
    found: dict[str, Side] = {}
    texts = {"old": old, "new": new}
    libraries = [key for key, text in texts.items() if is_library(split_name(text)[0])]
    for key in libraries:
        found[key] = _read(texts[key])
    for key in texts.keys() - found.keys():
        like = found[libraries[0]].manifest if libraries else None
        found[key] = _compiled(texts[key], like, derived)
    return found["old"], found["new"]


def _read(text: str) -> Side:
    path, name = split_name(text)
    with naming(path):
        return _side(text, path, name, read_library(path))


def _compiled(text: str, like: Manifest | None, derived: DerivativeInputs) -> Side:
    path, name = split_name(text)
    functions = list(load_model(text).functions)
    more = with_gradients(functions, derived.grad) if derived.grad else []
    more += with_hessian_products(functions, derived.hvp) if derived.hvp else []
    build = Build([*functions, *more], None, Options() if like is None else _options_like(like))
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        return _side(text, path, None if more else name, build.shared)


def _options_like(manifest: Manifest) -> Options:
    """The compile options that a manifest records."""
    cpu = ",".join([manifest.cpu, *manifest.levels])
    told = Options(target=manifest.target, fp=manifest.fp, prefix=manifest.prefix, malloc=manifest.allocates)
    return Options(**{**vars(told), "cpu": cpu, "features": None if manifest.levels else manifest.features or None})


def _side(text: str, path: Path, name: str | None, data: bytes) -> Side:
    description = describe(data)
    names = [spec.name for spec in description.manifest.functions]
    if name is not None and name not in names:
        raise Refusal(f"{path}: there is no function {name}", similar(name, names) or known_names_hint(names))
    remarks: list[Remark] = []
    with suppress(LibraryError):  # a damaged section is among the damages of the description
        remarks = recorded_remarks(description.container)
    weights = None
    if description.manifest.weights is not None:
        with suppress(LibraryNotFound):
            weights = str(find_weights(description.manifest.weights, path).resolve())
    return Side(text, data, description, (name,) if name else tuple(names), remarks or None, weights)
