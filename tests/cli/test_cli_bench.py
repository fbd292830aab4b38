"""`aotensor bench`: rows for sizes and threads, the machine's limits, another library, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import Call

import aotensor as aot
import aotensor.tensor as at
from aotensor.api.cost.inputs import dims_of, make_inputs
from aotensor.api.cost.limits import Limits
from aotensor.api.cost.work import flops_of
from aotensor.errors import ArgumentValueError
from aotensor_cli.benching.inputs import parse_sizes
from aotensor_runtime import load

QUICK = ("--seconds", "0.01", "--no-limits")

SPARSE = """
import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

A = sp.csr_matrix("A", shape=("n", "m"))
S = at.matrix("S", shape=("k", "k"))
x = at.vector("x", shape=("m",))
i = at.lvector("i", shape=("n",))
product = aot.function([A, x], sp.dot(A, x), name="product")
factor = aot.function([S], aot.tensor.linalg.cholesky(S), name="factor")
picked = aot.function([x, i], x[i], name="picked")
"""


def test_a_row_for_each_size_and_number_of_threads(spawn: Call, library: Path) -> None:
    sizes = ("--sizes", "n=20,p=3", "--sizes", "n=40,p=3")
    answer = spawn("bench", f"{library}:logistic_grad", *sizes, "--threads", "1,2", "--json", "--seconds", "0.01")
    assert answer.code == 0, answer.err
    rows = json.loads(answer.out)["rows"]
    assert [(row["sizes"]["n"], row["threads"]) for row in rows] == [(20, 1), (20, 2), (40, 1), (40, 2)]
    for row in rows:
        n = row["sizes"]["n"]
        assert row["bytes"] == 8 * (3 * n + n + 3 + 1 + 3)
        assert row["flops"] > 4 * 3 * n
        assert 0 < row["seconds"]["best"] <= row["seconds"]["low"] <= row["seconds"]["median"] <= row["seconds"]["high"]
        assert row["limits"].keys() == {
            "bytes_per_second", "flops_per_second", "product_flops_per_second", "gathers_per_second"
        }  # fmt: skip
        assert all(1e6 < rate < 1e14 for rate in row["limits"].values())
        assert 0 < row["share_of_limit"] <= 1  # what fits in caches is held against a stream over as many bytes


def test_a_model_and_its_table(call: Call, small: Path) -> None:
    answer = call("bench", small, *QUICK, "--threads", "1")
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[0].split() == [
        "function",
        "sizes",
        "threads",
        "time",
        "spread",
        "GB/s",
        "GFLOP/s",
        "of",
        "limit",
    ]


def test_what_the_machine_can_do(call: Call, small: Path) -> None:
    answer = call("bench", small, "--seconds", "0.01", "--threads", "1")
    assert answer.code == 0, answer.err
    last = answer.out.splitlines()[-1]
    assert re.fullmatch(
        r"limit, 1 thread: [\d.]+ GB/s, [\d.]+ GFLOP/s; [\d.]+ GFLOP/s in matrix products, \d+ million gathers/s", last
    )


def test_the_least_time_is_that_of_the_slower_limit() -> None:
    limits = Limits(bandwidth=1e9, flops=2e9, products=4e9, gathers=1e8)
    assert limits.least_seconds(bytes=1e9, flops=0.0, has_products=False) == 1.0
    assert limits.least_seconds(bytes=1e9, flops=8e9, has_products=False) == 4.0
    assert limits.least_seconds(bytes=1e9, flops=8e9, has_products=True) == 2.0


def test_inputs_that_functions_take(call: Call, tmp_path: Path) -> None:
    """Sparse matrices, matrices that have a factorisation, and integers that are positions."""
    model = tmp_path / "model.py"
    model.write_text(SPARSE)
    answer = call("bench", model, *QUICK, "--sizes", "n=30,m=20,k=5,A_nnz=77", "--json")
    assert answer.code == 0, answer.err
    rows = {row["function"]: row for row in json.loads(answer.out)["rows"]}
    assert rows["product"]["sizes"] == {"n": 30, "m": 20, "A_nnz": 77}
    assert set(rows) == {"product", "factor", "picked"}
    answer = call("bench", f"{model}:product", *QUICK, "--sizes", "n=30,m=2", "--json")
    assert json.loads(answer.out)["rows"][0]["sizes"]["A_nnz"] == 60, "no more entries than there is room for"
    answer = call("bench", f"{model}:product", *QUICK, "--sizes", "n=30,m=2,A_nnz=61")
    assert (answer.code, "A_nnz=61, but A has 30x2 elements" in answer.err) == (2, True), answer.err


def test_a_library_to_compare_with(call: Call, library: Path, tmp_path: Path) -> None:
    answer = call("bench", f"{library}:doubled", *QUICK, "--threads", "1", "--compare", library)
    assert answer.code == 0, answer.err
    assert "x as long" in answer.out
    other = tmp_path / "other.py"
    other.write_text(
        "import aotensor as aot, aotensor.tensor as at\n"
        "w = at.vector('w', shape=('p',))\ndoubled = aot.function([w], 3 * w, name='doubled')\n"
    )
    assert call("compile", other, "-o", tmp_path).code == 0
    differs = call("bench", f"{library}:doubled", *QUICK, "--compare", tmp_path / "libdoubled.so")
    assert differs.code == 1
    assert "doubled: out differs from the other library" in differs.err
    assert call("bench", library, *QUICK, "--compare", tmp_path / "libdoubled.so").code == 2


def test_a_library_that_this_must_not_be_slower_than(call: Call, small: Path) -> None:
    slow = small.with_name("slow.py")
    slow.write_text(small.read_text().replace("2 * x", "at.arctan(at.tan(at.log(at.exp(x)))) * 2"))
    for model, folder in ((small, "fast"), (slow, "slow")):
        assert call("compile", model, "-o", small.parent / folder).code == 0
    fast, slower = (small.parent / folder / "libf.so" for folder in ("fast", "slow"))
    quick = ("--sizes", "n=2000", "--threads", "1", "--seconds", "0.1", "--no-limits")
    answer = call("bench", slower, *quick, "--against", fast, "--json")
    found = json.loads(answer.out)
    assert answer.code == 1 and "f at n=2000 on 1 thread takes" in found["slow"][0] in answer.err
    ratio = found["rows"][0]["against"]
    assert 1.05 < ratio["low"] <= ratio["ratio"] <= ratio["high"] and ratio["verdict"] == "slower"
    answer = call("bench", fast, *quick, "--against", slower, "--max-slowdown", "0%")
    assert answer.code == 0 and "95 % interval" in answer.out, answer.err
    answer = call("bench", fast, *quick, "--max-slowdown", "5%")
    assert answer.code == 2 and "--max-slowdown needs --against" in answer.err


DIAGONAL = """
import aotensor as aot, aotensor.sparse as sp, aotensor.tensor as at
x = at.vector("x", shape=(5,))
f = aot.function([x], {{"{name}": sp.CSR(x, at.arange(5){shift}, at.arange(6), (5, 6))}}, name="f")
"""


def test_libraries_that_give_other_patterns_or_names_differ(call: Call, tmp_path: Path) -> None:
    for folder, name, shift in (("one", "Z", ""), ("two", "Z", " + 1"), ("three", "Y", "")):
        (tmp_path / f"{folder}.py").write_text(DIAGONAL.format(name=name, shift=shift))
        assert call("compile", tmp_path / f"{folder}.py", "-o", tmp_path / folder).code == 0
    one, two, three = (tmp_path / x / "libf.so" for x in ("one", "two", "three"))
    assert call("bench", one, *QUICK, "--compare", one).code == 0
    answer = call("bench", one, *QUICK, "--compare", two)
    assert (answer.code, "f: Z has another sparsity pattern" in answer.err) == (1, True), answer.err
    answer = call("bench", one, *QUICK, "--compare", three)
    assert (answer.code, "f: the other library gives Y, not Z" in answer.err) == (1, True), answer.err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--sizes", "n"), "--sizes 'n' is not understood"),
        (("--sizes", "n=-3"), "--sizes 'n=-3' is not understood"),
        (("--sizes", "rows=3"), "no function has a dim rows"),
        (("--threads", "0"), "--threads '0' is not understood"),
        (("--threads", "two"), "--threads 'two' is not understood"),
        (("--threads", "9" * 5000), "is not understood"),
        (("--sizes", f"n={'9' * 5000}"), "is not understood"),
        (("--seconds", "0"), "--seconds"),
        (("--compare", "nowhere.so"), "nowhere.so"),
        (("--against", "nowhere.so"), "nowhere.so"),
        (("--against", "nowhere.so", "--max-slowdown", "little"), "write a percentage, such as 5%"),
    ],
)
def test_wrong_use(call: Call, library: Path, arguments: tuple[str, str], what: str) -> None:
    answer = call("bench", library, *QUICK[2:], *arguments)
    assert answer.code == 2
    assert what in answer.err


def test_sizes_of_dims(library: Path) -> None:
    f = load(library).logistic_grad
    assert parse_sizes("n=3, p=4") == {"n": 3, "p": 4}
    assert dims_of(f.spec, {"n": 3}) == {"n": 3, "p": 1000}
    with pytest.raises(ArgumentValueError, match="no dim q"):
        dims_of(f.spec, {"q": 3})
    inputs = make_inputs(f, {"n": 3, "p": 2}, seed=1)
    assert {name: x.shape for name, x in inputs.items()} == {"X": (3, 2), "y": (3,), "w": (2,)}
    assert all(np.array_equal(x, make_inputs(f, {"n": 3, "p": 2}, seed=1)[name]) for name, x in inputs.items())


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64"])
def test_inputs_of_halves_and_complex_dtypes(dtype: str, tmp_path: Path) -> None:
    """Parts between 0.1 and 0.9; square matrices Hermitian and definite, so that they have factors."""
    pytest.importorskip("ml_dtypes")
    a, v = at.matrix("a", dtype=dtype, shape=("n", "n")), at.vector("v", dtype=dtype, shape=("p",))
    library = aot.compile(aot.function([a, v], [a * 2, v * 2], name="f"), tmp_path, opt_level=0).load()
    inputs = make_inputs(library.f, {"n": 4, "p": 50}, seed=0)
    a_, v_ = (x.astype("complex128") for x in (inputs["a"], inputs["v"]))
    assert inputs["a"].dtype.name == dtype
    assert np.array_equal(a_, a_.conj().T)
    assert np.linalg.eigvalsh(a_).min() > 1
    assert len(set(v_.tolist())) > 40
    assert v_.real.min() >= 0.1 - 1e-3 and v_.real.max() < 0.9 + 1e-3
    assert (v_.imag > 0).all() if dtype.startswith("complex") else not v_.imag.any()


def test_operations_by_formula(library: Path) -> None:
    lib = load(library)
    assert flops_of(lib, "doubled", {"p": 10}) == (10.0, True)
    assert flops_of(lib, "nothing", {}) == (None, False)
