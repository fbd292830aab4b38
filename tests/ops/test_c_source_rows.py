"""Rows of the case tables as C source: the bits of values and derivatives are those of the strict library."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from case import Case
from needs import path_of
from row_programs import row_program
from tables import COMPILED

from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.verification.c_source import CEntry, compile_c
from aotensor_runtime import Library

_TOGETHER: Final = 12
_CHUNKS: Final = [table[k : k + _TOGETHER] for table in COMPILED.values() for k in range(0, len(table), _TOGETHER)]


@pytest.mark.level("all", "every row is compiled once more, by two compilers: half an hour")
@pytest.mark.needs("cc")
@pytest.mark.parametrize("cases", [pytest.param(chunk, id=chunk[0].id) for chunk in _CHUNKS])
def test_rows_have_the_bits_of_the_library(cases: Sequence[Case], tmp_path: Path) -> None:
    programs = {case.id: row_program(case) for case in cases}
    options = Options(fp="strict", opt_level=0, threads=False, cpu="generic")
    build = Build([program.function for program in programs.values()], "rows", options)
    c_library = ctypes.CDLL(str(compile_c(build, tmp_path, path_of("cc"))))
    library = Library(build.shared)
    for id, program in programs.items():
        name = program.function.name
        assert CEntry.from_build(build, name, c_library).compare(library.functions[name], list(program.arrays)), id
