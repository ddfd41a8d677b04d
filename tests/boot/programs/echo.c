// SPDX-License-Identifier: Apache-2.0
// Takes the place of the engine below the command loop: gives the prompt back, token by token, over and over,
// until max_new tokens have been sent or the request is cancelled. So what is tested is the command loop.
#include "arch/string.h"
#include "board_config.h"
#include "engine/generate.h"
#include "link/channel.h"
#include "link/telemetry.h"

#define VOCABULARY 1000

static const struct image_header model = {.vocabulary = VOCABULARY, .header_crc = 0x1234, .name = "echo"};
static uint32_t length;

enum reply_status engine_bind(const uint8_t *image, size_t bytes) {
    (void)image, (void)bytes;
    return REPLY_STATUS_OK;
}

void engine_reset(void) {
    length = 0;
}

void engine_kv_state(struct kv_state *state) {
    *state = (struct kv_state){.context = BOARD_CONTEXT, .length = length};
}

const struct image_header *engine_model(void) {
    return &model;
}

void engine_set_batch(unsigned tokens) {
    (void)tokens;
}

void engine_set_cores(enum phase phase, unsigned count) {
    (void)phase, (void)count;
}

void engine_set_int8(unsigned tokens) {
    (void)tokens;
}

const char *engine_set_npu(enum npu_mode mode) {
    return mode == NPU_MODE_OFF ? NULL : "an echo needs no NPU";
}

void engine_set_npu_f16(bool on) {
    (void)on;
}

bool engine_npu_ready(void) {
    return false;
}

void engine_set_attention(enum attention_form form) {
    (void)form;
}

static enum done_reason show_logits(const struct generate *command, const uint32_t *prompt) {
    static float logits[VOCABULARY];
    for (uint32_t i = 0; i < command->prompt_tokens; i++) {
        logits[i] = (float)prompt[i];
        if (!send_logits(command->request, length + i, logits, VOCABULARY))
            return DONE_REASON_CANCELLED;
    }
    return DONE_REASON_PROMPT_ONLY;
}

static enum done_reason echo(const struct generate *command, const uint32_t *prompt, uint32_t *sent) {
    for (; *sent < command->max_new; ++*sent) {
        if (cancel_requested(command->request))
            return DONE_REASON_CANCELLED;
        telemetry_step(PHASE_DECODE, *sent);
        struct span span;
        span_begin(&span);
        span_end(&span, KERNEL_STEP, NO_LAYER, 1);
        send_token(command->request, length, prompt[*sent % command->prompt_tokens], 0);
        length++;
    }
    return DONE_REASON_LIMIT;
}

enum reply_status engine_generate(const struct generate *command, const uint32_t *prompt) {
    if (command->keep > length)
        return REPLY_STATUS_OUT_OF_RANGE;
    length = command->keep;
    struct done done = {.request = command->request, .prompt_tokens = command->prompt_tokens};
    done.reason = command->flags & GENERATE_FLAG_LOGITS ? show_logits(command, prompt)
                                                        : echo(command, prompt, &done.generated_tokens);
    send_done(&done);
    return REPLY_STATUS_OK;
}
