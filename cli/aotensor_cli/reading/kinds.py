"""Recognise files that are neither models nor libraries, so that no header is run as Python."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from aotensor_cli.options import Refusal

_KINDS: Final = {
    (".h", ".hpp", ".hh"): ("a C header", "look at the library that it belongs to"),
    (".c", ".cc", ".cpp", ".cxx"): ("C or C++ source", None),
    (".s", ".asm"): ("assembly", None),
    (".ll", ".bc"): ("LLVM IR", None),
    (".mlir",): ("MLIR", "give StableHLO, as jax.export writes it, or the model that this was made of"),
    (".d", ".mk"): ("a Makefile rule", None),
    (".json",): ("JSON", "give the library or the model that it is about"),
    (".txt", ".md", ".rst", ".csv", ".log"): ("a text", None),
    (".npy", ".npz", ".mtx"): ("data", "pass it to `aotensor run LIBRARY NAME=FILE`"),
    (".onnx",): ("an ONNX model", "compile it first: aotensor compile FILE.onnx"),
    (".ipynb",): ("a notebook", "save it as a .py file: jupyter nbconvert --to script"),
    (".whl", ".zip", ".gz", ".xz", ".tar"): ("an archive of files", None),
}
_STARTS: Final = {
    b"!<arch>\n": ("a static archive", "look at the shared library that was made with it"),
    b"\x93NUMPY": ("data of NumPy", "pass it to `aotensor run LIBRARY NAME=FILE`"),
    b"PK\x03\x04": ("a zip file", None),
    b"\x1f\x8b": ("a gzip file", None),
    b"BC\xc0\xde": ("LLVM bitcode", None),
    b"%PDF": ("a PDF", None),
}
_HINT: Final = "give a model, such as model.py, or a library, such as libmodel.so"


def refuse_other_kinds(path: Path, content: bytes) -> None:
    """Refuse a file that is known not to be Python.   Raises: Refusal that names its kind"""
    for start, (kind, hint) in _STARTS.items():
        if content.startswith(start):
            raise Refusal(f"{path}: this is {kind}, neither a model nor a library", hint or _HINT)
    for suffixes, (kind, hint) in _KINDS.items():
        if path.suffix.lower() in suffixes:
            raise Refusal(f"{path}: this is {kind}, neither a model nor a library", hint or _HINT)
    if path.suffix != ".py" and b"#define AOTENSOR_H" in content:
        raise Refusal(f"{path}: this is a C header, neither a model nor a library", _HINT)
