"""The models by name, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from case_arm import Arm
from case_chain import Chain
from case_logistic import HessianVector, Logistic
from case_mixture import Mixture
from case_mlp import Mlp
from case_process import Process
from case_radon import Radon
from case_recurrent import Lstm, Rnn
from case_rows import LogSumExpGradient, Softmax
from case_stencil import Stencil
from contenders import Model
from sparse_cases.bundle import BundleAdjustment
from sparse_cases.graph import GraphConvolution
from sparse_cases.logistic import SparseLogistic
from sparse_cases.matrices import poisson, random
from sparse_cases.products import DenseProduct, SparseProduct
from sparse_cases.sampled import Sampled, SampledGradient

CASES: dict[str, Callable[[], Model]] = {
    "logistic": Logistic,
    "chain-1e6-float64": lambda: Chain(1_000_000, "float64"),
    "chain-1e6-float32": lambda: Chain(1_000_000, "float32"),
    "chain-1e3-float64": lambda: Chain(1_000, "float64"),
    "chain-1e3-float32": lambda: Chain(1_000, "float32"),
    "mlp": Mlp,
    "lstm": Lstm,
    "rnn": Rnn,
    "hessian-vector": HessianVector,
    "process": Process,
    "mixture": Mixture,
    "arm": Arm,
    "softmax-0": lambda: Softmax(0),
    "softmax-1": lambda: Softmax(1),
    "logsumexp-gradient-0": lambda: LogSumExpGradient(0),
    "logsumexp-gradient-1": lambda: LogSumExpGradient(1),
    "stencil": lambda: Stencil(is_gradient=False),
    "stencil-gradient": lambda: Stencil(is_gradient=True),
    "radon": Radon,
}


def _random() -> Any:
    return random(100_000, 100_000, 1_000_000)


def _poisson() -> Any:
    return poisson(300)


SPARSE_CASES: dict[str, Callable[[], Model]] = {
    "spmv-random": lambda: DenseProduct("random", _random(), 1, transposed=False),
    "spmv-poisson": lambda: DenseProduct("Poisson", _poisson(), 1, transposed=False),
    "spmv-random-transposed": lambda: DenseProduct("random", _random(), 1, transposed=True),
    "spmv-poisson-transposed": lambda: DenseProduct("Poisson", _poisson(), 1, transposed=True),
    "spmm-random": lambda: DenseProduct("random", _random(), 16, transposed=False),
    "spmm-poisson": lambda: DenseProduct("Poisson", _poisson(), 16, transposed=False),
    "spmm-random-transposed": lambda: DenseProduct("random", _random(), 16, transposed=True),
    "spmm-poisson-transposed": lambda: DenseProduct("Poisson", _poisson(), 16, transposed=True),
    "sparse-logistic": lambda: SparseLogistic(by_matrix=False),
    "sparse-logistic-data": lambda: SparseLogistic(by_matrix=True),
    "sparse-sparse-random": lambda: SparseProduct("random", random(20_000, 20_000, 200_000)),
    "sparse-sparse-poisson": lambda: SparseProduct("Poisson", _poisson()),
    "sddmm": Sampled,
    "sddmm-gradient": SampledGradient,
    "graph-convolution": GraphConvolution,
    "bundle-adjustment": BundleAdjustment,
}
