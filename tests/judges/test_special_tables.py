"""Special functions at tables of SciPy's tests, and at a table that is written here."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
from tools.judges.__main__ import main
from tools.judges.special import command
from tools.judges.special.command import errors, measured, page
from tools.judges.special.tables import FOLDER, TABLES, read

DATA = Path(os.environ.get("AOTENSOR_JUDGES", "."), "scipy")
SAMPLE = ("ibeta_inv_data", "owens_t", "igamma_big_data")


@pytest.mark.needs("scipy tables")
@pytest.mark.parametrize("name", SAMPLE)
def test_functions_at_tables(name: str) -> None:
    row = measured(next(table for table in TABLES if table.path.endswith(f"/{name}")), DATA)
    assert row.points > 100
    assert not row.is_wrong, row


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a table of erf and erfc."""
    path = (tmp_path / FOLDER / "boost/erf_data_ipp/erf_data.txt").absolute()
    path.parent.mkdir(parents=True)
    lines = [f"{x!r} {math.erf(x)!r} {math.erfc(x)!r}" for x in (-1.5, 0.0, 0.25, 3.0)]
    path.write_text("# x, erf(x), erfc(x)\n" + "\n".join(lines) + "\n1e-400, 1e-400, 1.0\n30.0 1.0 2.6e-393\n")
    return tmp_path


def test_a_table_and_its_page(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = next(table for table in TABLES if table.path.endswith("/erf_data") and table.name == "erf")
    numbers = read(checkout / FOLDER / f"{table.path}.txt", table.operands)
    assert numbers[:, 0].tolist() == [-1.5, 0.0, 0.25, 3.0, 30.0]  # 1e-400 is not a float
    row = measured(table, checkout)
    assert row.ours < 1e-15
    text = page([row])
    assert "1 of 1 tables are right, 5 points in all." in text
    assert "| erf | erf_data | 5 |" in text
    with pytest.raises(SystemExit, match="no table of erg"):
        main(["special", "--data", str(checkout), "--functions", "erg"])
    with pytest.raises(SystemExit):
        main(["special", "--data", str(checkout / "scipy")])
    assert "a checkout of SciPy" in capsys.readouterr().err


def test_the_command_fails_for_a_wrong_value(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = next(table for table in TABLES if table.path.endswith("/erf_data") and table.name == "erfc")
    monkeypatch.setattr(command, "TABLES", [table])
    assert main(["special", "--data", str(checkout), "--functions", "erfc"]) == 0
    path = checkout / FOLDER / f"{table.path}.txt"
    path.write_text(path.read_text(encoding="utf-8") + "0.5 0.5 0.25\n", encoding="utf-8")
    assert main(["special", "--data", str(checkout), "--functions", "erfc"]) == 0  # SciPy's error is the same
    monkeypatch.setattr(command, "TIMES", 0)
    assert main(["special", "--data", str(checkout), "--functions", "erfc"]) == 1
    assert "WRONG" in capsys.readouterr().out


def test_errors_are_relative() -> None:
    found = np.array([1.0 + 2e-16, 0.0, 1e-310, np.nan, np.inf, np.nan, 2.0])
    wanted = np.array([1.0, 1e-310, 0.0, np.nan, 1.0, 3.0, 1.0])
    assert errors(found, wanted).tolist() == pytest.approx([2.2e-16, 0, 0, 0, np.inf, np.inf, 1.0], abs=1e-16)
