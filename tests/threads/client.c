/* Calls `model` on threads in every way that a program may: the bits must be those of one thread.
 *
 *   client orders|callers|fork|few        linked to the library
 *
 * Exit status: 0 all results are equal, 1 they are not; a crash or a deadlock is one, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model.h"

enum { ROWS = 20000, COLUMNS = 20, CALLERS = 16, CALLS = 40 };

static double X[ROWS * COLUMNS], w[COLUMNS];

typedef struct {
  double loss, grad[COLUMNS];
} result;

static void call(aotensor_context *context, result *r) {
  int64_t shapes[][2] = {{ROWS, COLUMNS}, {COLUMNS, 0}, {0, 0}, {COLUMNS, 0}};
  aotensor_array inputs[] = {{X, shapes[0], NULL, 2, AOTENSOR_FLOAT64}, {w, shapes[1], NULL, 1, AOTENSOR_FLOAT64}};
  aotensor_array outputs[] = {{&r->loss, shapes[2], NULL, 0, AOTENSOR_FLOAT64},
                              {r->grad, shapes[3], NULL, 1, AOTENSOR_FLOAT64}};
  memset(r->grad, 255, sizeof r->grad);
  int32_t status = model_call(context, inputs, outputs);
  if (status != AOTENSOR_OK) {
    fprintf(stderr, "status %d: %s\n", (int)status, aotensor_status_message(status));
    exit(1);
  }
}

static result with_threads(int32_t count) {
  aotensor_context context = {sizeof context};
  context.num_threads = count;
  result r;
  call(&context, &r);
  return r;
}

static void must_equal(const result *expected, const result *found, const char *what) {
  if (memcmp(expected, found, sizeof *found) != 0) {
    fprintf(stderr, "%s: other bits\n", what);
    exit(1);
  }
}

/* --- the caller's parallel_for --------------------------------------------------------------------------------- */

typedef void task_function(void *argument, int64_t chunk);

static void forwards(void *pool, int64_t chunks, task_function *task, void *argument) {
  *(int64_t *)pool = chunks;
  for (int64_t k = 0; k < chunks; ++k) task(argument, k);
}

static void backwards(void *pool, int64_t chunks, task_function *task, void *argument) {
  *(int64_t *)pool = chunks;
  for (int64_t k = chunks; k-- > 0;) task(argument, k);
}

static void twice(void *pool, int64_t chunks, task_function *task, void *argument) {
  forwards(pool, chunks, task, argument);
  backwards(pool, chunks, task, argument);
}

static void not_at_all(void *pool, int64_t chunks, task_function *task, void *argument) {
  (void)task, (void)argument;
  *(int64_t *)pool = chunks;
}

static void too_many(void *pool, int64_t chunks, task_function *task, void *argument) {
  *(int64_t *)pool = chunks;
  for (int64_t k = -3; k < chunks + 100; ++k) task(argument, k);
}

typedef struct {
  task_function *task;
  void *argument;
  int64_t chunk;
} late_task;

static void *run_late(void *given) {
  late_task *late = given;
  usleep((useconds_t)(late->chunk % 5) * 1000);
  late->task(late->argument, late->chunk);
  return NULL;
}

static void late(void *pool, int64_t chunks, task_function *task, void *argument) {
  pthread_t threads[64];
  late_task tasks[64];
  *(int64_t *)pool = chunks;
  for (int64_t k = 0; k < chunks; ++k) {
    tasks[k] = (late_task){task, argument, k};
    if (pthread_create(&threads[k], NULL, run_late, &tasks[k]) != 0) exit(1);
  }
  for (int64_t k = 0; k < chunks; ++k) pthread_join(threads[k], NULL);
}

static void orders(const result *expected) {
  void (*const all[])(void *, int64_t, task_function *, void *) = {forwards, backwards,  twice,
                                                                  late,     not_at_all, too_many};
  const char *const names[] = {"forwards", "backwards", "twice", "late", "not at all", "too many"};
  for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
    for (int32_t limit = 0; limit < 4; ++limit) {
      int64_t chunks = 0;
      aotensor_context context = {sizeof context};
      context.num_threads = limit;
      context.parallel_for = all[k];
      context.pool = &chunks;
      result found;
      call(&context, &found);
      must_equal(expected, &found, names[k]);
      if (limit != 1 && (chunks < 2 || chunks > 64 || (limit && chunks > limit))) {
        fprintf(stderr, "%s: %d chunks\n", names[k], (int)chunks);
        exit(1);
      }
    }
  }
  aotensor_context old = {sizeof old}; /* a program that was compiled before parallel_for was there */
  old.struct_size = (int64_t)((char *)&old.parallel_for - (char *)&old);
  old.parallel_for = (void (*)(void *, int64_t, task_function *, void *))1;
  result found;
  call(&old, &found);
  must_equal(expected, &found, "an old context");
  aotensor_context negative = {sizeof negative};
  negative.num_threads = -1;
  if (model_call(&negative, NULL, NULL) != AOTENSOR_WRONG_CONTEXT) exit(1);
}

/* --- many callers ---------------------------------------------------------------------------------------------- */

static void *caller(void *given) {
  const result *expected = given;
  for (int32_t k = 0; k < CALLS; ++k) {
    result found = with_threads(k % 9);
    must_equal(expected, &found, "a caller");
  }
  return NULL;
}

static void callers(const result *expected) {
  pthread_t threads[CALLERS];
  for (int k = 0; k < CALLERS; ++k)
    if (pthread_create(&threads[k], NULL, caller, (void *)(uintptr_t)expected) != 0) exit(1);
  for (int k = 0; k < CALLERS; ++k) pthread_join(threads[k], NULL);
}

/* --- fork ------------------------------------------------------------------------------------------------------ */

static void forks(const result *expected) {
  for (int round = 0; round < 3; ++round) {
    pid_t child = fork();
    if (child == 0) {
      pid_t grandchild = round == 2 ? fork() : 0;
      caller((void *)(uintptr_t)expected);
      int status = 0;
      if (grandchild > 0 && (waitpid(grandchild, &status, 0) < 0 || status != 0)) exit(1);
      exit(0);
    }
    caller((void *)(uintptr_t)expected);
    int status = 0;
    if (waitpid(child, &status, 0) < 0 || status != 0) exit(1);
  }
}

/* --- a limit on threads: this pthread_create is found before that of libc --------------------------------------- */

#ifdef FEW
static int created;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  (void)thread, (void)attributes, (void)start, (void)argument;
  ++created;
  return EAGAIN;
}

static void few(const result *expected) {
  result found = with_threads(8);
  must_equal(expected, &found, "no thread can be started");
  if (created == 0) exit(1);
}
#endif

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  for (int k = 0; k < ROWS * COLUMNS; ++k) X[k] = (double)((k * 79) % 1009) / 1009.0 - 0.5;
  for (int k = 0; k < COLUMNS; ++k) w[k] = 1.0 / (k + 1);
  const result expected = with_threads(1);
  const int32_t counts[] = {0, 2, 3, 8, 16, 1000};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
    result found = with_threads(counts[k]);
    must_equal(&expected, &found, "a number of threads");
  }
  if (strcmp(argv[1], "orders") == 0) orders(&expected);
  if (strcmp(argv[1], "callers") == 0) callers(&expected);
  if (strcmp(argv[1], "fork") == 0) forks(&expected);
#ifdef FEW
  if (strcmp(argv[1], "few") == 0) few(&expected);
#endif
  puts("ok");
  return 0;
}
