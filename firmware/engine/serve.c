// SPDX-License-Identifier: Apache-2.0
// The command loop. Every command is answered by exactly one REPLY, whatever else it causes; bytes that are
// not a frame are counted and skipped.
#include "engine/serve.h"

#include "arch/mmu.h"
#include "arch/string.h"
#include "board_config.h"
#include "engine/generate.h"
#include "engine/prompt.h"
#include "engine/report.h"
#include "hal/cores.h"
#include "hal/idle.h"
#include "hal/pmu.h"
#include "link/channel.h"
#include "link/crc32.h"
#include "link/frame.h"
#include "link/request.h"
#include "link/telemetry.h"

// How long to sleep between looks at the ring. After a while without commands longer: a wake-up of the
// emulated core costs its host some 100 us.
#define POLL_MICROSECONDS      1000
#define POLL_IDLE_MICROSECONDS 8000
#define POLLS_BEFORE_IDLE      100

/// What a command comes to.
struct answer {
    enum reply_status status;
    uint32_t value;
    const char *text;
};

static struct answer answer(enum reply_status status, const char *text) {
    return (struct answer){.status = status, .text = text};
}

static const struct answer ok = {.status = REPLY_STATUS_OK, .text = ""};

static void handle(const struct frame *frame);

/// Answers GENERATE itself, as link/request.h says, unless the engine refuses.
static void generate(const struct frame *frame) {
    struct generate command;
    memcpy(&command, frame->payload, sizeof command);
    uint16_t seq = frame->seq; // the frame is gone when the next command arrives
    enum reply_status status = REPLY_STATUS_INCOMPLETE_PROMPT;
    bool answered = false;
    const uint32_t *prompt = prompt_take(command.request, command.prompt_tokens);
    if (prompt != NULL) {
        request_begin(command.request, seq, handle);
        status = engine_generate(&command, prompt);
        answered = request_end();
    }
    if (!answered)
        send_reply(MESSAGE_TYPE_GENERATE, seq, status, 0, "");
    if (status == REPLY_STATUS_OK)
        report(QUERY_ITEM_KV_STATE);
}

static struct answer set(const struct frame *frame) {
    struct set command;
    memcpy(&command, frame->payload, sizeof command);
    switch (command.setting) {
    case SETTING_EVENTS:
        if (command.value > 1)
            return answer(REPLY_STATUS_BAD_VALUE, "events is 0 or 1");
        telemetry_events(command.value != 0);
        return ok;
    case SETTING_BATCH:
        if (command.value < 1 || command.value > BOARD_BATCH)
            return answer(REPLY_STATUS_BAD_VALUE, "batch is 1 to the maximum that HELLO says");
        engine_set_batch(command.value);
        return ok;
    case SETTING_PREFILL_CORES:
    case SETTING_DECODE_CORES:
        if (command.value < 1 || command.value > cores_running())
            return answer(REPLY_STATUS_BAD_VALUE, "1 to the number of cores that HELLO says");
        engine_set_cores(command.setting == SETTING_PREFILL_CORES ? PHASE_PREFILL : PHASE_DECODE,
                         command.value);
        return ok;
    case SETTING_NPU: {
        const char *why = command.value < NPU_MODE_COUNT ? engine_set_npu((enum npu_mode)command.value)
                                                         : "npu is off, pv, linear or all";
        return why == NULL ? ok : answer(REPLY_STATUS_BAD_VALUE, why);
    }
    case SETTING_NPU_F16:
        if (command.value > 1)
            return answer(REPLY_STATUS_BAD_VALUE, "npu_f16 is 0 or 1");
        engine_set_npu_f16(command.value != 0);
        return ok;
    case SETTING_INT8_TOKENS:
        engine_set_int8(command.value);
        return ok;
    case SETTING_ATTENTION:
        if (command.value >= ATTENTION_FORM_COUNT)
            return answer(REPLY_STATUS_BAD_VALUE, "no such form of attention");
        engine_set_attention((enum attention_form)command.value);
        return ok;
    }
    return answer(REPLY_STATUS_BAD_VALUE, "no such setting");
}

static struct answer select_events(const struct frame *frame) {
    struct select_events command;
    memcpy(&command, frame->payload, sizeof command);
    pmu_select(command.events);
    telemetry_restart(); // totals of different events do not add up
    return ok;
}

