// SPDX-License-Identifier: Apache-2.0
// Encoded frames that cores put down inside a job, for core 0 to send after it: the port has one user.
#pragma once

#include <stdint.h>

#include "link/frame.h"

#define OUTBOX_FRAMES 8 // a core makes some three frames of events in a layer

struct outbox {
    uint32_t count;
    struct {
        uint16_t bytes, records;
        uint8_t frame[FRAME_ENCODED_MAX(FRAME_PAYLOAD_MAX)];
    } frames[OUTBOX_FRAMES];
};

/// Encodes a frame of `records` records of the calling core, whose outbox it is; false, with its number used
/// up so that the console sees the gap, when the outbox is full.
bool outbox_put(struct outbox *outbox, enum message_type type, const void *list, unsigned records,
                size_t record_bytes);

/// Core 0: sends and empties it. Returns how many records found no room in the port; `frames` grows by their
/// frames.
unsigned outbox_send(struct outbox *outbox, uint32_t *frames);
