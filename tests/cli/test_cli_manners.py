"""Manners of the command line: models that misbehave, closed streams, errors as data, colours, several models."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import LOGISTIC, PYTHON, SMALL, Answer, Call, on_a_terminal

from aotensor_cli.terminal.plain import printable
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import plain_table, size_text
from aotensor_runtime import load

CLOSED = ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"]


# --- models ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "exit_code", "title"),
    [
        ("class Odd(BaseException): pass\nraise Odd('no')", 3, "small.py:2: Odd: no"),
        ("raise SystemExit", 3, "the model ends the process with exit(None)"),
        ("raise SystemExit(0)", 3, "the model ends the process with exit(0)"),
        ("import sys; sys.exit('why')", 3, "the model ends the process with exit('why')"),
        ("raise KeyboardInterrupt", 130, "interrupted"),
        ("raise GeneratorExit", 3, "small.py:1: GeneratorExit"),
    ],
)
def test_models_that_end_in_odd_ways(call: Call, tmp_path: Path, code: str, exit_code: int, title: str) -> None:
    (tmp_path / "small.py").write_text(code + "\n")
    answer = call("compile", "small.py", cwd=tmp_path)
    _check_end(answer, tmp_path, exit_code, title)


def test_letters_that_the_terminal_lacks(spawn: Call, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        'import aotensor as aot\nimport aotensor.tensor as at\nα = at.vector("x")\nf = aot.function([α], α.sum())\n',
        encoding="utf-8",
    )
    answer = spawn("inspect", "m.py", "--remarks", cwd=tmp_path, PYTHONIOENCODING="latin1")
    assert answer.code == 0 and r"\u03b1" in answer.out, answer


@pytest.mark.parametrize("stream", ["stderr", "stdout"])
def test_models_that_close_a_stream_and_fail(spawn: Call, tmp_path: Path, stream: str) -> None:
    (tmp_path / "small.py").write_text(f"import sys; sys.{stream}.close(); raise ValueError('x')\n")
    answer = spawn("compile", "small.py", cwd=tmp_path)
    _check_end(answer, tmp_path, 3, "small.py:1: ValueError: x")


def _check_end(answer: Answer, folder: Path, exit_code: int, title: str) -> None:
    assert (answer.code, answer.out) == (exit_code, "")
    assert title in answer.err and "Traceback" not in answer.err
    assert os.listdir(folder) == ["small.py"]


def test_a_model_that_changes_the_process(spawn: Call, small: Path) -> None:
    """Its folder, its streams, what its children print: the files are where they were asked for, stdout has results."""
    small.write_text(
        "import os, sys\nos.chdir('/')\nos.system('echo child')\nprint('printed')\nos.write(1, b'written\\n')\n"
        "sys.stdout = sys.stderr = None\nsys.argv[:] = []\nsys.path.clear()\n" + SMALL
    )
    answer = spawn("compile", small.name, "-o", "out", cwd=small.parent)
    assert (answer.code, answer.out) == (0, "out/libf.so\nout/f.h\n"), answer.err
    assert (small.parent / "out" / "libf.so").exists()
    assert all(word in answer.err for word in ("child", "printed", "written"))


def test_long_names_are_refused(call: Call, tmp_path: Path) -> None:
    name = "n" * 10_000
    for place in (f"name='{name}'", f"on_unused_input='{name}'"):
        (tmp_path / "small.py").write_text(SMALL.replace("name='f'", place))
        answer = call("compile", "small.py", cwd=tmp_path)
        assert answer.code == 3 and len(answer.err) < 2000, answer.err[:300]
    (tmp_path / "small.py").write_text(SMALL.replace("at.vector('x'", f"at.vector('{name}'"))
    answer = call("compile", "small.py", cwd=tmp_path)
    assert answer.code == 3 and "is too long: 10000 characters" in answer.err and len(answer.err) < 2000


def test_the_dependency_file_names_data(spawn: Call, tmp_path: Path) -> None:
    """Files that a model opened, in its folder or elsewhere, modules from elsewhere; not what it wrote itself."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    np.save(elsewhere / "w.npy", np.arange(3.0))
    (elsewhere / "table.csv").write_text("1,2\n")
    (elsewhere / "parts.py").write_text(
        "import json; SCALE = json.load(open(__file__.replace('parts.py', 's.json')))\n"
    )
    (elsewhere / "s.json").write_text("2.5")
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "net.py").write_text(
        f"import sys, numpy as np; sys.path.insert(0, {str(elsewhere)!r}); import parts, pathlib\n"
        f"w = np.load({str(elsewhere / 'w.npy')!r}); pathlib.Path('../elsewhere/table.csv').read_text()\n"
        "open('own.txt', 'w').write('x'); open('own.txt').read()\n"
        "import aotensor as aot, aotensor.tensor as at\n"
        "x = at.vector('x', dtype='float64', shape=(3,))\nf = aot.function([x], parts.SCALE * w * x)\n"
    )
    answer = spawn("compile", "net.py", "-o", "out", "--depfile", "net.d", cwd=tmp_path / "net")
    assert answer.code == 0, answer.err
    rule, *rest = (tmp_path / "net" / "net.d").read_text().split("\n\n")
    sources = rule.split(": ")[1].split()
    names = ["w.npy", "table.csv", "s.json", "parts.py"]
    assert sources[0] == "net.py" and sorted(sources[1:]) == sorted(str(elsewhere / name) for name in names)
    assert len(rest) == 4 and load(tmp_path / "net" / "out" / "libf.so").f(np.ones(3)).tolist() == [0, 2.5, 5]


