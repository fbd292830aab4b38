"""`aotensor inspect --format html|svg`: pages and pictures as files, and what does not go together."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from command_line import Call


def data_of(page: str) -> dict[str, Any]:
    """The data in a page."""
    text = page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("stage", ["graph", "graph-opt", "nest", "memory"])
def test_pictures_are_xml(call: Call, model: Path, tmp_path: Path, stage: str) -> None:
    answer = call(
        "inspect", model, "--stage", stage, "--format", "svg", "-o", tmp_path / "x.svg", "--sizes", "n=64,p=8"
    )
    assert (answer.code, answer.out) == (0, "")
    root = ElementTree.fromstring((tmp_path / "x.svg").read_text())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = " ".join(root.itertext())
    assert "logistic" in words and "doubled" in words
    assert stage in ("graph", "graph-opt") or "n=64, p=8" in words


def test_a_page_holds_every_stage_and_the_lines(call: Call, model: Path, tmp_path: Path) -> None:
    assert call("inspect", model, "--format", "html", "-o", tmp_path / "x.html").code == 0
    tree = data_of((tmp_path / "x.html").read_text())
    assert [x["name"] for x in tree["stages"]] == [
        "graph", "graph-opt", "tensor", "tensor-opt", "nest", "loops", "llvm", "llvm-opt", "asm",
    ]  # fmt: skip
    (source,) = tree["sources"]
    line = 1 + source["text"].split("\n").index("loss = at.softplus(-y * (X @ w)).mean()")
    assert ["model.py", line] in tree["places"]
    number = tree["places"].index(["model.py", line])
    for stage in tree["stages"][:6]:
        assert "loc(" not in stage["text"]
        assert number in stage["at"][1::2], stage["name"]
        assert sum(stage["at"][::2]) == stage["text"].count("\n") + 1
    assert tree["sizes"] == ["n=1000, p=1000", "n=100, p=100", "n=10000, p=10000"]
    seconds = tree["loops"]["logistic"]["seconds"]
    assert 50 < seconds[0] / seconds[1] < 150 and 50 < seconds[2] / seconds[0] < 150, "n·p operations"
    assert str(model.parent) not in json.dumps(tree)


def test_a_page_of_one_function(call: Call, model: Path) -> None:
    tree = data_of(call("inspect", f"{model}:twice", "--format", "html").out)
    assert [f["name"] for f in tree["functions"]] == ["doubled"]


def test_sources_that_are_gone_or_changed(call: Call, tmp_path: Path) -> None:
    helper, model = tmp_path / "helper.py", tmp_path / "model.py"
    helper.write_text("import os\ndef twice(x):\n    return 2 * x\nos.remove(__file__)\n")
    body = "import os, helper\nimport aotensor as aot, aotensor.tensor as at\nx = at.vector('x')\n"
    model.write_text(body + "f = aot.function([x], helper.twice(x) + 1.0, name='f')\n")
    os.utime(model, (time.time() + 900, time.time() + 900))
    notes = "\n".join(data_of(call("inspect", model, "--format", "html").out)["notes"])
    assert "helper.py is gone" in notes
    assert "model.py has changed since it was compiled" in notes


def test_a_page_of_a_library(call: Call, library: Path, model: Path, tmp_path: Path) -> None:
    answer = call("inspect", library, "--format", "html", "--source", model)
    assert answer.code == 0
    tree = data_of(answer.out)
    assert {"graph", "tensor", "nest", "loops"} <= {x["name"] for x in tree["stages"]}
    assert any("not in this library: the source" in x for x in tree["notes"])
    assert tree["graphs"]["graph"]["logistic"][0]["label"] == "X"
    assert tree["remarks"] and dict(tree["parts"])[".text"] > 0
    other = tmp_path / "other.py"
    other.write_text("x = 1\n")
    os.utime(other, (time.time() + 900, time.time() + 900))
    notes = data_of(call("inspect", library, "--format", "html", "--source", other).out)["notes"]
    assert any("other.py is not what the library was made from" in x and "model.py" in x for x in notes)


def test_a_damaged_library_has_a_page_too(call: Call, library: Path, tmp_path: Path) -> None:
    data = bytearray(library.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "x.so").write_bytes(data)
    answer = call("inspect", tmp_path / "x.so", "--format", "html", "-o", tmp_path / "x.html")
    assert answer.code == 2
    assert "the checksum does not match" in answer.err
    assert any("checksum" in x for x in data_of((tmp_path / "x.html").read_text())["notes"])


def test_the_machines_limits_are_drawn(call: Call, model: Path, tmp_path: Path) -> None:
    row = {
        "function": "logistic", "sizes": {"n": 100, "p": 10}, "threads": 1, "seconds": {"median": 1e-5}, "bytes": 9000,
        "flops": 20000.0, "limits": {"bytes_per_second": 1e10, "flops_per_second": 1e11},
    }  # fmt: skip
    (tmp_path / "bench.json").write_text(json.dumps({"rows": [row]}))
    page = call("inspect", model, "--format", "html", "--bench", tmp_path / "bench.json").out
    assert 'data-picture="roofline"' in page and "100 Gflop/s" in page
    assert data_of(page)["sizes"] == ["n=100, p=10"]


def test_a_measured_time_and_names_of_the_model(call: Call, tmp_path: Path) -> None:
    """The time is the measured one, and values have the names that the file gives them."""
    path = tmp_path / "m.py"
    path.write_text(
        "import aotensor as aot, aotensor.tensor as at\n"
        "X, w = at.matrix('X', shape=('n', 'p')), at.vector('w', shape=('p',))\n"
        "margin = X @ w\nlosses = at.softplus(margin)\n"
        "f = aot.function([X, w], {'loss': (losses + margin**2).mean()}, name='f')\n"
    )
    row = {"function": "f", "sizes": {"n": 100, "p": 10}, "threads": 1, "seconds": {"median": 2.5e-4}, "bytes": 8}
    (tmp_path / "b.json").write_text(json.dumps({"rows": [row, row | {"threads": 2, "seconds": {"median": 1e-4}}]}))
    loops = data_of(call("inspect", path, "--format", "html", "--bench", tmp_path / "b.json").out)["loops"]["f"]
    assert loops["measured"] == [2.5e-4] and loops["seconds"][0] > 0
    text = json.dumps(loops["nodes"], ensure_ascii=False)
    assert "⟨margin⟩ += X[i, j] * w[j]" in text or "margin += X[i, j] * w[j]" in text
    assert "softplus(X @ w)" not in text


PROFILE = {
    "function": "logistic", "sizes": {"n": 100, "p": 10}, "threads": 1, "seconds": 1e-5, "samples": 400,
    "rows": [
        {
            "file": "model.py", "line": 8, "name": "model.py:8", "share": 0.9, "forward": 0.5, "derivative": 0.4,
            "seconds": 9e-6, "bytes_per_second": 2e10, "flops_per_second": None, "bound": "memory",
            "share_of_limit": 0.6, "kernels": {"aot_gemm": 0.2},
        },
    ],
}  # fmt: skip


def test_measured_time_by_line(call: Call, model: Path, library: Path, tmp_path: Path) -> None:
    """Pages of models and libraries have the profile; estimates are for its sizes; others are refused."""
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({"profiles": [PROFILE, PROFILE | {"function": "other"}]}))
    tree = data_of(call("inspect", model, "--format", "html", "--profile", path).out)
    (found,) = tree["profiles"]
    assert tree["sizes"] == [found["sizes"]] == ["n=100, p=10"]
    assert found["rows"][0]["where"] == "model.py:8" and found["rows"][0]["rates"] == [2e10, None]
    assert len(data_of(call("inspect", library, "--format", "html", "--profile", path).out)["profiles"]) == 1
    answer = call("inspect", f"{model}:twice", "--format", "html", "--profile", path)
    assert answer.code == 2 and "the profile was made for logistic, not for doubled" in answer.err
    for text in ("[1]", "{}", '{"profiles": []}', json.dumps({"profiles": [PROFILE | {"seconds": -1}]})):
        path.write_text(text)
        answer = call("inspect", model, "--format", "html", "--profile", path)
        assert answer.code == 2 and "profile.json: " in answer.err, text


REFUSED = {
    "--profile profile.json": "--profile needs a page, picture or export",
    "--format svg --stage nest --profile profile.json": "--profile needs a page",
    "--format html --profile nowhere.json": "nowhere.json: cannot be read",
    "--format html --stage nest": "--format html shows all stages",
    "--format svg": "--format svg needs one stage of a model",
    "--format svg --stage asm": "--format svg needs one stage of a model",
    "--stage memory": "the memory plan can only be drawn",
    "--sizes n=3": "--sizes needs a page, picture or export",
    "--format html --sizes q=3": "no function has a dim q",
    "--format html --sizes n": "--sizes 'n' is not understood",
    "--format html --bench nowhere.json": "nowhere.json: cannot be read",
    "--format html --source model.py": "--source is supported only for libraries",
    "--format html --remarks": "--format html cannot be combined with --remarks",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_what_does_not_go_together(call: Call, model: Path, arguments: str) -> None:
    answer = call("inspect", model, *arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.splitlines()[-2 if "hint" in answer.err else -1].startswith(f"error: {REFUSED[arguments]}")


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"rows": [{}]}', '{"rows": []}', '{"rows": [{"function": 1}]}'])
def test_measurements_that_are_none(call: Call, model: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "bench.json").write_text(text)
    answer = call("inspect", model, "--format", "html", "--bench", tmp_path / "bench.json")
    assert answer.code == 2
    assert "bench.json: " in answer.err


def test_every_format_goes_into_a_file(call: Call, model: Path, tmp_path: Path) -> None:
    for arguments in ([], ["--json"], ["--stage", "nest"], ["--remarks"], ["--format", "dot"]):
        printed = call("inspect", f"{model}:twice", *arguments)
        answer = call("inspect", f"{model}:twice", *arguments, "-o", tmp_path / "out")
        assert (answer.code, answer.out) == (0, "")
        assert len((tmp_path / "out").read_text().splitlines()) == len(printed.out.splitlines())
    answer = call("inspect", model, "-o", tmp_path / "nowhere" / "x")
    assert answer.code != 0
    assert "nowhere" in answer.err


def test_a_page_of_what_has_a_schedule_says_so(call: Call, small: Path, tmp_path: Path) -> None:
    nest = tmp_path / "small.nest.mlir"
    assert call("compile", small, "--emit", "nest", "-o", nest.parent, "--name", "small").code == 0
    assert call("compile", small, "--schedule", nest, "-o", tmp_path, "--name", "small").code == 0
    notes = data_of(call("inspect", tmp_path / "libsmall.so", "--format", "html").out)["notes"]
    assert any("compiled with the schedule small.nest.mlir; remarks about its loops" in x for x in notes)


def test_a_page_of_a_model_with_an_odd_name(call: Call, small: Path, tmp_path: Path) -> None:
    """Each stage writes it in its own way: UTF-8 as it is, in hexadecimal, in octal."""
    model = small.rename(tmp_path / 'modèle "x".py')
    tree = data_of(call("inspect", model, "--format", "html").out)
    assert {name for name, _ in tree["places"]} == {model.name}
    assert all(any(stage["at"][1::2]) for stage in tree["stages"])
