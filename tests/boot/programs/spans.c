// SPDX-License-Identifier: Apache-2.0
// Takes the place of engine/main.c: makes as many telemetry events as the test has asked for, without caring
// who reads.
#include <stdint.h>

#include "arch/cpu.h"
#include "hal/board.h"
#include "hal/idle.h"
#include "hal/pmu.h"
#include "link/channel.h"
#include "link/telemetry.h"
#include "memory/pools.h"

int main(void);

int main(void) {
    board_init();
    pools_init();
    channel_init();
    telemetry_init();
    uint32_t steps = ((const volatile uint32_t *)weight_pool.base)[0];
    uint32_t layers = ((const volatile uint32_t *)weight_pool.base)[1];
    for (uint32_t step = 0; step < steps; step++) {
        telemetry_step(PHASE_DECODE, step);
        struct span whole, part;
        span_begin(&whole);
        for (uint32_t layer = 0; layer < layers; layer++) {
            span_begin(&part);
            span_end(&part, KERNEL_ATTENTION, layer, 7);
            struct span_sum even = {0}, odd = {0};
            span_sum_begin(&even);
            for (unsigned piece = 0; piece < 4; piece++) {
                span_sum_switch(&even, &odd);
                span_sum_switch(&odd, &even);
            }
            span_sum_end(&even);
            span_sum_emit(&even, KERNEL_LINEAR_Q, layer, 5);
            span_sum_emit(&odd, KERNEL_DEQUANT, layer, 3);
            span_sum_emit(&odd, KERNEL_DEQUANT, layer, 3); // empty by now: no event
        }
        span_end(&whole, KERNEL_STEP, NO_LAYER, 1);
    }
    struct done done = {.request = 1, .generated_tokens = steps};
    send_done(&done);
    struct status status = {0};
    telemetry_status(&status);
    send_status(&status);
    for (;;)
        idle(100000);
}
