"""`aotensor package`: its arguments, options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import debug_option, json_option

_KINDS: Final = ("wheel", "sdk", "npm")


@declare("package")
@click.argument("libraries", metavar="LIBRARY...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "folder", metavar="DIR", type=click.Path(path_type=Path), help="Folder of the files. Default: here."
)
@click.option("--name", metavar="N", help="Name of the package. Default: that of the first library.")
@click.option("--version", "version_text", metavar="V", default="0.1.0", show_default=True, help="Version (PEP 440).")
@click.option(
    "--emit", "kinds", type=click.Choice(_KINDS), multiple=True, metavar="KIND",
    help=f"Packages to make, instead of all; may be repeated: {', '.join(_KINDS)}.",
)  # fmt: skip
@click.option(
    "--bindings", metavar="LANGUAGE,...",
    help="Make interfaces for other languages, instead of packages: fortran, julia, matlab.",
)  # fmt: skip
@click.option("--fmu", is_flag=True, help="Make an FMU of a library that has --abi fmi, instead of packages.")
@click.option("--with-runtime", is_flag=True, help="Also write the wheel of aotensor-runtime, which the wheel needs.")
@json_option
@debug_option
def command() -> None:
    """Make a wheel, an SDK or an npm package of libraries.

    The wheel has the libraries and a typed Python function for each of their functions; it needs NumPy and
    aotensor-runtime. The SDK is a .tar.gz with headers, libraries, a CMake package with the target <name>::<name>, and
    a file for pkg-config. It includes a static library if you name it as well, and the import library in the folder of
    a DLL. For NAME.wasm, a .tgz for npm has the module for JavaScript and types for TypeScript. --bindings writes a
    module for each language, the library and its C header; --fmu writes a Functional Mock-up Unit, with a binary for
    each library. Libraries are read, never executed. The same input gives the same bytes; SOURCE_DATE_EPOCH sets the
    date of the files inside. Nothing is written if anything fails.
    """
