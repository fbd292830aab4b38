"""Optimisations at loop level and in LLVM IR, each with what it changes in a small program."""

from collections.abc import Sequence
from functools import partial, reduce
from typing import Final

from optimisation_programs import (
    chain,
    complex_product,
    four_buffers,
    function,
    kept_and_scaled,
    known,
    logistic,
    matrix,
    narrow_sum,
    of_sparse,
    of_vector,
    sines,
    sines_of_a_number,
    two_buffers,
)
from switches import Row, compiled, has, lacks, not_for, on_machine, without_pass

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at


def sorted_rows(extent: int) -> aot.Function:
    """Rows of a known extent, which LLVM would unroll before it vectorises."""
    x = matrix("x", "n", extent)
    return function([x], at.sort(x, axis=1))


def added_at_positions() -> aot.Function:
    """Sums at positions that are also read: negative ones count from the end, for which both need the extent."""
    x, positions = at.vector("x", dtype="float64", shape=("n",)), at.vector("p", dtype="int64", shape=("m",))
    return function([x, positions], aot.grad((at.sin(x[positions]) ** 2).sum(), x))


def negated_product(is_scaled: bool) -> aot.Function:
    """−(s·x), or −(y·x)."""
    (x, y), s = [at.vector(name, dtype="float64", shape=("n",)) for name in "xy"], at.scalar("s", dtype="float64")
    return function([x, y, s], -((s if is_scaled else y) * x))


LOOP_ROWS: Final[Sequence[Row]] = (
    Row(
        "loop-invariant factors are negated instead of products",
        not_for(partial(negated_product, is_scaled=False)),
        partial(negated_product, is_scaled=True),
        "nest",
        lacks(r"\n {6,}.*arith\.negf|- %|-\("),
    ),
    Row(
        "outlined functions cast sizes themselves",
        without_pass("outline-chunks"),
        added_at_positions,
        "loops",
        has(r"private @f\.chunk\d+\((?:(?!func\.return)[\s\S])*arith\.index_cast %\w+ : index to i64"),
        part="all",
        cores=True,
    ),
    # --- loop level -------------------------------------------------------------------------------------------------
    Row("plan-memory", without_pass("plan-memory"), two_buffers, "loops", lacks(r"memref\.alloc")),
    Row(
        "buffers share slots",
        not_for(four_buffers),
        two_buffers,
        "loops",
        lacks(r"scope = 3"),
    ),
    Row(
        "neighbours are read in vectors of 32 bytes",
        not_for(of_vector(lambda x: x[1:] - x[:-1])),
        of_vector(lambda x: x[2:] + x[1:-1] + x[:-2]),
        "loops",
        has("widest", 1),
    ),
    Row("vectorizer-hints", without_pass("vectorizer-hints"), of_vector(at.exp), "loops", has("interleave")),
    Row(
        "few vectors at once where a loop computes many functions",
        on_machine(few_functions=100),
        of_vector(lambda x: reduce(lambda y, k: at.sin(y) + k, range(24), x)),
        "loops",
        has("interleave = 2 .*lane_bits = 64"),
    ),
    Row(
        "elementary functions of a long block are called",
        without_pass("outline-math"),
        sines_of_a_number,
        "llvm",
        has(r'call double @"aot\.sin\.f64\.outlined"'),
    ),
    Row(
        "loops call functions of vectors",
        not_for(of_vector(lambda x: sines(x, 20))),
        of_vector(lambda x: sines(x, 300)),
        "llvm",
        has(r'aot\.sin\.f64\.outlined"\(double .*_ZGV_LLVM_N8v_aot\.sin\.f64\.outlined\(aot\.sin\.f64\.x8\)'),
    ),
    Row(
        "functions with parameters on vectors",
        without_pass("vectorize-functions"),
        of_vector(lambda x: at.gammainc(x, 2.0)),
        "llvm",
        has(r"aot\.gammainc\.f64\.block"),
    ),
    Row(
        "the rest of a narrow loop under a mask",
        not_for(of_vector(lambda x: at.exp(x * x + 1).sum())),
        narrow_sum,
        "loops",
        has("masked"),
    ),
    Row(
        "long loops stay rolled",
        not_for(lambda: known(64)),
        known,
        "loops",
        has("nounroll"),
    ),
    Row(
        "sums over few entries under a mask",
        compiled(fp="strict"),
        of_sparse(lambda A, D, v, E, s, B: sp.sp_sum(A, axis=1)),
        "loops",
        has("short, masked"),
    ),
    Row(
        "sums at positions that few entries name go one by one",
        not_for(of_sparse(lambda A, D, v, E, s, B: A @ v)),
        of_sparse(lambda A, D, v, E, s, B: A.T @ v),
        "loops",
        has("nounroll"),
    ),
    Row(
        "numbers side by side at each step are not gathered",
        not_for(of_sparse(lambda A, D, v, E, s, B: A @ v)),
        complex_product,
        "loops",
        has("short, novector"),
    ),
    Row(
        "sums over few entries under a mask only where the target has masked loads",
        on_machine(has_masks=False, register_bits=128),
        of_sparse(lambda A, D, v, E, s, B: sp.sp_sum(A, axis=1).astype("float32")),
        "loops",
        has("short, masked"),
    ),
    Row(
        "rows gather under masks only where the target has them",
        on_machine(has_masks=False),
        of_sparse(lambda A, D, v, E, s, B: A @ v),
        "loops",
        lacks("short, novector, nounroll"),
    ),
    Row(
        "short rows are sorted in vectors",
        not_for(lambda: sorted_rows(1)),
        lambda: sorted_rows(10),
        "llvm-opt",
        has(r"fcmp olt <\d+ x double>"),
    ),
    Row(
        "few elements are searched by blocks",
        without_pass("select-by-blocks"),
        of_vector(lambda x: at.topk(x, 5)),
        "loops",
        has(r"arith\.minsi .* : i64"),
    ),
    # --- LLVM -------------------------------------------------------------------------------------------------------
    Row(
        "views of the workspace are apart",
        not_for(logistic),
        kept_and_scaled,
        "llvm",
        has("alias.scope"),
    ),
    Row(
        "permissions of the fp policy",
        compiled(fp="strict"),
        chain,
        "llvm",
        has("fadd reassoc"),
    ),
    Row(
        "accesses of parallel loops are grouped",
        without_pass("mark-independent"),
        chain,
        "llvm",
        has("llvm.access.group"),
    ),
    Row(
        "calls that almost never happen",
        not_for(of_vector(at.exp)),
        of_vector(at.sin),
        "llvm-opt",
        has(r"far_angle\.f64\.x8"),
    ),
    Row(
        "vectors of 512 bits",
        compiled(cpu="skylake-avx512"),
        of_vector(at.exp),
        "llvm-opt",
        has("<8 x double>"),
    ),
    Row(
        "of zeros a maximum is either one",
        compiled(fp="strict"),
        of_vector(at.max),
        "llvm-opt",
        has(r"call nsz <8 x double> @llvm\.maximum"),
    ),
    Row(
        "exponentials read a table in registers",
        compiled(fp="strict"),
        of_vector(at.exp),
        "llvm-opt",
        has(r"call <8 x double> asm \"vpermi2pd "),
    ),
)
