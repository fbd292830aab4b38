"""Optimisations of graphs and at tensor level, each with what it changes in a small program."""

from collections.abc import Sequence
from typing import Final

from optimisation_programs import (
    by_group,
    checkpointed_loop,
    choice,
    eigenvalues,
    invariant,
    last_state,
    mapped,
    of_blocks,
    of_matrix,
    of_sparse,
    of_vector,
    recurrent,
    sampled_products,
    stencil_gradient,
    sweeps_gradient,
    two_equal_loops,
    two_windows,
    work_behind,
)
from switches import Row, body, has, lacks, without_pass, without_rule
from xdsl.dialects import arith, math

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.ops.contract import Contract
from aotensor.passes.stabilize import RULES as FORMULAS
from aotensor.sparse.arithmetic.add import Neg
from aotensor.sparse.arithmetic.multiply import MulSD
from aotensor.sparse.arithmetic.sums import SpSum
from aotensor.sparse.convert import DenseFromSparse, Transpose
from aotensor.sparse.product.dots import Dot, StructuredDot
from aotensor.sparse.reformat import Cast
from aotensor.sparse.rewrites import RULES as SPARSE
from aotensor.sparse.sample import Sample

PRODUCT: Final = r'iterator_types = \["parallel", "parallel", "reduction"\]'
GRAPH_ROWS: Final[Sequence[Row]] = (
    # --- graph to graph ---------------------------------------------------------------------------------------------
    Row(
        "equal computations are one",
        without_pass("cse"),
        of_vector(lambda x: at.exp(x) + at.exp(x).sum()),
        "tensor",
        has(r"math\.exp", 1),
    ),
    Row(
        "logarithms of sums of exponentials",
        without_pass("stable-forms"),
        of_vector(lambda x: at.log(at.sum(at.exp(x)))),
        "tensor",
        has(r"arith\.maximumf"),
    ),
    Row(
        "products of what was made dense",
        without_rule(SPARSE, Contract),
        of_sparse(lambda A, D, v, E, s, B: sp.dense_from_sparse(A) @ v),
        "tensor",
        has("aot.segment_sum"),
    ),
    Row(
        "a product is sampled at the entries",
        without_rule(SPARSE, Sample),
        sampled_products,
        "loops",
        lacks("aot_gemm"),
    ),
    Row(
        "what was made sparse is dense again",
        without_rule(SPARSE, DenseFromSparse),
        of_sparse(lambda A, D, v, E, s, B: sp.dense_from_sparse(sp.csr_from_dense(D))),
        "tensor",
        lacks(r"aot\.nonzero"),
    ),
    Row(
        "one sum after the other",
        without_rule(SPARSE, SpSum),
        of_sparse(lambda A, D, v, E, s, B: sp.sp_sum(A + B)),
        "tensor",
        lacks("aot\\.pattern"),
    ),
    *(
        Row(
            f"a transposed matrix of blocks stays where it is, {product.__name__}",
            without_rule(SPARSE, op),
            of_blocks(lambda B, D, product=product: product(B.T, D)),
            "tensor",
            lacks(r"aot\.pattern.*transpose"),
        )
        for product, op in ((sp.dot, Dot), (sp.structured_dot, StructuredDot))
    ),
    Row(
        "two transposes",
        without_rule(SPARSE, Transpose),
        of_sparse(lambda A, D, v, E, s, B: sp.dense_from_sparse(sp.Transpose()(sp.Transpose()(sp.csr_from_dense(D))))),
        "tensor",
        lacks(r"aot\.nonzero"),
    ),
    Row(
        "two signs",
        without_rule(SPARSE, Neg),
        of_sparse(lambda A, D, v, E, s, B: sp.csm_data(sp.Neg()(sp.Neg()(A)))),
        "tensor",
        lacks(r"arith\.negf"),
    ),
    Row(
        "two casts",
        without_rule(SPARSE, Cast),
        of_sparse(lambda A, D, v, E, s, B: sp.csm_data(sp.Cast("int32")(sp.Cast("int64")(sp.Cast("int32")(A))))),
        "tensor",
        lacks(r"arith\.extsi"),
    ),
    Row(
        "two numbers scale at once",
        without_rule(SPARSE, MulSD),
        of_sparse(lambda A, D, v, E, s, B: sp.csm_data((A * s) * s)),
        "graph-opt",
        has(r"\] = mul\(", 1),
    ),
    # --- loops and branches -----------------------------------------------------------------------------------------
    Row("loops are merged", without_pass("merge-loops"), recurrent, "tensor", has(r"aot\.scan", 2)),
    Row("values of loops that nobody reads", without_pass("dce"), last_state, "tensor", has("last")),
    Row(
        "states of loops are stored in few steps",
        without_pass("checkpoint-loops"),
        checkpointed_loop,
        "graph-opt",
        lacks(r"float64\[100, "),
    ),
    Row("products of rows before loops", without_pass("licm"), recurrent, "tensor", body(has(PRODUCT, 1))),
    Row(
        "products of states behind loops",
        without_pass("sink"),
        work_behind,
        "tensor",
        body(has(PRODUCT, 1)),
    ),
    Row("windows of zeros are joined", without_pass("join-windows"), two_windows, "tensor", lacks(r"arith\.addf")),
    Row(
        "loops over equal values are found",
        without_pass("cse"),
        two_equal_loops,
        "tensor",
        has(r"aot\.scan", 1),
    ),
    Row(
        "a loop that only maps is no loop",
        without_pass("licm"),
        mapped,
        "tensor",
        lacks(r"aot\.scan"),
    ),
    Row(
        "work goes into the branch that needs it",
        without_pass("sink-into-branches"),
        choice,
        "tensor",
        body(has(r"math\.exp")),
    ),
    # --- tensor level -----------------------------------------------------------------------------------------------
    Row(
        "transposes are folded, and what nothing uses is gone",
        without_pass("canonicalize"),
        of_matrix(lambda x: x.T.sum(axis=0)),
        "tensor-opt",
        has(r"linalg\.generic", 1),
    ),
    Row(
        "arithmetic without effect",
        without_pass("canonicalize"),
        of_vector(lambda x: at.exp(x) * 1.0),
        "tensor-opt",
        lacks(r"arith\.mulf"),
    ),
    Row(
        "divisions by powers of two",
        without_pass("canonicalize"),
        of_vector(lambda x: at.exp(x) / 4),
        "tensor-opt",
        lacks(r"arith\.divf"),
    ),
    Row(
        "powers of half an odd number",
        without_pass("canonicalize"),
        of_vector(lambda x: x**1.5),
        "tensor-opt",
        lacks(r"math\.powf"),
    ),
    Row(
        "arithmetic that is the same in all iterations",
        without_pass("canonicalize"),
        invariant,
        "tensor-opt",
        has(r"\n    %\w+ = math\.exp"),
    ),
    Row(
        "eigenvalues without vectors",
        without_pass("canonicalize"),
        eigenvalues,
        "tensor-opt",
        has("eigvalsh"),
    ),
    Row(
        "elementwise operations are one",
        without_pass("fuse-elementwise"),
        of_vector(lambda x: at.exp(x) * 2.0 + x),
        "tensor",
        has(r"linalg\.generic", 1),
    ),
    Row(
        "gradients do not wait for what they begin with",
        without_pass("forward-shapes"),
        of_vector(lambda x: aot.grad(at.tanh(at.exp(x) * 2.0).sum(), x)),
        "graph-opt",
        has(r"= fused\(", 1),
        part="",
    ),
    Row(
        "stabilize",
        without_pass("stabilize"),
        of_vector(lambda x: at.log(1 + at.exp(x))),
        "tensor-opt",
        lacks(r"math\.log"),
    ),
    *(
        Row(f"formula of {kind.name}", without_rule(FORMULAS, kind), of_vector(build), "tensor-opt", lacks(gone))
        for kind, build, gone in (
            (math.LogOp, lambda x: at.log(1 + x), r"math\.log "),
            (math.Log1pOp, lambda x: at.log1p(at.exp(x)), r"math\.log1p"),
            (arith.SubfOp, lambda x: at.exp(x) - 1.0, r"arith\.subf"),
            (arith.AddfOp, lambda x: at.exp(x) + -1.0, r"arith\.addf"),
            (arith.MulfOp, lambda x: at.sigmoid(x) * (1.0 / at.exp(x)), r"math\.exp"),
            (arith.DivfOp, lambda x: 1.0 / (1.0 + at.exp(-x)), r"arith\.divf"),
            (arith.CmpfOp, lambda x: at.switch(at.exp(x) < 0.0, x, 2.0 * x), r"arith\.cmpf"),
            (arith.SelectOp, lambda x: at.switch(at.exp(x) < 0.0, x, 2.0 * x), r"arith\.select"),
            (arith.AndIOp, lambda x: at.switch(at.and_(at.exp(x) < 0.0, x < 1.0), x, 2.0 * x), r"arith\.andi"),
            (arith.OrIOp, lambda x: at.switch(at.or_(at.exp(x) < 0.0, x < 1.0), x, 2.0 * x), r"arith\.ori"),
        )
    ),
    Row(
        "sums by group share the loop that makes their terms",
        without_pass("scatter-to-reduction"),
        by_group(lambda y, e: y - e),
        "nest",
        lacks(r"aot\.scatter"),
    ),
    Row(
        "sums are taken before products",
        without_pass("factor-sums"),
        of_matrix(lambda x: (x @ x.T).sum(axis=0)),
        "tensor-opt",
        lacks(PRODUCT),
    ),
    Row(
        "products with a tensor of one number are sums",
        without_pass("factor-sums"),
        of_matrix(lambda x: at.grad((x @ at.exp(x.T)).sum(), x)),
        "tensor-opt",
        lacks(r'iterator_types = \["\w+", "\w+", "\w+"\]'),
    ),
    Row(
        "positions are checked once",
        without_pass("value-numbering"),
        by_group(lambda y, e: y - e),
        "nest",
        has(r"aot\.check", 1),
    ),
    Row(
        "what a window holds is computed there",
        without_pass("inline-producers"),
        stencil_gradient,
        "loops",
        lacks(r"memref\.view"),
    ),
    Row(
        "what a reader needs at other positions, it reads at its own",
        without_pass("inline-producers"),
        sweeps_gradient,
        "tensor-opt",
        has(r"linalg\.generic", 8),
    ),
)
