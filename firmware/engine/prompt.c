// SPDX-License-Identifier: Apache-2.0
#include "engine/prompt.h"

#include <stdbool.h>
#include <stddef.h>

#include "arch/string.h"

static uint32_t prompt[PROMPT_MAX];
static uint32_t prompt_tokens;
static uint32_t prompt_request;

enum reply_status prompt_add(const struct frame *frame, uint32_t vocabulary) {
    struct prompt_part part;
    if (frame->payload_bytes <= sizeof part || (frame->payload_bytes - sizeof part) % sizeof prompt[0])
        return REPLY_STATUS_BAD_LENGTH;
    memcpy(&part, frame->payload, sizeof part);
    uint32_t count = (uint32_t)((frame->payload_bytes - sizeof part) / sizeof prompt[0]);
    bool starts = part.offset == 0;
    if (!starts && (part.request != prompt_request || part.offset != prompt_tokens))
        return REPLY_STATUS_BAD_VALUE;
    if (part.offset > PROMPT_MAX || count > PROMPT_MAX - part.offset)
        return REPLY_STATUS_OUT_OF_RANGE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t token;
        memcpy(&token, frame->payload + sizeof part + i * sizeof token, sizeof token);
        if (token >= vocabulary)
            return REPLY_STATUS_OUT_OF_RANGE;
    }
    memcpy(prompt + part.offset, frame->payload + sizeof part, count * sizeof prompt[0]);
    prompt_request = part.request;
    prompt_tokens = part.offset + count;
    return REPLY_STATUS_OK;
}

const uint32_t *prompt_take(uint32_t request, uint32_t tokens) {
    if (tokens != 0 && (request != prompt_request || tokens != prompt_tokens))
        return NULL;
    prompt_tokens = 0;
    return prompt;
}
