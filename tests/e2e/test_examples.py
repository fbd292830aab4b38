"""The examples run on the real data and give the numbers that they promise."""

from __future__ import annotations

import codecs
import os
import re
import shutil
import subprocess
import sys
import this
from pathlib import Path

import numpy as np
import pytest
from programs import EXAMPLES, Runner


def test_hello_writes_a_library(run: Runner, tmp_path: Path) -> None:
    text = run(EXAMPLES / "hello.py", cwd=tmp_path)
    assert "'y': array(0.68293" in text
    assert (tmp_path / "build" / "libhello.so").exists()
    assert (tmp_path / "build" / "hello.h").exists()


def test_logistic_fits_as_scipy_does(run: Runner) -> None:
    text = run(EXAMPLES / "logistic.py")
    rows = re.findall(r"(\w+): loss ([\d.]+), accuracy ([\d.]+) on train, ([\d.]+) on test; \d+ evaluations", text)
    assert [who for who, *_ in rows] == ["aotensor", "scipy"], text
    for _, loss, train, test in rows:
        assert float(loss) == pytest.approx(0.095551, abs=2e-6)
        assert float(train) > 0.98
        assert float(test) > 0.965
    difference = re.search(r"largest difference of the weights: (\S+)", text)
    assert difference and float(difference[1]) < 1e-4  # the stopping rule of L-BFGS-B sees the last bits


def test_mlp_learns(run: Runner) -> None:
    text = run(EXAMPLES / "mlp.py")
    losses = [float(x) for x in re.findall(r"epoch +\d+: loss ([\d.]+)", text)]
    assert len(losses) == 20
    assert losses[-1] < 0.06 < 0.5 < losses[0]
    before, after = (float(x) for x in re.findall(r"accuracy \w+: ([\d.]+)", text))
    assert before < 0.5
    assert after > 0.97


def test_a_convolutional_network_learns(run: Runner) -> None:
    text = run(EXAMPLES / "convnet.py")
    before, after = (float(x) for x in re.findall(r"accuracy \w+: ([\d.]+)", text))
    assert before < 0.5 < 0.94 < after, text
    error = re.search(r"by differences off by (\S+) of it", text)
    assert error and float(error[1]) < 0.02, text


def test_models_in_onnx_files_agree_with_their_frameworks(run: Runner, tmp_path: Path) -> None:
    """scikit-learn says 0.964 of its own model, PyTorch 0.940."""
    pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")
    text = run(EXAMPLES / "from_onnx.py", cwd=tmp_path)
    assert re.findall(r"(\w+): ([\d.]+) of \d+ unseen", text) == [("tumours", "0.964"), ("digits", "0.940")], text
    gained, predicted = (float(x) for x in re.findall(r"([\d.]+) (?:gained|predicted)", text))
    assert gained == pytest.approx(predicted, rel=0.02)


def test_gaussian_process_fits_what_a_line_cannot(run: Runner) -> None:
    text = run(EXAMPLES / "gaussian_process.py")
    fitted = re.search(r"fit: loss ([\d.]+) after", text)
    assert fitted and float(fitted[1]) == pytest.approx(70.912, abs=0.01), text
    scales = {name: float(scale) for name, scale in re.findall(r"(perimeter|area|smoothness) ([\d.]+)", text)}
    assert scales["smoothness"] > 50 > 10 > max(scales["perimeter"], scales["area"])
    errors = re.search(r"held-out error: ([\d.]+) standard deviations, ([\d.]+) by linear least squares", text)
    assert errors and float(errors[1]) < 0.3 < 0.7 < float(errors[2])
    agreement = re.search(r"NumPy: value (\S+), derivative by log noise (\S+), by differences (\S+)", text)
    assert agreement and float(agreement[1]) < 1e-9
    assert float(agreement[2]) == pytest.approx(float(agreement[3]), rel=1e-5)


def test_implicit_diffusion_finds_the_conductivity(run: Runner) -> None:
    text = run(EXAMPLES / "implicit_diffusion.py")
    heat = re.search(r"heat in the plate ([\d.]+), at the end ([\d.]+)", text)
    assert heat and float(heat[1]) == pytest.approx(float(heat[2]), rel=1e-12), text
    misfit = re.search(r"misfit (\S+) -> (\S+)", text)
    assert misfit and float(misfit[2]) < 0.02 * float(misfit[1])
    derivative = re.search(r"derivative (\S+), by difference (\S+)", text)
    assert derivative and float(derivative[1]) == pytest.approx(float(derivative[2]), rel=1e-4)


def test_lifetimes_finds_the_shape(run: Runner) -> None:
    text = run(EXAMPLES / "lifetimes.py")
    fitted = re.search(r"shape ([\d.]+), scale ([\d.]+), loss", text)
    assert fitted and float(fitted[1]) == pytest.approx(2.5, abs=0.02), text
    assert float(fitted[2]) == pytest.approx(2.0, abs=0.02)
    slope = re.search(r"largest derivative there: (\S+)", text)
    assert slope and float(slope[1]) < 1e-9


