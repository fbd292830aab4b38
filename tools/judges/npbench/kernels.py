"""The kernels: which program is written for each, and how JAX's results are compared with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tools.judges.npbench import factorisations, flows, learning, numerics, products, stencils


@dataclass(frozen=True)
class Kernel:
    """A kernel of NPBench.

    program: a function of the arguments of the NumPy version, in which arrays and NumPy's scalars are variables;
    returns the results of the NumPy version, then its changed arguments. changed: names of these, by default those that
    NPBench lists. jax: the place of each result among JAX's, None where JAX lacks it. wrt: names of inputs of the
    gradient, by default all arrays of floats. symmetric: the gradient by a symmetric matrix, where one side reads one
    triangle and the other reads both. close: how much numbers may differ, relative to the largest.
    """

    program: Callable[..., Sequence[Any]]
    changed: tuple[str, ...] | None = None
    jax: tuple[int | None, ...] | None = None
    wrt: tuple[str, ...] | None = None
    is_symmetric: bool = False
    close: float = 1e-9
    note: str = ""


SINGLE: Final = 2e-5
"""How much results of float32 may differ."""

KERNELS: Final = {
    "gemm": Kernel(products.gemm),
    "gemver": Kernel(products.gemver, jax=(0, 2, 1)),
    "gesummv": Kernel(products.gesummv),
    "k2mm": Kernel(products.k2mm),
    "k3mm": Kernel(products.k3mm),
    "atax": Kernel(products.atax),
    "bicg": Kernel(products.bicg),
    "mvt": Kernel(products.mvt),
    "doitgen": Kernel(products.doitgen, changed=("A",)),
    "symm": Kernel(products.symm),
    "syrk": Kernel(products.syrk),
    "syr2k": Kernel(products.syr2k),
    "trmm": Kernel(products.trmm, wrt=("B",), note="JAX's version reads the other triangle of A: by B alone"),
    "covariance": Kernel(products.covariance),
    "covariance2": Kernel(products.covariance2),
    "correlation": Kernel(products.correlation),
    "spmv": Kernel(products.spmv),
    "cholesky": Kernel(factorisations.cholesky),
    "cholesky2": Kernel(factorisations.cholesky, is_symmetric=True),
    "lu": Kernel(factorisations.lu),
    "ludcmp": Kernel(factorisations.ludcmp, jax=(0, 1, None)),
    "gramschmidt": Kernel(factorisations.gramschmidt, jax=(0, 1, None)),
    "durbin": Kernel(factorisations.durbin),
    "trisolv": Kernel(factorisations.trisolv, changed=("x",)),
    "jacobi_1d": Kernel(stencils.jacobi_1d),
    "jacobi_2d": Kernel(stencils.jacobi_2d),
    "heat_3d": Kernel(stencils.heat_3d),
    "seidel_2d": Kernel(stencils.seidel_2d),
    "fdtd_2d": Kernel(stencils.fdtd_2d),
    "adi": Kernel(stencils.adi),
    "deriche": Kernel(stencils.deriche),
    "hdiff": Kernel(stencils.hdiff),
    "vadv": Kernel(stencils.vadv, jax=(3,)),
    "cavity_flow": Kernel(flows.cavity_flow),
    "channel_flow": Kernel(
        flows.channel_flow, jax=(None,) * 4, note="JAX's version does not solve for the pressure: it is not compared"
    ),
    "nbody": Kernel(
        flows.nbody,
        jax=(0, None),
        note="JAX's gradient of the potential energy is nan: that of the kinetic one is compared",
    ),
    "softmax": Kernel(learning.softmax, close=SINGLE),
    "mlp": Kernel(learning.mlp, close=SINGLE),
    "conv2d_bias": Kernel(learning.conv2d_bias, close=SINGLE),
    "lenet": Kernel(learning.lenet, close=SINGLE),
    "resnet": Kernel(learning.resnet, close=SINGLE),
    "compute": Kernel(numerics.compute),
    "go_fast": Kernel(numerics.go_fast),
    "arc_distance": Kernel(numerics.arc_distance),
    "azimint_naive": Kernel(numerics.azimint_naive),
    "azimint_hist": Kernel(numerics.azimint_hist),
    "mandelbrot1": Kernel(numerics.mandelbrot1),
    "mandelbrot2": Kernel(numerics.mandelbrot2),
    "stockham_fft": Kernel(numerics.stockham_fft),
    "contour_integral": Kernel(numerics.contour_integral),
    "scattering_self_energies": Kernel(numerics.scattering_self_energies, changed=("Sigma",)),
    "crc16": Kernel(numerics.crc16),
    "floyd_warshall": Kernel(numerics.floyd_warshall),
    "nussinov": Kernel(numerics.nussinov),
}
