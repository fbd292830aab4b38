/* A random walk whose generator is held here: the state goes in, the next one comes out, and a copy of it repeats. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "walk.h"

enum { N = 5 };

static int32_t step(uint64_t state[2], const double scale[N], double x[N], int64_t counts[N]) {
  uint64_t next[2];
  const int32_t status = walk(N, state, scale, x, counts, next, NULL);
  memcpy(state, next, sizeof next);
  return status;
}

int main(void) {
  uint64_t state[2] = {UINT64_C(0x0123456789abcdef), 41}, saved[2];
  const double scale[N] = {0.5, 1.0, 2.0, 4.0, 80.0}, wrong[N] = {-1.0, 0, 0, 0, 0};
  double x[N];
  int64_t counts[N];
  for (int k = 0; k < 3; k++) {
    if (k == 1) memcpy(saved, state, sizeof state);
    if (step(state, scale, x, counts) != 0) return 1;
    for (int i = 0; i < N; i++) printf("%.17g %lld ", x[i], (long long)counts[i]);
    printf("\n");
  }
  if (step(saved, scale, x, counts) != 0) return 2;
  printf("%.17g\n%llu\n", x[0], (unsigned long long)state[1]);
  printf("%s\n", aotensor_status_message(step(state, wrong, x, counts)));
  return 0;
}
