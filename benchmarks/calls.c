/* Calls of a typed entry in a loop, for calls.py. */
#include <stdint.h>

typedef int32_t entry(const double *a, const double *b, const double *c, double *out, void *workspace);

int32_t loop(entry *f, const double *a, const double *b, const double *c, double *out, int64_t count) {
  int32_t status = 0;
  for (int64_t k = 0; k < count; k++) status |= f(a, b, c, out, 0);
  return status;
}
