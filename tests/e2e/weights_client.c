/* Call `layer` of a library with a file of weights.
 *
 * client call            status and text; then 3 numbers of the result
 * client path FILE       aotensor_weights_layer first
 * client given FILE [checked]    aotensor_set_weights_layer of memory with the content of FILE first
 * client odd FILE        the same, at an odd address
 * client threads         8 first calls at once
 */
#include "layer.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2, COLUMNS = 90, WIDTH = 70, THREADS = 8 };

static double x[ROWS * COLUMNS];
static pthread_barrier_t barrier;

static void *first_call(void *result) {
  pthread_barrier_wait(&barrier);
  return layer(ROWS, x, result, NULL) == 0 ? result : NULL;
}

static char *content(const char *path, long *size, int offset) {
  FILE *file = fopen(path, "rb");
  if (!file) exit(9);
  fseek(file, 0, SEEK_END);
  *size = ftell(file);
  rewind(file);
  char *data = (char *)aligned_alloc(64, (*size + 128) / 64 * 64) + offset;
  if (fread(data, 1, *size, file) != (size_t)*size) exit(9);
  fclose(file);
  return data;
}

int main(int count, char **words) {
  static double y[THREADS][ROWS * WIDTH];
  char message[600] = "";
  aotensor_context context = {0};
  context.struct_size = sizeof context;
  context.message = message;
  context.message_size = sizeof message;
  for (int k = 0; k < ROWS * COLUMNS; k++) x[k] = (k % 17 - 8) / 64.0;
  if (!strcmp(words[1], "threads")) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int k = 0; k < THREADS; k++) pthread_create(&threads[k], NULL, first_call, y[k]);
    for (int k = 0; k < THREADS; k++) {
      void *result;
      pthread_join(threads[k], &result);
      if (!result || memcmp(y[0], y[k], sizeof y[0])) return 8;
    }
  }
  int32_t status = 0;
  if (!strcmp(words[1], "path")) status = aotensor_weights_layer(&context, words[2]);
  if (!strcmp(words[1], "given") || !strcmp(words[1], "odd")) {
    long size;
    char *data = content(words[2], &size, words[1][0] == 'o');
    status = aotensor_set_weights_layer(&context, data, size, count > 3 ? AOTENSOR_WEIGHTS_CHECKED : 0);
  }
  if (status == 0) status = layer(ROWS, x, y[0], NULL);
  if (status != 0 && !message[0] && aotensor_weights_layer(&context, NULL) != status) return 7;
  printf("%d\n%s\n%s\n", (int)status, aotensor_status_message(status), message);
  if (status == 0) printf("%a %a %a\n", y[0][0], y[0][WIDTH], y[0][ROWS * WIDTH - 1]);
  return status;
}
