"""`aotensor compile`: files, texts, derived functions, and nothing half-written."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import LOGISTIC, Call

from aotensor.driver.stages import ELSEWHERE, FORMS, TEXTS
from aotensor_cli.compile import dependency_rule
from aotensor_runtime import load


def test_writes_library_and_header_and_says_so(library: Path) -> None:
    header = library.with_name("logistic.h")
    assert header.read_text().count("int32_t logistic_grad(") == 1
    functions = load(library).functions
    assert list(functions) == ["logistic", "doubled", "logistic_grad", "logistic_hvp"]


def test_derived_functions_give_gradient_and_hessian_product(library: Path) -> None:
    rng = np.random.default_rng(3)
    X, y, w, t = rng.normal(size=(7, 3)), np.sign(rng.normal(size=7)), rng.normal(size=3), rng.normal(size=3)
    lib = load(library)
    found = lib.logistic_hvp(X, y, w, t)
    assert list(found) == ["loss", "grad_w", "hvp_w"]
    s = 1 / (1 + np.exp(y * (X @ w)))
    np.testing.assert_allclose(found["grad_w"], -(X.T @ (y * s)) / 7, rtol=1e-12)
    np.testing.assert_allclose(found["hvp_w"], X.T @ (s * (1 - s) * (X @ t)) / 7, rtol=1e-10)
    np.testing.assert_allclose(lib.logistic_grad(X, y, w)["grad_w"], found["grad_w"], rtol=1e-12)


def test_dependency_file_names_what_was_read(library: Path, model: Path) -> None:
    rule = library.with_name("model.d").read_text()
    assert rule == f"{library} {library.with_name('logistic.h')}: {model}\n"


def test_dependency_file_names_modules_of_the_own_folder(tmp_path: Path, spawn: Call) -> None:
    (tmp_path / "layers.py").write_text("def double(x):\n    return x + x\n")
    (tmp_path / "net.py").write_text(
        "import aotensor as aot, aotensor.tensor as at, layers\n"
        "x = at.vector('x')\nf = aot.function([x], layers.double(x))\n"
    )
    assert spawn("compile", "net.py", "--depfile", "net.d", "-o", "out", cwd=tmp_path).code == 0
    rule = (tmp_path / "net.d").read_text()
    layers = (tmp_path / "layers.py").resolve()
    assert rule == f"out/libf.so out/f.h: net.py {layers}\n\n{layers}:\n"


def test_dependency_rule_escapes() -> None:
    assert dependency_rule([Path("a b")], [Path("m$.py"), Path("c#")]) == "a\\ b: m$$.py c\\#\n\nc\\#:\n"


@pytest.mark.parametrize("form", sorted(TEXTS - ELSEWHERE))
def test_texts_go_to_stdout(call: Call, model: Path, form: str, tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        answer = call("compile", f"{model}:twice", "--emit", form)
    assert answer.code == 0
    assert "doubled" in answer.out
    assert "said while loading" in answer.err
    assert os.listdir(tmp_path) == []
    if form in ("loops", "tensor", "tensor-opt"):
        assert answer.out.startswith("builtin.module {\n")
    if form == "manifest":
        assert json.loads(answer.out)["name"] == "doubled"


def test_every_form_as_a_file(call: Call, model: Path, tmp_path: Path) -> None:
    forms = [form for form in FORMS if form not in ELSEWHERE]
    options = [part for form in forms for part in ("--emit", form)]
    answer = call("compile", f"{model}:twice", "-o", tmp_path / "new" / "folder", "--name", "all", *options)
    assert answer.code == 0, answer.err
    written = answer.out.splitlines()
    assert written == [str(tmp_path / "new" / "folder" / FORMS[form].format("all")) for form in forms]
    assert all(Path(path).stat().st_size > 0 for path in written)
    assert Path(written[1]).read_bytes().startswith(b"!<arch>\n")


def test_prefix_goes_before_every_symbol(call: Call, model: Path, tmp_path: Path) -> None:
    assert call("compile", f"{model}:twice", "-o", tmp_path, "--prefix", "my_").code == 0
    answer = call("inspect", tmp_path / "libdoubled.so", "--json")
    symbols = json.loads(answer.out)["symbols"]
    assert symbols and all(name.startswith("my_") for name in symbols)
    np.testing.assert_array_equal(load(tmp_path / "libdoubled.so").doubled(np.arange(3.0)), [0, 2, 4])


@pytest.mark.unlimited("the promise of equal bytes", "ci")
def test_same_model_gives_same_bytes_in_other_processes(spawn: Call, tmp_path: Path) -> None:
    for number in ("1", "2"):
        (tmp_path / number).mkdir()
        (tmp_path / number / "model.py").write_text(LOGISTIC)
        assert spawn("compile", "model.py", "--grad", "w", cwd=tmp_path / number, PYTHONHASHSEED=number).code == 0
    for name in ("liblogistic.so", "logistic.h"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_json_lists_files_and_steps(call: Call, model: Path, tmp_path: Path) -> None:
    tree = json.loads(call("compile", f"{model}:twice", "-o", tmp_path, "--json").out)
    assert tree["files"] == [str(tmp_path / "libdoubled.so"), str(tmp_path / "doubled.h")]
    assert {"canonicalize", "lower", "link"} <= {step["name"] for step in tree["steps"]}


def test_time_passes_is_talk(call: Call, model: Path, tmp_path: Path) -> None:
    answer = call("compile", f"{model}:twice", "-o", tmp_path, "--time-passes", "--check")
    assert answer.out.splitlines() == [str(tmp_path / "libdoubled.so"), str(tmp_path / "doubled.h")]
    assert "emit-loops" in answer.err


def test_dump_writes_every_stage(spawn: Call, model: Path, tmp_path: Path) -> None:
    answer = spawn("compile", f"{model}:twice", "-o", tmp_path, "--dump-ir", tmp_path / "ir")
    assert answer.code == 0
    names = sorted(path.name for path in (tmp_path / "ir").iterdir())
    assert names[0] == "00-graph.txt"
    assert [name.split("-", 1)[1] for name in names[-3:]] == ["llvm.ll", "llvm-opt.ll", "asm.s"]


def test_cross_compiles_an_object(call: Call, model: Path, tmp_path: Path) -> None:
    answer = call("compile", f"{model}:twice", "-o", tmp_path, "--target", "aarch64-linux-gnu", "--emit", "obj")
    assert answer.code == 0, answer.err
    assert (tmp_path / "doubled.o").read_bytes()[18] == 183  # e_machine of AArch64


@pytest.mark.parametrize(
    ("options", "code", "title"),
    [
        (("--cpu", "v2,v9"), 2, "'v9' is not a level of x86-64 CPUs"),
        (("--opt-size", "-O", "1"), 2, "opt_size is not supported at optimisation level 1"),
        (("--target", "soup"), 2, "target soup is not known to LLVM"),
        (("--features", "soup"), 2, "cpu features 'soup' are not understood"),
        (("--prefix", "1-"), 2, "--prefix '1-' cannot begin a C identifier"),
        (("--name", "../up"), 2, "--name '../up' is not a file name"),
        (("--grad", "w,soup"), 2, "--grad: no function has an input soup"),
        (("--grad", ","), 2, "--grad ',' is not understood"),
        (("--memory", ""), 2, "--memory must be a number of bytes, such as 64M or 67108864, not ''"),
        (("--memory", "1M", "--sizes", "soup=3"), 2, "sizes: there is no dim soup"),
        (("--memory", "1M", "--sizes", "n=3,n=4"), 2, "--sizes 'n=3,n=4' gives n two extents"),
        (("--weights", "--weights-from", "soup"), 2, "--weights-from must be a number of bytes"),
        (("--dim", "n=3", "--dim", "n=4"), 2, "--dim gives 'n' two values: 3 and 4"),
        (("--dim", f"n={2**63}"), 2, "--dim: an extent of 9223372036854775808 is too large"),
        (("--shape", "x=1,?", "--shape", "x=1,2"), 2, "--shape gives 'x' two values: 1,? and 1,2"),
        (("--cpu", ""), 2, "the name of the target or CPU is empty"),
        (("--emit", "llvm", "--depfile", "x.d"), 2, "--depfile needs output files"),
    ],
)
def test_wrong_options(
    call: Call,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    code: int,
    title: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = call("compile", model, *options)
    assert (answer.code, answer.out) == (code, "")
    lines = answer.err.splitlines()
    assert any(line.startswith(f"error: {title}") for line in lines[:2]), "after what it compiles, if it got so far"
    assert len(lines) <= 3
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("option", "value", "meant"),
    [
        ("--cpu", "haswel", "haswell"),
        ("--target", "x86_64-linux-gnuu", "x86_64-linux-gnu"),
        ("--target", "aarch65-linux-gnu", "aarch64-linux-gnu"),
        ("--features", "+avx22", "avx2"),
        ("--emit", "nests", "nest"),
        ("--disable-pass", "fuze", "fuse"),
    ],
)
def test_misspelt_values(call: Call, model: Path, tmp_path: Path, option: str, value: str, meant: str) -> None:
    answer = call("compile", model, "-o", tmp_path / "out", option, value)
    assert (answer.code, answer.out) == (2, "")
    assert re.search(rf"did you mean [^?]*\b{meant}\b[^?]*\?", answer.err), answer.err


@pytest.mark.parametrize("command", ["bench", "inspect", "profile", "verify"])
def test_a_library_has_its_extents(call: Call, library: Path, command: str) -> None:
    answer = call(command, library, "--dim", "n=3")
    assert (answer.code, answer.out) == (2, "") and f"{library}: this is compiled already" in answer.err


def test_gradient_of_a_vector_is_refused(call: Call, model: Path, tmp_path: Path) -> None:
    answer = call("compile", f"{model}:twice", "-o", tmp_path, "--grad", "w")
    assert answer.code == 3
    assert "error: --grad: the first output of doubled must be a floating scalar, out is float64[p]" in answer.err


def test_missing_linker_is_4_and_leaves_nothing(
    call: Call, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aotensor.codegen.targets.linker._has_zig", lambda: False)
    answer = call("compile", model, "-o", tmp_path / "out", PATH="")
    assert (answer.code, answer.out) == (4, "")
    error, hint = answer.err.splitlines()[-2:]
    assert error.startswith("error: no linker for ") and hint.startswith("hint: install a C compiler")
    assert os.listdir(tmp_path) == []


def test_failing_linker_is_4(call: Call, model: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cc").write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
    (tmp_path / "bin" / "cc").chmod(0o755)
    answer = call("compile", model, "-o", tmp_path / "out", PATH=str(tmp_path / "bin"))
    assert answer.code == 4
    assert answer.err.splitlines()[-2:] == ["  no room", "error: the linker cc failed"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("in_the_way", "target"), [("file", "file"), ("file", "file/out"), ("link", "link")])
def test_folder_that_cannot_be_made(call: Call, model: Path, tmp_path: Path, in_the_way: str, target: str) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    answer = call("compile", f"{model}:twice", "-o", tmp_path / target)
    reason = "this is not a folder: remove it, or choose another folder"
    assert answer.code == 2
    assert answer.err.splitlines()[-1] == f"error: {tmp_path / in_the_way}: {reason}"
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_failure_at_the_last_file_takes_the_others_away(call: Call, model: Path, tmp_path: Path) -> None:
    answer = call("compile", f"{model}:twice", "-o", tmp_path / "out", "--depfile", tmp_path / "none" / "x.d")
    assert answer.code == 2
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_folder(call: Call, model: Path, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    answer = call("compile", f"{model}:twice", "-o", tmp_path / "locked")
    assert answer.code == 2
    assert "permission denied" in answer.err


def test_version_travels_in_the_library(library: Path) -> None:
    manifest = load(library).manifest
    assert manifest.name == "logistic"
    stages = {f"ir.{stage}" for stage in ("graph", "graph-opt", "tensor", "tensor-opt", "nest", "loops")}
    assert set(manifest.sections) == {*stages, "passes", "remarks", "vectors", "work", "work.parts"}


def test_passes_are_chosen(call: Call, model: Path, tmp_path: Path) -> None:
    usual, without = (
        call("compile", model, "--emit", "nest", *options).out for options in ((), ("--disable-pass", "strip-mine"))
    )
    assert without.count("nest.for") < usual.count("nest.for")
    assert call("inspect", model, "--stage", "nest", "--disable-pass", "strip-mine").out == without
    pipeline = "expand,lower-to-nest,unroll-and-jam{by=2},emit-loops,plan-memory,expand-math"
    assert call("compile", model, "-o", tmp_path, "--passes", pipeline).code == 0
    library = tmp_path / "liblogistic.so"
    assert load(library).manifest.pipeline == pipeline
    assert pipeline in call("inspect", library).out
    assert "scalar-replacement" not in call("inspect", model, "--remarks", "--passes", pipeline).out


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--disable-pass", "fuze"), "there is no pass 'fuze'", "did you mean fuse?"),
        (
            ("--disable-pass", "emit-loops"),
            "pass emit-loops cannot be left out: it makes the loops that code is generated from",
            "hint",
        ),
        (("--passes", "expand,fuse"), "the pipeline lacks pass lower-to-nest", "put it after expand"),
        (("--passes", "unroll-and-jam{buy=2}"), "pass unroll-and-jam has no option 'buy'", "did you mean by?"),
    ],
)
@pytest.mark.parametrize("command", ["compile", "inspect"])
def test_passes_that_cannot_run_are_one_error(
    call: Call, model: Path, command: str, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    answer = call(command, model, *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err and hint in answer.err and answer.err.count("error:") == 1


def test_a_library_has_its_passes(call: Call, library: Path) -> None:
    answer = call("inspect", library, "--disable-pass", "fuse")
    assert answer.code == 2 and "this is a compiled library" in answer.err


def test_one_line_says_where_it_runs(call: Call, model: Path, tmp_path: Path) -> None:
    """Code for this CPU may not run elsewhere, and WebAssembly has no threads; who asks for quiet knows."""
    said = {
        options: call("compile", f"{model}:twice", "--emit", "obj", "-o", tmp_path, *options).err
        for options in (
            (),
            ("-q",),
            ("--cpu", "generic"),
            ("--target", "wasm32-wasi"),
            ("--cpu", "host", "--emit", "asm"),
        )
    }
    notes = {
        options: [line for line in text.splitlines() if line.startswith("note: ")] for options, text in said.items()
    }
    (host,) = notes[()]
    assert host.startswith("note: for CPUs that have all that this ") and host.endswith("--cpu generic runs anywhere")
    assert notes["-q",] == notes["--cpu", "generic"] == [] and notes["--cpu", "host", "--emit", "asm"] == [host]
    threads = "note: loops run on one core: there are no threads of ours on WebAssembly"
    assert notes["--target", "wasm32-wasi"] == [threads]
