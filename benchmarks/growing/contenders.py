"""What each framework does with a program: from its text to the first results."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import scipy.sparse

from growing.kind import Kind


class Missing(Exception):
    """The framework cannot run the program, or is not installed."""


def of_aotensor(kind: Kind, size: int) -> Callable[[], list[Any]]:
    """Build, differentiate, compile, load and call; what compiles is the first call."""
    import aotensor as aot
    import aotensor.sparse
    import aotensor.tensor

    values = kind.inputs(size)
    name = f"grown_{os.getpid()}"  # in no cache of libraries, which know a function's name

    if kind.is_imported:
        import jax
        import jax.numpy as jnp

        from aotensor.importers.jax import from_jax

        jax.config.update("jax_enable_x64", True)
        jax.make_jaxpr(jnp.sin)(1.0)

        def loss(*inputs: Any) -> Any:
            return kind.outputs(inputs, jnp, size)[0]

        names = [f"inputs{k}" for k in range(len(kind.targets(values)))]
        return lambda: _listed(from_jax(loss, *values, grad=names, name=name)(*values))

    def run() -> list[Any]:
        x, functions = symbols_and_functions(kind, values)
        outputs = list(kind.outputs(x, functions, size))
        targets = kind.targets(x)
        if kind.derivative == "gradient":
            outputs += aot.grad(outputs[0], targets)
        elif kind.derivative == "jacobian":
            outputs.append(aot.gradient.jacobian(outputs[0], targets[0], sparse=True))
        elif kind.derivative == "hessian":
            outputs.append(aot.gradient.hessian(outputs[0], targets[0], sparse=True))
        return _listed(aot.function(x, outputs, name=name)(*values))

    return run


def symbols_and_functions(kind: Kind, values: Sequence[Any]) -> tuple[list[Any], Any]:
    """Symbols of the types of some values, and aotensor's functions by the names that programs use."""
    import aotensor as aot
    import aotensor.sparse as sp
    import aotensor.tensor as at

    def symbol(k: int, value: Any) -> Any:
        shape = value.shape if kind.is_static else ("n",) * value.ndim
        make = sp.csr_matrix if scipy.sparse.issparse(value) else at.tensor
        return make(f"x{k}", dtype="float64", shape=shape)

    def repeated(step: Callable[[Any], Any], start: Any, count: int) -> Any:
        return aot.scan(step, outputs_info=start, n_steps=count, return_updates=False)[-1]

    def convolved(x: Any, w: Any) -> Any:
        return at.conv2d(x, w, padding=1)

    functions = {name: getattr(at, name) for name in dir(at)} | {"repeat_steps": repeated, "conv2d": convolved}
    return [symbol(k, value) for k, value in enumerate(values)], SimpleNamespace(**functions)


def of_jax(kind: Kind, size: int) -> Callable[[], list[Any]]:
    """Trace, differentiate, compile and call; sparse matrices are BCOO, Jacobians and Hessians dense."""
    import jax
    import jax.experimental.sparse
    import jax.numpy as jnp
    import jax.scipy.special

    jax.config.update("jax_enable_x64", True)
    jax.jit(jnp.sin).lower(jnp.ones(3)).compile()
    values = [
        jax.experimental.sparse.BCOO.from_scipy_sparse(x) if scipy.sparse.issparse(x) else jnp.asarray(x)
        for x in kind.inputs(size)
    ]

    def repeated(step: Callable[[Any], Any], start: Any, count: int) -> Any:
        return jax.lax.scan(lambda s, _: (step(s), None), start, None, length=count)[0]

    def convolved(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME")

    more = {"repeat_steps": repeated, "conv2d": convolved, "solve": jnp.linalg.solve}
    special = {name: getattr(jax.scipy.special, name) for name in ("erf", "erfc", "gammaln", "digamma")}
    others = {name: getattr(jax.nn, name) for name in ("sigmoid", "softplus")}
    functions = SimpleNamespace(**{name: getattr(jnp, name) for name in dir(jnp)} | special | others | more)
    positions = tuple(range(len(kind.targets(values))))

    def outputs(*x: Any) -> list[Any]:
        return list(kind.outputs(x, jnp if kind.is_imported else functions, size))

    def first(*x: Any) -> Any:
        return outputs(*x)[0]

    def derived(*x: Any) -> list[Any]:
        if kind.derivative == "none":
            return outputs(*x)
        if kind.derivative == "gradient":
            value, gradients = jax.value_and_grad(first, positions)(*x)
            return [value, *gradients]
        return [first(*x), (jax.hessian if kind.derivative == "hessian" else jax.jacfwd)(first)(*x)]

    return lambda: jax.block_until_ready(jax.jit(derived)(*values))


def of_casadi(kind: Kind, size: int) -> Callable[[], list[Any]]:
    """Build with SX, whose matrices are of numbers; write C, compile it by `cc -O1`, load and call."""
    if not kind.casadi:
        raise Missing("-")
    import casadi as ca

    values = kind.inputs(size)
    names = ("exp", "tanh", "sin")
    functions = SimpleNamespace(
        **{name: getattr(ca, name) for name in names}, sum=ca.sum1, stack=lambda parts: ca.vertcat(*parts)
    )

    def run() -> list[Any]:
        x = [ca.SX.sym(f"x{k}", value.size) for k, value in enumerate(values)]
        y = [ca.SX(one) for one in kind.outputs(x, functions, size)]
        targets = kind.targets(x)
        if kind.derivative == "gradient":
            y += [ca.gradient(y[0], target) for target in targets]
        elif kind.derivative == "jacobian":
            y.append(ca.jacobian(y[0], targets[0]))
        elif kind.derivative == "hessian":
            y.append(ca.hessian(y[0], targets[0])[0])
        f = ca.Function("grown", x, y)
        with tempfile.TemporaryDirectory() as folder:
            before = Path.cwd()
            os.chdir(folder)
            f.generate("grown.c")
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "grown.c", "-o", "grown.so", "-lm"], check=True)
            found = ca.external("grown", "./grown.so")(*values)
            os.chdir(before)
        return [np.array(ca.DM(one)) for one in (found if isinstance(found, tuple) else [found])]

    return run


def _listed(results: Any) -> list[Any]:
    if isinstance(results, dict):
        return list(results.values())
    return list(results) if isinstance(results, list | tuple) else [results]


def digest(results: Sequence[Any]) -> float:
    """The sum of all absolute values, by which results of frameworks are compared."""
    return float(
        sum(abs(one).sum() if scipy.sparse.issparse(one) else np.abs(np.asarray(one)).sum() for one in results)
    )


CONTENDERS: Final[dict[str, Callable[[Kind, int], Callable[[], list[Any]]]]] = {
    "aotensor": of_aotensor, "JAX": of_jax, "CasADi": of_casadi,
}  # fmt: skip
