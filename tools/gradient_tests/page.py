"""The pages: a row per file, then everything that is refused or differs, with its reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

FILES: Final[Mapping[str, Sequence[str]]] = {
    "autograd": (
        "test_binary_ops.py",
        "test_builtins.py",
        "test_complex.py",
        "test_dict.py",
        "test_fft.py",
        "test_graphs.py",
        "test_jacobian.py",
        "test_linalg.py",
        "test_list.py",
        "test_logic.py",
        "test_misc.py",
        "test_numpy.py",
        "test_scalar_ops.py",
        "test_scipy.py",
        "test_systematic.py",
        "test_tuple.py",
        "test_ufunc_dispatch.py",
        "test_wrappers.py",
    ),
    "jax": (
        "custom_api_test.py",
        "custom_linear_solve_test.py",
        "custom_root_test.py",
        "lax_autodiff_test.py",
        "nn_test.py",
    ),
    "jax_numpy": ("lax_numpy_test.py",),
    "pytensor": (
        "test_gradient.py",
        "compile/test_builders.py",
        "scan/test_basic.py",
        "sparse/test_basic.py",
        "sparse/test_math.py",
        "tensor/signal/test_conv.py",
        "tensor/test_basic.py",
        "tensor/test_complex.py",
        "tensor/test_elemwise.py",
        "tensor/test_extra_ops.py",
        "tensor/test_fft.py",
        "tensor/test_fourier.py",
        "tensor/test_math.py",
        "tensor/test_math_scipy.py",
        "tensor/test_nlinalg.py",
        "tensor/test_optimize.py",
        "tensor/test_reshape.py",
        "tensor/test_shape.py",
        "tensor/test_slinalg.py",
        "tensor/test_sort.py",
        "tensor/test_special.py",
        "tensor/test_subtensor.py",
        "tensor/test_xlogx.py",
    ),
}
"""Framework → files below tests/: of JAX those of custom derivatives and of derivatives of `lax` and `jax.nn`, of
PyTensor those that call `verify_grad`."""
_VERDICTS: Final = ("same", "refused", "wrong", "nothing")

_OTHER_VALUE: Final = (
    "the forward rule of the test returns another value than the function: JAX takes it wherever a derivative is "
    "taken, and here the value is always that of the function"
)
_SIGNS: Final = (
    "the test adds up vectors of a factorisation, whose signs are those of LAPACK in the framework, and a function of "
    "the vectors here: decision 0008"
)
_TIES: Final = (
    "each of several equal largest elements has the whole derivative here (docs/surface/tensor.md), in autograd a part"
)
_BOXES: Final = "the function mixes symbols with values that autograd traces, in one expression"
_ITERATION: Final = "the values differ within the tolerance of the method: it ends at another iterate"
_REGULAR: Final = "the gradient of a product with a sparse matrix is regular here, in second order, too: docs/sparse.md"
REASONS: Final[Mapping[str, str]] = {
    "Test::test_kwargs": _OTHER_VALUE,
    "test_optimize_remat_gh21303": _OTHER_VALUE,
    "test_grad_mitsot": "PyTensor's derivative of this order is wrong: JAX's, of the same loop written out, is ours",
    "test_max_equal_values": _TIES,
    "test_min_3_way_equality": _TIES,
    "test_simple_append_list_2D": "autograd does not trace the numbers of nested lists",
    "test_stack_1d": "autograd's function compares shapes, which are symbols here",
    "test_linalg.py::test_eigvalh": _SIGNS,
    "test_linalg.py::test_svd_": _SIGNS,
    "test_systematic.py::test_partition": "NumPy leaves the order of the other elements open",
    "test_enclosing_scope_ref": _BOXES,
    "test_third_derivative_other_args": _BOXES,
    "TestSvd::test_grad": _SIGNS,
    "TestEigh::test_grad": _SIGNS,
    "TestEighFloat32::test_grad": _SIGNS,
    "test_minimize_vector_x": _ITERATION,
    "test_minimize_mvn_logp": _ITERATION,
    "TestGammaIncc": "PyTensor's derivative by the shape is right to four digits, ours to twelve (mpmath)",
    "TestAddMul::test_MulSS": _REGULAR,
    "TestAddMul::test_MulSD": _REGULAR,
}
"""Part of the name of a test → why it differs."""


def reason_of(line: Mapping[str, Any]) -> str:
    """The documented reason of a difference; "" if there is none."""
    return next((reason for name, reason in REASONS.items() if name in line["test"]), "")


def page(framework: str, found: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The page of one framework.   found: by file, the lines of the plugin"""
    title, repository, kept, how = {
        "autograd": (
            "autograd",
            "HIPS/autograd",
            "`check_grads`",
            "runs on symbols (`autograd.numpy` calls NumPy, which dispatches to aotensor)",
        ),
        "jax": (
            "JAX",
            "jax-ml/jax",
            "`grad`, `vjp`, `jvp`, `linearize`, `jacfwd`, `jacrev`, `hessian` or `check_grads`",
            "is imported",
        ),
        "jax_numpy": ("JAX", "jax-ml/jax", "`jit`, by `_CompileAndCheck`,", "is imported"),
        "pytensor": ("PyTensor", "pymc-devs/pytensor", "`verify_grad`", "is imported"),
    }[framework]
    most = 100 if framework == "autograd" else 12
    total = Counter(line["verdict"] for lines in found.values() for line in lines)
    orders = Counter(o for lines in found.values() for line in lines for o in line["orders"].split(", ") if o)
    undefined = sum(line["undefined"] for lines in found.values() for line in lines)
    given = {
        "jax_numpy": (
            f"{how} at the same point, and its results, of all dtypes, are compared with {title}'s; of functions",
            "that it differentiates, derivatives, too. `JAX_NUM_GENERATED_CASES` is the number of cases per test.",
        )
    }.get(
        framework,
        (
            f"{how} at the same point and is differentiated by",
            f"aotensor, in random directions; the results agree with {title} up to rounding, except where a row gives",
            "a reason. Complex numbers are differentiated by their real and imaginary parts.",
        ),
    )
    lines = [
        f"# {'Values' if framework == 'jax_numpy' else 'Derivatives'} in {title}'s own tests"
        + (" of jax.numpy" if framework == "jax_numpy" else ""),
        "",
        f"Written by `python -m tools.gradient_tests {framework} FOLDER --write` from a checkout of {repository} at",
        f"version {version(framework.partition('_')[0])}. Each function that a test gives to {kept}",
        *given,
        f"Of a test, at most {most} programs of at most 3000 numbers each are compared.",
        "",
        f"{total['same']} programs agree, {total['refused']} are refused,",
        f"{total['wrong']} differ for a reason below; {total['nothing']} have no derivative, or none in {title}.",
        f"Comparisons: {', '.join(f'{n} {name}' for name, n in orders.items())} (derivatives).",
        f"{undefined} numbers are nan only in {title}, whose formula divides 0 by 0 or multiplies it by infinity.",
        "",
        "| file | agree | refused | differ | nothing |",
        "|---|---|---|---|---|",
    ]
    for name, made in found.items():
        counts = Counter(line["verdict"] for line in made)
        lines.append(f"| `{name}` | {' | '.join(str(counts[v]) for v in _VERDICTS)} |")
    lines += ["", "## Refused or different", "", "| programs | tests | why |", "|---|---|---|", *_reasons(found)]
    return "\n".join(lines) + "\n"


def _reasons(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Table rows by reason, the most frequent first."""
    tests: dict[str, list[str]] = {}
    for lines in found.values():
        for line in lines:
            if line["verdict"] in ("refused", "wrong"):
                reason = reason_of(line) or f"{'' if line['verdict'] == 'refused' else 'open: '}{line['reason']}"
                tests.setdefault(_cell(reason), []).append(re.split(r"::|\[", line["test"], maxsplit=3)[-1])
    for reason, names in sorted(tests.items(), key=lambda item: -len(item[1])):
        shown = list(dict.fromkeys(re.sub(r"\d+$", "", name) for name in names))
        more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
        yield f"| {len(names)} | {', '.join(f'`{name}`' for name in shown[:3])}{more} | {reason} |"


def _cell(text: str) -> str:
    """A text as a cell of a table, without addresses in memory."""
    text = re.sub(r" ?(at )?0x[0-9a-f]+", "", text)
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[")
