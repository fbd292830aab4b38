"""A run-time error says what the user wrote, on which line, and which sizes: compiled, by the reference, and in C."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import AotensorError
from aotensor.graph.expression import called, expression_of

X, Y = at.dmatrices("x", "y")
V, W, U = at.dvector("v"), at.dvector("w"), at.dvector()
J, K, M = at.lvector("i"), at.lscalar("k"), at.vector("m", dtype="bool")
A = sp.csr_matrix("A")
TALL, EYE = np.ones((3, 2)), scipy.sparse.eye_array(3, format="csr")
SHARED = aot.shared(np.ones(3), name="v")

MESSAGES: list[tuple[list[Any], Callable[[], Any], list[Any], str]] = [
    ([X, Y], lambda: X.T @ Y, [TALL, np.ones((2, 2))], "x.T @ y AT: inner dimensions differ: y_0 = 2 and x_0 = 3"),
    ([X, V], lambda: X @ V, [TALL, np.ones(3)], "x @ v AT: inner dimensions differ: v_0 = 3 and x_1 = 2"),
    ([V, W], lambda: at.exp(V) * W + 1, [np.ones(2), np.ones(3)], "exp(v) * w AT: extents along axis 0 differ: w_"),
    ([V, W], lambda: (V + W) * 2, [np.ones(2), np.ones(3)], "v + w AT: extents along axis 0 differ"),
    ([U, W], lambda: U - W, [np.ones(2), np.ones(3)], "in0 - w AT: extents along axis 0 differ: w_0 = 3 and in0_0 = 2"),
    ([V], lambda: V - SHARED, [np.ones(2)], "v - v_2 AT: extents along axis 0 differ: v_2_0 = 3 and v_0 = 2"),
    ([X, J], lambda: X[J], [TALL, [5]], "x[i] AT: index 5 is out of range for axis 0 of extent 3"),
    ([X, K], lambda: X[K:, K], [TALL, 5], "x[k:, k] AT: index 5 is out of range for axis 1 of extent 2"),
    ([X, M], lambda: X[M], [TALL, [True]], "x[m] AT: extents of the mask and of axis 0 differ: m_0 = 1 and x_0 = 3"),
    ([X, M], lambda: X[M].set(0), [TALL, [True]], "m AT: extents of the mask and of axis 0 differ: m_0 = 1"),
    ([X, K], lambda: X.reshape((K, 4)), [TALL, 2], "x.reshape(k, 4) AT: 6 elements do not fit a shape of 8"),
    ([X, Y], lambda: at.concatenate([X, Y]), [TALL, TALL.T], "join(x, y) AT: extents along axis 1 differ: y_1 = 3"),
    ([A, V], lambda: A @ V, [EYE, np.ones(4)], "A @ v AT: inner dimensions differ: v_0 = 4 and A_1 = 3"),
    ([A, J], lambda: A[J], [EYE, [7]], "i AT: index 7 is out of range for axis 0 of extent 3"),
    ([X], lambda: at.linalg.cholesky(X), [-np.eye(2)], "cholesky(x) AT: the matrix is not positive definite"),
    ([X, V], lambda: at.softmax(X + V), [TALL, np.ones(3)], "x + v AT: extents along axis 1 differ: v_0 = 3"),
    ([X, V], lambda: aot.grad((X.T @ V).sum(), X), [TALL, np.ones(4)], "x.T @ v AT: inner dimensions differ: v_0 = 4"),
    ([K], lambda: at.zeros((K, 2)), [-3], "zeros((k, 2)) AT: extent -3 is negative"),
    ([X], lambda: X.squeeze(0), [TALL], "x AT: axis 0 has extent 3, only extent 1 can be dropped"),
    ([K], lambda: at.arange(0, K, K - K), [3], "arange(0, k, k - k) AT: step must not be 0"),
]
HERE = Path(__file__).name


@pytest.mark.parametrize(("inputs", "build", "values", "text"), MESSAGES, ids=range(len(MESSAGES)))
def test_messages_say_what_was_written(
    inputs: list[Any], build: Callable[[], Any], values: list[Any], text: str
) -> None:
    f = aot.function(inputs, build(), name="f")
    pattern = re.escape(text).replace("AT:", rf"at {re.escape(HERE)}:\d+:")
    with pytest.raises(AotensorError) as found:
        f(*values)
    assert re.match(f"f: {pattern}", str(found.value))
    with pytest.raises(AotensorError) as found:
        f.reference(*values)
    place = pattern.partition(r"\d+:")[0]
    assert re.match(place, str(found.value))


def test_the_header_and_the_manifest_say_it_too(tmp_path: Path) -> None:
    f = aot.function([X, Y, J], {"z": (X.T @ Y)[J]}, name="f")
    artifact = aot.compile(f, tmp_path)
    header = artifact.header.read_text()
    comment = re.sub(r"\n \* *", " ", header)
    assert re.search(rf"x\.T @ y at {HERE}:\d+: inner dimensions differ: y_0 and x_0 ", comment)
    assert re.search(rf"\(x\.T @ y\)\[i\] at {HERE}:\d+: an index is out of range", comment)
    (spec,) = artifact.load().manifest.functions
    assert any(check.message.startswith("x.T @ y at") for check in spec.checks)


EXPRESSIONS = [
    (lambda: X.T @ Y, "x.T @ y"),
    (lambda: X + Y * 2 - V, "x + y * 2.0 - v"),
    (lambda: (X + Y) * V, "(x + y) * v"),
    (lambda: X - (Y - V), "x - (y - v)"),
    (lambda: X / (Y * V), "x / (y * v)"),
    (lambda: -(X**2), "-x**2"),
    (lambda: (-X) ** 2, "(-x)**2"),
    (lambda: X**Y**V, "x**y**v"),
    (lambda: (X**Y) ** V, "(x**y)**v"),
    (lambda: X[1:, K], "x[1:, k]"),
    (lambda: X[::K], "x[::k]"),
    (lambda: X[:, J], "x[:, i]"),
    (lambda: X[:, None] + V, "x + v"),
    (lambda: (X + Y)[0], "(x + y)[0]"),
    (lambda: X.sum(axis=0), "sum(x, axis=0)"),
    (lambda: X.shape[0], "x.shape[0]"),
    (lambda: at.switch(X > 0, X, 0), "switch(x > 0.0, x, 0.0)"),
    (lambda: at.linalg.svd(X)[1], "svd(x)[1]"),
    (lambda: sp.csm_data(A.T), "A.T.data"),
    (lambda: at.set_subtensor(X[0], 1), "set_subtensor(x[0], 1.0)"),
    (lambda: at.exp(X).astype("float32"), "exp(x)"),
    (lambda: at.constant([1, 2, 3]), "[1, 2, 3]"),
    (lambda: at.inc_subtensor(X[1:, K], Y[1:, K]), "inc_subtensor(x[1:, k], y[1:, k])"),
    (lambda: at.tensordot(X, Y, axes=[[0], [0]]), "x.T @ y"),
    (lambda: at.outer(V, X[0]), "outer(v, x[0])"),
    (lambda: at.full_like(X, 2), "full_like(x, 2)"),
    (lambda: at.zeros_like(X), "zeros_like(x)"),
    (lambda: at.eye(3, k=1) + at.tri(3), "eye(3, 3, k=1) + tri(3, 3)"),
    (lambda: at.tril(X) + at.diag(V), "tril(x) + diag(v)"),
    (
        lambda: at.sin(at.exp(X + V) + at.cos(X + Y + X + Y + X + Y) * at.tanh(Y + X + Y + V + X)) @ (V / V.sum()),
        "sin(exp(x + v) + cos(... + y) * tanh(...)) @ (v / sum(v))",
    ),
    (lambda: X.dimshuffle(1, 0), "x.T"),
    (lambda: at.dvector(), "<float64[?]>"),
]


@pytest.mark.parametrize(("build", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_variables_print_as_they_were_written(build: Callable[[], Any], text: str) -> None:
    assert str(build()) == text


def test_long_expressions_are_cut() -> None:
    x = V
    for _ in range(1000):
        x = at.exp(x + W) * W
    text = expression_of(x, longest=40)
    assert len(text) <= 40
    assert "..." in text
    with called({W: "weight"}):
        assert expression_of(at.exp(W)) == "exp(weight)"


def test_no_internal_names_in_any_message(tmp_path: Path) -> None:
    """Names of ops with the number of an output, as in `dimshuffle.0`, mean nothing to a user."""
    functions = [
        aot.function(inputs, build(), name=f"f{k}", on_unused_input="ignore")
        for k, (inputs, build, _, _) in enumerate(MESSAGES)
    ]
    for spec in aot.compile(functions, tmp_path, name="all").load().manifest.functions:
        for check in spec.checks:
            assert not re.search(r"\b[a-z_]+\.\d", check.message), check.message


def test_bounds_of_a_slice_may_be_written_with_a_question_mark() -> None:
    """As those are that depend on an input without name."""
    first, unnamed = at.cast(U.sum(), "int64"), at.cast(U.max(), "int64")
    assert str(V[first:unnamed]) == f"v[{first}:{unnamed}]" and "?" in str(first)
