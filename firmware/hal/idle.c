// SPDX-License-Identifier: Apache-2.0
#include "hal/idle.h"

#include <stdbool.h>

#include "arch/cpu.h"
#include "board_config.h"
#include "hal/gic.h"

#define TIMER_ON    1        // CNTV_CTL_EL0.ENABLE, interrupt not masked
#define TIMER_FIRED (1 << 2) // ISTATUS

void idle_init(void) {
    sysreg_write(cntv_ctl_el0, 0);
    gic_wake_by(BOARD_TIMER_INTERRUPT);
}

void idle(uint32_t microseconds) {
    sysreg_write(cntv_tval_el0, sysreg_read(cntfrq_el0) * microseconds / 1000000);
    sysreg_write(cntv_ctl_el0, TIMER_ON);
    barrier_instruction();
    wait_for_interrupt();
    bool fired = sysreg_read(cntv_ctl_el0) & TIMER_FIRED;
    sysreg_write(cntv_ctl_el0, 0); // takes the level away, so that the next WFI sleeps
    barrier_instruction();
    if (!fired)
        gic_acknowledge(); // perhaps another core's call that came too late
}