def test_heavy_tails_are_found(run: Runner) -> None:
    text = run(EXAMPLES / "heavy_tails.py")
    losses = re.search(r"loss (\S+), of normal errors (\S+)", text)
    assert losses and float(losses[1]) < float(losses[2]) - 40, text
    ours, scipys = (
        [float(x) for x in found] for found in re.findall(r"degrees of freedom ([\d.]+), scale ([\d.]+)", text)
    )
    assert ours == pytest.approx(scipys, rel=1e-3)
    assert 3 < ours[0] < 4
    slope = re.search(r"largest derivative there: (\S+)", text)
    assert slope and float(slope[1]) < 1e-8


def test_recurrent_learns_the_zen_by_heart(run: Runner) -> None:
    text = run(EXAMPLES / "recurrent.py")
    losses = re.search(r"loss before: ([\d.]+), after: ([\d.]+)", text)
    assert losses and float(losses[1]) == pytest.approx(np.log(45), abs=0.1)  # all characters are equally likely
    assert float(losses[2]) < 0.15
    written = text[text.index("Now is") :].split()
    words = set(codecs.decode(this.s, "rot13").split())
    assert len(written) > 10
    assert sum(word in words for word in written) > 0.8 * len(written)


def test_trust_region_reaches_one_optimum_by_three_methods(run: Runner) -> None:
    text = run(EXAMPLES / "trust_region.py")
    rows = re.findall(r"(\S+) by ([\w, ]+): loss ([\d.]+) after (\d+) steps, .gradient. (\S+)", text)
    assert [(method, used) for method, used, *_ in rows] == [
        ("L-BFGS-B", "fun, jac"),
        ("trust-ncg", "fun, jac, hessp"),
        ("trust-exact", "fun, jac, hess"),
    ], text
    for _, _, loss, steps, slope in rows:
        assert float(loss) == pytest.approx(0.102417, abs=1e-6)
        assert int(steps) < 30 and float(slope) < 1e-3
    direct, through_python = re.findall(r"\d\.\d{8}", text.splitlines()[-1])
    assert direct == through_python


@pytest.mark.parametrize(
    "example",
    [
        "logistic",
        "hello",
        "mlp",
        "convnet",
        "gaussian_process",
        "recurrent",
        "bundle_adjustment",
        "spectrum",
        "power_flow",
        "disease_map.py:density",
    ],
)
def test_every_example_verifies(run: Runner, example: str) -> None:
    run("-m", "aotensor_cli", "verify", EXAMPLES / (example if ":" in example else f"{example}.py"))


def test_a_step_for_a_microcontroller_verifies(run: Runner) -> None:
    """That of examples/embedded/Makefile."""
    pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")
    options = ("--dim", "n=4", "--train", "loss=cross_entropy", "--optimizer", "momentum:learning_rate=0.002")
    model = EXAMPLES / "onnx_models" / "digits.onnx"
    text = run("-m", "aotensor_cli", "verify", model, *options, "--wrt", "6.*", "--samples", "1")
    assert re.findall(r"^(\w+): \d+ ok", text, re.MULTILINE) == ["digits", "digits_step", "digits_start"], text


def test_text_classification_beats_the_majority(run: Runner) -> None:
    text = run(EXAMPLES / "text_classification.py")
    share = re.search(r"docstrings, (\d+)% about the network", text)
    assert share, text
    accuracy = dict(re.findall(r"accuracy on (\w+): ([\d.]+)", text))
    assert float(accuracy["test"]) > 1 - int(share[1]) / 100 + 0.05
    assert float(accuracy["train"]) >= float(accuracy["test"])


def test_pagerank_and_its_derivative(run: Runner) -> None:
    text = run(EXAMPLES / "pagerank.py")
    total = re.search(r"sum of ranks: ([\d.]+)", text)
    assert total and float(total[1]) == pytest.approx(1, abs=1e-9), text
    derivative = re.search(r"derivative (\S+), by difference (\S+)", text)
    assert derivative and float(derivative[1]) == pytest.approx(float(derivative[2]), rel=1e-3)


def test_bundle_adjustment_reaches_the_noise(run: Runner) -> None:
    text = run(EXAMPLES / "bundle_adjustment.py")
    assert "12 groups of columns" in text
    found = re.search(r"error ([\d.]+) -> ([\d.]+) pixels .*; the truth has ([\d.]+)", text)
    assert found, text
    before, after, truth = map(float, found.groups())
    assert before > 5 > truth > after > 0.4  # the fit also explains some of the noise
    blunt = re.search(r"in the same groups: ([\d.]+) pixels", text)
    assert blunt and float(blunt[1]) == pytest.approx(after, abs=0.002)
    agreement = re.search(r"differences agree to (\S+)", text)
    assert agreement and float(agreement[1]) < 1e-5


def test_spectrum_finds_poles_below_the_noise(run: Runner) -> None:
    text = run(EXAMPLES / "spectrum.py")
    errors = re.search(r"error of the data ([\d.]+), of the model ([\d.]+)", text)
    assert errors and float(errors[2]) < 0.3 * float(errors[1]), text


