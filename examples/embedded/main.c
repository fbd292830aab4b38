/* Value and gradient on a Cortex-M4 without a system: all memory is static, results go out by semihosting. */
#include "logistic.h"

static const float X[8][3] = {{1, 2, -1},  {1, 0.5f, 3},  {1, -1, 0.25f}, {1, 0, -2},
                              {1, 3, 0.5f}, {1, -2, 1.5f}, {1, 1, 1},      {1, -0.5f, -3}};
static const float y[8] = {1, -1, -1, 1, 1, -1, 1, -1}, w[3] = {0.1f, 0.4f, -0.3f};
static float loss, gradient[3];
static char workspace[logistic_WORKSPACE_BYTES + 1]; /* an array of no bytes is no C */

/* Semihosting of ARM: operation in r0, its argument in r1. */
static void ask(int operation, const void *argument) {
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void say(const char *text) { ask(0x04, text); }

/* A number with six decimals. */
static void say_number(float x) {
  char text[16], *end = text + sizeof text - 1;
  uint32_t rest = (uint32_t)((x < 0 ? -x : x) * 1e6f + 0.5f);
  *end = 0;
  for (int digit = 0; digit < 7 || rest; digit++, rest /= 10) {
    if (digit == 6) *--end = '.';
    *--end = (char)('0' + rest % 10);
  }
  say(x < 0 ? " -" : " "), say(end);
}

int main(void) {
  int32_t status = logistic(&X[0][0], y, w, &loss, gradient, workspace);
  if (status) return say(aotensor_status_message(status)), 1;
  say("loss"), say_number(loss), say("\ngrad");
  for (int k = 0; k < 3; k++) say_number(gradient[k]);
  say("\n");
  return 0;
}

/* What a processor needs to begin: its stack, its first instruction, the floating point unit. */
enum { STACK_OF_OTHERS = 256 }; /* main, and functions of the compiler's runtime */
extern uint32_t stack_top[], stack_bottom[], data_start[], data_end[], data_source[], bss_start[], bss_end[];

void reset(void) {
  *(volatile uint32_t *)0xe000ed88 |= 0xf << 20; /* CPACR: coprocessors 10 and 11 */
  __asm__ volatile("dsb\n isb");
  for (uint32_t *at = data_start, *from = data_source; at < data_end;) *at++ = *from++;
  for (uint32_t *at = bss_start; at < bss_end;) *at++ = 0;
  uint32_t *here;
  __asm__ volatile("mov %0, sp" : "=r"(here));
  for (uint32_t *at = stack_bottom; at < here - 8; at++) *at = 0xa5a5a5a5; /* so that what is used can be seen */
  int failed = main();
  uint32_t *low = stack_bottom;
  while (*low == 0xa5a5a5a5) low++;
  uint32_t used = (uint32_t)((char *)here - (char *)low), most = logistic_STACK_BYTES + STACK_OF_OTHERS;
  say(used <= most ? "stack kept\n" : "stack exceeded\n");
  ask(0x18, (const void *)(failed ? 0x20023 : 0x20026)); /* ends the emulator */
  for (;;) {}
}

static void stop(void) {
  say("fault\n");
  ask(0x18, (const void *)0x20023);
}

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))stack_top, reset, stop, stop, stop, stop, stop,
};
