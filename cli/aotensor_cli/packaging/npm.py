"""Package a WebAssembly library for npm, with a JavaScript module and TypeScript types.

package/package.json   package/<library>.wasm, .mjs, .d.mts   package/README.md   package/LICENSE
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from packaging.version import Version

from aotensor.codegen.targets.javascript import module_text, types_text
from aotensor_cli.options import Refusal
from aotensor_cli.packaging.sdk import LICENCE, make_tar_gz
from aotensor_cli.reading.library import naming, read_library
from aotensor_runtime.container import Container
from aotensor_runtime.machine import this_machine
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.signature import typed_line

SUFFIX: Final = ".wasm"
_ENGINES: Final = ">=18"
"""Versions of Node that have WebAssembly 2.0, `fetch` and modules; browsers ask for nothing."""
_NAME: Final = re.compile(r"(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]{0,200}")


def npm_files(
    libraries: Sequence[Path], name: str | None, version: Version, others: Collection[str] = ()
) -> dict[str, bytes]:
    """File name → content of the package.   others: what else was asked for

    Raises: Refusal for more than one library, and for a library of another target than WebAssembly
    """
    wanted = [kind for kind in ("wheel", "sdk") if kind in others]
    if wanted and libraries[0].suffix == SUFFIX:
        what = (
            "Python loads libraries for Linux, Windows and macOS"
            if wanted[0] == "wheel"
            else "C programs cannot link such a library"
        )
        raise Refusal(f"{libraries[0]} is for WebAssembly, but {what}", this_machine().fitting())
    if len(libraries) > 1 or libraries[0].suffix != SUFFIX or set(others) - {"npm"}:
        raise Refusal(
            "a package for npm must contain exactly one library, for WebAssembly", "give NAME.wasm and nothing else"
        )
    data, manifest = read_module(libraries[0])
    package = name if name is not None else manifest.name.lower()
    return {npm_name(package, version): npm_content(package, version, data, manifest)}


def read_module(path: Path) -> tuple[bytes, Manifest]:
    """The bytes of a module and its manifest.   Raises: Refusal or LibraryError, with the path"""
    data = read_library(path)
    with naming(path):
        container = Container(data)
        container.check()
        return data, container.manifest()


def npm_name(name: str, version: Version) -> str:
    """The file name that `npm pack` gives the package.

    Raises: Refusal for a name that npm does not take, and for a version that it cannot have.
    """
    if not _NAME.fullmatch(name):
        raise Refusal(f"{name!r:.60} cannot be the name of a package for npm", "use small letters, digits, - and _")
    return f"{name.replace('@', '').replace('/', '-')}-{semantic(version)}.tgz"


def semantic(version: Version) -> str:
    """A version in npm's form: three numbers, and a pre-release part after a dash."""
    if version.epoch or len(version.release) > 3 or version.local or version.post is not None:
        raise Refusal(f"npm does not support the version {version}", "write it as 1.2.3, or 1.2.3rc1")
    numbers = ".".join(str(n) for n in (*version.release, 0, 0)[:3])
    early = [f"{letter}.{number}" for letter, number in [version.pre or ("", None)] if letter]
    early += [f"dev.{version.dev}"] if version.dev is not None else []
    return "-".join([numbers, *([".".join(early)] if early else [])])


def npm_content(name: str, version: Version, data: bytes, manifest: Manifest) -> bytes:
    """The bytes of the npm package."""
    library = manifest.name
    about = {
        "name": name,
        "version": semantic(version),
        "description": f"Functions that aotensor has compiled: {', '.join(x.name for x in manifest.functions)}"[:400],
        "type": "module",
        "exports": {
            ".": {"types": f"./{library}.d.mts", "default": f"./{library}.mjs"},
            f"./{library}.wasm": f"./{library}.wasm",
        },
        "types": f"./{library}.d.mts",
        "files": [f"{library}.{suffix}" for suffix in ("wasm", "mjs", "d.mts")],
        "engines": {"node": _ENGINES},
        "sideEffects": False,
        "license": "SEE LICENSE IN LICENSE",
    }
    texts = {
        "package.json": json.dumps(about, indent=2) + "\n",
        f"{library}.mjs": module_text(manifest),
        f"{library}.d.mts": types_text(manifest),
        "README.md": _readme(name, version, manifest),
        "LICENSE": LICENCE,
    }
    files = {path: text.encode() for path, text in texts.items()} | {f"{library}.wasm": data}
    return make_tar_gz({f"package/{path}": content for path, content in files.items()})


def _readme(name: str, version: Version, manifest: Manifest) -> str:
    first = manifest.functions[0].name
    lines = [f"# {name} {version}", "", "A library that aotensor has compiled, for browsers and Node.", "", "```js"]
    lines += [f'import {{ load }} from "{name}";', "", "const model = await load();", f"model.{first}(...);", "```", ""]
    lines += [*(f"- `{typed_line(spec)}`" for spec in manifest.functions), ""]
    return "\n".join(lines)
