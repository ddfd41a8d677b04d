// SPDX-License-Identifier: Apache-2.0
// Messages to the console, one function each, and the commands that arrive from it. Everything here waits for
// room in the port and is never dropped; only KERNELS batches (link/telemetry.h) may be.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.h"

/// Opens the port and makes the console a place for fault reports. After board_init.
void channel_init(void);

void send_hello(const struct hello *hello);
void send_pools(const struct pool *list, unsigned count);
void send_kv_state(const struct kv_state *state);
void send_status(const struct status *status);

/// `logprob`: of `token` under the softmax of the raw logits.
void send_token(uint32_t request, uint32_t position, uint32_t token, float logprob);
/// Prompt tokens processed so far, cached ones included.
void send_progress(uint32_t request, uint32_t done, uint32_t total);
/// Totals first, so that they are exact when the console sees the end.
void send_done(const struct done *done);
/// Shows the console where the logits of a prompt position are and waits until it has read them.
/// Returns false when the request was cancelled meanwhile.
bool send_logits(uint32_t request, uint32_t position, const float *logits, uint32_t count);
void send_reply(enum message_type command, uint16_t command_seq, enum reply_status status, uint32_t value,
                const char *text);

/// A line of log text without its newline, cut off at LOG_TEXT_MAX - 1 bytes. Formats: see arch/format.h.
#define LOG_TEXT_MAX 512
void log_text(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// True once the console has cancelled `request`. Handles whatever else has arrived meanwhile
/// (link/request.h); costs two loads when nothing has.
bool cancel_requested(uint32_t request);
