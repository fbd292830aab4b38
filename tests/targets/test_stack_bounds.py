"""The bound of the stack in the manifest, beside what calls on a painted stack leave behind."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

import embedded_models

import aotensor as aot
from aotensor_runtime.manifest import Manifest

_PAINTED: Final = (
    """
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include "model.h"
"""
    + embedded_models.CALLS
    + """
static _Alignas(64) unsigned char stack[1 << 16];
static ucontext_t home, other;
static unsigned char *top;
static int which;
static __attribute__((noinline)) void run(void) {
  top = __builtin_frame_address(0);
  int64_t shape[2] = {N, P}, extents[1] = {P};
  aotensor_array in[3] = {{X, shape, NULL, 2, AOTENSOR_FLOAT64}, {y, shape, NULL, 1, AOTENSOR_FLOAT64},
                          {w, extents, NULL, 1, AOTENSOR_FLOAT64}};
  aotensor_array out[2] = {{&loss, NULL, NULL, 0, AOTENSOR_FLOAT64}, {grad_w, extents, NULL, 1, AOTENSOR_FLOAT64}};
  aotensor_context context = {sizeof context};
  context.workspace = workspace, context.workspace_bytes = sizeof workspace;
  switch (which) {
  case 0: logistic(N, P, X, y, w, &loss, grad_w, workspace); break;
  case 1: product(N, P, X, X, C, workspace); break;
  case 2: spmv(N, P, &S, w, s, workspace); break;
  case 3: mlp(N, I, V, W, &l2, g1, g2, workspace); break;
  case 4: logistic_call(&context, in, out); break;
  case 5: break;
  }
}
int main(void) {
  int used[6];
  fill();
  for (int turn = 0; turn < 2; turn++)
    for (which = 0; which < 6; which++) {
      memset(stack, 0xa5, sizeof stack);
      getcontext(&other);
      other.uc_stack.ss_sp = stack, other.uc_stack.ss_size = sizeof stack, other.uc_link = &home;
      makecontext(&other, run, 0);
      swapcontext(&home, &other);
      unsigned char *low = stack;
      while (*low == 0xa5) low++;
      used[which] = (int)(top - low);
    }
  for (int k = 0; k < 5; k++) printf("%d ", used[k] - used[5]);
  return 0;
}
"""
)


def test_no_call_takes_more_than_the_bound(still: Path) -> None:
    _compare(still)


def test_nor_does_one_of_code_for_all_cpus(tmp_path: Path) -> None:
    aot.compile(embedded_models.functions(), tmp_path, name="model", malloc=False, emit="static", cpu="generic")
    _compare(tmp_path)


def test_the_header_has_the_bounds(still: Path) -> None:
    header, spec = (still / "model.h").read_text(), _manifest(still / "libmodel.a").function("product")
    assert f"#define product_STACK_BYTES {spec.stack} " in header
    assert "#define product_WORKSPACE_BYTES 0 " in header


def _compare(folder: Path) -> None:
    (folder / "stack.c").write_text(_PAINTED)
    build = ["gcc", "-O1", "-std=gnu11", "-Wl,-z,now", "-o", "stack", "stack.c", "libmodel.a", "-lm"]
    subprocess.run(build, cwd=folder, check=True)
    told = subprocess.run(["./stack"], cwd=folder, check=True, capture_output=True, text=True, timeout=60).stdout
    used = list(map(int, told.split()))
    bounds = {spec.name: spec.stack for spec in _manifest(folder / "libmodel.a").functions}
    for name, bytes_used in zip(("logistic", "product", "spmv", "mlp", "logistic"), used, strict=True):
        bound = bounds[name]
        assert bound is not None
        assert 100 < bytes_used <= bound < 2 * bytes_used + 1024, (name, bytes_used, bound)


def _manifest(archive: Path) -> Manifest:
    found = re.search(rb'\{"abi":.*?\}(?=\0)', archive.read_bytes())
    assert found is not None
    return Manifest.from_json(found[0])
