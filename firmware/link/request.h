// SPDX-License-Identifier: Apache-2.0
// The request that is being answered, and commands that arrive meanwhile.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "link/frame.h"

/// Gets every command that arrives while a request runs. It may answer, cancel the request or hand it its
/// LOGITS_NEXT, and must refuse everything else as busy.
typedef void command_handler(const struct frame *frame);

/// Starts request `request`, the command GENERATE with sequence number `seq`. It is answered with OK when it
/// first looks for a cancellation, or just before its first other message.
void request_begin(uint32_t request, uint16_t seq, command_handler *handler);
/// Ends it. Returns true when it has been answered; otherwise the answer is the caller's to send.
bool request_end(void);

bool request_running(void);
/// Marks the running request as cancelled; false when another one, or none, is running.
bool request_cancel(uint32_t request);
/// Lets the running request go on after its LOGITS; false when it is not waiting for that.
bool request_next(uint32_t request);

/// Sends the OK of the running request, if that is still due.
void request_accept(void);