def test_several_models_make_one_library(spawn: Call, small: Path) -> None:
    (small.parent / "other.py").write_text(LOGISTIC)
    answer = spawn(
        "compile", "small.py", "other.py:twice", "-o", "out", "--name", "both", "--depfile", "both.d", cwd=small.parent
    )
    assert (answer.code, answer.out) == (0, "out/libboth.so\nout/both.h\n"), answer.err
    assert list(load(small.parent / "out" / "libboth.so").functions) == ["f", "doubled"]
    assert (small.parent / "both.d").read_text() == "out/libboth.so out/both.h: small.py other.py\n"
    answer = spawn("compile", "small.py", "small.py", cwd=small.parent)
    assert answer.code == 3 and "two functions have the name f" in answer.err


# --- outputs ---------------------------------------------------------------------------------------------------------


def test_devices_as_outputs(call: Call, small: Path, tmp_path: Path) -> None:
    number = os.stat("/dev/null").st_rdev
    assert call("compile", small, "-o", tmp_path / "out", "--depfile", "/dev/null").code == 0
    assert os.stat("/dev/null").st_rdev == number
    answer = call("compile", small, "-o", tmp_path / "new", "--depfile", "/dev/full")
    assert answer.code == 4 and "/dev/full: no space left on device" in answer.err
    assert not (tmp_path / "new").exists()


def test_pipes_as_models_and_not_as_data(small: Path, library: Path) -> None:
    command = f"cat {small} | {shlex.join(PYTHON)} compile /dev/stdin --emit graph"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("function f("), done.stderr
    os.mkfifo(small.parent / "x.npy")
    (small.parent / "z.csv").symlink_to("/dev/zero")
    for name in ("x.npy", "z.csv"):
        done = subprocess.run(
            [*PYTHON, "run", f"{library}:doubled", f"w={small.parent / name}"],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 2 and "not a regular file" in done.stderr
    done = subprocess.run([*PYTHON, "compile", "/dev/zero"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "so it is not a model" in done.stderr


def test_quiet_and_verbose(call: Call, small: Path, tmp_path: Path) -> None:
    answer = call("compile", small, "-o", tmp_path / "q", "-q")
    assert (answer.code, answer.out, answer.err) == (0, "", "") and (tmp_path / "q" / "libf.so").exists()
    answer = call("compile", small, "-o", tmp_path / "v", "-v")
    assert answer.out.count("\n") == 2 and f"read {small}: f" in answer.err
    for step in ("load the model", "emit LLVM IR", "optimise and generate code", "link"):
        assert step in answer.err


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "title"),
    [
        (("compile", "missing.py", "--json"), 2, "missing.py: there is no such file"),
        (("compile", "--json", "--frob"), 2, "no such option '--frob'"),
        (("frob", "--json"), 2, "no such command 'frob'"),
        (("doctor", "--json", "more"), 2, "got unexpected extra argument (more)"),
    ],
)
def test_errors_as_data(call: Call, arguments: tuple[str, ...], code: int, title: str) -> None:
    answer = call(*arguments)
    tree = json.loads(answer.out)["error"]
    assert answer.code == tree["code"] == code and tree["title"].startswith(title) and answer.err.startswith("error: ")
    assert set(tree) == {"title", "lines", "hint", "code", "file", "line"}


def test_a_program_error_as_data(call: Call, small: Path) -> None:
    small.write_text(SMALL + "g = aot.function([x], x + missing)\n")
    tree = json.loads(call("compile", small, "--json").out)["error"]
    assert tree["code"] == 3 and "missing" in tree["title"]
    assert (tree["file"], tree["line"]) == ("small.py", 4)


@pytest.mark.parametrize(
    ("arguments", "code", "closed"),
    [
        *(("frob", 2, closed) for closed in CLOSED),
        *(("compile missing.py", 2, closed) for closed in CLOSED),
        *(("compile small.py -o out", 0, closed) for closed in CLOSED),
    ],
)
def test_closed_streams(small: Path, arguments: str, code: int, closed: str) -> None:
    command = f"{shlex.join(PYTHON)} {arguments} {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=small.parent, capture_output=True, text=True, timeout=120)
    assert done.returncode == code
    if code and "2>&-" not in closed:
        assert done.stderr.startswith("error: ")
    if not code:
        assert load(small.parent / "out" / "libf.so").f([1.0]).tolist() == [2]


def test_a_stderr_that_nobody_reads(small: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*PYTHON, "compile", "missing.py"], stderr=write, cwd=small.parent, timeout=60)
    os.close(write)
    assert done.returncode == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_stdout_is_an_error(library: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PYTHON, "inspect", str(library)], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 4 and "error: no space left on device" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("inspekt",), "error: no such command 'inspekt' (did you mean inspect?)"),
        (("compile", "x.py", "--hpv", "w"), "or --hvp or"),
        (("inspect", "x.py", "--stage", "loop"), "(did you mean loops?)"),
        (("compile", "MODEL:logistik"), "hint: did you mean logistic?"),
        (("run", "LIBRARY:logistik"), "hint: did you mean logistic"),
        (("run", "LIBRARY:doubled", "ww=1"), "hint: did you mean w?"),
    ],
)
def test_did_you_mean(call: Call, model: Path, library: Path, arguments: tuple[str, ...], text: str) -> None:
    answer = call(*(x.replace("MODEL", str(model)).replace("LIBRARY", str(library)) for x in arguments))
    assert answer.code == 2 and text in answer.err


