"""C source compiles without a warning, and computes the bits of the strict library."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from c_corpus import functions
from needs import path_of

from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.sampling.samples import Sampler
from aotensor.verification.c_source import CEntry, compile_c
from aotensor_runtime import Library

FUNCTIONS: Final = {f.name: f for f in functions()}
pytestmark = pytest.mark.needs("cc")


@dataclass(frozen=True)
class Compiled:
    """The functions as a library, and as C source that a compiler has made a library of."""

    build: Build
    library: Library
    c_library: Any
    folder: Path


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """All functions of the corpus."""
    folder = tmp_path_factory.mktemp("c_source")
    options = Options(fp="strict", opt_level=1, threads=False, cpu="generic")
    build = Build(list(FUNCTIONS.values()), "corpus", options)
    path = compile_c(build, folder, path_of("cc"), ["-O1"])
    return Compiled(build, Library(build.shared), ctypes.CDLL(str(path)), folder)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_are_those_of_the_library(name: str, compiled: Compiled) -> None:
    f = FUNCTIONS[name]
    entry = CEntry.of(compiled.build, name, compiled.c_library)
    done = [
        entry.compare(compiled.library.functions[name], list(sample.arrays.values()))
        for sample in Sampler(f, 1).samples(9)
    ]
    assert any(done)
