// SPDX-License-Identifier: Apache-2.0
#include "engine/generate.h"

#include <stdbool.h>

#include "board_config.h"
#include "engine/forward.h"
#include "engine/model.h"
#include "engine/sampling.h"
#include "hal/cores.h"
#include "hal/npu.h"
#include "hal/pmu.h"
#include "link/channel.h"
#include "link/telemetry.h"

static struct model model;
static struct forward forward;
static bool bound;
static unsigned batch = BOARD_BATCH;
static enum npu_mode npu_mode = NPU_MODE_OFF;
static bool npu_f16;
static unsigned int8_tokens = INT8_TOKENS;
static enum attention_form attention_form = ATTENTION_FORM_DEFAULT;
static unsigned cores[PHASE_COUNT] = {[PHASE_PREFILL] = BOARD_CORES, [PHASE_DECODE] = BOARD_DECODE_CORES};

// One GENERATE command on its way.
struct run {
    const struct generate *command;
    const uint32_t *prompt;
    struct sampler sampler;
    uint32_t prompt_done; // prompt tokens in the ring, without the kept ones
    uint32_t generated;
    uint32_t reported; // progress already sent
};

enum reply_status engine_bind(const uint8_t *image, size_t bytes) {
    bound = false;
    pool_reset(&activation_pool);
    pool_reset(&kv_cache_pool);
    enum reply_status status = model_bind(&model, image, bytes);
    if (status == REPLY_STATUS_OK && !forward_init(&forward, &model, BOARD_CONTEXT, BOARD_BATCH))
        status = REPLY_STATUS_OUT_OF_RANGE;
    bound = status == REPLY_STATUS_OK;
    return status;
}

void engine_reset(void) {
    if (bound)
        kv_ring_reset(&forward.ring);
}

const struct image_header *engine_model(void) {
    return bound ? model.header : NULL;
}

void engine_set_batch(unsigned tokens) {
    batch = tokens < 1 ? 1 : tokens > BOARD_BATCH ? BOARD_BATCH : tokens;
}

void engine_set_cores(enum phase phase, unsigned count) {
    cores[phase] = count;
}

void engine_set_int8(unsigned tokens) {
    int8_tokens = tokens;
}

void engine_set_npu_f16(bool on) {
    npu_f16 = on;
}

bool engine_npu_ready(void) {
    return bound && forward.npu_ready;
}

const char *engine_set_npu(enum npu_mode mode) {
    if (mode != NPU_MODE_OFF && !npu_present())
        return "this board has no NPU";
    if (mode != NPU_MODE_OFF && bound && !forward.npu_ready)
        return "the NPU's memory does not hold this model's buffers; a smaller batch needs less";
    npu_mode = mode;
    return NULL;
}

void engine_set_attention(enum attention_form form) {
    attention_form = form;
}

void engine_kv_state(struct kv_state *state) {
    *state = (struct kv_state){0};
    if (bound)
        kv_ring_state(&forward.ring, state);
}

static enum reply_status check(struct run *run) {
    const struct generate *c = run->command;
    if (!bound)
        return REPLY_STATUS_NO_MODEL;
    if (c->prompt_tokens == 0 || c->stop_count > STOP_TOKENS_MAX || !sampler_init(&run->sampler, c))
        return REPLY_STATUS_BAD_VALUE;
    if (c->keep > forward.ring.length || (uint64_t)c->keep + c->prompt_tokens + c->max_new > UINT32_MAX)
        return REPLY_STATUS_OUT_OF_RANGE;
    for (uint32_t i = 0; i < c->prompt_tokens; i++)
        if (run->prompt[i] >= model.header->vocabulary)
            return REPLY_STATUS_OUT_OF_RANGE;
    return kv_ring_holds(&forward.ring, c->keep) ? REPLY_STATUS_OK : REPLY_STATUS_EVICTED;
}

// A request without stop tokens of its own ends at the model's.
static bool stops(const struct generate *c, uint32_t token) {
    const uint32_t *list = c->stop_count ? c->stop : model.header->eos;
    uint32_t count = c->stop_count ? c->stop_count : model.header->eos_count;
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == token)
            return true;
    return false;
}

// Begins a prefill batch or a decode step.
static void begin_step(enum phase phase, uint32_t step, struct span *span) {
    forward.cores = cores[phase] < cores_running() ? cores[phase] : cores_running();
    telemetry_step(phase, step);
    span_begin(span);
}

// Ends it: the console sees the ring move with every one.
static void end_step(struct span *span, unsigned tokens) {
    struct kv_state state;
    span_end(span, KERNEL_STEP, NO_LAYER, tokens);
    telemetry_flush();
    engine_kv_state(&state);
    send_kv_state(&state);
}

static void report_progress(struct run *run, uint32_t done) {
    if (done == run->reported)
        return;
    run->reported = done;
    send_progress(run->command->request, run->command->keep + done,
                  run->command->keep + run->command->prompt_tokens);
}

// Between layers: a batch takes seconds on a slow board, so progress counts the share of layers that are
// done.
static bool go_on(void *context, unsigned layer, unsigned count) {
    struct run *run = context;
    if (cancel_requested(run->command->request))
        return false;
    if (run->prompt_done < run->command->prompt_tokens)
        report_progress(run, run->prompt_done + count * layer / model.header->layers);
    return true;
}

