// SPDX-License-Identifier: Apache-2.0
#include "hal/board.h"

#include "arch/cpu.h"
#include "hal/idle.h"
#include "hal/pmu.h"
#include "hal/uart.h"

void board_init(void) {
    uart_init();
    unmask_aborts();
    idle_init();
    pmu_init();
}
