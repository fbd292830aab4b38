"""Programs of other projects, judged by the results that those projects publish: values, derivatives, times.

    python -m tools.judges posteriordb --data FOLDER         models of posteriordb, beside CmdStan's numbers
    python -m tools.judges posteriordb --models blr,arK      some of them
    python -m tools.judges posteriordb --stan FOLDER --page  beside stanli, too; writes docs/judges/posteriordb.md
    python -m tools.judges cutest --sample 100 --page        problems of CUTEst, beside JAX; docs/judges/cutest.md
    python -m tools.judges cutest --problems ROSENBR,HS15    some of them
    python -m tools.judges onnx --data FOLDER --page         models in wheels, beside onnxruntime; docs/judges/onnx.md
    python -m tools.judges npbench --data FOLDER --page      kernels of NPBench, beside NumPy and JAX
    python -m tools.judges npbench --only gemm,adi --sizes S  some of them
    python -m tools.judges special --data FOLDER --page      tables of special functions in a checkout of SciPy
    python -m tools.judges integrate --page                  solve_ivp from C, beside CVODES, SciPy and diffrax
    python -m tools.judges integrate --only hires,orego      some of the problems

The environment variable AOTENSOR_JUDGES is the default of --data: a folder with `posteriordb` and `stanli`.
posteriordb: --stan is posteriordb's folder of Stan programs; with it and the package stanli, values, gradients at a
random point and times are compared with stanli's; --backends needs pymc, jax and numba. cutest needs the packages jax
and sif2jax; with asdex, sparsity patterns are compared, too. onnx needs onnx, onnxruntime, and the wheels in FOLDER:
pip download --no-deps --dest FOLDER magika silero-vad rapidocr ddddocr nudenet basic-pitch speechmos; the folder `onnx`
of the judges' data is the default.
npbench needs a checkout of spcl/npbench (default: the folder `npbench` of the judges' data); --peers jax,numba are
measured if they are installed, --dace is the Python of an environment with dace and NumPy before 2.
integrate needs the package diffrax, a C compiler and Debian's libsundials-dev.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a collection; 1 if a result is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.judges", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    collections = parser.add_subparsers(dest="collection", required=True)
    models = collections.add_parser("posteriordb", help="log densities, beside CmdStan's")
    known = os.environ.get("AOTENSOR_JUDGES")
    models.add_argument("--data", type=Path, default=known, help="folder of the judges' data (AOTENSOR_JUDGES)")
    models.add_argument("--models", default="", metavar="A,B", help="names of models (default: all)")
    models.add_argument("--stan", type=Path, help="folder of posteriordb's Stan programs, for stanli")
    models.add_argument("--backends", default="", metavar="A,B", help="PyTensor's numba, jax: a minute for each model")
    models.add_argument("--results", type=Path, help="keep results in this file, and measure what it lacks")
    models.add_argument("--seconds", type=float, default=300, help="how long a model may take (default: 300)")
    models.add_argument("--page", action="store_true", help="write docs/judges/posteriordb.md; needs all models")
    problems = collections.add_parser("cutest", help="objectives and constraints, beside JAX")
    problems.add_argument("--problems", default="", metavar="A,B", help="names of problems (default: all)")
    problems.add_argument("--sample", type=int, help="so many problems, drawn by --seed")
    problems.add_argument("--seed", type=int, default=0)
    problems.add_argument("--largest", type=int, default=2000, help="variables at most (default: 2000)")
    problems.add_argument("--seconds", type=float, default=120, help="how long a problem may take (default: 120)")
    problems.add_argument("--results", type=Path, help="keep results in this file, and measure what it lacks")
    problems.add_argument("--kept", action="store_true", help="run nothing: only what --results has")
    problems.add_argument("--noisy", action="store_true", help="say on the page that its times are no evidence")
    problems.add_argument("--page", action="store_true", help="write docs/judges/cutest.md")
    shipped = collections.add_parser("onnx", help="models that packages ship, beside onnxruntime")
    shipped.add_argument("--data", type=Path, default=known and Path(known, "onnx"), help="folder of the wheels")
    shipped.add_argument("--models", default="", metavar="A,B", help="names of models (default: all)")
    shipped.add_argument("--seconds", type=float, default=900, help="how long a model may take (default: 900)")
    shipped.add_argument("--results", type=Path, help="keep results in this file, and measure what it lacks")
    shipped.add_argument(
        "--values", action="store_true", help="keep the gradients of --results, measure the rest again"
    )
    shipped.add_argument("--page", action="store_true", help="write docs/judges/onnx.md; needs all models")
    shipped.add_argument("--noisy", action="store_true", help="say on the page that the machine had other work")
    kernels = collections.add_parser("npbench", help="kernels, beside NumPy and JAX")
    kernels.add_argument("--data", type=Path, default=known and Path(known, "npbench"), help="a checkout of NPBench")
    kernels.add_argument("--only", default="", metavar="A,B", help="names of kernels (default: all)")
    kernels.add_argument("--sizes", default="S,M", metavar="S,M", help="NPBench's sizes (default: S,M)")
    kernels.add_argument("--peers", default="jax", metavar="A,B", help="jax, numba (default: jax)")
    kernels.add_argument("--dace", type=Path, metavar="PYTHON", help="a Python that has dace: its column")
    kernels.add_argument("--seconds", type=float, default=900, help="how long a kernel may take (default: 900)")
    kernels.add_argument("--results", type=Path, help="keep results in this file, and measure what it lacks")
    kernels.add_argument("--kept", action="store_true", help="run nothing: only what --results has")
    kernels.add_argument("--json", action="store_true", help="print results as JSON")
    kernels.add_argument("--page", action="store_true", help="write docs/judges/npbench.md; needs all kernels")
    kernels.add_argument("--noisy", action="store_true", help="say on the page that its times are no evidence")
    tables = collections.add_parser("special", help="special functions, beside the tables of SciPy's tests")
    tables.add_argument("--data", type=Path, default=known and Path(known, "scipy"), help="a checkout of SciPy")
    tables.add_argument("--functions", default="", metavar="A,B", help="names of functions (default: all)")
    tables.add_argument("--page", action="store_true", help="write docs/judges/special.md; needs all functions")
    systems = collections.add_parser("integrate", help="differential equations, beside CVODES, SciPy and diffrax")
    systems.add_argument("--only", default="", metavar="A,B", help="names of problems (default: all)")
    systems.add_argument("--peers", default="scipy,diffrax", metavar="A,B", help="default: scipy,diffrax")
    systems.add_argument("--seconds", type=float, default=1800, help="for a problem and a program (default: 1800)")
    systems.add_argument("--results", type=Path, help="keep results in this file, and measure what it lacks")
    systems.add_argument("--page", action="store_true", help="write docs/judges/integrate.md; needs all problems")
    systems.add_argument("--noisy", action="store_true", help="say on the page that the machine had other work")
    options = parser.parse_args(arguments)
    if options.collection == "integrate":
        from tools.judges.integrate.command import run as run_systems

        if options.page and options.only:
            parser.error("--page needs all problems: leave out --only")
        return run_systems(options)
    if options.collection == "special":
        from tools.judges.special.command import run as run_tables

        if options.data is None or not (options.data / "scipy" / "special" / "tests" / "data").is_dir():
            parser.error("--data or AOTENSOR_JUDGES names a checkout of SciPy, with scipy/special/tests/data")
        if options.page and options.functions:
            parser.error("--page needs all functions: leave out --functions")
        return run_tables(options)
    if options.collection == "npbench":
        from tools.judges.npbench.command import run as run_kernels

        if options.data is None or not (options.data / "bench_info").is_dir():
            parser.error("--data or AOTENSOR_JUDGES names a checkout of NPBench, a folder with the folder bench_info")
        if options.page and options.only:
            parser.error("--page needs all kernels: leave out --only")
        return run_kernels(options)
    if options.collection == "onnx":
        from tools.judges.onnx.command import run as run_shipped

        if options.data is None or not options.data.is_dir():
            parser.error("--data names a folder of wheels")
        if options.page and options.models:
            parser.error("--page needs all models: leave out --models")
        return run_shipped(options)
    if options.collection == "posteriordb":
        from tools.judges.posteriordb.command import run as run_models

        if options.data is None or not (options.data / "stanli").is_dir():
            parser.error("--data or AOTENSOR_JUDGES names a folder with the folders posteriordb and stanli")
        if options.page and options.models:
            parser.error("--page needs all models: leave out --models")
        return run_models(options)
    from tools.judges.cutest.command import run as run_problems

    return run_problems(options)


if __name__ == "__main__":
    sys.exit(main())
