// SPDX-License-Identifier: Apache-2.0
// From the end of start.S to the command loop.
#include "board_config.h"
#include "engine/generate.h"
#include "engine/report.h"
#include "engine/serve.h"
#include "hal/board.h"
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

int main(void) {
    board_init();
    uart_write("maxconsole engine on " BOARD_NAME "\n");
    pools_init();
    channel_init();
    telemetry_init();
    bind_model();
    report(QUERY_ITEM_HELLO);
    report(QUERY_ITEM_POOLS);
    report(QUERY_ITEM_KV_STATE);
    serve();
}
