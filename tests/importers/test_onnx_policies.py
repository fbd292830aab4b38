"""A policy of ONNX inside a control problem: by CasADi's interface in Ipopt, beside CasADi's own graph."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

import aotensor as aot  # noqa: E402
import aotensor.tensor as at  # noqa: E402
from aotensor.importers.onnx import from_onnx  # noqa: E402

sys.path.append(str(Path(__file__).parents[1] / "interfaces"))

HORIZON, HIDDEN = 10, 16
STATES = 2 * (HORIZON + 1)
DRAWN = np.random.default_rng(3)
WEIGHTS = [DRAWN.normal(size=shape) for shape in ((2, HIDDEN), (HIDDEN,), (HIDDEN, HIDDEN), (HIDDEN,), (HIDDEN, 1))]


def policy(path: Path) -> Path:
    """tanh(tanh(x·A + b)·C + d)·E for a batch of states x, (steps, 2) → torques, (steps, 1), in double precision."""
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    nodes = [
        helper.make_node("Gemm", ["x", "A", "b"], ["h"]),
        helper.make_node("Tanh", ["h"], ["i"]),
        helper.make_node("Gemm", ["i", "C", "d"], ["j"]),
        helper.make_node("Tanh", ["j"], ["k"]),
        helper.make_node("MatMul", ["k", "E"], ["torque"]),
    ]
    x, torque = (
        helper.make_tensor_value_info(name, double, ["steps", width]) for name, width in (("x", 2), ("torque", 1))
    )
    constants = [onnx.numpy_helper.from_array(x, name) for x, name in zip(WEIGHTS, "AbCdE", strict=True)]
    model = helper.make_model(
        helper.make_graph(nodes, "policy", [x], [torque], constants), opset_imports=[helper.make_opsetid("", 20)]
    )
    onnx.save(model, path)
    return path


def control(path: Path) -> aot.Function:
    """A pendulum whose torque is that of the policy plus a correction: all states, all corrections; cost, defects."""
    w, start = at.vector("w", shape=(STATES + HORIZON,)), at.vector("start", shape=(2,))
    x, u = w[:STATES].reshape((HORIZON + 1, 2)), w[STATES:]
    learned = from_onnx(path, dims={"steps": HORIZON})
    torque = aot.clone_replace(learned.results["torque"], {learned.arguments["x"]: x[:-1]})[:, 0] + u
    cost = (x**2).sum() + 0.1 * (u**2).sum() + 10.0 * (x[-1] ** 2).sum()
    angle = x[:-1, 0] + 0.1 * x[:-1, 1]
    speed = x[:-1, 1] + 0.1 * (9.81 * at.sin(x[:-1, 0]) + torque)
    defects = at.concatenate([x[0] - start, x[1:, 0] - angle, x[1:, 1] - speed])
    return aot.function([w, start], {"cost": cost, "g": defects}, name="guided")


def native(ca: Any) -> Any:
    w, start = ca.SX.sym("w", STATES + HORIZON), ca.SX.sym("start", 2)
    x, u = ca.reshape(w[:STATES], 2, HORIZON + 1), w[STATES:]
    A, b, C, d, E = (ca.DM(x) for x in WEIGHTS)
    torques = [(ca.tanh(ca.tanh(x[:, k].T @ A + b.T) @ C + d.T) @ E) + u[k] for k in range(HORIZON)]
    cost = ca.sumsqr(x) + 0.1 * ca.sumsqr(u) + 10 * ca.sumsqr(x[:, -1])
    angle = x[0, :-1] + 0.1 * x[1, :-1]
    speed = x[1, :-1] + 0.1 * (9.81 * ca.sin(x[0, :-1]) + ca.horzcat(*torques))
    defects = ca.vertcat(x[:, 0] - start, (x[0, 1:] - angle).T, (x[1, 1:] - speed).T)
    return ca.Function("own", [w, start], [cost, defects], ["w", "start"], ["cost", "g"])


@pytest.fixture
def ca() -> Iterator[Any]:
    casadi = pytest.importorskip("casadi", reason="no CasADi: pip install casadi")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield casadi


@pytest.mark.needs("casadi")
def test_ipopt_takes_the_same_iterates_with_a_policy(ca: Any, tmp_path: Path) -> None:
    from casadi_client import iterates

    f = control(policy(tmp_path / "policy.onnx"))
    made = aot.compile(f, tmp_path, abi="casadi", opt_level=1)
    theirs, ours = native(ca), ca.external("guided", str(made.library))
    found = [iterates(ca, g, [1.0, 0.0], HORIZON) for g in (theirs, ours)]
    assert len(found[0]) == len(found[1]) > 4
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8, atol=1e-8)
    assert ours.jacobian().sparsity_out(2).nnz() == theirs.jacobian().sparsity_out(2).nnz()
