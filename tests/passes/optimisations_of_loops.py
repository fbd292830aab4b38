"""Optimisations at loop level and in LLVM IR, each with what it changes in a small program."""

from collections.abc import Sequence
from functools import reduce
from typing import Final

from optimisation_programs import (
    chain,
    complex_product,
    kept_and_scaled,
    known,
    narrow_sum,
    of_sparse,
    of_vector,
    two_buffers,
)
from switches import Row, has, lacks, never, nothing, replaced, without_pass

import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.ir.scalar_builder import NO_FAST_MATH
from aotensor.passes.pipeline import EXPAND_MATH

LOOP_ROWS: Final[Sequence[Row]] = (
    # --- loop level -------------------------------------------------------------------------------------------------
    Row("plan-memory", without_pass("plan-memory"), two_buffers, "loops", lacks(r"memref\.alloc")),
    Row(
        "buffers share slots",
        replaced("aotensor.passes.plan_memory:_span", lambda op, positions, ends: (0, 1 << 30)),
        two_buffers,
        "loops",
        lacks(r"scope = 3"),
    ),
    Row(
        "neighbours are read in vectors of 32 bytes",
        replaced("aotensor.passes.hint_vectors:_reads_neighbours", never),
        of_vector(lambda x: x[2:] + x[1:-1] + x[:-2]),
        "loops",
        has("widest", 1),
    ),
    Row("hint-vectors", without_pass("hint-vectors"), of_vector(at.exp), "loops", has("interleave")),
    Row(
        "few vectors at once where a loop computes many functions",
        replaced("aotensor.passes.hint_vectors:_is_crowded", never),
        of_vector(lambda x: reduce(lambda y, k: at.sin(y) + k, range(24), x)),
        "loops",
        has("interleave = 2 .*lane_bits = 64"),
    ),
    Row(
        "the rest of a narrow loop under a mask",
        replaced("aotensor.passes.hint_vectors:_split_off_rest", nothing),
        narrow_sum,
        "loops",
        has("masked"),
    ),
    Row(
        "long loops stay rolled",
        replaced("aotensor.passes.hint_vectors:_limit_unrolling", nothing),
        known,
        "loops",
        has("nounroll"),
    ),
    Row(
        "sums over few entries under a mask",
        replaced("aotensor.passes.hint_vectors:_only_sums", never),
        of_sparse(lambda A, D, v, E, s, B: sp.sp_sum(A, axis=1)),
        "loops",
        has("short, masked"),
    ),
    Row(
        "sums at positions that few entries name go one by one",
        replaced("aotensor.passes.hint_vectors:_adds_at_positions", never),
        of_sparse(lambda A, D, v, E, s, B: A.T @ v),
        "loops",
        has("nounroll"),
    ),
    Row(
        "numbers side by side at each step are not gathered",
        replaced("aotensor.passes.hint_vectors:_reads_pairs", never),
        complex_product,
        "loops",
        has("short, novector"),
    ),
    # --- LLVM -------------------------------------------------------------------------------------------------------
    Row(
        "buffers do not overlap",
        replaced("aotensor.codegen.emit:_mark_pointers", nothing),
        chain,
        "llvm",
        has("noalias"),
    ),
    Row(
        "inputs are only read",
        replaced("aotensor.codegen.emit:read_only", never),
        chain,
        "llvm",
        has("readonly"),
    ),
    Row(
        "views of the workspace are apart",
        replaced("aotensor.codegen.emit:view_scopes", lambda module, function: {}),
        kept_and_scaled,
        "llvm",
        has("alias.scope"),
    ),
    Row(
        "permissions of the fp policy",
        replaced("aotensor.codegen.emit_arith:fast_math", lambda flags: ()),
        chain,
        "llvm",
        has("fadd reassoc"),
    ),
    Row(
        "accesses of parallel loops are grouped",
        replaced("aotensor.codegen.emit_state:Emitter.tag", nothing),
        chain,
        "llvm",
        has("llvm.access.group"),
    ),
    Row(
        "calls that almost never happen",
        replaced("aotensor.codegen.emit:RARE_FUNCTIONS", ()),
        of_vector(at.sin),
        "llvm-opt",
        has(r"far_angle\.f64\.x8"),
    ),
    Row(
        "vectors of 512 bits",
        replaced("aotensor.codegen.machine:_WIDE_CPUS", ()),
        of_vector(at.exp),
        "llvm-opt",
        has("<8 x double>"),
    ),
    Row(
        "of zeros a maximum is either one",
        replaced("aotensor.ir.scalar_builder:EITHER_ZERO", NO_FAST_MATH),
        of_vector(at.max),
        "llvm-opt",
        has(r"call nsz <8 x double> @llvm\.maximum"),
    ),
    Row(
        "exponentials read a table in registers",
        replaced("aotensor.driver.recipe:math_recipe", lambda target: (EXPAND_MATH,)),
        of_vector(at.exp),
        "llvm-opt",
        has(r"call <8 x double> asm \"vpermi2pd "),
    ),
)