static struct answer checksum(const struct frame *frame) {
    struct checksum command;
    memcpy(&command, frame->payload, sizeof command);
    if (!memory_readable(command.address, command.bytes))
        return answer(REPLY_STATUS_OUT_OF_RANGE, "not in one mapped region of memory");
    struct answer result = ok;
    result.value = crc32(0, (const void *)(uintptr_t)command.address, command.bytes);
    return result;
}

static struct answer query(const struct frame *frame) {
    struct query command;
    memcpy(&command, frame->payload, sizeof command);
    return report(command.item) ? ok : answer(REPLY_STATUS_BAD_VALUE, "no such item");
}

static struct answer ping(const struct frame *frame) {
    struct ping command;
    memcpy(&command, frame->payload, sizeof command);
    struct answer result = ok;
    result.value = command.nonce;
    return result;
}

static struct answer cancel(const struct frame *frame) {
    struct cancel command;
    memcpy(&command, frame->payload, sizeof command);
    return request_cancel(command.request) ? ok
                                           : answer(REPLY_STATUS_BAD_VALUE, "that request is not running");
}

static struct answer logits_next(const struct frame *frame) {
    struct logits_next command;
    memcpy(&command, frame->payload, sizeof command);
    return request_next(command.request) ? ok : answer(REPLY_STATUS_BAD_VALUE, "that request does not wait");
}

static struct answer reset_kv(const struct frame *frame) {
    (void)frame;
    engine_reset();
    report(QUERY_ITEM_KV_STATE);
    return ok;
}

static struct answer prompt_part(const struct frame *frame) {
    const struct image_header *model = engine_model();
    if (model == NULL)
        return answer(REPLY_STATUS_NO_MODEL, "");
    return answer(prompt_add(frame, model->vocabulary), "");
}

#define ANY_LENGTH UINT16_MAX

static const struct command {
    enum message_type type;
    uint16_t bytes;     // of the payload
    bool while_running; // may be handled in the middle of a request
    struct answer (*run)(const struct frame *);
} commands[] = {
    {MESSAGE_TYPE_PROMPT_PART, ANY_LENGTH, false, prompt_part},
    {MESSAGE_TYPE_GENERATE, sizeof(struct generate), false, NULL}, // answers by itself
    {MESSAGE_TYPE_CANCEL, sizeof(struct cancel), true, cancel},
    {MESSAGE_TYPE_RESET_KV, 0, false, reset_kv},
    {MESSAGE_TYPE_SET, sizeof(struct set), false, set},
    {MESSAGE_TYPE_SELECT_EVENTS, sizeof(struct select_events), false, select_events},
    {MESSAGE_TYPE_QUERY, sizeof(struct query), true, query},
    {MESSAGE_TYPE_CHECKSUM, sizeof(struct checksum), false, checksum},
    {MESSAGE_TYPE_PING, sizeof(struct ping), true, ping},
    {MESSAGE_TYPE_LOGITS_NEXT, sizeof(struct logits_next), true, logits_next},
};

static const struct command *find(enum message_type type) {
    for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (commands[i].type == type)
            return &commands[i];
    return NULL;
}

static void handle(const struct frame *frame) {
    const struct command *command = find(frame->type);
    struct answer result;
    if (command == NULL)
        result = answer(REPLY_STATUS_UNKNOWN_COMMAND, "");
    else if (command->bytes != ANY_LENGTH && command->bytes != frame->payload_bytes)
        result = answer(REPLY_STATUS_BAD_LENGTH, "");
    else if (request_running() && !command->while_running)
        result = answer(REPLY_STATUS_BUSY, "a request is running");
    else if (command->run == NULL) {
        generate(frame);
        return;
    } else
        result = command->run(frame);
    send_reply(frame->type, frame->seq, result.status, result.value, result.text);
}

void serve(void) {
    struct frame frame;
    for (unsigned polls = 0;; polls++) {
        for (;;) {
            pmu_pause();
            if (!frame_receive(&frame))
                break;
            handle(&frame);
            polls = 0;
        }
        idle(polls < POLLS_BEFORE_IDLE ? POLL_MICROSECONDS : POLL_IDLE_MICROSECONDS);
    }
}
