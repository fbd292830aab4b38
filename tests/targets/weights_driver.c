/* Call `layer` without its weights, with damaged ones, and with the content of layer.safetensors. */
#include "layer.h"
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 90000 };

int main(int count, char **words) {
  static double x[180], y[140];
  char message[400] = "";
  aotensor_context context = {0};
  context.struct_size = sizeof context;
  context.message = message;
  context.message_size = sizeof message;
  for (int k = 0; k < 180; k++) x[k] = (k % 17 - 8) / 64.0;
  int32_t status = layer(2, x, y, NULL);
  printf("%d %s\n", (int)status, aotensor_status_message(status));
  FILE *file = fopen("layer.safetensors", "rb");
  if (!file) return 9;
  char *data = malloc(SIZE + 64);
  data += -(uintptr_t)data % 64;
  size_t size = fread(data, 1, SIZE, file);
  fclose(file);
  data[size - 3] ^= 1;
  status = aotensor_set_weights_layer(&context, data, (int64_t)size, 0);
  printf("%d %s\n", (int)status, message);
  data[size - 3] ^= 1;
#ifndef _WIN32
  if (count > 1) status = aotensor_weights_layer(&context, words[1]);
  else
#endif
    status = aotensor_set_weights_layer(&context, data, (int64_t)size, 0);
  if (status == 0) status = layer(2, x, y, NULL);
  printf("%d %a %a %a\n", (int)status, y[0], y[70], y[139]);
  (void)count, (void)words;
  return 0;
}
