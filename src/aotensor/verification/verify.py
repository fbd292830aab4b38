"""Does a function mean what it says at every level?"""

from __future__ import annotations

from functools import partial

from aotensor.driver.build import Build
from aotensor.driver.definition import Definition
from aotensor.driver.recipe import Options
from aotensor.verification.compilation import check_bytes, check_header, check_stages, check_symbols, check_texts
from aotensor.verification.derivatives.check import check_gradients
from aotensor.verification.report import Report
from aotensor.verification.threads import check_threads
from aotensor.verification.values import check_compiled, check_interpreted
from aotensor_runtime.arrays.poison import poisoned


@poisoned()
def verify_function(
    f: Definition, samples: int, seed: int, rtol: float | None = None, gradients: bool = True
) -> Report:
    """Check one function: IR, values, gradients, header, symbols, bytes. Calls run on poisoned memory.

    samples: random arguments per comparison, the first ones small, of extents 1 and 0, and larger.
    rtol: relative to the largest magnitude of an output; by default as `agreement.RTOL` says, and wider where
    the function is ill-conditioned.
    """
    report = Report(f.name)
    build = Build([f], None, Options(verify=True))
    if not report.run("IR at every stage", lambda: check_stages(build)):
        return report
    report.run("IR as text", lambda: check_texts(build))
    for stage in ("tensor", "tensor-opt"):
        report.run(f"{stage} against reference", partial(check_interpreted, f, build, stage, samples, seed, rtol))
    report.run("compiled against reference", lambda: check_compiled(f, build, samples, seed, rtol))
    report.run("threads", lambda: check_threads(f, build, samples, seed, rtol))
    if gradients:
        check_gradients(f, build, report, samples, seed, rtol)
    report.run("header compiles", lambda: check_header(build))
    report.run("symbols", lambda: check_symbols(build.shared, build.library.manifest))
    report.run("same bytes again", lambda: check_bytes(build))
    return report
