"""from_jax at the door: names, trees, symbolic extents, dtypes, what is refused and where it comes from."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402  (they need JAX)
from jax import lax  # noqa: E402

import aotensor as aot  # noqa: E402
from aotensor.errors import GraphTypeError, GraphValueError  # noqa: E402
from aotensor.importers.jax import COUNTERPARTS, NoCounterpart, from_jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

ROOT = Path(__file__).parents[2]
X = np.arange(6.0).reshape(2, 3)


def spec(*shape: Any, dtype: str = "float64") -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


def test_trees_give_names() -> None:
    def step(state: Any, /, x: Any, *rest: Any, scale: float = 1.0) -> Any:
        return {"loss": (state["w"][0] * x).sum() * scale, "next": (x, rest[0])}

    f = from_jax(step, {"w": (spec(), 1.0)}, spec(3), spec(2), static={})
    assert list(f.arguments) == ["state_w_0", "state_w_1", "x", "rest0"]
    assert list(f.results) == ["loss", "next_0", "next_1"]
    assert f.name == "step"
    assert list(from_jax(lambda *a: a[0], spec(), spec()).arguments) == ["a0", "a1"]


def test_results_keep_their_kind() -> None:
    assert isinstance(from_jax(lambda x: x.sum(), X).reference(X), np.ndarray)
    assert isinstance(from_jax(lambda x: (x, x + 1), X).reference(X), list)
    found = from_jax(lambda x: (x.sum(), {"w": x}), X).reference(X)
    assert list(found) == ["out0", "out1_w"]
    constant, same = from_jax(lambda x: [jnp.ones(2), x], X).reference(X)
    np.testing.assert_array_equal(constant, [1, 1])
    np.testing.assert_array_equal(same, X)


def test_arguments_that_are_fixed_are_no_inputs() -> None:
    def power(x: Any, n: int, y: Any) -> Any:
        return x**n + y

    f = from_jax(power, spec(), spec(), static={"n": 3}, name="cube")
    assert (f.name, list(f.arguments), f.reference(2.0, 1.0)) == ("cube", ["x", "y"], 9)


def test_symbolic_extents_are_named_dims() -> None:
    n, m = jax.export.symbolic_shape("n, m")

    def program(x: Any, y: Any) -> Any:
        joined = jnp.concatenate([x[1:], x[:-1]])
        return {
            "sums": lax.scan(lambda c, row: (c + row.sum(), c), 0.0, x),
            "mean": x.mean(0), "flat": x.reshape(-1), "joined": joined, "last": x[-1], "padded": jnp.pad(x[:, 0], 2),
            "steps": jnp.arange(x.shape[0] // 2 + 1), "y": y + 1, "max": lax.max(x, 0.0).max(),
        }  # fmt: skip

    f = from_jax(program, spec(n, m), spec(2 * n))
    assert f.arguments["x"].tensor_type.shape == ("n", "m")
    for shape in ((4, 3), (1, 1), (3, 2)):
        x, y = np.random.default_rng(0).normal(size=shape), np.ones(2 * shape[0])
        found, wanted = f.reference(x, y), jax.tree.leaves(program(x, y))
        for key, value in zip(jax.tree_util.tree_flatten_with_path(program(x, y))[0], wanted, strict=True):
            name = jax.tree_util.keystr(key[0], simple=True, separator="_")
            np.testing.assert_allclose(found[name], value, 1e-12, err_msg=name)
    with pytest.raises(GraphValueError, match="extent 5 along axis 0 instead of 4"):
        f.reference(np.ones((2, 2)), np.ones(5))
    empty = from_jax(lambda x: lax.scan(lambda c, row: (c + row, c * row), 7.0, x), spec(n))
    assert [x.tolist() for x in empty.reference(np.zeros(0))] == [7, []]
    assert [x.tolist() for x in empty(np.zeros(0))] == [7, []]
    extremes = from_jax(lambda x: (jnp.max(x, initial=-jnp.inf), lax.reduce_min_p.bind(x, axes=(0,))), spec(n))
    for call in (extremes, extremes.reference):
        assert [float(y) for y in call(np.zeros(0))] == [-np.inf, np.inf]


def test_an_extent_that_is_only_part_of_others_is_refused() -> None:
    (n,) = jax.export.symbolic_shape("n")
    with pytest.raises(
        GraphValueError, match=r"the symbolic dim n, used in 2\*n, is not the extent of an axis of any input"
    ):
        from_jax(lambda x: x, spec(2 * n))


def test_all_that_has_no_counterpart_is_in_one_error() -> None:
    def program(x: Any, a: Any) -> Any:
        y = lax.scan(lambda c, row: (c, lax.linalg.tridiagonal_solve(row, row, row, row[:, None])[0, 0]), 0.0, x)[1]
        z = lax.cond(x.sum() > 0, lambda: lax.approx_max_k(x, 2)[0], lambda: x[:, 1:])
        return (
            y,
            z,
            lax.linalg.hessenberg(a)[0],
            x.astype("float8_e4m3fn"),
            jax.random.bits(jax.random.key(0, impl="rbg")),
        )

    with pytest.raises(NoCounterpart) as found:
        from_jax(program, spec(2, 3), spec(2, 2))
    names = [op.name for op in found.value.operations]
    assert names[:2] == ["tridiagonal_solve", "approx_top_k"]
    assert {"hessenberg", "convert_element_type", "random_bits"} <= set(names)
    lines = {op.name: op.place for op in found.value.operations}
    first = program.__code__.co_firstlineno
    assert lines["tridiagonal_solve"] == f"test_jax_door.py:{first + 1}"
    assert lines["approx_top_k"] == f"test_jax_door.py:{first + 2}"
    assert "float8_e4m3fn" in str(found.value)
    assert not {"tridiagonal_solve", "approx_top_k", "hessenberg"} & set(COUNTERPARTS)


def test_variables_say_where_the_user_made_them() -> None:
    def program(x: Any) -> Any:
        y = jnp.sin(x)
        return jnp.cos(y)

    text = from_jax(program, spec(2)).ir("graph")
    first = program.__code__.co_firstlineno
    assert f"sin(%x)   # test_jax_door.py:{first + 1}" in text
    assert f"# test_jax_door.py:{first + 2}" in text
    drawn = from_jax(lambda words: jax.random.bits(words), spec(2, dtype="uint32")).ir("graph")
    places = {line.partition("# ")[2] for line in drawn.splitlines() if line.startswith("  %")}
    assert places == {f"test_jax_door.py:{first + 8}"}


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: from_jax(3, X), GraphTypeError, "expected a function of JAX, found int"),
        (lambda: from_jax(lambda x: x, "a"), GraphTypeError, "x is str 'a', not an array"),
        (lambda: from_jax(lambda x: x.sum(), X, grad="y"), GraphValueError, "'y' is not an input"),
        (lambda: from_jax(lambda x: x, X, grad="x"), GraphTypeError, "not a floating scalar"),
        (lambda: from_jax(lambda x: x, X, name="a b"), GraphValueError, "not a C identifier"),
        (lambda: from_jax(lambda x: x, spec(2, dtype="int4")), aot.errors.UnsupportedError, "int4"),
    ],
)
def test_what_is_no_program_is_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_dtypes_that_jax_would_narrow_are_refused() -> None:
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(GraphTypeError, match="x has dtype float64, but JAX converts it to float32"):
            from_jax(lambda x: x, X)
        narrow = from_jax(lambda x, y: x * y, X.astype("float32"), 1.0)
        assert [x.dtype for x in (*narrow.arguments.values(), *narrow.results.values())] == ["float32"] * 3
    finally:
        jax.config.update("jax_enable_x64", True)


def test_the_command_line_finds_it(tmp_path: Any) -> None:
    """A model file with a function of JAX is compiled like any other."""
    from aotensor_cli.model import load_model

    path = tmp_path / "model.py"
    path.write_text(
        "import jax\nfrom aotensor.importers.jax import from_jax\n"
        "double = from_jax(lambda x: x * 2, jax.ShapeDtypeStruct((3,), 'float32'), name='double')\n"
    )
    (f,) = load_model(str(path)).functions
    assert repr(f) == "<Function double(x: float32[3]) -> out: float32[3]>"


def test_the_example_agrees_with_jax(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "from_jax.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    difference = re.search(r"largest relative difference from JAX: (\S+)", done.stdout)
    assert difference and float(difference[1]) < 1e-11
    assert (tmp_path / "build" / "predators.h").exists()


def test_halves_are_halves() -> None:
    def program(x: Any) -> Any:
        return jnp.exp(x) * 2, (x @ x.T).sum(), x.astype("float32")

    for dtype in ("float16", "bfloat16"):
        x = np.linspace(-1, 1, 6).reshape(2, 3).astype(dtype)
        for found, wanted in zip(from_jax(program, spec(2, 3, dtype=dtype))(x), jax.jit(program)(x), strict=True):
            assert str(found.dtype) == str(wanted.dtype)
            close = {"rtol": 2e-2, "atol": 2e-2}
            np.testing.assert_allclose(np.asarray(found, "float32"), np.asarray(wanted, "float32"), **close)


def test_functions_have_names_that_c_has_not() -> None:
    one = jax.ShapeDtypeStruct((2,), "float32")
    names = {"cos_": jnp.cos, "softplus": jax.nn.softplus, "function": lambda x: x, "call": jnp.cos.__call__}
    assert [from_jax(function, one).name for function in names.values()] == list(names)
    np.testing.assert_allclose(from_jax(jnp.cos, one)(np.zeros(2, "float32")), 1)
