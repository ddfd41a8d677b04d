// SPDX-License-Identifier: Apache-2.0
#include "link/channel.h"

#include "arch/exception.h"
#include "arch/format.h"
#include "arch/string.h"
#include "link/frame.h"
#include "link/port.h"
#include "link/request.h"
#include "link/telemetry.h"

#define SEND(type, message) frame_send(type, message, sizeof *(message), NULL, 0)

static size_t length_of(const char *text, size_t limit) {
    size_t length = 0;
    while (length < limit && text[length])
        length++;
    return length;
}

static void report_fault(const struct fault_report *report) {
    const struct exception_frame *frame = report->frame;
    struct fault message = {.kind = (uint8_t)report->kind,
                            .core = (uint8_t)report->core,
                            .backtrace_count = (uint16_t)report->backtrace_count,
                            .esr = frame->esr,
                            .far = frame->far,
                            .elr = frame->elr,
                            .spsr = frame->spsr,
                            .sp = frame->sp};
    memcpy(message.x, frame->x, sizeof message.x);
    memcpy(message.backtrace, report->backtrace, report->backtrace_count * sizeof message.backtrace[0]);
    size_t length = length_of(report->text, FRAME_PAYLOAD_MAX - sizeof message);
    frame_send(MESSAGE_TYPE_FAULT, &message, sizeof message, report->text, length);
    port_flush();
}

void channel_init(void) {
    port_init();
    fault_sink_add(report_fault);
}

void send_hello(const struct hello *hello) {
    SEND(MESSAGE_TYPE_HELLO, hello);
}

void send_pools(const struct pool *list, unsigned count) {
    frame_send(MESSAGE_TYPE_POOLS, list, count * sizeof *list, NULL, 0);
}

void send_kv_state(const struct kv_state *state) {
    SEND(MESSAGE_TYPE_KV_STATE, state);
}

void send_status(const struct status *status) {
    SEND(MESSAGE_TYPE_STATUS, status);
}

void send_token(uint32_t request, uint32_t position, uint32_t token, float logprob) {
    struct token message = {.request = request, .position = position, .token = token, .logprob = logprob};
    request_accept();
    SEND(MESSAGE_TYPE_TOKEN, &message);
}

void send_progress(uint32_t request, uint32_t done, uint32_t total) {
    struct progress message = {.request = request, .done = done, .total = total};
    request_accept();
    SEND(MESSAGE_TYPE_PROGRESS, &message);
}

void send_done(const struct done *done) {
    request_accept();
    telemetry_send_totals();
    SEND(MESSAGE_TYPE_DONE, done);
}

void send_reply(enum message_type command, uint16_t command_seq, enum reply_status status, uint32_t value,
                const char *text) {
    struct reply message = {
        .command = (uint8_t)command, .status = (uint8_t)status, .command_seq = command_seq, .value = value};
    frame_send(MESSAGE_TYPE_REPLY, &message, sizeof message, text,
               length_of(text, FRAME_PAYLOAD_MAX - sizeof message));
}

void log_text(enum log_level level, const char *format, ...) {
    struct log message = {.level = (uint8_t)level};
    char text[LOG_TEXT_MAX];
    va_list list;
    va_start(list, format);
    size_t length = format_list(text, sizeof text, format, list);
    va_end(list);
    frame_send(MESSAGE_TYPE_LOG, &message, sizeof message, text, length);
}
