"""The state of the generator on the C side: an input and an output, held by the caller."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from needs import NEEDS

import aotensor as aot
import aotensor.tensor as at

CC = NEEDS["cc"].path
START = np.array([0x0123456789ABCDEF, 41], "uint64")


def walk() -> aot.Function:
    """Normal steps and Poisson counts of some scales, and the state after them."""
    state, scale = at.tensor("state", dtype="uint64", shape=(2,)), at.vector("scale", shape=("n",))
    following, x = at.random.normal(state, 0.0, scale)
    following, counts = at.random.poisson(following, scale)
    return aot.function([state, scale], {"x": x, "counts": counts, "next_state": following}, name="walk")


@pytest.mark.needs("cc")
def test_a_client_holds_the_state(tmp_path: Path) -> None:
    f = walk()
    aot.compile(f, tmp_path)
    source, program = Path(__file__).parent / "walk_client.c", tmp_path / "client"
    command = [str(CC), "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}", str(source), "-o", str(program)]
    built = subprocess.run(
        [*command, f"-L{tmp_path}", "-lwalk", "-lm", "-Wl,-rpath,$ORIGIN"], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    *steps, repeated, draws, message = done.stdout.splitlines()
    scale, state, firsts = np.array([0.5, 1.0, 2.0, 4.0, 80.0]), START, []
    for line in steps:
        found = f(state, scale)
        numbers = np.array([float(word) for word in line.split()]).reshape(5, 2)
        np.testing.assert_array_equal(numbers[:, 0], found["x"])
        np.testing.assert_array_equal(numbers[:, 1], found["counts"])
        state = found["next_state"]
        firsts.append(float(found["x"][0]))
    assert float(repeated) == firsts[1] and int(draws) == 41 + 2 * 3
    assert "normal: scale has an element that is not at least 0" in message


def test_the_state_of_a_stream_is_in_the_header(tmp_path: Path) -> None:
    f = aot.function([], {"x": at.RandomStream(1).uniform(size=3)}, name="three")
    header = Path(aot.compile(f, tmp_path).header).read_text()
    assert "rng0      in  uint64[2]  state, held by the caller" in header
    assert "new_rng0  out uint64[2]  next value of rng0" in header
    assert "int32_t three(const uint64_t *rng0, double *x, uint64_t *new_rng0, void *workspace);" in header


def test_a_loaded_library_goes_on_by_itself(tmp_path: Path) -> None:
    stream = at.RandomStream(1)
    f = aot.function([], {"x": stream.uniform(size=3)}, name="three")
    lib = aot.compile(f, tmp_path).load()
    for _ in range(3):
        np.testing.assert_array_equal(lib.three()["x"], f()["x"])
    lib.three.state["rng0"] = at.random.first_state(1)
    stream.seed(1)
    np.testing.assert_array_equal(lib.three()["x"], f()["x"])


def test_a_checking_build_finds_nothing(tmp_path: Path) -> None:
    """Every access within bounds, in loops around and inside of samplers."""
    n = at.lscalar("n")
    stream = at.RandomStream(2)
    outputs = {
        "gamma": stream.gamma(0.5, 2.0, (n, 3)),
        "multinomial": stream.multinomial(9, np.array([0.2, 0.3, 0.5]), n),
        "order": stream.permutation(n),
        "kinds": stream.categorical(np.array([0.2, 0.8]), (n,)),
    }
    f = aot.function([n], outputs, name="guarded")
    lib = aot.compile(f, tmp_path, check=True).load()
    for extent in (0, 1, 2, 17):
        found, expected = lib.guarded(extent), f.reference(extent)
        for name, x in expected.items():
            np.testing.assert_allclose(found[name], x, rtol=1e-11)
    with pytest.raises(ValueError, match="negative"):
        lib.guarded(-1)
