/* Calls `model` on threads of Windows in every way that a program may: the bits must be those of one thread.
 *
 *   windows            linked to the DLL or to the static library: prints the bits, and how many threads there are
 *   windows unload     (built with -DUNLOAD) loads and unloads the DLL, whose threads stay
 *
 * Without a C runtime but ucrtbase.dll. Exit status: 0 all results are equal. */
#include <stddef.h>
#include <stdint.h>

#include "model.h"

enum { ROWS = 20000, COLUMNS = 20, CALLERS = 6, CALLS = 8 };

typedef struct {
  uint32_t size, usage, thread, owner;
  int32_t base, delta;
  uint32_t flags;
} thread_entry;

int memcmp(const void *, const void *, size_t);
void *memset(void *, int, size_t);
void exit(int);
int puts(const char *);
int putchar(int);
void *CreateToolhelp32Snapshot(uint32_t flags, uint32_t process);
int Thread32First(void *, thread_entry *);
int Thread32Next(void *, thread_entry *);
uint32_t GetCurrentProcessId(void);
uint32_t WaitForSingleObject(void *, uint32_t);
void *CreateThread(void *, size_t, uint32_t (*)(void *), void *, uint32_t, uint32_t *);
void *LoadLibraryA(const char *);
int FreeLibrary(void *);
void *GetModuleHandleA(const char *);
void *GetProcAddress(void *, const char *);
void Sleep(uint32_t);

typedef struct {
  double loss, grad[COLUMNS];
} result;
typedef int32_t call_function(aotensor_context *, const aotensor_array *, aotensor_array *);

static double X[ROWS * COLUMNS], w[COLUMNS];
static call_function *the_call;

static result with_threads(int32_t count) {
  int64_t shapes[][2] = {{ROWS, COLUMNS}, {COLUMNS, 0}, {0, 0}, {COLUMNS, 0}};
  aotensor_context context;
  memset(&context, 0, sizeof context);
  context.struct_size = sizeof context;
  result r;
  memset(&r, 255, sizeof r);
  aotensor_array inputs[] = {{X, shapes[0], NULL, 2, AOTENSOR_FLOAT64}, {w, shapes[1], NULL, 1, AOTENSOR_FLOAT64}};
  aotensor_array outputs[] = {{&r.loss, shapes[2], NULL, 0, AOTENSOR_FLOAT64},
                              {r.grad, shapes[3], NULL, 1, AOTENSOR_FLOAT64}};
  context.num_threads = count;
  if (the_call(&context, inputs, outputs) != AOTENSOR_OK) puts("a call failed"), exit(1);
  return r;
}

static void dump(const char *name, const void *data, size_t bytes) {
  while (*name) putchar(*name++);
  for (size_t k = 0; k < bytes; k++) {
    unsigned byte = ((const unsigned char *)data)[k];
    putchar("0123456789abcdef"[byte >> 4]), putchar("0123456789abcdef"[byte & 15]);
  }
  putchar('\n');
}

static int count_threads(void) {
  thread_entry entry = {.size = sizeof entry};
  void *all = CreateToolhelp32Snapshot(4, 0);
  int found = 0;
  for (int ok = Thread32First(all, &entry); ok; ok = Thread32Next(all, &entry)) {
    found += entry.owner == GetCurrentProcessId();
  }
  return found;
}

static result expected;

static uint32_t caller(void *number) {
  for (int k = 0; k < CALLS; k++) {
    result r = with_threads((int32_t)((k + (intptr_t)number) % 4));
    if (memcmp(&r, &expected, sizeof r) != 0) return 1;
  }
  return 0;
}

static void same(int32_t count) {
  result r = with_threads(count);
  if (memcmp(&r, &expected, sizeof r) != 0) puts("other bits"), exit(1);
}

int program(void) {
  for (int k = 0; k < ROWS * COLUMNS; k++) X[k] = (k * 37 % 101) / 33.0 - 1.5;
  for (int k = 0; k < COLUMNS; k++) w[k] = k / 70.0;
#ifdef UNLOAD
  void *module = LoadLibraryA("model.dll");
  the_call = (call_function *)GetProcAddress(module, "model_call");
  expected = with_threads(3);
  FreeLibrary(module);
  Sleep(30);
  putchar('0' + (GetModuleHandleA("model.dll") != NULL)), putchar('\n');
#else
  the_call = model_call;
  int before = count_threads();
  expected = with_threads(1);
  dump("", &expected, sizeof expected);
  putchar('0' + count_threads() - before), putchar('\n');
  same(0), putchar('0' + count_threads() - before), putchar('\n');  /* as many as the environment says */
  for (int k = 0; k < CALLS; k++) same(2), same(3), same(5);
  putchar('0' + count_threads() - before), putchar('\n');
  void *threads[CALLERS];
  for (intptr_t k = 0; k < CALLERS; k++) threads[k] = CreateThread(NULL, 0, caller, (void *)k, 0, NULL);
  for (int k = 0; k < CALLERS; k++) WaitForSingleObject(threads[k], 0xffffffff);
  puts("ok");
#endif
  return 0;
}

void start(void) { exit(program()); }
