// SPDX-License-Identifier: Apache-2.0
// Takes the place of engine/main.c: lets every other core loose on the entry point, where it has to park and
// leave core 0's memory alone.
#include <stdint.h>

#include "arch/cpu.h"
#include "arch/exception.h"
#include "arch/psci.h"
#include "hal/board.h"
#include "hal/idle.h"
#include "link/channel.h"

int main(void);
extern uint8_t _start[];

static volatile uint64_t in_bss;

int main(void) {
    static const uint64_t ids[] = BOARD_CORE_IDS;
    board_init();
    channel_init();
    in_bss = 0x600d; // start.S would clear it
    for (unsigned core = 1; core < BOARD_CORES; core++) {
        int64_t result = psci_call(PSCI_CPU_ON, ids[core], (uintptr_t)_start, 0);
        if (result != PSCI_SUCCESS)
            panic("CPU_ON of core %u: %ld", core, result);
    }
    for (unsigned naps = 0; naps < 20; naps++)
        idle(10000);
    for (unsigned core = 0; core < BOARD_CORES; core++)
        if (psci_call(PSCI_AFFINITY_INFO, ids[core], 0, 0) != 0)
            panic("core %u is not on", core);
    if (in_bss != 0x600d)
        panic("a parked core has cleared memory");
    log_text(LOG_LEVEL_INFO, "%u cores are on", BOARD_CORES);
    park();
}
