/* The last layer of an ONNX model, trained on a Cortex-M4 without a system: ten steps on four images, in place. */
#include "digits.h"

static float image[4][1][8][8], weight[10][256], bias[10], weight_velocity[10][256], bias_velocity[10], loss;
static const int64_t target[4] = {3, 1, 4, 5};
static char workspace[digits_step_in_place_WORKSPACE_BYTES] __attribute__((aligned(64)));

/* Semihosting of ARM: operation in r0, its argument in r1. */
static void ask(int operation, const void *argument) {
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

/* A number from 0 on with six decimals. */
static void say_number(float x) {
  char text[16], *end = text + sizeof text - 1;
  uint32_t rest = (uint32_t)(x * 1e6f + 0.5f);
  *end = 0;
  for (int digit = 0; digit < 7 || rest; digit++, rest /= 10) {
    if (digit == 6) *--end = '.';
    *--end = (char)('0' + rest % 10);
  }
  ask(0x04, end), ask(0x04, "\n");
}

static int train(void) {
  float *pixel = &image[0][0][0][0];
  for (int k = 0; k < 4 * 64; k++) pixel[k] = (float)(k * k % 17) / 16;
  int32_t status = digits_start(&weight[0][0], bias, &weight_velocity[0][0], bias_velocity, 0);
  for (int step = 0; step < 10 && !status; step++) {
    status = digits_step_in_place(pixel, target, &weight[0][0], bias, &weight_velocity[0][0], bias_velocity, &loss,
                                  workspace);
    if (!status) say_number(loss);
  }
  if (status) ask(0x04, aotensor_status_message(status));
  return status;
}

/* What a processor needs to begin: its stack, its first instruction, the floating point unit. */
extern uint32_t stack_top[], data_start[], data_end[], data_source[], bss_start[], bss_end[];

void reset(void) {
  *(volatile uint32_t *)0xe000ed88 |= 0xf << 20; /* CPACR: coprocessors 10 and 11 */
  __asm__ volatile("dsb\n isb");
  for (uint32_t *to = data_start, *from = data_source; to < data_end;) *to++ = *from++;
  for (uint32_t *to = bss_start; to < bss_end;) *to++ = 0;
  ask(0x18, (const void *)(train() ? 0x20023 : 0x20026)); /* ends the emulator */
  for (;;) {}
}

static void stop(void) {
  ask(0x04, "fault\n");
  ask(0x18, (const void *)0x20023);
}

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))stack_top, reset, stop, stop, stop, stop, stop,
};
