// SPDX-License-Identifier: Apache-2.0
// From the end of start.S to the command loop.
#include "board_config.h"
#include "engine/generate.h"
#include "engine/report.h"
#include "engine/serve.h"
#include "hal/board.h"
#include "hal/cores.h"
#include "hal/uart.h"
#include "link/channel.h"
#include "link/telemetry.h"
#include "memory/pools.h"

int main(void);

/// The console has put the weight image at the start of its pool, if there is a model.
static void bind_model(void) {
    if (engine_bind(weight_pool.base, weight_pool.bytes) != REPLY_STATUS_OK)
        return; // said why; commands that need a model answer NO_MODEL
    pool_take(&weight_pool, engine_model()->total_bytes, 1);
}

/// Jobs run on the cores before the first that does not start.
static void start_cores(void) {
    for (unsigned core = 1; core < BOARD_CORES; core++) {
        int64_t error = core_start(core);
        if (error == CORE_SILENT)
            log_text(LOG_LEVEL_ERROR, "core %u has been started, but does not come up", core);
        else if (error != 0)
            log_text(LOG_LEVEL_ERROR, "core %u cannot be started: PSCI error %ld", core, error);
        if (error != 0)
            break;
    }
    log_text(LOG_LEVEL_INFO, "%u of %u cores run", cores_running(), BOARD_CORES);
}

int main(void) {
    board_init();
    uart_write("maxconsole engine on " BOARD_NAME "\n");
    pools_init();
    channel_init();
    telemetry_init();
    start_cores();
    bind_model();
    report_start();
    serve();
}