static struct choice next_token(struct run *run) {
    const struct generate *c = run->command;
    const struct kv_ring *ring = &forward.ring;
    const float *logits = forward_logits(&forward, forward.rows - 1);
    uint32_t *repeated = forward.repeated, oldest = kv_ring_oldest(ring);
    if (c->repeat_window < ring->length - oldest)
        oldest = ring->length - c->repeat_window;
    struct span span;
    span_begin(&span);
    for (uint32_t p = oldest; p < ring->length; p++)
        repeated[kv_ring_token(ring, p) / 32] |= 1u << kv_ring_token(ring, p) % 32;
    struct choice choice =
        sample(&run->sampler, logits, model.header->vocabulary, repeated, c->flags & GENERATE_FLAG_LOGPROBS);
    for (uint32_t p = oldest; p < ring->length; p++)
        repeated[kv_ring_token(ring, p) / 32] = 0;
    span_end(&span, KERNEL_SAMPLE, NO_LAYER, model.header->vocabulary);
    return choice;
}

// Shows the logits after each token of the batch; false when cancelled.
static bool show_logits(struct run *run, uint32_t first, unsigned count) {
    for (unsigned row = 0; row < count; row++)
        if (!send_logits(run->command->request, first + row, forward_logits(&forward, row),
                         model.header->vocabulary))
            return false;
    return true;
}

// Brings the prompt into the ring; after its last batch `choice` is the first token, if one is wanted.
static bool prefill(struct run *run, struct choice *choice) {
    const struct generate *c = run->command;
    const bool show = c->flags & GENERATE_FLAG_LOGITS;
    const uint32_t batches = (c->prompt_tokens + batch - 1) / batch;
    for (uint32_t step = 0; run->prompt_done < c->prompt_tokens; step++) {
        uint32_t first = c->keep + run->prompt_done, left = c->prompt_tokens - run->prompt_done;
        unsigned count =
            (left + batches - step - 1) / (batches - step); // of one size: a short one costs as much
        bool choose = count == left && c->max_new > 0;
        struct span span;
        begin_step(PHASE_PREFILL, step, &span);
        bool done = forward_batch(&forward, run->prompt + run->prompt_done, count,
                                  show     ? OUTPUTS_ALL
                                  : choose ? OUTPUTS_LAST
                                           : OUTPUTS_NONE,
                                  go_on, run);
        if (done && show)
            done = show_logits(run, first, count);
        if (done && choose)
            *choice = next_token(run);
        end_step(&span, count);
        if (!done)
            return false;
        run->prompt_done += count;
        report_progress(run, run->prompt_done);
    }
    return true;
}

// From the first token to the last.
static enum done_reason decode(struct run *run, struct choice choice) {
    const struct generate *c = run->command;
    forward.int8 = forward.offload = forward.offload_values = false;
    for (uint32_t step = 0;; step++) {
        if (stops(c, choice.token))
            return DONE_REASON_STOP_TOKEN;
        send_token(c->request, forward.ring.length, choice.token, choice.logprob);
        if (++run->generated == c->max_new)
            return DONE_REASON_LIMIT;
        struct span span;
        begin_step(PHASE_DECODE, step, &span);
        bool done = forward_batch(&forward, &choice.token, 1, OUTPUTS_LAST, go_on, run);
        if (done)
            choice = next_token(run);
        end_step(&span, 1);
        if (!done)
            return DONE_REASON_CANCELLED;
    }
}

enum reply_status engine_generate(const struct generate *command, const uint32_t *prompt) {
    struct run run = {.command = command, .prompt = prompt};
    enum reply_status status = check(&run);
    if (status != REPLY_STATUS_OK)
        return status;
    kv_ring_rewind(&forward.ring, command->keep);
    // The route is the prompt's, not a batch's, so that results do not depend on how it is cut.
    // So is what the NPU computes: matrix products with the numbers of the exact route, attention with its
    // own.
    const bool linear = forward.npu_ready && (npu_mode == NPU_MODE_LINEAR || npu_mode == NPU_MODE_ALL);
    const bool values = forward.npu_ready && (npu_mode == NPU_MODE_PV || npu_mode == NPU_MODE_ALL);
    const bool int8 = !linear && model.int8 && int8_tokens != 0 && command->prompt_tokens >= int8_tokens;
    struct choice choice = {0};
    enum done_reason reason = DONE_REASON_PROMPT_ONLY;
    uint64_t start = pmu_cycles();
    forward.int8 = int8;
    forward.offload = linear;
    forward.offload_values = values;
    forward.offloaded = false;
    forward.npu.halves = npu_f16;
    forward.attention = attention_form;
    bool filled = prefill(&run, &choice);
    uint64_t middle = pmu_cycles();
    if (!filled)
        reason = forward.npu.failed ? DONE_REASON_FAILED : DONE_REASON_CANCELLED;
    else if (command->max_new > 0)
        reason = decode(&run, choice);
    struct done done = {.request = command->request,
                        .reason = (uint8_t)reason,
                        .int8 = int8,
                        .npu = forward.offloaded ? (uint8_t)npu_mode : NPU_MODE_OFF,
                        .npu_f16 = forward.offloaded && npu_f16,
                        .attention = (uint8_t)attention_form,
                        .prompt_tokens = run.prompt_done,
                        .cached_tokens = command->keep,
                        .generated_tokens = run.generated,
                        .prefill_cycles = middle - start,
                        .decode_cycles = pmu_cycles() - middle};
    send_done(&done);
    return REPLY_STATUS_OK;
}
