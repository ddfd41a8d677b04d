// SPDX-License-Identifier: Apache-2.0
#include "link/request.h"

#include <stddef.h>

#include "arch/cache.h"
#include "hal/idle.h"
#include "link/channel.h"

#define WAIT_MICROSECONDS 200

static struct {
    command_handler *handler; // NULL while nothing runs
    uint32_t request;
    uint16_t seq;
    bool accepted, cancelled, waiting;
} running;

void request_begin(uint32_t request, uint16_t seq, command_handler *handler) {
    running.handler = handler;
    running.request = request;
    running.seq = seq;
    running.accepted = running.cancelled = running.waiting = false;
}

bool request_end(void) {
    running.handler = NULL;
    return running.accepted;
}

bool request_running(void) {
    return running.handler != NULL;
}

bool request_cancel(uint32_t request) {
    if (!request_running() || request != running.request)
        return false;
    running.cancelled = true;
    return true;
}

bool request_next(uint32_t request) {
    if (!request_running() || request != running.request || !running.waiting)
        return false;
    running.waiting = false;
    return true;
}

void request_accept(void) {
    if (!request_running() || running.accepted)
        return;
    running.accepted = true;
    send_reply(MESSAGE_TYPE_GENERATE, running.seq, REPLY_STATUS_OK, 0, "");
}

bool cancel_requested(uint32_t request) {
    struct frame frame;
    request_accept(); // who looks for a cancellation has begun
    while (running.handler != NULL && frame_receive(&frame))
        running.handler(&frame);
    return running.cancelled && request == running.request;
}

bool send_logits(uint32_t request, uint32_t position, const float *logits, uint32_t count) {
    struct logits message = {
        .request = request, .position = position, .address = (uintptr_t)logits, .count = count};
    request_accept();
    cache_clean(logits, count * sizeof *logits); // a debug probe reads memory, not caches
    running.waiting = true;
    frame_send(MESSAGE_TYPE_LOGITS, &message, sizeof message, NULL, 0);
    while (running.waiting) {
        if (cancel_requested(request))
            return false;
        if (running.waiting)
            idle(WAIT_MICROSECONDS);
    }
    return true;
}
