"""The models by name, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from case_arm import Arm, MappedArm
from case_chain import Chain
from case_convolution import Convolution, FixedConvolution
from case_functions import FUNCTIONS, Bessel, Plain
from case_half import Half
from case_logistic import HessianVector, Logistic
from case_mixture import Mixture
from case_mlp import Mlp
from case_process import Process
from case_radon import Radon
from case_recurrent import Lstm, Rnn
from case_rigid import MappedRigidBody, RigidBody
from case_rows import LogSumExpGradient, Softmax
from case_stencil import Stencil
from case_transform import Transform
from case_voice import Voice
from contenders import Model
from sparse_cases.bundle import BundleAdjustment
from sparse_cases.equations import Solution, TriangularSolution
from sparse_cases.graph import GraphConvolution
from sparse_cases.hessian import HessianValues
from sparse_cases.logistic import SparseLogistic
from sparse_cases.matrices import Bsr, Csr, banded, blocks, poisson, power_law, random, random_rows
from sparse_cases.products import BlockProduct, ComplexProduct, DenseProduct, SparseProduct
from sparse_cases.sampled import Sampled, SampledGradient


@dataclass(frozen=True)
class Case:
    """A model at a given scale: 1 is the size of the table, 10 has ten times as much data. has_sizes: whether other
    scales are measured.
    """

    make: Callable[[float], Model]
    has_sizes: bool = True


def _extent(size: int, scale: float, axes: int = 1) -> int:
    """The extent of an axis if several axes share the scale; at least three."""
    return max(3, round(size * scale ** (1 / axes)))


def _function(name: str) -> Case:
    return Case(lambda s: (Bessel if name == "jv" else Plain)(name, _extent(200_000, s)))


def _fixed(channels: int, extents: tuple[int, ...], filters: int) -> Case:
    return Case(lambda _: FixedConvolution(channels, extents, filters), has_sizes=False)


CASES: dict[str, Case] = {
    "logistic": Case(lambda s: Logistic(_extent(10_000, s))),
    "chain-1e6-float64": Case(lambda s: Chain(_extent(1_000_000, s), "float64")),
    "chain-1e6-float32": Case(lambda s: Chain(_extent(1_000_000, s), "float32")),
    "chain-1e3-float64": Case(lambda s: Chain(_extent(1_000, s), "float64"), has_sizes=False),
    "chain-1e3-float32": Case(lambda s: Chain(_extent(1_000, s), "float32"), has_sizes=False),
    "half-1e7": Case(lambda s: Half(_extent(10_000_000, s)), has_sizes=False),
    "transform": Case(lambda s: Transform(_extent(200, s))),
    "conv2d": Case(lambda s: Convolution(_extent(8, s), 32, (56, 56), 64, is_gradient=False)),
    "conv2d-gradient": Case(lambda s: Convolution(_extent(8, s), 32, (56, 56), 64, is_gradient=True)),
    "conv1d": Case(lambda s: Convolution(_extent(16, s), 32, (1024,), 64, is_gradient=False)),
    **{f"conv1d-one-{n}": _fixed(64, (n,), 64) for n in (1, 8, 64)},
    "conv2d-one-80": _fixed(32, (225, 80), 32),
    "conv2d-one-40": _fixed(48, (16, 40), 192),
    "mlp": Case(lambda s: Mlp(_extent(128, s))),
    "lstm": Case(lambda s: Lstm(batch=_extent(16, s))),
    "rnn": Case(lambda s: Rnn(_extent(100, s))),
    "hessian-vector": Case(lambda s: HessianVector(_extent(10_000, s))),
    "process": Case(lambda s: Process(_extent(300, s, axes=2))),
    "mixture": Case(lambda s: Mixture(_extent(1000, s))),
    "arm": Case(lambda _: Arm(), has_sizes=False),
    "arm-mapped": Case(lambda s: MappedArm(_extent(1000, s))),
    "rigid-body": Case(lambda _: RigidBody(), has_sizes=False),
    "rigid-body-mapped": Case(lambda s: MappedRigidBody(_extent(1000, s))),
    "voice": Case(lambda _: Voice(), has_sizes=False),
    "softmax-0": Case(lambda s: Softmax(0, _extent(1000, s, axes=2), _extent(1000, s, axes=2))),
    "softmax-1": Case(lambda s: Softmax(1, _extent(1000, s, axes=2), _extent(1000, s, axes=2))),
    "logsumexp-gradient-0": Case(lambda s: LogSumExpGradient(0, *(_extent(1000, s, axes=2),) * 2)),
    "logsumexp-gradient-1": Case(lambda s: LogSumExpGradient(1, *(_extent(1000, s, axes=2),) * 2)),
    "stencil": Case(lambda s: Stencil(False, _extent(1000, s, axes=2))),
    "stencil-gradient": Case(lambda s: Stencil(True, _extent(1000, s, axes=2))),
    "radon": Case(lambda s: Radon(_extent(10_000, s))),
    **{name: _function(name) for name in FUNCTIONS},
}


def _random(scale: float) -> Csr:
    n = _extent(100_000, scale)
    return random(n, n, min(10 * n, n * n))


def _poisson(scale: float) -> Csr:
    return poisson(_extent(300, scale, axes=2))


def _few(scale: float) -> Csr:
    n = _extent(3000, scale)
    return random_rows(n, n, min(4, n))


def _power_law(scale: float) -> Csr:
    return power_law(_extent(100_000, scale))


def _banded(scale: float) -> Csr:
    return banded(_extent(100_000, scale))


def _product(kind: str, matrix: Callable[[float], Csr], columns: int, transposed: bool = False) -> Case:
    return Case(lambda s: DenseProduct(kind, matrix(s), columns, transposed))


def _blocks(size: int, scale: float) -> Bsr:
    return blocks(_extent(180_000 // size**2, scale), size)


def _of_blocks(size: int, columns: int = 1, transposed: bool = False) -> dict[str, Case]:
    """Products with a block matrix, stored in blocks (BSR) and in rows (CSR)."""
    name = f"{'spmv' if columns == 1 else 'spmm'}-blocks-{size}{'-transposed' if transposed else ''}"
    return {
        name: Case(lambda s: BlockProduct(_blocks(size, s), columns, transposed)),
        f"{name}-csr": Case(lambda s: DenseProduct("blocks", _blocks(size, s).tocsr(), columns, transposed)),
    }


SPARSE_CASES: dict[str, Case] = {
    "spmv-random": _product("random", _random, 1),
    "spmv-poisson": _product("Poisson", _poisson, 1),
    "spmv-power-law": _product("power law", _power_law, 1),
    "spmv-banded": _product("banded", _banded, 1),
    "spmv-random-transposed": _product("random", _random, 1, transposed=True),
    "spmv-poisson-transposed": _product("Poisson", _poisson, 1, transposed=True),
    "spmv-power-law-transposed": _product("power law", _power_law, 1, transposed=True),
    "spmv-banded-transposed": _product("banded", _banded, 1, transposed=True),
    "spmm-random": _product("random", _random, 16),
    "spmm-poisson": _product("Poisson", _poisson, 16),
    "spmm-random-transposed": _product("random", _random, 16, transposed=True),
    "spmm-poisson-transposed": _product("Poisson", _poisson, 16, transposed=True),
    "spmv-complex": Case(lambda s: ComplexProduct("complex Poisson", _poisson(s))),
    **_of_blocks(3),
    **_of_blocks(8),
    **_of_blocks(3, transposed=True),
    **_of_blocks(3, columns=16),
    "sparse-logistic": Case(lambda s: SparseLogistic(False, _extent(50_000, s))),
    "sparse-logistic-data": Case(lambda s: SparseLogistic(True, _extent(50_000, s))),
    "sparse-sparse-random": Case(lambda s: SparseProduct("random", _random(s / 5))),
    "sparse-sparse-poisson": Case(lambda s: SparseProduct("Poisson", _poisson(s))),
    "sddmm": Case(lambda s: Sampled(_extent(5000, s), _extent(250_000, s))),
    "sddmm-gradient": Case(lambda s: SampledGradient(_extent(5000, s), _extent(250_000, s))),
    "graph-convolution": Case(lambda s: GraphConvolution(_extent(50_000, s), _extent(1_000_000, s))),
    "solve-poisson": Case(lambda s: Solution("Poisson", _poisson(s))),
    "solve-poisson-small": Case(lambda s: Solution("Poisson", _poisson(s / 9))),
    "solve-random": Case(lambda s: Solution("random", _few(s)), has_sizes=False),
    "solve-banded": Case(lambda s: Solution("banded", _banded(s))),
    "solve-triangle": Case(lambda s: TriangularSolution("Poisson", _poisson(s))),
    "hessian-values": Case(lambda s: HessianValues(_extent(100, s))),
    "bundle-adjustment": Case(lambda s: BundleAdjustment(_extent(5000, s))),
}
