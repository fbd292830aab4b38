"""Models of PyMC and functions of PyTensor at the top level of a model file."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pymc", reason="no PyMC: pip install 'aotensor[pymc]'")
import pytensor

from aotensor_cli.model import load_model

pytestmark = pytest.mark.filterwarnings("default")

MODEL = """
import numpy as np, pymc as pm, pytensor, pytensor.tensor as pt
with pm.Model() as line:
    slope = pm.Normal("slope")
    pm.Normal("y", slope * np.arange(3.0), 1.0, observed=np.ones(3))
x, total = pt.vector("x"), pytensor.shared(0.0, name="total")
running = pytensor.scan(lambda x, s: s + x, sequences=[x], outputs_info=[pt.zeros(())], return_updates=False)
last = pytensor.function([x], running[-1] + total, updates={total: total + 1}, mode=pytensor.compile.mode.Mode("vm"))
"""


def test_they_count_as_functions(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    with pytensor.config.change_flags(cxx=""):  # nothing that PyTensor compiles is called
        functions = {f.name: f for f in load_model(str(path)).functions}
    assert list(functions) == ["last", "logp", "dlogp", "constrain"]
    assert [float(functions["last"]([1.0, 2.0, 4.0])) for _ in range(2)] == [7.0, 8.0]
    assert float(functions["dlogp"]([0.5])["dlogp"][0]) == -0.5 + 1 * 0.5 + 2 * 0.0
