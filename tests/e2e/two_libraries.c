/* Two libraries in one program: each status has the message of the library that it came from. */
#include <stdio.h>
#include <string.h>

#include "first.h"
#include "second.h"

static int failures;

static void expect(const char *what, int is_right) {
  if (!is_right) printf("wrong: %s\n", what);
  failures += !is_right;
}

int main(void) {
  double x[3] = {1, 2, 3}, out = 0;
  int64_t inside = 1, outside = 7;
  expect("pick", pick(3, x, &inside, &out, NULL) == AOTENSOR_OK && out == 2);
  expect("twice", twice(3, x, &inside, &out, NULL) == AOTENSOR_OK && out == 4);
  int32_t one = pick(3, x, &outside, &out, NULL), two = twice(3, x, &outside, &out, NULL);
  expect("own statuses", one >= AOTENSOR_CHECK && two >= AOTENSOR_CHECK && one != two);
  expect("message of pick", strncmp(aotensor_status_message(one), "pick: ", 6) == 0);
  expect("message of twice", strncmp(aotensor_status_message(two), "twice: ", 7) == 0);
  expect("common message", strcmp(aotensor_status_message(AOTENSOR_OK), "success") == 0);
  expect("unknown status", strcmp(aotensor_status_message(999), "unknown status") == 0);
  expect("manifest of first", strstr(aotensor_manifest_first(), "\"name\":\"pick\"") != NULL);
  expect("manifest of second", strstr(aotensor_manifest_second(), "\"name\":\"twice\"") != NULL);
  expect("no mixture", strstr(aotensor_manifest_second(), "\"name\":\"pick\"") == NULL);
  expect("version", aotensor_abi_version() == AOTENSOR_ABI_VERSION);
  if (!failures) puts("ok");
  return failures != 0;
}
