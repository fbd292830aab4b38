"""Makes the stored libraries of this release.

python -m tools.stored_libraries             compile them, record their calls, into tests/compatibility/VERSION
python -m tools.stored_libraries --replace   even if the release has libraries: before it is published only

Results are those of the reference, in NumPy and SciPy, not of the compiled code. Libraries for other systems need
ziglang: `pip install 'aotensor[cross]'`.
"""

from __future__ import annotations

import argparse
import lzma
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.stored_libraries.calls import CALLS, Call, encode, here, repeat, write_calls
from tools.stored_libraries.programs import PROGRAMS, ROUNDS, Program, rounds

import aotensor as aot
import aotensor_runtime
from aotensor_cli.reading.version import installed

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "tests" / "compatibility"
OTHERS: Final = {
    "linux-aarch64": "aarch64-linux-gnu",
    "windows-amd64": "x86_64-windows-gnu",
    "darwin-arm64": "arm64-macos",
}
"""Platform → target. The same functions as `dims` are stored for these."""


@dataclass
class Writer:
    """Adds libraries to the folder of a release."""

    folder: Path

    def __post_init__(self) -> None:
        self.libraries: dict[str, dict[str, Any]] = {}

    def add(self, name: str, platform: str, library: Path, calls: Sequence[Call]) -> None:
        """Compress a library; on its own platform, check that it gives the recorded results."""
        data = library.read_bytes()
        if platform == here():
            repeat(aotensor_runtime.Library(data), tuple(calls))
        file = library.name if platform == here() else f"{platform}-{library.name}"
        packed = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
        (self.folder / f"{file}.xz").write_bytes(packed)
        self.libraries[name] = {"file": file, "platform": platform, "calls": calls}
        sys.stdout.write(f"{name}: {len(calls)} calls, {len(packed)} bytes\n")

    def finish(self) -> None:
        """Write the calls."""
        write_calls(self.folder / CALLS, self.libraries)


def compiled(name: str, program: Program, folder: Path, **options: Any) -> Path:
    """The library of a program. For any processor of the architecture, unless the program says otherwise."""
    chosen = {"cpu": "generic", "name": name, **program.options, **options}
    return aot.compile(list(program.functions), folder, **chosen).library


def recorded(program: Program) -> list[Call]:
    """Record the calls of a program by the reference, which updates shared variables as a library does."""
    functions = {f.name: f for given in program.functions for f in _parts(given)}
    calls = []
    for name, given, *error in program.calls:
        results = None if error else encode(_results(functions[name], given))
        calls.append(Call(name, {key: encode(x) for key, x in given.items()}, results, *(x.__name__ for x in error)))
    return calls


def _results(f: aot.Function, given: Mapping[str, Any]) -> Any:
    """The results of the reference, by their names in a library."""
    results = f.reference(**given)
    return dict(zip(f.results, results.values(), strict=False)) if isinstance(results, dict) else results


def _parts(given: Any) -> Sequence[aot.Function]:
    if isinstance(given, aot.NLP):
        return [given.f, given.grad_f, given.g, given.jac_g, given.hess_l]
    return [given]


def main(arguments: Sequence[str] | None = None) -> None:
    """Compile the libraries of this release and record their calls."""
    parser = argparse.ArgumentParser(prog="python -m tools.stored_libraries", description=__doc__.splitlines()[0])
    parser.add_argument("--replace", action="store_true", help="replace the libraries of this version")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    folder = FOLDER / version
    if (own := installed("aotensor")) != version:
        parser.error(f"aotensor {own} is installed, not {version}, which libraries would name: pip install -e . first")
    if folder.exists() and not parser.parse_args(arguments).replace:
        parser.error(f"{folder} exists: libraries of a release do not change, --replace is for unpublished ones")
    with tempfile.TemporaryDirectory() as build, tempfile.TemporaryDirectory() as made:
        _write(Writer(Path(made)), Path(build))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)
    size = sum(path.stat().st_size for path in folder.iterdir())
    sys.stdout.write(f"{size} bytes in {folder}\n")


def _write(writer: Writer, build: Path) -> None:
    """Compile all libraries, in the folder `build`, and record their calls."""
    for name, program in PROGRAMS.items():
        made = program()
        writer.add(name, here(), compiled(name, made, build), recorded(made))
    split, given = rounds()
    library = split.compile(build, name=ROUNDS, cpu="generic").library
    whole = encode(split.function.reference(**given))
    writer.add(ROUNDS, here(), library, [Call("", {k: encode(x) for k, x in given.items()}, whole)])
    for platform, target in OTHERS.items():
        made = PROGRAMS["dims"]()
        path = compiled("dims", made, build / platform, target=target)
        writer.add(f"dims on {platform}", platform, path, recorded(made))
    writer.finish()


if __name__ == "__main__":
    main()