def test_power_flow_gives_the_published_voltages(run: Runner) -> None:
    text = run(EXAMPLES / "power_flow.py")
    met = re.search(r"met to (\S+) MVA; bus 1 gives ([\d.]+)([-+][\d.]+)j MVA", text)
    assert met and float(met[1]) < 1e-9, text
    assert float(met[2]) == pytest.approx(232.4, abs=0.05)  # published with one digit
    assert float(met[3]) == pytest.approx(-16.9, abs=0.5)  # of what the generators share, to whole Mvar
    lost = re.search(r"lose ([\d.]+) MW, .* ([\d.]+) MW", text)
    assert lost and lost[1] == lost[2]
    off = re.search(r"published voltages: (\S+) per unit, (\S+) degrees", text)
    assert off and float(off[1]) < 0.002 and float(off[2]) < 0.02  # published with 3 and 2 digits
    derivatives = re.findall(r"line \S+: (\S+) MW per unit, by difference (\S+)", text)
    assert len(derivatives) == 2
    for derivative, difference in derivatives:
        assert float(derivative) == pytest.approx(float(difference), rel=1e-4)


def test_rows_in_files_fit_as_in_memory(run: Runner, tmp_path: Path) -> None:
    given = ("--folder", str(tmp_path / "rows"))
    run(EXAMPLES / "out_of_core.py", "make", "--rows", "20000", *given)
    text = run(EXAMPLES / "out_of_core.py", "fit", "--limit", "500", "--compare", *given)
    difference = re.search(r"largest difference to the weights in memory: (\S+)", text)
    assert difference and float(difference[1]) < 1e-5, text


def test_a_mixture_fits_by_chunks_as_in_memory(run: Runner) -> None:
    text = run(EXAMPLES / "mixture_by_chunks.py", "--rows", "5000")
    found = re.search(r"error of a mean: ([\d.]+)\nlargest difference to the parameters in memory: (\S+)", text)
    assert found and float(found[1]) < 0.1 and float(found[2]) < 1e-5, text


def test_ranks_of_mpi_fit_as_one(run: Runner, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    example = EXAMPLES / "logistic_with_mpi.py"
    run(example, "make", "--folder", str(tmp_path))
    command = [mpiexec, "-n", "3", sys.executable, str(example), "fit", "--folder", str(tmp_path), "--compare"]
    done = subprocess.run([*command, "--rows", "5001"], capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r"3 ranks: .*\nlargest difference to the weights of one rank: (\S+)", done.stdout)
    assert found and float(found[1]) < 1e-6, done.stdout + done.stderr


def test_sparse_rows_fit_on_dask_as_in_memory(run: Runner) -> None:
    pytest.importorskip("distributed", reason="dask and distributed are not installed")
    text = run(EXAMPLES / "poisson_on_dask.py", "--rows", "5000")
    difference = re.search(r"largest difference to the weights in memory: (\S+)", text)
    assert difference and float(difference[1]) < 1e-5, text


def test_a_stiff_reaction_is_fitted(run: Runner) -> None:
    text = run(EXAMPLES / "reaction.py")
    difference = re.search(r"difference to SciPy's Radau (\S+)", text)
    assert difference and float(difference[1]) < 1e-6, text
    rates, truth = (np.array([float(x) for x in line.split()[1:4]]) for line in text.splitlines()[1:3])
    np.testing.assert_allclose(rates, truth, rtol=0.05)
    slopes = re.search(r"derivative (\S+), by differences (\S+)", text)
    assert slopes and float(slopes[1]) == pytest.approx(float(slopes[2]), rel=1e-3)


def test_a_map_of_disease_agrees_with_dense_matrices(run: Runner) -> None:
    text = run(EXAMPLES / "disease_map.py")
    ours, dense = re.findall(r"-\d+\.\d{4}", text.splitlines()[0])
    assert ours == dense, text
    spread = re.search(r"those of the inverse: ([\d.]+) to ([\d.]+)", text)
    assert spread and 0.95 < float(spread[1]) < float(spread[2]) < 1.05, text


def test_calibration_finds_the_parameters_by_hand(run: Runner) -> None:
    text = run(EXAMPLES / "calibration.py")
    assert "success True" in text
    found = [float(x) for x in re.findall(r"^(?:patience|depreciation|weight of leisure) +([\d.]+);", text, re.M)]
    by_hand = [float(x) for x in text.splitlines()[-1].split()[2:]]
    assert len(found) == 3 and found == by_hand, text
    # investment / output is depreciation · capital / output
    assert "-1.000 %, +1.000 %, +0.000 %" in text


def test_shooting_finds_the_least_effort(run: Runner) -> None:
    text = run(EXAMPLES / "shooting.py")
    assert "success True" in text
    effort = re.search(r"effort (\S+), by solve_bvp (\S+); largest difference of the torques (\S+)", text)
    assert effort and float(effort[1]) == pytest.approx(float(effort[2]), rel=1e-7), text
    assert float(effort[3]) < 1e-6
    slopes = re.findall(r"derivative of the effort by \w+ (\S+), by .* (\S+)$", text, re.MULTILINE)
    assert len(slopes) == 2
    for ours, theirs in slopes:
        assert float(ours) == pytest.approx(float(theirs), rel=1e-4)