def test_the_package_runs_too() -> None:
    done = subprocess.run([sys.executable, "-m", "aotensor", "frob"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("error: no such command 'frob'\nhint: see aotensor --help")


# --- terminals -------------------------------------------------------------------------------------------------------


PLAIN_TERMINALS = [{"NO_COLOR": "1"}, {"TERM": "dumb", "NO_COLOR": ""}]


def test_progress_on_a_terminal(small: Path) -> None:
    environment = {"NO_COLOR": "", "COLUMNS": "100"}
    small.write_text(LOGISTIC)
    texts = []
    for quiet in ([], ["-q"]):  # each compiles: what is in the cache is there before a line is written
        environment["AOTENSOR_CACHE_DIR"] = str(small.parent / f"cache{len(texts)}")
        texts.append(on_a_terminal(["compile", "small.py", "-o", "out", *quiet], small.parent, **environment).out)
    *progress, rest = texts[0].split("\r\x1b[K")
    assert any("compiling logistic: " in line for line in progress) and "compiling" not in rest
    assert rest.rstrip().endswith("out/logistic.h")
    assert "compiling" not in texts[1]


@pytest.mark.parametrize(
    ("arguments", "variable"),
    [
        (arguments, variable)
        for arguments in (
            ["frob"],
            ["doctor"],
            ["compile", "small.py"],
            ["inspect", "small.py"],
            ["compile", "missing.py"],
        )
        for variable in PLAIN_TERMINALS
    ],
)
def test_no_escape_sequences(small: Path, arguments: list[str], variable: dict[str, str]) -> None:
    text = on_a_terminal(arguments, small.parent, **variable).out
    assert text and "\x1b" not in text


def test_tables_fit(call: Call, library: Path) -> None:
    for arguments in (("doctor",), ("inspect", library), ("cache",)):
        lines = [line for line in call(*arguments).out.splitlines() if " -> loss" not in line]  # signatures
        long = [line for line in lines if len(line) > 100]
        assert all(len(max(line.split(), key=len)) > 40 for line in long), long


def test_cells_are_wrapped() -> None:
    text = plain_table(("a", "b"), [("x", "word " * 30), ("y", "z")], 60)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 60 and lines[-1] == "y  z" and text.split().count("word") == 30
    assert plain_table(("a",), [("x" * 200,)], 60).splitlines()[1] == "x" * 200
    assert plain_table(("", ""), []) == ""


def test_sizes_for_people() -> None:
    assert [size_text(n) for n in (0, 999, 1000, 1_500_000, 10**9)] == [
        "0 bytes",
        "999 bytes",
        "1.0 kB",
        "1.5 MB",
        "1.0 GB",
    ]


def test_printable() -> None:
    assert printable("größe ∂x 日本\n\t") == "größe ∂x 日本\n\t"
    assert printable("\x1b[0m\x7f\x9b\u202e\u2028\ud800") == "\\x1b[0m\\x7f\\x9b\\u202e\\u2028\\ud800"


def test_remarks_of_llvm_are_kept_away(capfd: pytest.CaptureFixture[str]) -> None:
    with without_remarks():
        os.write(2, b"warning: <unknown>:0:0: loop not vectorized: the optimizer was unable to\n")
        os.write(2, b"remark: f.c:1:2: unrolled loop by a factor of 4\n")
        os.write(2, b"something else\n")
    assert capfd.readouterr().err == "something else\n"


def test_completion(spawn: Call) -> None:
    """What docs/cli/index.md says to put into a shell's start file."""
    answer = spawn(_AOTENSOR_COMPLETE="bash_source")
    assert answer.code == 0 and "complete -o nosort" in answer.out
    answer = spawn(_AOTENSOR_COMPLETE="bash_complete", COMP_WORDS="aotensor ins", COMP_CWORD="1")
    assert "inspect" in answer.out
    answer = spawn(_AOTENSOR_COMPLETE="bash_complete", COMP_WORDS="aotensor compile --he", COMP_CWORD="2")
    assert "--help" in answer.out
