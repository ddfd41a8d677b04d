// SPDX-License-Identifier: Apache-2.0
#include "engine/report.h"

#include <stddef.h>

#include "arch/string.h"
#include "board_config.h"
#include "engine/generate.h"
#include "engine/prompt.h"
#include "hal/cores.h"
#include "hal/pmu.h"
#include "link/channel.h"
#include "link/frame.h"
#include "link/telemetry.h"
#include "memory/pools.h"

/// Copies text into a field that is terminated only when there is room for it.
static void put_text(char *field, size_t room, const char *text) {
    memset(field, 0, room);
    for (size_t i = 0; i < room && text[i]; i++)
        field[i] = text[i];
}

static void report_hello(uint16_t flags) {
    struct hello hello = {
        .flags = flags,
        .protocol = PROTOCOL_VERSION,
        .schema_hash = SCHEMA_HASH,
        .counter_hz = pmu_hz(),
        .cores = (uint8_t)cores_running(),
        .counters = TELEMETRY && pmu_present() ? COUNTERS : 0,
        .max_batch = BOARD_BATCH,
        .context = BOARD_CONTEXT,
        .prompt_max = PROMPT_MAX,
    };
    if (BOARD_MODELLED)
        hello.flags |= HELLO_FLAG_MODELLED;
    if (engine_npu_ready())
        hello.flags |= HELLO_FLAG_NPU;
    memcpy(hello.build_id, BUILD_ID, sizeof hello.build_id);
    memcpy(hello.counter_events, pmu_events(), sizeof hello.counter_events);
    put_text(hello.board, sizeof hello.board, BOARD_NAME);
    const struct image_header *model = engine_model();
    if (model != NULL) {
        hello.flags |= HELLO_FLAG_MODEL_LOADED;
        hello.image_crc = model->header_crc; // covers payload_crc, so it stands for the whole image
        hello.vocabulary = model->vocabulary;
        put_text(hello.model, sizeof hello.model, model->name);
    }
    send_hello(&hello);
}

static void report_pools(void) {
    struct pool list[POOL_COUNT];
    for (unsigned i = 0; i < POOL_COUNT; i++) {
        put_text(list[i].name, sizeof list[i].name, pools[i]->name);
        list[i].base = (uintptr_t)pools[i]->base;
        list[i].bytes = pools[i]->bytes;
        list[i].used = pools[i]->used;
    }
    send_pools(list, POOL_COUNT);
}

static void report_kv_state(void) {
    struct kv_state state;
    engine_kv_state(&state);
    send_kv_state(&state);
}

static void report_status(void) {
    struct status status = {
        .cycles = pmu_cycles(), .bytes_sent = frame_bytes_sent(), .bad_frames = frame_bad_count()};
    telemetry_status(&status);
    send_status(&status);
}

void report_start(void) {
    report_hello(0);
    report_pools();
    report_kv_state();
}

bool report(enum query_item item) {
    switch (item) {
    case QUERY_ITEM_HELLO:
        report_hello(HELLO_FLAG_ANSWER);
        return true;
    case QUERY_ITEM_TOTALS:
        telemetry_send_totals();
        return true;
    case QUERY_ITEM_KV_STATE:
        report_kv_state();
        return true;
    case QUERY_ITEM_STATUS:
        report_status();
        return true;
    case QUERY_ITEM_POOLS:
        report_pools();
        return true;
    }
    return false;
}
