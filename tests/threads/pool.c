/* Drives the pool itself, as ThreadSanitizer sees it: 16 callers, jobs of all lengths, a sum that each must get whole. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "aotensor.h"

typedef struct job {
  void (*run)(struct job *job, int64_t start, int64_t lane);
  int64_t step, upper, lanes, next, done, started, padding;
  int64_t *numbers, *sums;
} job;

void entry_parallel(aotensor_context *context, job *work) __asm__("entry.parallel");
const char entry_library[32] __asm__("entry.library") = {0}; /* of a library: its functions read it */

enum { CALLERS = 16, CALLS = 200, CHUNKS = 37 };

static void run(job *work, int64_t start, int64_t lane) {
  int64_t sum = 0, end = start + work->step < work->upper ? start + work->step : work->upper;
  for (int64_t i = start; i < end; ++i) sum += work->numbers[i];
  work->sums[start / work->step] = sum; /* one for each chunk */
  (void)lane;
}

static void *caller(void *given) {
  int64_t numbers[4 * CHUNKS], sums[CHUNKS];
  for (int64_t k = 0; k < CALLS; ++k) {
    aotensor_context context = {sizeof context};
    context.num_threads = (int32_t)(k % 5);
    job work = {run, 4, 4 * CHUNKS, 0, 0, 0, 0, 0, numbers, sums};
    int64_t total = 0;
    for (int64_t i = 0; i < work.upper; ++i) numbers[i] = i + k;
    entry_parallel(&context, &work);
    for (int64_t c = 0; c < CHUNKS; ++c) total += sums[c];
    if (total != work.upper * (work.upper - 1) / 2 + k * work.upper) exit(1);
  }
  return given;
}

int main(void) {
  pthread_t threads[CALLERS];
  for (int k = 0; k < CALLERS; ++k)
    if (pthread_create(&threads[k], NULL, caller, NULL) != 0) return 1;
  for (int k = 0; k < CALLERS; ++k) pthread_join(threads[k], NULL);
  puts("ok");
  return 0;
}
