// SPDX-License-Identifier: Apache-2.0
// The kernel test image: all checks, then off.
#include "arch/cpu.h"
#include "arch/psci.h"
#include "checkasm/checkasm.h"
#include "hal/board.h"
#include "hal/uart.h"
#include "link/channel.h"
#include "memory/pools.h"

#define PSCI_SYSTEM_OFF UINT64_C(0x84000008)

int main(void);

int main(void) {
    unsigned passed = 0, failed = 0;
    board_init();
    uart_write("maxconsole checkasm on " BOARD_NAME "\n");
    pools_init();
    channel_init();
    log_text(LOG_LEVEL_INFO, "checkasm seed %llu", (unsigned long long)checkasm_seed);
    if (!checks_init()) {
        log_text(LOG_LEVEL_ERROR, "checkasm harness FAIL the activation pool is too small");
        failed++;
    } else {
        run_checks(checks_float, &passed, &failed);
        run_checks(checks_linear, &passed, &failed);
        run_checks(checks_requantize, &passed, &failed);
        run_checks(checks_int8, &passed, &failed);
        run_checks(checks_attention, &passed, &failed);
    }
    log_text(LOG_LEVEL_INFO, "checkasm done %u passed %u failed", passed, failed);
    psci_call(PSCI_SYSTEM_OFF, 0, 0, 0); // what was said stays readable in the ring
    park();
}
